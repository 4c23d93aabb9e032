func.func @main(%x: tensor<1x4x5x3xi8>, %h: tensor<1x4x5x3xi16>, %a: tensor<2x3x4xi8>, %b: tensor<2x4x5xi8>) -> (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi16>, tensor<1x4x3x6xi32>, tensor<2x3x5xi32>, tensor<1x4x3x3xi8>, tensor<1x4x3x3xi16>, tensor<1x4x3x3xi8>) {
  %xz = "tosa.const"() <{values = dense<-5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<2> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z16 = "tosa.const"() <{values = dense<0> : tensor<1xi16>}> : () -> tensor<1xi16>
  %z48 = "tosa.const"() <{values = dense<0> : tensor<1xi48>}> : () -> tensor<1xi48>
  %m = "tosa.const"() <{values = dense<21846> : tensor<1xi16>}> : () -> tensor<1xi16>
  %s = "tosa.const"() <{values = dense<20> : tensor<1xi8>}> : () -> tensor<1xi8>
  %w = "tosa.const"() <{values = dense<[[[[-9, -8, -7], [-6, -5, -4], [-3, -2, -1]], [[-4, -3, -2], [-1, 0, 1], [2, 3, 4]]], [[[-2, -1, 0], [1, 2, 3], [4, 5, 6]], [[3, 4, 5], [6, 7, 8], [9, -9, -8]]], [[[5, 6, 7], [8, 9, -9], [-8, -7, -6]], [[-9, -8, -7], [-6, -5, -4], [-3, -2, -1]]], [[[-7, -6, -5], [-4, -3, -2], [-1, 0, 1]], [[-2, -1, 0], [1, 2, 3], [4, 5, 6]]]]> : tensor<4x2x3x3xi8>}> : () -> tensor<4x2x3x3xi8>
  %bias = "tosa.const"() <{values = dense<[1, -200, 3000, 4]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %bias48 = "tosa.const"() <{values = dense<[1, -200, 3000, 4]> : tensor<4xi48>}> : () -> tensor<4xi48>
  %d = "tosa.const"() <{values = dense<[[[[-11, -10], [-8, -7], [-5, -4]], [[-6, -5], [-3, -2], [0, 1]], [[-1, 0], [2, 3], [5, 6]]], [[[-4, -3], [-1, 0], [2, 3]], [[1, 2], [4, 5], [7, 8]], [[6, 7], [9, 10], [-11, -10]]]]> : tensor<2x3x3x2xi8>}> : () -> tensor<2x3x3x2xi8>
  %one = "tosa.const"() <{values = dense<77> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.conv2d %x, %w, %bias, %xz, %wz {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>} : (tensor<1x4x5x3xi8>, tensor<4x2x3x3xi8>, tensor<4xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x4xi32>
  %1 = tosa.conv2d %h, %w, %bias48, %z16, %z {acc_type = i48, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>} : (tensor<1x4x5x3xi16>, tensor<4x2x3x3xi8>, tensor<4xi48>, tensor<1xi16>, tensor<1xi8>) -> tensor<1x4x3x4xi48>
  %2 = tosa.rescale %1, %m, %s, %z48, %z16 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = false} : (tensor<1x4x3x4xi48>, tensor<1xi16>, tensor<1xi8>, tensor<1xi48>, tensor<1xi16>) -> tensor<1x4x3x4xi16>
  %3 = tosa.depthwise_conv2d %x, %d, %one, %xz, %wz {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>} : (tensor<1x4x5x3xi8>, tensor<2x3x3x2xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x6xi32>
  %4 = tosa.matmul %a, %b, %xz, %wz : (tensor<2x3x4xi8>, tensor<2x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3x5xi32>
  %5 = tosa.avg_pool2d %x, %xz, %wz {acc_type = i32, kernel = array<i64: 2, 3>, pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>} : (tensor<1x4x5x3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x3xi8>
  %6 = tosa.avg_pool2d %h, %z16, %z16 {acc_type = i32, kernel = array<i64: 2, 3>, pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>} : (tensor<1x4x5x3xi16>, tensor<1xi16>, tensor<1xi16>) -> tensor<1x4x3x3xi16>
  %7 = tosa.max_pool2d %x {kernel = array<i64: 2, 3>, pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 2>} : (tensor<1x4x5x3xi8>) -> tensor<1x4x3x3xi8>
  return %0, %2, %3, %4, %5, %6, %7 : tensor<1x4x3x4xi32>, tensor<1x4x3x4xi16>, tensor<1x4x3x6xi32>, tensor<2x3x5xi32>, tensor<1x4x3x3xi8>, tensor<1x4x3x3xi16>, tensor<1x4x3x3xi8>
}
