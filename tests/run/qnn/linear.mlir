// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -18 10 98 85 72 22
// EXPECT tflite: -18 10 98 85 72 22
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 40.0:-3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.3}>
func.func @main(%x: tensor<3x7x!a>) -> tensor<3x2x!c> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B06E01"> : tensor<2x7xi8> -> tensor<2x7x!w>
  %y = qnn.linear %x, %w : (tensor<3x7x!a>, tensor<2x7x!w>) -> tensor<3x2x!c>
  return %y : tensor<3x2x!c>
}
