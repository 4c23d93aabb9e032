// CONTRACTS: tflite pytorch-fbgemm
// INPUT: -128 -97 -66 -35 -4 27 58 89
// INPUT: 120 3 -50 -1
// EXPECT tflite: -128 -6 44 -5 -9 8 24 39
// EXPECT pytorch-fbgemm: -128 -6 44 -5 -9 8 23 39
!a = !quant.uniform<i8:f32, 0.05:-3>
!b = !quant.uniform<i8:f32, 0.03:4>
!c = !quant.uniform<i8:f32, 0.1:-7>
func.func @main(%x: tensor<2x4x!a>, %y: tensor<4x!b>) -> tensor<2x4x!c> {
  %z = qnn.prelu %x, %y : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4x!c>
  return %z : tensor<2x4x!c>
}
