// CONTRACTS: exact tflite
// INPUT: -20 3 -7 -3 1 0 -1 -4
// EXPECT exact: -128 13 -127 -121 -76 -96 -109 -124 -128 13 -127 -121 -76 -96 -109 -124
// EXPECT tflite: -128 13 -127 -121 -76 -96 -109 -124 -128 13 -127 -121 -76 -96 -109 -124
!a = !quant.uniform<i8:f32, 0.5:-3>
!s = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%x: tensor<2x8x!a>) -> tensor<2x8x!s> {
  %y = qnn.softmax %x : (tensor<2x8x!a>) -> tensor<2x8x!s>
  return %y : tensor<2x8x!s>
}
