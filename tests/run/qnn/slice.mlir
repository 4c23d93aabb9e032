// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -97 -35 27 89
// EXPECT tflite: -97 -35 27 89
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<2x4x!a>) -> tensor<2x2x!a> {
  %y = qnn.slice %x {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]} : (tensor<2x4x!a>) -> tensor<2x2x!a>
  return %y : tensor<2x2x!a>
}
