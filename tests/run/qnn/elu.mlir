// CONTRACTS: tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT tflite: -6 -6 -6 -6 -4 47 99 127 127 -6 -6 7 127 0 2 4
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 0.3:-3>
func.func @main(%x: tensor<16x!a>) -> tensor<16x!c> {
  %y = qnn.elu %x : (tensor<16x!a>) -> tensor<16x!c>
  return %y : tensor<16x!c>
}
