// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -128 -97 -66 -128 -97 -35 -4 27 -66 -35
// EXPECT tflite: -128 -97 -66 -128 -97 -35 -4 27 -66 -35
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<2x3x!a>, %z: tensor<2x2x!a>) -> tensor<2x5x!a> {
  %y = qnn.concat %x, %z {axis = 1} : (tensor<2x3x!a>, tensor<2x2x!a>) -> tensor<2x5x!a>
  return %y : tensor<2x5x!a>
}
