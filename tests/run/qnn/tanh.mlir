// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -128 -128 -128 -128 -59 127 127 127 127 -128 -128 127 127 97 116 123
// EXPECT tflite: -128 -128 -128 -128 -59 127 127 127 127 -128 -128 127 127 97 116 123
!a = !quant.uniform<i8:f32, 0.5:-3>
!t = !quant.uniform<i8:f32, 0.0078125>
func.func @main(%x: tensor<16x!a>) -> tensor<16x!t> {
  %y = qnn.tanh %x : (tensor<16x!a>) -> tensor<16x!t>
  return %y : tensor<16x!t>
}
