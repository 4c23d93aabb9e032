// The layer of the question, with all digits of its scales.
module {
  func.func @main(%x: tensor<1x1x33x1x!quant.uniform<u8:f32, 0.0078392156862745095>>) -> tensor<1x1x33x1x!quant.uniform<u8:f32, 0.0040184645913541317>> {
    %weight = qnn.constant dense<127> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!quant.uniform<i8:f32, 0.0037709803921568627>>
    %bias = arith.constant dense<3.170000e-02> : tensor<1xf32>
    %conv1 = qnn.conv2d %x, %weight, %bias {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x1x33x1x!quant.uniform<u8:f32, 0.0078392156862745095>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 0.0037709803921568627>>, tensor<1xf32>) -> tensor<1x1x33x1x!quant.uniform<u8:f32, 0.0040184645913541317>>
    func.return %conv1 : tensor<1x1x33x1x!quant.uniform<u8:f32, 0.0040184645913541317>>
  }
}
