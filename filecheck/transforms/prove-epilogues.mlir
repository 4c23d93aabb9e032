// RUN: %qopt %s -p prove-epilogues | %filecheck %s --check-prefixes=CHECK,FUSED
// RUN: %qopt %s -p prove-epilogues{fused=false} | %filecheck %s --check-prefixes=CHECK,APART

// Two channels, with accumulators in [-1276, 1284] and [-3825, 3855]. Rounding to 31 bits and
// then to a byte is, on these, the same as one multiplication with an offset.
// CHECK-LABEL: func.func @linear
// CHECK-NEXT:    %w = arith.constant
// CHECK-NEXT:    %b = arith.constant
// CHECK-NEXT:    %[[SCALE:.*]] = arith.constant dense<{{.*}}> : tensor<2xf32>
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.constant dense<{{.*}}> : tensor<2xf32>
// CHECK-NEXT:    %y = kernel.nest contraction
// CHECK-SAME:      ins(%x, %w, %b, %[[SCALE]], %[[OFFSET]] : tensor<2xi8>, tensor<2x2xi8>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>)
// CHECK:         } epilogue {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %[[S:.*]]: f32, %[[C:.*]]: f32, %acc: i32):
// CHECK-NEXT:      %[[X:.*]] = arith.sitofp %acc : i32 to f32
// CHECK-NEXT:      %[[SIGNED:.*]] = math.copysign %[[C]], %[[X]] : f32
// FUSED-NEXT:      %[[REAL:.*]] = math.fma %[[X]], %[[S]], %[[SIGNED]] : f32
// APART-NEXT:      %[[PRODUCT:.*]] = arith.mulf %[[X]], %[[S]] : f32
// APART-NEXT:      %[[REAL:.*]] = arith.addf %[[PRODUCT]], %[[SIGNED]] : f32
// CHECK-NEXT:      %[[WHOLE:.*]] = fixed.convert %[[REAL]] {rounding = half_even} : f32 to i32
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 5 : i32
// CHECK-NEXT:      %[[SUM:.*]] = arith.addi %[[WHOLE]], %[[ZERO]] : i32
// CHECK-NEXT:      %[[LEAST:.*]] = arith.constant -128 : i32
// CHECK-NEXT:      %[[HIGH:.*]] = arith.maxsi %[[SUM]], %[[LEAST]] : i32
// CHECK-NEXT:      %[[MOST:.*]] = arith.constant 127 : i32
// CHECK-NEXT:      %[[LOW:.*]] = arith.minsi %[[HIGH]], %[[MOST]] : i32
// CHECK-NEXT:      %q = fixed.saturate %[[LOW]] : i32 to i8
// CHECK-NEXT:      kernel.yield %q : i8
func.func @linear(%x: tensor<2xi8>) -> tensor<2xi8> {
  %w = arith.constant dense<[[3, -7], [10, 20]]> : tensor<2x2xi8>
  %b = arith.constant dense<[4, 15]> : tensor<2xi32>
  %m = arith.constant dense<[1500000000, 2000000000]> : tensor<2xi64>
  %shift = arith.constant dense<[2, 4]> : tensor<2xi32>
  %y = kernel.nest contraction parallel [2] reduction [2]
    maps [affine_map<(o, i) -> (i)>, affine_map<(o, i) -> (o, i)>, affine_map<(o, i) -> (o)>,
      affine_map<(o, i) -> (o)>, affine_map<(o, i) -> (o)>, affine_map<(o, i) -> (o)>]
    ins(%x, %w, %b, %m, %shift : tensor<2xi8>, tensor<2x2xi8>, tensor<2xi32>, tensor<2xi64>, tensor<2xi32>) init {
  ^bb0(%a: i8, %f: i8, %bias: i32, %mc: i64, %s: i32):
    kernel.yield %bias : i32
  } body {
  ^bb0(%a: i8, %f: i8, %bias: i32, %mc: i64, %s: i32, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%a: i8, %f: i8, %bias: i32, %mc: i64, %s: i32, %acc: i32):
    %a64 = arith.extsi %acc : i32 to i64
    %p = arith.muli %a64, %mc : i64
    %c31 = arith.constant 31 : i64
    %h64 = fixed.shift_right %p, %c31 {rounding = half_up} : i64
    %h = fixed.saturate %h64 : i64 to i32
    %r = fixed.shift_right %h, %s {rounding = half_away} : i32
    %zero_point = arith.constant 5 : i32
    %z = arith.addi %r, %zero_point : i32
    %q = fixed.saturate %z : i32 to i8
    kernel.yield %q : i8
  } -> tensor<2xi8>
  return %y : tensor<2xi8>
}

// A product that may wrap makes no steps; nothing changes.
// CHECK-LABEL: func.func @wraps
// CHECK:           %p = arith.muli %acc, %m : i32
// CHECK-NEXT:      %c24 = arith.constant 24 : i32
// CHECK-NEXT:      %h = arith.shrsi %p, %c24 : i32
// CHECK-NEXT:      %q = fixed.saturate %h : i32 to i8
func.func @wraps(%x: tensor<2xi8>) -> tensor<2xi8> {
  %w = arith.constant dense<[[3, -7], [10, 20]]> : tensor<2x2xi8>
  %y = kernel.nest contraction parallel [2] reduction [2]
    maps [affine_map<(o, i) -> (i)>, affine_map<(o, i) -> (o, i)>, affine_map<(o, i) -> (o)>]
    ins(%x, %w : tensor<2xi8>, tensor<2x2xi8>) init {
  ^bb0(%a: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%a: i8, %f: i8, %acc: i32):
    %m = arith.constant 1000000 : i32
    %p = arith.muli %acc, %m : i32
    %c24 = arith.constant 24 : i32
    %h = arith.shrsi %p, %c24 : i32
    %q = fixed.saturate %h : i32 to i8
    kernel.yield %q : i8
  } -> tensor<2xi8>
  return %y : tensor<2xi8>
}
