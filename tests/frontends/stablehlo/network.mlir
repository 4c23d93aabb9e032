// A small network between float32: a convolution into sums with a scale for each channel, a table,
// a sum, a gather and a product.
!image = !quant.uniform<i8:f32, 0.02:-3>
!weight = !quant.uniform<i8<-127:127>:f32:3, {0.01,0.02,0.03,0.05}>
!sums = !quant.uniform<i32:f32:3, {0.0002,0.0004,0.0006,0.001}>
!byte = !quant.uniform<i8:f32, 0.03:5>
!unit = !quant.uniform<i8:f32, 0.0078125>
!total = !quant.uniform<u8:f32, 0.04:7>
!matrix = !quant.uniform<i8:f32, 0.0625>
module {
  func.func @main(%image: tensor<1x6x6x3xf32>) -> tensor<1x2xf32> {
    %w = stablehlo.constant() <{value = dense<[[[[3, -7, 11, 2], [-90, 40, 8, -1], [25, 0, -127, 127]], [[1, 2, 3, 4], [5, 6, 7, 8], [-9, -10, -11, -12]]], [[[60, -60, 60, -60], [7, 7, -7, -7], [0, 0, 0, 1]], [[-100, 100, 9, 8], [44, -33, 22, -11], [1, -2, 4, -8]]]]> : tensor<2x2x3x4xi8>}> : () -> tensor<2x2x3x4x!weight>
    %m = stablehlo.constant() <{value = dense<[[1, -2], [30, 40], [-50, 60], [127, -128]]> : tensor<4x2xi8>}> : () -> tensor<4x2x!matrix>
    %i = stablehlo.constant dense<[2, 9]> : tensor<2xi32>
    %x = stablehlo.uniform_quantize %image : (tensor<1x6x6x3xf32>) -> tensor<1x6x6x3x!image>
    %acc = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 0], [0, 1]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x3x!image>, tensor<2x2x3x4x!weight>) -> tensor<1x3x3x4x!sums>
    %y = stablehlo.uniform_quantize %acc : (tensor<1x3x3x4x!sums>) -> tensor<1x3x3x4x!byte>
    %t = stablehlo.tanh %y : (tensor<1x3x3x4x!byte>) -> tensor<1x3x3x4x!unit>
    %a = stablehlo.add %t, %y : (tensor<1x3x3x4x!unit>, tensor<1x3x3x4x!byte>) -> tensor<1x3x3x4x!total>
    %s = stablehlo.slice %a [0:1, 0:3:2, 1:2, 0:4] : (tensor<1x3x3x4x!total>) -> tensor<1x2x1x4x!total>
    %f = stablehlo.reshape %s : (tensor<1x2x1x4x!total>) -> tensor<1x8x!total>
    %g = "stablehlo.gather"(%f, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0, 1]>, slice_sizes = array<i64: 1, 4>}> : (tensor<1x8x!total>, tensor<2xi32>) -> tensor<1x4x!total>
    %p = stablehlo.dot_general %g, %m, contracting_dims = [1] x [0] : (tensor<1x4x!total>, tensor<4x2x!matrix>) -> tensor<1x2x!byte>
    %o = stablehlo.uniform_dequantize %p : (tensor<1x2x!byte>) -> tensor<1x2xf32>
    return %o : tensor<1x2xf32>
  }
}
