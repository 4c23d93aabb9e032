// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -3 -3 -3 -3 -4 47 99 127 127 -3 -3 7 127 -1 1 3
// EXPECT tflite: -3 -3 -3 -3 -4 47 99 127 127 -3 -3 7 127 -1 1 3
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 0.3:-3>
func.func @main(%x: tensor<16x!a>) -> tensor<16x!c> {
  %y = qnn.hard_swish %x : (tensor<16x!a>) -> tensor<16x!c>
  return %y : tensor<16x!c>
}
