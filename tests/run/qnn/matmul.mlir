// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: 68 38 3 21 -25 -29 44 -56 -53 51 12 -6
// EXPECT tflite: 68 38 3 21 -25 -29 44 -56 -53 51 12 -6
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<i8:f32, 0.25:7>
!c = !quant.uniform<i8:f32, 40.0:-3>
func.func @main(%x: tensor<2x3x4x!a>, %z: tensor<2x4x2x!b>) -> tensor<2x3x2x!c> {
  %y = qnn.matmul %x, %z : (tensor<2x3x4x!a>, tensor<2x4x2x!b>) -> tensor<2x3x2x!c>
  return %y : tensor<2x3x2x!c>
}
