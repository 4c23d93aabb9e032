// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi cpu=cortex-m4},prove-epilogues' | %filecheck %s
// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi},prove-epilogues' | %filecheck %s

// A machine that adds a product to 64 bits takes the upper word of one, with a unit for floats or
// without. The zero point is the upper word of all
// offsets, of which memory has the other.
// CHECK-LABEL: func.func @linear
// CHECK-NEXT:    %w = arith.constant
// CHECK-NEXT:    %b = arith.constant
// CHECK-NEXT:    %[[FACTOR:.*]] = arith.constant dense<{{.*}}> : tensor<2xi32>
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.constant dense<{{.*}}> : tensor<2xi32>
// CHECK-NEXT:    %y = kernel.nest contraction
// CHECK-SAME:      ins(%x, %w, %b, %[[FACTOR]], %[[OFFSET]] : tensor<2xi8>, tensor<2x2xi8>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
// CHECK:         } epilogue {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %[[F:.*]]: i32, %[[C:.*]]: i32, %acc: i32):
// CHECK-NEXT:      %[[X:.*]] = arith.extsi %acc : i32 to i64
// CHECK-NEXT:      %[[M:.*]] = arith.extsi %[[F]] : i32 to i64
// CHECK-NEXT:      %[[UPPER:.*]] = arith.constant -549755813888 : i64
// CHECK-NEXT:      %[[LOWER:.*]] = arith.extui %[[C]] : i32 to i64
// CHECK-NEXT:      %[[TERM:.*]] = arith.addi %[[LOWER]], %[[UPPER]] : i64
// CHECK-NEXT:      %[[PRODUCT:.*]] = arith.muli %[[X]], %[[M]] : i64
// CHECK-NEXT:      %[[SUM:.*]] = arith.addi %[[PRODUCT]], %[[TERM]] : i64
// CHECK-NEXT:      %[[BITS:.*]] = arith.constant 32 : i64
// CHECK-NEXT:      %[[HIGHER:.*]] = arith.shrsi %[[SUM]], %[[BITS]] : i64
// CHECK-NEXT:      %[[WORD:.*]] = arith.trunci %[[HIGHER]] : i64 to i32
// CHECK-NEXT:      %[[LEAST:.*]] = arith.constant -128 : i32
// CHECK-NEXT:      %[[HIGH:.*]] = arith.maxsi %[[WORD]], %[[LEAST]] : i32
// CHECK-NEXT:      %[[MOST:.*]] = arith.constant 96 : i32
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
    %zero_point = arith.constant -128 : i32
    %z = arith.addi %r, %zero_point : i32
    %q = fixed.saturate %z : i32 to i8
    kernel.yield %q : i8
  } -> tensor<2xi8>
  return %y : tensor<2xi8>
}
