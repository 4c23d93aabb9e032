// CONTRACTS: openvino openvino-avx2
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// INPUT: 127 -128 4 90 -77 1 30
// EXPECT openvino: 160 118 23 125 255 12 95 154 194 11 125 205
// EXPECT openvino-avx2: 160 118 23 125 255 12 95 154 194 11 125 205
!a = !quant.uniform<u8:f32, 0.05:100>
!m = !quant.uniform<u8:f32, 0.04:120>
!o = !quant.uniform<u8:f32, 0.08:3>
!y = !quant.uniform<u8:f32, 0.0625>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.005,0.003}>
func.func @main(%x: tensor<1x4x3x2x!a>, %r: tensor<1x2x3x2x!o>) -> tensor<1x2x3x2x!y> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B06E0144BB0F90"> : tensor<1x3x3x2xi8> -> tensor<1x3x3x2x!d>
  %b = arith.constant dense<[700, -2000]> : tensor<2xi32>
  %y = qnn.depthwise_conv2d_add %x, %w, %b, %r {stride = [2, 1], pad = [1, 0, 1, 1], dilation = [1, 1], summand = !m, activation = "relu"}
    : (tensor<1x4x3x2x!a>, tensor<1x3x3x2x!d>, tensor<2xi32>, tensor<1x2x3x2x!o>) -> tensor<1x2x3x2x!y>
  return %y : tensor<1x2x3x2x!y>
}
