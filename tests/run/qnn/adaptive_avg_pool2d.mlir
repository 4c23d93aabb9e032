// CONTRACTS: exact pytorch-qnnpack
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -31 -63 45 29 -31 -63 45 29 -31 -63 45 29
// EXPECT pytorch-qnnpack: -31 -63 45 29 -31 -63 45 29 -31 -63 45 29
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<1x4x4x2x!a>) -> tensor<1x3x2x2x!a> {
  %y = qnn.adaptive_avg_pool2d %x : (tensor<1x4x4x2x!a>) -> tensor<1x3x2x2x!a>
  return %y : tensor<1x3x2x2x!a>
}
