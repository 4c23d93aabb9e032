// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -128 -128 -128 -128 -31 127 127 127 127 -128 -128 116 127 59 81 97
// EXPECT tflite: -128 -128 -128 -128 -31 127 127 127 127 -128 -128 116 127 59 81 97
!a = !quant.uniform<i8:f32, 0.5:-3>
!s = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%x: tensor<16x!a>) -> tensor<16x!s> {
  %y = qnn.sigmoid %x : (tensor<16x!a>) -> tensor<16x!s>
  return %y : tensor<16x!s>
}
