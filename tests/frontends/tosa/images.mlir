func.func @main(%x: tensor<2x4x5x3xf32>, %w: tensor<4x2x3x3xf32>, %k: tensor<6x5x4x3xf32>, %b: tensor<4xf32>) -> (tensor<2x7x11x4xf32>, tensor<2x5x5x4xf32>, tensor<2x12x18x6xf32>, tensor<2x3x9x6xf32>, tensor<2x8x15x3xf32>, tensor<2x7x9x3xf32>, tensor<2x9x5x3xf32>, tensor<2x3x4x3xf32>, tensor<2x12x15x3xf32>, tensor<2x8x15x3xf32>, tensor<2x7x9x3xf32>, tensor<2x9x5x3xf32>, tensor<2x3x4x3xf32>, tensor<2x12x15x3xf32>) {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %one = "tosa.const"() <{values = dense<0.3> : tensor<1xf32>}> : () -> tensor<1xf32>
  %s4 = tosa.const_shape {values = dense<[4, 2, 6, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o4 = tosa.const_shape {values = dense<[-1, -2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d4 = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s5 = tosa.const_shape {values = dense<[2, 1, 2, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o5 = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d5 = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s6 = tosa.const_shape {values = dense<[7, 3, 12, 11]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o6 = tosa.const_shape {values = dense<[-2, 3]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d6 = tosa.const_shape {values = dense<[1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s7 = tosa.const_shape {values = dense<[8, 12, 6, 10]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o7 = tosa.const_shape {values = dense<[2, -2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d7 = tosa.const_shape {values = dense<[2, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s8 = tosa.const_shape {values = dense<[10, 3, 3, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o8 = tosa.const_shape {values = dense<[-4, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d8 = tosa.const_shape {values = dense<[-1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s9 = tosa.const_shape {values = dense<[4, 2, 6, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o9 = tosa.const_shape {values = dense<[-1, -2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d9 = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s10 = tosa.const_shape {values = dense<[2, 1, 2, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o10 = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d10 = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s11 = tosa.const_shape {values = dense<[7, 3, 12, 11]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o11 = tosa.const_shape {values = dense<[-2, 3]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d11 = tosa.const_shape {values = dense<[1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s12 = tosa.const_shape {values = dense<[8, 12, 6, 10]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o12 = tosa.const_shape {values = dense<[2, -2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d12 = tosa.const_shape {values = dense<[2, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s13 = tosa.const_shape {values = dense<[10, 3, 3, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o13 = tosa.const_shape {values = dense<[-4, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %d13 = tosa.const_shape {values = dense<[-1, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: -1, 0, 1, -1>, stride = array<i64: 2, 2>} : (tensor<2x4x5x3xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x7x11x4xf32>
  %1 = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: 0, 0, 0, -2>, stride = array<i64: 1, 1>} : (tensor<2x4x5x3xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x5x5x4xf32>
  %2 = tosa.transpose_conv2d %x, %k, %one, %z, %z {acc_type = f32, out_pad = array<i64: 1, 0, 0, 2>, stride = array<i64: 2, 3>} : (tensor<2x4x5x3xf32>, tensor<6x5x4x3xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x12x18x6xf32>
  %3 = tosa.transpose_conv2d %x, %k, %one, %z, %z {acc_type = f32, out_pad = array<i64: -3, -2, -1, -2>, stride = array<i64: 1, 2>} : (tensor<2x4x5x3xf32>, tensor<6x5x4x3xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x9x6xf32>
  %4 = tosa.resize %x, %s4, %o4, %d4 {mode = NEAREST_NEIGHBOR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x8x15x3xf32>
  %5 = tosa.resize %x, %s5, %o5, %d5 {mode = NEAREST_NEIGHBOR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x7x9x3xf32>
  %6 = tosa.resize %x, %s6, %o6, %d6 {mode = NEAREST_NEIGHBOR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x9x5x3xf32>
  %7 = tosa.resize %x, %s7, %o7, %d7 {mode = NEAREST_NEIGHBOR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x3x4x3xf32>
  %8 = tosa.resize %x, %s8, %o8, %d8 {mode = NEAREST_NEIGHBOR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x12x15x3xf32>
  %9 = tosa.resize %x, %s9, %o9, %d9 {mode = BILINEAR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x8x15x3xf32>
  %10 = tosa.resize %x, %s10, %o10, %d10 {mode = BILINEAR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x7x9x3xf32>
  %11 = tosa.resize %x, %s11, %o11, %d11 {mode = BILINEAR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x9x5x3xf32>
  %12 = tosa.resize %x, %s12, %o12, %d12 {mode = BILINEAR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x3x4x3xf32>
  %13 = tosa.resize %x, %s13, %o13, %d13 {mode = BILINEAR} : (tensor<2x4x5x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x12x15x3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 : tensor<2x7x11x4xf32>, tensor<2x5x5x4xf32>, tensor<2x12x18x6xf32>, tensor<2x3x9x6xf32>, tensor<2x8x15x3xf32>, tensor<2x7x9x3xf32>, tensor<2x9x5x3xf32>, tensor<2x3x4x3xf32>, tensor<2x12x15x3xf32>, tensor<2x8x15x3xf32>, tensor<2x7x9x3xf32>, tensor<2x9x5x3xf32>, tensor<2x3x4x3xf32>, tensor<2x12x15x3xf32>
}
