// RUN: %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=x86-64-v3},prove-epilogues' | %filecheck %s --check-prefixes=CHECK,FUSED
// RUN: %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=x86-64},prove-epilogues' | %filecheck %s --check-prefixes=CHECK,APART

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

// A sum of two bytes, each scaled, with two roundings: one rounding gives the same for all
// 65,536 pairs.
// CHECK-LABEL: func.func @sum
// CHECK:         ^bb0(%a: i8, %b: i8):
// CHECK-DAG:       %[[M:.*]] = arith.constant {{.*}} : f32
// CHECK-DAG:       %[[N:.*]] = arith.constant {{.*}} : f32
// CHECK-DAG:       %[[C:.*]] = arith.constant {{.*}} : f32
// CHECK-DAG:       %[[A:.*]] = arith.sitofp %a : i8 to f32
// CHECK-DAG:       %[[B:.*]] = arith.sitofp %b : i8 to f32
// FUSED-NEXT:      %[[INNER:.*]] = math.fma %[[B]], %[[N]], %[[C]] : f32
// FUSED-NEXT:      %[[REAL:.*]] = math.fma %[[A]], %[[M]], %[[INNER]] : f32
// APART-NEXT:      %[[FIRST:.*]] = arith.mulf %[[B]], %[[N]] : f32
// APART-NEXT:      %[[INNER:.*]] = arith.addf %[[FIRST]], %[[C]] : f32
// APART-NEXT:      %[[SECOND:.*]] = arith.mulf %[[A]], %[[M]] : f32
// APART-NEXT:      %[[REAL:.*]] = arith.addf %[[SECOND]], %[[INNER]] : f32
// CHECK-NEXT:      fixed.convert %[[REAL]] {rounding = half_even} : f32 to i32
func.func @sum(%x: tensor<8xi8>, %y: tensor<8xi8>) -> tensor<8xi8> {
  %s = kernel.nest map parallel [8]
    maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x, %y : tensor<8xi8>, tensor<8xi8>) epilogue {
  ^bb0(%a: i8, %b: i8):
    %a64 = arith.extsi %a : i8 to i64
    %b64 = arith.extsi %b : i8 to i64
    %m = arith.constant 1234567891 : i64
    %n = arith.constant 987654321 : i64
    %c5 = arith.constant 5 : i64
    %c25 = arith.constant 25 : i64
    %am = arith.muli %a64, %m : i64
    %bn = arith.muli %b64, %n : i64
    %ar = fixed.shift_right %am, %c5 {rounding = half_away} : i64
    %br = fixed.shift_right %bn, %c5 {rounding = half_away} : i64
    %sum = arith.addi %ar, %br : i64
    %rounded = fixed.shift_right %sum, %c25 {rounding = half_away} : i64
    %q = fixed.saturate %rounded : i64 to i8
    kernel.yield %q : i8
  } -> tensor<8xi8>
  return %s : tensor<8xi8>
}

// What depends on anything but bytes stays: here the element's position, beyond the sixth.
// CHECK-LABEL: func.func @tail
// CHECK:           arith.select
func.func @tail(%x: tensor<8xi8>) -> tensor<8xi8> {
  %s = kernel.nest map parallel [8] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x : tensor<8xi8>) epilogue {
  ^bb0(%a: i8):
    %i = kernel.index 0 : index
    %six = arith.constant 6 : index
    %inside = arith.cmpi ult, %i, %six : index
    %a32 = arith.extsi %a : i8 to i32
    %one = arith.constant 1 : i32
    %less = arith.subi %a32, %one : i32
    %more = arith.addi %a32, %one : i32
    %chosen = arith.select %inside, %less, %more : i32
    %q = fixed.saturate %chosen : i32 to i8
    kernel.yield %q : i8
  } -> tensor<8xi8>
  return %s : tensor<8xi8>
}

// There is none beyond the eighth.
// CHECK-LABEL: func.func @no_tail
// CHECK-NOT:       kernel.index
// CHECK:           kernel.yield
func.func @no_tail(%x: tensor<8xi8>) -> tensor<8xi8> {
  %s = kernel.nest map parallel [8] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x : tensor<8xi8>) epilogue {
  ^bb0(%a: i8):
    %i = kernel.index 0 : index
    %eight = arith.constant 8 : index
    %inside = arith.cmpi ult, %i, %eight : index
    %a32 = arith.extsi %a : i8 to i32
    %one = arith.constant 1 : i32
    %less = arith.subi %a32, %one : i32
    %more = arith.addi %a32, %one : i32
    %chosen = arith.select %inside, %less, %more : i32
    %q = fixed.saturate %chosen : i32 to i8
    kernel.yield %q : i8
  } -> tensor<8xi8>
  return %s : tensor<8xi8>
}

// Adding 0.0 changes no product of an integer and positive numbers: none is -0.0. The product with
// a negative number may be.
// CHECK-LABEL: func.func @zeros
// CHECK:           arith.sitofp
// CHECK:           %zero = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %product = arith.mulf
// CHECK-NEXT:      %turned = arith.mulf %product, %minus : f32
// CHECK-NEXT:      %moved = arith.addf %turned, %zero : f32
// CHECK-NEXT:      kernel.yield %product, %moved
func.func @zeros(%x: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %s, %t = kernel.nest map parallel [8]
    maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x : tensor<8xi32>) epilogue {
  ^bb0(%a: i32):
    %sum = arith.sitofp %a : i32 to f32
    %scale = arith.constant 0.25 : f32
    %minus = arith.constant -0.5 : f32
    %zero = arith.constant 0.0 : f32
    %product = arith.mulf %sum, %scale : f32
    %biased = arith.addf %product, %zero : f32
    %turned = arith.mulf %biased, %minus : f32
    %moved = arith.addf %turned, %zero : f32
    kernel.yield %biased, %moved : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  return %s, %t : tensor<8xf32>, tensor<8xf32>
}
