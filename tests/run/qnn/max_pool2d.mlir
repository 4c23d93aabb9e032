// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: 120 3 127 27 127 89 58 89 120 3 127 27 127 89 58 89
// EXPECT tflite: 120 3 127 27 127 89 58 89 120 3 127 27 127 89 58 89
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<1x4x4x2x!a>) -> tensor<1x2x4x2x!a> {
  %y = qnn.max_pool2d %x {kernel = [3, 2], stride = [2, 1], pad = [1, 0, 0, 1]} : (tensor<1x4x4x2x!a>) -> tensor<1x2x4x2x!a>
  return %y : tensor<1x2x4x2x!a>
}
