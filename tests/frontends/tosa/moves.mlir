func.func @main(%x: tensor<1x4x5x3xi8>, %v: tensor<1x5x2xi16>, %rows: tensor<1x4xi32>, %order: tensor<1x4xi32>, %y: tensor<1x4x2xi16>) -> (tensor<1x7x6x3xi8>, tensor<1x2x5x1xi8>, tensor<12x5xi8>, tensor<2x4x15x3xi8>, tensor<1x3x4x5xi8>, tensor<1x4x10x3xi8>, tensor<1x4x5x3xi8>, tensor<1x4x2xi16>, tensor<1x8x15x3xi8>, tensor<1x8x15x3xi32>, tensor<1x5x2xi16>, tensor<1x5x2xi16>) {
  %c = "tosa.const"() <{values = dense<7> : tensor<1xi8>}> : () -> tensor<1xi8>
  %pad = tosa.const_shape {values = dense<[0, 0, 1, 2, 0, 1, 0, 0]> : tensor<8xindex>} : () -> !tosa.shape<8>
  %start = tosa.const_shape {values = dense<[0, 1, 0, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %size = tosa.const_shape {values = dense<[1, 2, 5, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %flat = tosa.const_shape {values = dense<[12, 5]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %tile = tosa.const_shape {values = dense<[2, 1, 3, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %scale = tosa.const_shape {values = dense<[4, 2, 6, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %offset = tosa.const_shape {values = dense<[-1, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %border = tosa.const_shape {values = dense<[1, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.pad %x, %pad, %c : (tensor<1x4x5x3xi8>, !tosa.shape<8>, tensor<1xi8>) -> tensor<1x7x6x3xi8>
  %1 = tosa.slice %x, %start, %size : (tensor<1x4x5x3xi8>, !tosa.shape<4>, !tosa.shape<4>) -> tensor<1x2x5x1xi8>
  %2 = tosa.reshape %x, %flat : (tensor<1x4x5x3xi8>, !tosa.shape<2>) -> tensor<12x5xi8>
  %3 = tosa.tile %x, %tile : (tensor<1x4x5x3xi8>, !tosa.shape<4>) -> tensor<2x4x15x3xi8>
  %4 = tosa.transpose %x {perms = array<i32: 0, 3, 1, 2>} : (tensor<1x4x5x3xi8>) -> tensor<1x3x4x5xi8>
  %5 = tosa.concat %x, %x {axis = 2 : i32} : (tensor<1x4x5x3xi8>, tensor<1x4x5x3xi8>) -> tensor<1x4x10x3xi8>
  %6 = tosa.reverse %x {axis = 1 : i32} : (tensor<1x4x5x3xi8>) -> tensor<1x4x5x3xi8>
  %7 = tosa.gather %v, %rows : (tensor<1x5x2xi16>, tensor<1x4xi32>) -> tensor<1x4x2xi16>
  %8 = tosa.resize %x, %scale, %offset, %border {mode = NEAREST_NEIGHBOR} : (tensor<1x4x5x3xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x15x3xi8>
  %9 = tosa.resize %x, %scale, %offset, %border {mode = BILINEAR} : (tensor<1x4x5x3xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x15x3xi32>
  %same = tosa.identity %y : (tensor<1x4x2xi16>) -> tensor<1x4x2xi16>
  %10 = tosa.scatter %v, %order, %same : (tensor<1x5x2xi16>, tensor<1x4xi32>, tensor<1x4x2xi16>) -> tensor<1x5x2xi16>
  %places = "tosa.const"() <{values = dense<[[3, 0, 4, 1]]> : tensor<1x4xi32>}> : () -> tensor<1x4xi32>
  %11 = tosa.scatter %v, %places, %y : (tensor<1x5x2xi16>, tensor<1x4xi32>, tensor<1x4x2xi16>) -> tensor<1x5x2xi16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<1x7x6x3xi8>, tensor<1x2x5x1xi8>, tensor<12x5xi8>, tensor<2x4x15x3xi8>, tensor<1x3x4x5xi8>, tensor<1x4x10x3xi8>, tensor<1x4x5x3xi8>, tensor<1x4x2xi16>, tensor<1x8x15x3xi8>, tensor<1x8x15x3xi32>, tensor<1x5x2xi16>, tensor<1x5x2xi16>
}
