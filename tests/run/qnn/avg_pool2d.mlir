// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -31 -63 45 29 -9 -62 51 19
// EXPECT tflite: -31 -63 45 29 -9 -62 51 19
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<1x4x4x2x!a>) -> tensor<1x2x2x2x!a> {
  %y = qnn.avg_pool2d %x {kernel = [3, 2], stride = [2, 2], pad = [1, 0, 0, 0]} : (tensor<1x4x4x2x!a>) -> tensor<1x2x2x2x!a>
  return %y : tensor<1x2x2x2x!a>
}
