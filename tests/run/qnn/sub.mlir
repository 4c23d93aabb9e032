// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -99 -73 -47 -21 108 127 127 127
// EXPECT tflite: -99 -73 -47 -21 108 127 127 127
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<i8:f32, 0.25:7>
!c = !quant.uniform<i8:f32, 0.3:-3>
func.func @main(%x: tensor<2x4x!a>, %z: tensor<4x!b>) -> tensor<2x4x!c> {
  %y = qnn.sub %x, %z : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4x!c>
  return %y : tensor<2x4x!c>
}
