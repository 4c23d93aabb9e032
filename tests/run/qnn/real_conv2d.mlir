// CONTRACTS: tflite tflite-xnnpack
// INPUT: -2.22 0.37 -1.85 0.74 -1.48 1.11 -1.11 1.48 -0.74 1.85 -0.37 2.22 0.0 -2.22 0.37 -1.85 0.74 -1.48 1.11 -1.11 1.48 -0.74 1.85 -0.37
// EXPECT tflite: 0 0 0 0 0 0 0 0.7880000472068787 1.4100000858306885 2.3420002460479736 2.2239999771118164 0 3.0380001068115234 0 0.8920000195503235 0.2330000102519989
// EXPECT tflite-xnnpack: 0 0 0 0 0 0 0 0.7880000472068787 1.4100000858306885 2.3420000076293945 2.2239999771118164 0 3.0380001068115234 0 0.8920000195503235 0.2329999953508377
func.func @main(%x: tensor<1x3x4x2xf32>) -> tensor<1x2x4x2xf32> {
  %w = arith.constant dense<[[[[0.1], [0.7]], [[0.3], [1.1]]], [[[-0.3], [0.9]], [[0.6], [-1.7]]]]> : tensor<2x2x2x1xf32>
  %b = arith.constant dense<[0.3, -0.1]> : tensor<2xf32>
  %y = qnn.real_conv2d %x, %w, %b {stride = [2, 1], pad = [1, 0, 0, 1], dilation = [1, 1], groups = 2, activation = "relu6"}
     : (tensor<1x3x4x2xf32>, tensor<2x2x2x1xf32>, tensor<2xf32>) -> tensor<1x2x4x2xf32>
  return %y : tensor<1x2x4x2xf32>
}
