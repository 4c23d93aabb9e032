// CONTRACTS: tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 -3 -3 -3 -2
// EXPECT tflite: -93 -70 -47 -24 -1 34 68 103 0 0 0 127
!a = !quant.uniform<i8:f32, 0.05:-3>
!c = !quant.uniform<i8:f32, 0.0078125>
func.func @main(%x: tensor<3x4x!a>) -> tensor<3x4x!c> {
  %y = qnn.l2_normalize %x : (tensor<3x4x!a>) -> tensor<3x4x!c>
  return %y : tensor<3x4x!c>
}
