func.func @main(%x: tensor<3x7x8x5xf32>, %y: tensor<3x7x8x5xf32>, %w: tensor<6x3x2x5xf32>, %d: tensor<3x3x5x2xf32>, %v: tensor<4x1x2x3x5xf32>, %b: tensor<6xf32>, %m: tensor<3x8x9xf32>, %ranks: tensor<3x7x8x5xf32>) -> (
    tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>,
    tensor<3x7x8x5xi1>, tensor<3x7x8x5xi1>, tensor<3x7x8x5xi1>,
    tensor<3x5x8x6xf32>, tensor<3x4x5x10xf32>, tensor<1x3x6x6x4xf32>, tensor<3x7x9xf32>, tensor<3x3x4x5xf32>, tensor<3x4x4x5xf32>,
    tensor<3x7x1x5xf32>, tensor<1x7x8x5xf32>, tensor<3x1x8x5xf32>, tensor<3x7x8x1xf32>, tensor<3x7x8xi32>) {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %one = "tosa.const"() <{values = dense<0.3> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.ceil %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %1 = tosa.floor %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %2 = tosa.cos %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %3 = tosa.sin %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %4 = tosa.exp %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %size = tosa.abs %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %5 = tosa.log %size : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %6 = tosa.reciprocal %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %7 = tosa.rsqrt %size : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %8 = tosa.sigmoid %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %9 = tosa.tanh %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %10 = tosa.pow %size, %y : (tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %11 = tosa.maximum %x, %y : (tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %12 = tosa.minimum %x, %y : (tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  %13 = tosa.negate %x, %z, %z : (tensor<3x7x8x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x7x8x5xf32>
  %14 = tosa.equal %1, %ranks : (tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xi1>
  %15 = tosa.greater %1, %ranks : (tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xi1>
  %16 = tosa.greater_equal %1, %ranks : (tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xi1>
  %17 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 0, 0, 1, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<3x7x8x5xf32>, tensor<6x3x2x5xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x5x8x6xf32>
  %18 = tosa.depthwise_conv2d %x, %d, %one, %z, %z {acc_type = f32, pad = array<i64: 1, 1, 2, 1>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<3x7x8x5xf32>, tensor<3x3x5x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x4x5x10xf32>
  %images = tosa.const_shape {values = dense<[1, 3, 7, 8, 5]> : tensor<5xindex>} : () -> !tosa.shape<5>
  %volume = tosa.reshape %x, %images : (tensor<3x7x8x5xf32>, !tosa.shape<5>) -> tensor<1x3x7x8x5xf32>
  %19 = tosa.conv3d %volume, %v, %one, %z, %z {acc_type = f32, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>} : (tensor<1x3x7x8x5xf32>, tensor<4x1x2x3x5xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x3x6x6x4xf32>
  %column = tosa.const_shape {values = dense<[3, 7, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %sums = tosa.reduce_sum %x {axis = 3 : i32} : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x1xf32>
  %matrix = tosa.reshape %sums, %column : (tensor<3x7x8x1xf32>, !tosa.shape<3>) -> tensor<3x7x8xf32>
  %20 = tosa.matmul %matrix, %m, %z, %z : (tensor<3x7x8xf32>, tensor<3x8x9xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x7x9xf32>
  %21 = tosa.max_pool2d %x {kernel = array<i64: 3, 2>, stride = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>} : (tensor<3x7x8x5xf32>) -> tensor<3x3x4x5xf32>
  %22 = tosa.avg_pool2d %x, %z, %z {acc_type = f32, kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, pad = array<i64: 1, 1, 0, 1>} : (tensor<3x7x8x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3x4x4x5xf32>
  %23 = tosa.reduce_max %x {axis = 2 : i32} : (tensor<3x7x8x5xf32>) -> tensor<3x7x1x5xf32>
  %24 = tosa.reduce_min %x {axis = 0 : i32} : (tensor<3x7x8x5xf32>) -> tensor<1x7x8x5xf32>
  %25 = tosa.reduce_product %x {axis = 1 : i32} : (tensor<3x7x8x5xf32>) -> tensor<3x1x8x5xf32>
  %26 = tosa.argmax %ranks {axis = 3 : i32} : (tensor<3x7x8x5xf32>) -> tensor<3x7x8xi32>
  %error = tosa.erf %x : (tensor<3x7x8x5xf32>) -> tensor<3x7x8x5xf32>
  return %error, %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %sums, %26 :
    tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>, tensor<3x7x8x5xf32>,
    tensor<3x7x8x5xi1>, tensor<3x7x8x5xi1>, tensor<3x7x8x5xi1>,
    tensor<3x5x8x6xf32>, tensor<3x4x5x10xf32>, tensor<1x3x6x6x4xf32>, tensor<3x7x9xf32>, tensor<3x3x4x5xf32>, tensor<3x4x4x5xf32>,
    tensor<3x7x1x5xf32>, tensor<1x7x8x5xf32>, tensor<3x1x8x5xf32>, tensor<3x7x8x1xf32>, tensor<3x7x8xi32>
}
