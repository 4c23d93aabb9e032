// RUN: %qopt %s -p lower-stablehlo,canonicalize,cse | %filecheck %s

// A quantized operation dequantizes, computes and quantizes, each a step; scales and zero points
// are folded where they meet.

!a = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.25:4>

// CHECK-LABEL: func.func @difference
// CHECK: ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %{{.*}}: i8):
// CHECK:   arith.extsi %[[A]] : i8 to i32
// CHECK:   arith.mulf
// CHECK:   arith.extsi %[[B]] : i8 to i32
// CHECK:   %[[D:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK:   %[[S:.*]] = arith.divf %[[D]], %{{.*}} : f32
// CHECK:   %[[M:.*]] = arith.addf %[[S]], %{{.*}} : f32
// CHECK:   fixed.convert %[[M]] {rounding = half_even} : f32 to i32
func.func @difference(%a: tensor<4x!a>, %b: tensor<4x!a>) -> tensor<4x!y> {
  %0 = stablehlo.subtract %a, %b : (tensor<4x!a>, tensor<4x!a>) -> tensor<4x!y>
  return %0 : tensor<4x!y>
}

// A function of bytes is a table.
// CHECK-LABEL: func.func @function
// CHECK: arith.constant {{.*}} : tensor<256xi8>
// CHECK: tensor.extract
func.func @function(%a: tensor<4x!a>) -> tensor<4x!y> {
  %0 = stablehlo.tanh %a : (tensor<4x!a>) -> tensor<4x!y>
  return %0 : tensor<4x!y>
}
