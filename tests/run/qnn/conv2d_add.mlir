// CONTRACTS: openvino
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// INPUT: 127 -128 4 90 -77 1 30
// EXPECT openvino: 76 -7 55 75 25 36 48 73 -10 35 82 6 31 45 79 -9 39 61 13 32 48 73 -3 33
!a = !quant.uniform<i8:f32, 0.05:-3>
!m = !quant.uniform<i8:f32, 0.09:11>
!o = !quant.uniform<i8:f32, 0.08:-128>
!y = !quant.uniform<i8:f32, 0.25:-5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.005,0.003}>
func.func @main(%x: tensor<1x2x3x7x!a>, %r: tensor<1x3x4x2x!o>) -> tensor<1x3x4x2x!y> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B06E01"> : tensor<2x1x1x7xi8> -> tensor<2x1x1x7x!w>
  %b = arith.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %y = qnn.conv2d_add %x, %w, %b, %r {stride = [1, 1], pad = [0, 1, 0, 1], dilation = [1, 1], summand = !m}
    : (tensor<1x2x3x7x!a>, tensor<2x1x1x7x!w>, tensor<2xf32>, tensor<1x3x4x2x!o>) -> tensor<1x3x4x2x!y>
  return %y : tensor<1x3x4x2x!y>
}
