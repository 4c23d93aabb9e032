// CONTRACTS: tflite tflm
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3
// EXPECT tflite: -1 -41 -52 124
// EXPECT tflm: -87 -41 76 -4
!a = !quant.uniform<i8:f32, 0.05:-3>
!c = !quant.uniform<i8:f32, 0.1:7>
func.func @main(%x: tensor<2x3x2x!a>) -> tensor<2x1x2x!c> {
  %y = qnn.sum %x {axes = [1], keep_dims = true} : (tensor<2x3x2x!a>) -> tensor<2x1x2x!c>
  return %y : tensor<2x1x2x!c>
}
