// Products beyond 32 bits: 65535 * 65535, as of words with zero points, too.
// CONTRACTS: tflite
// INPUT: 65535 65535 65535 1 0 2 65535 0
// INPUT: 65535 65535 65535 65535 1 65535 65535 0 2 65535 49152 1
// EXPECT tflite: 32767 16384 32767 16384 0 1
!a = !quant.uniform<u16:f32, 1.0>
!c = !quant.uniform<i16:f32, 262144.0>
func.func @main(%x: tensor<2x4x!a>, %z: tensor<4x3x!a>) -> tensor<2x3x!c> {
  %y = qnn.matmul %x, %z : (tensor<2x4x!a>, tensor<4x3x!a>) -> tensor<2x3x!c>
  return %y : tensor<2x3x!c>
}
