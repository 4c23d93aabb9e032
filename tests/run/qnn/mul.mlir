// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: 121 69 31 7 -2 -26 -36 -31
// EXPECT tflite: 121 69 31 7 -2 -26 -36 -31
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<i8:f32, 0.25:7>
!c = !quant.uniform<i8:f32, 17.0:-3>
func.func @main(%x: tensor<2x4x!a>, %z: tensor<4x!b>) -> tensor<2x4x!c> {
  %y = qnn.mul %x, %z : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4x!c>
  return %y : tensor<2x4x!c>
}
