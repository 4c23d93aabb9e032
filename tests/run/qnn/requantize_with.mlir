// CONTRACTS: onnxruntime onnx-reference
// INPUT: 10 -3 1000 -1000 7 6
// INPUT: 0.5
// INPUT: 0.25 0.5
// EXPECT onnxruntime: 7 1 255 0 6 8 7 1 255 0 6 8 7 1 255 0 6 8
// EXPECT onnx-reference: 7 1 255 0 6 8 7 1 164 194 6 8 7 0 164 194 6 8
!q = !quant.uniform<u8:f32, 1.0>
func.func @main(%x: tensor<3x2xi32>, %a: tensor<f32>, %b: tensor<2xf32>) -> (tensor<3x2x!q>, tensor<3x2x!q>, tensor<3x2x!q>) {
  %c = arith.constant dense<0.3> : tensor<f32>
  %zero = arith.constant dense<3> : tensor<i32>
  %y = qnn.requantize_with %x, %a, %b, %c, %zero {layer = "conv2d"} : (tensor<3x2xi32>, tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<3x2x!q>
  %m = qnn.requantize_with %x, %a, %b, %c, %zero {layer = "matmul"} : (tensor<3x2xi32>, tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<3x2x!q>
  %h = qnn.requantize_with %x, %a, %b, %c, %zero {layer = "matmul", half_scales = true} : (tensor<3x2xi32>, tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<3x2x!q>
  return %y, %m, %h : tensor<3x2x!q>, tensor<3x2x!q>, tensor<3x2x!q>
}
