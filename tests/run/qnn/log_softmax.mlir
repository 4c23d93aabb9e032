// CONTRACTS: tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT tflite: -50 -26 -1 24 49 74 98 123 113 -82 -23 19 118 16 17 18
!a = !quant.uniform<i8:f32, 0.05:-3>
!c = !quant.uniform<i8:f32, 0.0625:127>
func.func @main(%x: tensor<2x8x!a>) -> tensor<2x8x!c> {
  %y = qnn.log_softmax %x : (tensor<2x8x!a>) -> tensor<2x8x!c>
  return %y : tensor<2x8x!c>
}
