// An int8 network in linalg alone: convolution, depthwise convolution, pool, matrix product,
// and rescalings as torch-mlir and IREE write them.
#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channels = affine_map<(d0, d1, d2, d3) -> (d3)>
#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%image: tensor<1x7x7x3xi8>) -> tensor<1x5xi8> {
    %zero = arith.constant 0 : i32
    %least = arith.constant -128 : i8
    %image_zero = arith.constant -3 : i32
    %padding = arith.constant -3 : i8
    %weight = arith.constant dense<[[[[3, -7, 11, 2], [-90, 40, 8, -1], [25, 0, -128, 127]], [[1, 2, 3, 4], [5, 6, 7, 8], [-9, -10, -11, -12]]], [[[60, -60, 60, -60], [7, 7, -7, -7], [0, 0, 0, 1]], [[-100, 100, 9, 8], [44, -33, 22, -11], [1, -2, 4, -8]]]]> : tensor<2x2x3x4xi8>
    %bias = arith.constant dense<[100, -2000, 3000, 7]> : tensor<4xi32>
    %taps = arith.constant dense<[[[1, 2, 3, 4], [5, 6, 7, 8]], [[-9, 10, -11, 12], [13, -14, 15, -16]]]> : tensor<2x2x4xi8>
    %matrix = arith.constant dense<[[1, -2, 3, -4, 5], [10, 20, 30, 40, 50], [-6, 7, -8, 9, -10], [127, -128, 0, 64, -64]]> : tensor<4x5xi8>
    %padded = tensor.pad %image low[0, 1, 1, 0] high[0, 0, 0, 0] {
    ^bb0(%n: index, %y: index, %x: index, %c: index):
      tensor.yield %padding : i8
    } : tensor<1x7x7x3xi8> to tensor<1x8x8x3xi8>
    %conv_out = tensor.empty() : tensor<1x4x4x4xi32>
    %conv_init = linalg.broadcast ins(%bias : tensor<4xi32>) outs(%conv_out : tensor<1x4x4x4xi32>) dimensions = [0, 1, 2]
    %conv = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%padded, %weight, %image_zero, %zero : tensor<1x8x8x3xi8>, tensor<2x2x3x4xi8>, i32, i32) outs(%conv_init : tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi32>
    %scales = arith.constant dense<[0.01, 0.0025, 0.003, 0.125]> : tensor<4xf32>
    %stored_out = tensor.empty() : tensor<1x4x4x4xi8>
    %stored = linalg.generic {indexing_maps = [#all, #channels, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv, %scales : tensor<1x4x4x4xi32>, tensor<4xf32>) outs(%stored_out : tensor<1x4x4x4xi8>) {
    ^bb0(%sum: i32, %scale: f32, %out: i8):
      %real = arith.sitofp %sum : i32 to f32
      %scaled = arith.mulf %real, %scale : f32
      %rounded = math.roundeven %scaled : f32
      %five = arith.constant 5.0 : f32
      %moved = arith.addf %rounded, %five : f32
      %low = arith.constant -128.0 : f32
      %high = arith.constant 127.0 : f32
      %not_less = arith.maximumf %moved, %low : f32
      %clamped = arith.minimumf %not_less, %high : f32
      %byte = arith.fptosi %clamped : f32 to i8
      linalg.yield %byte : i8
    } -> tensor<1x4x4x4xi8>
    %depthwise_out = tensor.empty() : tensor<1x3x3x4xi32>
    %depthwise_init = linalg.fill ins(%zero : i32) outs(%depthwise_out : tensor<1x3x3x4xi32>) -> tensor<1x3x3x4xi32>
    %depthwise = linalg.depthwise_conv_2d_nhwc_hwc ins(%stored, %taps : tensor<1x4x4x4xi8>, tensor<2x2x4xi8>) outs(%depthwise_init : tensor<1x3x3x4xi32>) -> tensor<1x3x3x4xi32>
    %narrow_out = tensor.empty() : tensor<1x3x3x4xi8>
    %narrow = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%depthwise : tensor<1x3x3x4xi32>) outs(%narrow_out : tensor<1x3x3x4xi8>) {
    ^bb0(%sum: i32, %out: i8):
      %multiplier = arith.constant 77 : i32
      %half = arith.constant 4096 : i32
      %shift = arith.constant 13 : i32
      %product = arith.muli %sum, %multiplier : i32
      %nearest = arith.addi %product, %half : i32
      %shifted = arith.shrsi %nearest, %shift : i32
      %lowest = arith.constant -128 : i32
      %highest = arith.constant 127 : i32
      %above = arith.maxsi %shifted, %lowest : i32
      %inside = arith.minsi %above, %highest : i32
      %byte = arith.trunci %inside : i32 to i8
      linalg.yield %byte : i8
    } -> tensor<1x3x3x4xi8>
    %window = tensor.empty() : tensor<3x3xi8>
    %pool_out = tensor.empty() : tensor<1x1x1x4xi8>
    %pool_init = linalg.fill ins(%least : i8) outs(%pool_out : tensor<1x1x1x4xi8>) -> tensor<1x1x1x4xi8>
    %pool = linalg.pooling_nhwc_max ins(%narrow, %window : tensor<1x3x3x4xi8>, tensor<3x3xi8>) outs(%pool_init : tensor<1x1x1x4xi8>) -> tensor<1x1x1x4xi8>
    %flat = tensor.collapse_shape %pool [[0, 1, 2], [3]] : tensor<1x1x1x4xi8> into tensor<1x4xi8>
    %product_out = tensor.empty() : tensor<1x5xi32>
    %product_init = linalg.fill ins(%zero : i32) outs(%product_out : tensor<1x5xi32>) -> tensor<1x5xi32>
    %product = linalg.quantized_matmul ins(%flat, %matrix, %image_zero, %zero : tensor<1x4xi8>, tensor<4x5xi8>, i32, i32) outs(%product_init : tensor<1x5xi32>) -> tensor<1x5xi32>
    %scores_out = tensor.empty() : tensor<1x5xi8>
    %scores = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<1x5xi32>) outs(%scores_out : tensor<1x5xi8>) {
    ^bb0(%sum: i32, %out: i8):
      %real = arith.sitofp %sum : i32 to f32
      %factor = arith.constant 0.01 : f32
      %scaled = arith.mulf %real, %factor : f32
      %rounded = math.roundeven %scaled : f32
      %byte = arith.fptosi %rounded : f32 to i8
      linalg.yield %byte : i8
    } -> tensor<1x5xi8>
    return %scores : tensor<1x5xi8>
  }
}
