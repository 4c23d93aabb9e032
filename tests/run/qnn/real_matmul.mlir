// CONTRACTS: tflite tflite-xnnpack onnxruntime
// INPUT: 1e8 1 -1e8 0.1 1.1 2.2
// INPUT: 0.1 0.3 1 3 0.1 0.7
// EXPECT tflite: 1 -39999996 1.3300000429153442 4.869999885559082
// EXPECT tflite-xnnpack: 0.8509883880615234 -39999996 1.3300000429153442 4.87000036239624
// EXPECT onnxruntime: 0.8509883880615234 -39999996 1.3300000429153442 4.87000036239624
func.func @main(%a: tensor<2x1x3xf32>, %b: tensor<1x3x2xf32>) -> tensor<2x1x2xf32> {
  %y = qnn.real_matmul %a, %b : (tensor<2x1x3xf32>, tensor<1x3x2xf32>) -> tensor<2x1x2xf32>
  return %y : tensor<2x1x2xf32>
}
