// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -3 3 100 78 74 15 -1 -3 -3 4 93 -3 -3 11 -1 -3 -1 -3 -1 -3 -1 -3 -1 -3
// EXPECT tflite: -3 3 100 78 74 15 -1 -3 -3 4 93 -3 -3 11 -1 -3 -1 -3 -1 -3 -1 -3 -1 -3
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 40.0:-3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.3}>
func.func @main(%x: tensor<1x2x3x7x!a>) -> tensor<1x3x4x2x!c> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B06E01"> : tensor<2x1x1x7xi8> -> tensor<2x1x1x7x!w>
  %b = arith.constant dense<[300, -2000]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu"}
    : (tensor<1x2x3x7x!a>, tensor<2x1x1x7x!w>, tensor<2xi32>) -> tensor<1x3x4x2x!c>
  return %y : tensor<1x3x4x2x!c>
}
