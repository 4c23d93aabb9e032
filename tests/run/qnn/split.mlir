// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -66 -35 58 89 -128 -97 -4 27
// EXPECT tflite: -66 -35 58 89 -128 -97 -4 27
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<2x4x!a>) -> (tensor<2x2x!a>, tensor<2x2x!a>) {
  %y, %z = qnn.split %x {axis = 1} : (tensor<2x4x!a>) -> (tensor<2x2x!a>, tensor<2x2x!a>)
  return %z, %y : tensor<2x2x!a>, tensor<2x2x!a>
}
