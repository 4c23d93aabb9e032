// CONTRACTS: onnxruntime onnx-reference
// INPUT: 1 -0.25 0.25 0.75 1.25 -1e9 3e9 1e9
// INPUT: 0.5 0.25 0.1 1
// EXPECT onnxruntime: 5 2 5 4 5 -128 127 127 5 2 5 4 5 -128 -128 127
// EXPECT onnx-reference: 5 2 5 4 5 -128 -128 127 5 2 5 4 5 -128 -128 -128
!q = !quant.uniform<i8:f32, 1.0>
func.func @main(%x: tensor<2x4xf32>, %scale: tensor<4xf32>) -> (tensor<2x4x!q>, tensor<2x4x!q>) {
  %zero = arith.constant dense<3> : tensor<i32>
  %y = qnn.quantize_with %x, %scale, %zero : (tensor<2x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2x4x!q>
  %z = qnn.quantize_with %x, %scale, %zero {half_scales = true} : (tensor<2x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2x4x!q>
  return %y, %z : tensor<2x4x!q>, tensor<2x4x!q>
}
