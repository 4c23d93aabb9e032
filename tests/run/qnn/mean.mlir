// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: 14 -26
// EXPECT tflite: 14 -26
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 0.3:-3>
func.func @main(%x: tensor<1x4x4x2x!a>) -> tensor<1x2x!c> {
  %y = qnn.mean %x {axes = [1, 2]} : (tensor<1x4x4x2x!a>) -> tensor<1x2x!c>
  return %y : tensor<1x2x!c>
}
