// CONTRACTS: exact onnxruntime onnxruntime-avx2
// INPUT: 255 97 0 5 131 200 7 33 90 11 64 128
// INPUT: -128 -97 -66 -35 -4 27 58 89
// EXPECT exact: 27541 520 5488 -1206 9128 -829 -27716 2596 26541 527 -7642 -1366 4488 -1199 -10373 1339 8128 -822 34005 -7670 111 -61 18132 -13473 1285 -2518 4302 4819 8239 -7751 -38430 -28231 -27788 -17155 -4628 3587
// EXPECT onnxruntime: 27541 520 5488 -1206 9128 -829 -27716 2596 26541 527 -7642 -1366 4488 -1199 -10373 1339 8128 -822 34005 -7670 111 -61 18132 -13473 1285 -2518 4302 4819 8239 -7751 -38430 -28231 -27788 -17155 -4628 3587
// EXPECT onnxruntime-avx2: 27541 520 5488 -1206 9128 -829 -27716 2596 26541 527 -7642 -1366 4488 -1199 -10373 1339 8128 -822 34005 -7670 111 -61 18132 -13473 1285 -2518 4302 4819 8239 -7751 -38430 -28231 -27788 -17155 -4628 3587
!a = !quant.uniform<u8:f32, 0.5:7>
!b = !quant.uniform<i8:f32, 1.0:2>
!w = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x3x2x2x!a>, %z: tensor<4x2x!b>) -> (tensor<3x2xi32>, tensor<1x3x2x2xi32>, tensor<1x3x2x2xi32>, tensor<3x2xi32>) {
  %rows = qnn.reshape %x : (tensor<1x3x2x2x!a>) -> tensor<3x4x!a>
  %v = qnn.constant dense<"0x7FC0812A05F911EE"> : tensor<2x4xi8> -> tensor<2x4x!w>
  %bias = arith.constant dense<[1000, -7]> : tensor<2xi32>
  %linear = qnn.linear %rows, %v, %bias : (tensor<3x4x!a>, tensor<2x4x!w>, tensor<2xi32>) -> tensor<3x2xi32>
  %k = qnn.constant dense<"0x7FC0812A05F911EE"> : tensor<2x1x2x2xi8> -> tensor<2x1x2x2x!w>
  %conv = qnn.conv2d %x, %k {stride = [1, 1], pad = [0, 0, 1, 0], dilation = [1, 1]} : (tensor<1x3x2x2x!a>, tensor<2x1x2x2x!w>) -> tensor<1x3x2x2xi32>
  %d = qnn.constant dense<"0x7FC0812A05F911EE"> : tensor<1x2x2x2xi8> -> tensor<1x2x2x2x!w>
  %depthwise = qnn.depthwise_conv2d %x, %d, %bias {stride = [1, 1], pad = [0, 1, 0, 1], dilation = [1, 1]} : (tensor<1x3x2x2x!a>, tensor<1x2x2x2x!w>, tensor<2xi32>) -> tensor<1x3x2x2xi32>
  %matmul = qnn.matmul %rows, %z : (tensor<3x4x!a>, tensor<4x2x!b>) -> tensor<3x2xi32>
  return %linear, %conv, %depthwise, %matmul : tensor<3x2xi32>, tensor<1x3x2x2xi32>, tensor<1x3x2x2xi32>, tensor<3x2xi32>
}
