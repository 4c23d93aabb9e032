// CONTRACTS: tflite onnxruntime pytorch-fbgemm
// INPUT: 1e8 0.5 1 2.25 -1e8 0.125 0.1 1.1 2.2 3.3 -6.6 7.5 0.7 0.1 -0.3 1e-3 5.5 -2.5
// EXPECT tflite: 25000000 1.7874999046325684 25000000 2.4624998569488525 0 3.293750047683716 0.675000011920929 1.125249981880188 0.675000011920929 1.5835000276565552 0.2666666507720947 2.0752501487731934
// EXPECT onnxruntime: 25000000 1.787500023841858 25000000 2.4624998569488525 0 3.293750047683716 0.675000011920929 1.125249981880188 0.675000011920929 1.5834999084472656 0.2666666805744171 2.0752499103546143
// EXPECT pytorch-fbgemm: 25000000 1.7874999046325684 25000000 2.4624998569488525 -0.7166666984558105 3.293750047683716 0.675000011920929 1.125249981880188 0.675000011920929 1.5835000276565552 0.2666666507720947 2.0752501487731934
// Where the columns of a window are added first, a large number cancels later.
func.func @main(%x: tensor<1x3x3x2xf32>) -> tensor<1x2x3x2xf32> {
  %y = qnn.real_pool2d %x {function = "average_pool", kernel = [2, 3], stride = [1, 1], pad = [0, 0, 1, 1], dilation = [1, 1], fallback = "tflite"}
     : (tensor<1x3x3x2xf32>) -> tensor<1x2x3x2xf32>
  %z = qnn.real_pool2d %y {function = "max_pool", kernel = [1, 2], stride = [1, 1], pad = [0, 0, 1, 0], dilation = [1, 1], activation = "relu", fallback = "tflite"}
     : (tensor<1x2x3x2xf32>) -> tensor<1x2x3x2xf32>
  return %z : tensor<1x2x3x2xf32>
}
