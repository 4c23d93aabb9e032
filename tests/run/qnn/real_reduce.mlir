// CONTRACTS: tflite onnxruntime pytorch-fbgemm
// INPUT: 1e8 0.5 1 2.25 -1e8 0.125 0.1 1.1 2.2 3.3 -6.6 7.5 0.7 0.1 -0.3 1e-3 5.5 -2.5
// EXPECT tflite: 0.17777776718139648 1.3751111030578613
// EXPECT onnxruntime: -0.03333330154418945 1.3751111030578613
// EXPECT pytorch-fbgemm: -0.02222222462296486 1.3751111030578613
// One sum after the other, four lanes, four cascades.
func.func @main(%x: tensor<1x3x3x2xf32>) -> tensor<1x1x1x2xf32> {
  %y = qnn.real_reduce %x {function = "global_average", axes = [1, 2], keep_dims = true, fallback = "tflite"}
     : (tensor<1x3x3x2xf32>) -> tensor<1x1x1x2xf32>
  return %y : tensor<1x1x1x2xf32>
}
