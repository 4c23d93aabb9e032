// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -9 49 53 29 55 -8 -33 9 -83 -63 118 19
// EXPECT tflite: -9 49 53 29 55 -8 -33 9 -83 -63 118 19
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 40.0:-3>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.3}>
func.func @main(%x: tensor<1x4x3x2x!a>) -> tensor<1x2x3x2x!c> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B06E0144BB0F90"> : tensor<1x3x3x2xi8> -> tensor<1x3x3x2x!d>
  %y = qnn.depthwise_conv2d %x, %w {stride = [2, 1], pad = [1, 0, 1, 1], dilation = [1, 1]}
    : (tensor<1x4x3x2x!a>, tensor<1x3x3x2x!d>) -> tensor<1x2x3x2x!c>
  return %y : tensor<1x2x3x2x!c>
}
