// CONTRACTS: exact tflite onnxruntime-avx2
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: 40 -26 32 -16 25 -7 17 2 -128 32 50 -16 -128 76 -33 -27 66 -69 99 61 -9 -30 -26 3 -15 -15 14 1 -3 26 16 8 -117 -3 20 18 -8 -12
// EXPECT tflite: 40 -26 33 -16 25 -7 17 2 -128 32 50 -16 -128 76 -33 -27 66 -69 99 61 -9 -30 -26 3 -15 -15 14 1 -3 26 16 8 -117 -3 20 18 -8 -12
// EXPECT onnxruntime-avx2: 40 -26 32 -16 25 -7 17 2 -128 32 50 -16 -128 76 -33 -27 66 -69 99 61 -9 -30 -26 3 -15 -15 14 1 -3 26 16 8 -117 -3 20 18 -8 -12
!a = !quant.uniform<i8:f32, 0.5:-3>
!c = !quant.uniform<i8:f32, 2.0:-3>
!n = !quant.uniform<i4:f32:0, {0.5,0.3}>
!z = !quant.uniform<i4:f32, 0.25:-2>
!d = !quant.uniform<i4<-7:7>:f32:3, {0.5,0.3}>
func.func @main(%x: tensor<1x2x3x2x!a>) -> (tensor<1x2x3x2x!c>, tensor<1x2x2x2x!c>, tensor<6x3x!c>) {
  %n = qnn.constant dense<[[[[-8, 7]]], [[[3, -1]]]]> : tensor<2x1x1x2xi4> -> tensor<2x1x1x2x!n>
  %d = qnn.constant dense<"0x07090102FF050900"> : tensor<1x2x2x2xi4> -> tensor<1x2x2x2x!d>
  %z = qnn.constant dense<[[-8, 7], [0, 0], [1, -2]]> : tensor<3x2xi4> -> tensor<3x2x!z>
  %b = arith.constant dense<[3, -20]> : tensor<2xi32>
  %y0 = qnn.conv2d %x, %n, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x2x3x2x!a>, tensor<2x1x1x2x!n>, tensor<2xi32>) -> tensor<1x2x3x2x!c>
  %y1 = qnn.depthwise_conv2d %x, %d {stride = [1, 1], pad = [0, 1, 0, 0], dilation = [1, 1]}
    : (tensor<1x2x3x2x!a>, tensor<1x2x2x2x!d>) -> tensor<1x2x2x2x!c>
  %r = qnn.reshape %x : (tensor<1x2x3x2x!a>) -> tensor<6x2x!a>
  %y2 = qnn.linear %r, %z : (tensor<6x2x!a>, tensor<3x2x!z>) -> tensor<6x3x!c>
  return %y0, %y1, %y2 : tensor<1x2x3x2x!c>, tensor<1x2x2x2x!c>, tensor<6x3x!c>
}
