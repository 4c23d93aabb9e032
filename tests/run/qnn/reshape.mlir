// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -128 -97 -66 -35 -4 27 58 89
// EXPECT tflite: -128 -97 -66 -35 -4 27 58 89
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<2x4x!a>) -> tensor<4x2x!a> {
  %y = qnn.reshape %x : (tensor<2x4x!a>) -> tensor<4x2x!a>
  return %y : tensor<4x2x!a>
}
