// The layer of the question, with the four digits that were printed.
module {
  func.func @main(%x: tensor<1x1x33x1x!quant.uniform<u8:f32, 7.800000e-03>>) -> tensor<1x1x33x1x!quant.uniform<u8:f32, 4.000000e-03>> {
    %weight = qnn.constant dense<127> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!quant.uniform<i8:f32, 3.800000e-03>>
    %bias = arith.constant dense<3.170000e-02> : tensor<1xf32>
    %conv1 = qnn.conv2d %x, %weight, %bias {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x1x33x1x!quant.uniform<u8:f32, 7.800000e-03>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 3.800000e-03>>, tensor<1xf32>) -> tensor<1x1x33x1x!quant.uniform<u8:f32, 4.000000e-03>>
    func.return %conv1 : tensor<1x1x33x1x!quant.uniform<u8:f32, 4.000000e-03>>
  }
}
