func.func @main(%x: tensor<1x4x5x3xi8>, %h: tensor<1x3x2x3xi16>, %v: tensor<1x3x4x5x3xi8>, %k: tensor<4x2x3x3xi8>, %b: tensor<4xi32>) -> (tensor<1x7x11x4xi32>, tensor<1x5x5x4xi32>, tensor<1x5x5x4xi16>, tensor<1x2x4x3x4xi32>, tensor<1x9x17x4xi32>, tensor<1x9x20x3xi32>) {
  %xz = "tosa.const"() <{values = dense<-5> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<2> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z16 = "tosa.const"() <{values = dense<0> : tensor<1xi16>}> : () -> tensor<1xi16>
  %z48 = "tosa.const"() <{values = dense<0> : tensor<1xi48>}> : () -> tensor<1xi48>
  %m = "tosa.const"() <{values = dense<21846> : tensor<1xi16>}> : () -> tensor<1xi16>
  %s = "tosa.const"() <{values = dense<20> : tensor<1xi8>}> : () -> tensor<1xi8>
  %w = "tosa.const"() <{values = dense<[[[[-9, -8, -7], [-6, -5, -4], [-3, -2, -1]], [[-4, -3, -2], [-1, 0, 1], [2, 3, 4]]], [[[-2, -1, 0], [1, 2, 3], [4, 5, 6]], [[3, 4, 5], [6, 7, 8], [9, -9, -8]]], [[[5, 6, 7], [8, 9, -9], [-8, -7, -6]], [[-9, -8, -7], [-6, -5, -4], [-3, -2, -1]]], [[[-7, -6, -5], [-4, -3, -2], [-1, 0, 1]], [[-2, -1, 0], [1, 2, 3], [4, 5, 6]]]]> : tensor<4x2x3x3xi8>}> : () -> tensor<4x2x3x3xi8>
  %w3 = "tosa.const"() <{values = dense<[[[[[-9, -8, -7], [-6, -5, -4], [-3, -2, -1]]], [[[-4, -3, -2], [-1, 0, 1], [2, 3, 4]]]], [[[[-2, -1, 0], [1, 2, 3], [4, 5, 6]]], [[[3, 4, 5], [6, 7, 8], [9, -9, -8]]]], [[[[5, 6, 7], [8, 9, -9], [-8, -7, -6]]], [[[-9, -8, -7], [-6, -5, -4], [-3, -2, -1]]]], [[[[-7, -6, -5], [-4, -3, -2], [-1, 0, 1]]], [[[-2, -1, 0], [1, 2, 3], [4, 5, 6]]]]]> : tensor<4x2x1x3x3xi8>}> : () -> tensor<4x2x1x3x3xi8>
  %bias = "tosa.const"() <{values = dense<[1, -200, 3000, 4]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %bias48 = "tosa.const"() <{values = dense<[1, -200, 3000, 4]> : tensor<4xi48>}> : () -> tensor<4xi48>
  %one = "tosa.const"() <{values = dense<77> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.transpose_conv2d %x, %w, %bias, %xz, %wz {acc_type = i32, out_pad = array<i64: -1, 0, 1, -1>, stride = array<i64: 2, 2>} : (tensor<1x4x5x3xi8>, tensor<4x2x3x3xi8>, tensor<4xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x7x11x4xi32>
  %1 = tosa.transpose_conv2d %x, %w, %one, %xz, %wz {acc_type = i32, out_pad = array<i64: 0, 0, 0, -2>, stride = array<i64: 1, 1>} : (tensor<1x4x5x3xi8>, tensor<4x2x3x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x5x5x4xi32>
  %2 = tosa.transpose_conv2d %h, %w, %bias48, %z16, %z {acc_type = i48, out_pad = array<i64: 2, -1, 0, 1>, stride = array<i64: 1, 1>} : (tensor<1x3x2x3xi16>, tensor<4x2x3x3xi8>, tensor<4xi48>, tensor<1xi16>, tensor<1xi8>) -> tensor<1x5x5x4xi48>
  %3 = tosa.rescale %2, %m, %s, %z48, %z16 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = false} : (tensor<1x5x5x4xi48>, tensor<1xi16>, tensor<1xi8>, tensor<1xi48>, tensor<1xi16>) -> tensor<1x5x5x4xi16>
  %4 = tosa.conv3d %v, %w3, %bias, %xz, %wz {acc_type = i32, dilation = array<i64: 2, 1, 1>, pad = array<i64: 1, 0, 0, 0, 1, 1>, stride = array<i64: 1, 1, 2>} : (tensor<1x3x4x5x3xi8>, tensor<4x2x1x3x3xi8>, tensor<4xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x4x3x4xi32>
  %5 = tosa.transpose_conv2d %x, %k, %b, %xz, %wz {acc_type = i32, out_pad = array<i64: 1, 0, 0, 2>, stride = array<i64: 2, 3>} : (tensor<1x4x5x3xi8>, tensor<4x2x3x3xi8>, tensor<4xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x9x17x4xi32>
  %single = tosa.const_shape {values = dense<[1, 9, 20, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %6 = tosa.reshape %v, %single : (tensor<1x3x4x5x3xi8>, !tosa.shape<4>) -> tensor<1x9x20x1xi8>
  %w1 = "tosa.const"() <{values = dense<[[[[3]]], [[[-7]]], [[[11]]]]> : tensor<3x1x1x1xi8>}> : () -> tensor<3x1x1x1xi8>
  %7 = tosa.conv2d %6, %w1, %one, %xz, %wz {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x9x20x1xi8>, tensor<3x1x1x1xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x9x20x3xi32>
  return %0, %1, %3, %4, %5, %7 : tensor<1x7x11x4xi32>, tensor<1x5x5x4xi32>, tensor<1x5x5x4xi16>, tensor<1x2x4x3x4xi32>, tensor<1x9x17x4xi32>, tensor<1x9x20x3xi32>
}
