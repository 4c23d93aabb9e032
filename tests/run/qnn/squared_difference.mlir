// CONTRACTS: tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89
// INPUT: 120 3 -50 -1
// EXPECT tflite: 127 -19 -116 -117 -66 -116 -19 -15
!a = !quant.uniform<i8:f32, 0.05:-3>
!b = !quant.uniform<i8:f32, 0.03:4>
!c = !quant.uniform<i8:f32, 0.2:-128>
func.func @main(%x: tensor<2x4x!a>, %y: tensor<4x!b>) -> tensor<2x4x!c> {
  %z = qnn.squared_difference %x, %y : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4x!c>
  return %z : tensor<2x4x!c>
}
