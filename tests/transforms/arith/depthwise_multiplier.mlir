// Depthwise convolution with 3 results for each of 2 channels: the accumulators have an
// axis of their own for the multiplier, which is collapsed before requantization.
func.func @main(%x: tensor<1x5x5x2xi8>) -> tensor<1x4x4x6xi8> {
  %w = arith.constant dense<"0x$BYTES(24)"> : tensor<2x2x2x3xi8>
  %b = arith.constant dense<[[100, -200, 300], [-400, 500, -600]]> : tensor<2x3xi32>
  %m = arith.constant dense<[11, 12, 13, 14, 15, 16]> : tensor<6xi32>
  %empty = tensor.empty() : tensor<1x4x4x2x3xi32>
  %bias = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, c, m) -> (c, m)>, affine_map<(n, h, w, c, m) -> (n, h, w, c, m)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]
  } ins(%b : tensor<2x3xi32>) outs(%empty : tensor<1x4x4x2x3xi32>) {
  ^bb0(%v: i32, %_: i32):
    linalg.yield %v : i32
  } -> tensor<1x4x4x2x3xi32>
  %acc = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, c, m, kh, kw) -> (n, h + kh, w + kw, c)>,
      affine_map<(n, h, w, c, m, kh, kw) -> (kh, kw, c, m)>,
      affine_map<(n, h, w, c, m, kh, kw) -> (n, h, w, c, m)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
  } ins(%x, %w : tensor<1x5x5x2xi8>, tensor<2x2x2x3xi8>) outs(%bias : tensor<1x4x4x2x3xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<1x4x4x2x3xi32>
  %channels = tensor.collapse_shape %acc [[0], [1], [2], [3, 4]] : tensor<1x4x4x2x3xi32> into tensor<1x4x4x6xi32>
  %empty8 = tensor.empty() : tensor<1x4x4x6xi8>
  %y = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>,
      affine_map<(n, h, w, c) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%channels, %m : tensor<1x4x4x6xi32>, tensor<6xi32>) outs(%empty8 : tensor<1x4x4x6xi8>) {
  ^bb0(%v: i32, %divisor: i32, %_: i8):
    %scaled = arith.divsi %v, %divisor : i32
    %q = arith.trunci %scaled : i32 to i8
    linalg.yield %q : i8
  } -> tensor<1x4x4x6xi8>
  return %y : tensor<1x4x4x6xi8>
}
