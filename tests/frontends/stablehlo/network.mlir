module {
  func.func @main(%image: tensor<1x6x6x3xf32>) -> (tensor<1x4xf32>) {
    %w = stablehlo.constant() <{value = dense<1> : tensor<3x3x3x4xi8>}> : () -> tensor<3x3x3x4x!quant.uniform<i8<-127:127>:f32:3, {0.01,0.02,0.03,0.05}>>
    %x = stablehlo.uniform_quantize %image : (tensor<1x6x6x3xf32>) -> tensor<1x6x6x3x!quant.uniform<i8:f32, 0.02:-3>>
    %acc = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x3x!quant.uniform<i8:f32, 0.02:-3>>, tensor<3x3x3x4x!quant.uniform<i8<-127:127>:f32:3, {0.01,0.02,0.03,0.05}>>) -> tensor<1x3x3x4x!quant.uniform<i32:f32:3, {0.0002,0.0004,0.0006,0.001}>>
    %y = stablehlo.uniform_quantize %acc : (tensor<1x3x3x4x!quant.uniform<i32:f32:3, {0.0002,0.0004,0.0006,0.001}>>) -> tensor<1x3x3x4x!quant.uniform<i8:f32, 0.03:5>>
    %t = stablehlo.tanh %y : (tensor<1x3x3x4x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<1x3x3x4x!quant.uniform<i8:f32, 0.0078125>>
    %a = stablehlo.add %t, %y : (tensor<1x3x3x4x!quant.uniform<i8:f32, 0.0078125>>, tensor<1x3x3x4x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<1x3x3x4x!quant.uniform<i8:f32, 0.04:7>>
    %r = stablehlo.slice %a [0:1, 1:2, 1:2, 0:4] : (tensor<1x3x3x4x!quant.uniform<i8:f32, 0.04:7>>) -> tensor<1x1x1x4x!quant.uniform<i8:f32, 0.04:7>>
    %f = stablehlo.reshape %r : (tensor<1x1x1x4x!quant.uniform<i8:f32, 0.04:7>>) -> tensor<1x4x!quant.uniform<i8:f32, 0.04:7>>
    %o = stablehlo.uniform_dequantize %f : (tensor<1x4x!quant.uniform<i8:f32, 0.04:7>>) -> tensor<1x4xf32>
    return %o : tensor<1x4xf32>
  }
}
