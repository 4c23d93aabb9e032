// CONTRACTS: tflite tflite-xnnpack onnxruntime
// INPUT: 1e8 1 -1e8 0.1 1.1 2.2 3.3 -6.6
// EXPECT tflite: 0.3700000047683716 -0.09000000357627869 0.7400000691413879 -0.10000000149011612
// EXPECT tflite-xnnpack: 0.07000000029802322 -0.13901160657405853 0.740000307559967 -0.10000000149011612
// EXPECT onnxruntime: 0.3700000047683716 -0.23901161551475525 0.7400001287460327 -0.09999997913837433
// The order of a sum shows: tflite adds the bias last, tflite-xnnpack first and with FMAs.
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = arith.constant dense<[[1.0, 0.3, 1.0, 0.7], [0.1, 0.1, 0.1, 0.1]]> : tensor<2x4xf32>
  %b = arith.constant dense<[0.3, -0.1]> : tensor<2xf32>
  %y = qnn.real_linear %x, %w, %b {activation = "relu_n1_to_1", fallback = "tflite"}
     : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
