// Padding, 3x3 convolution of stride 2 with bias, two roundings, per-channel parameters.
func.func @main(%x: tensor<1x5x7x3xi8>) -> tensor<1x3x4x8xi8> {
  %w = arith.constant dense<"0x$BYTES(216)"> : tensor<8x3x3x3xi8>
  %b = arith.constant dense<[100, -200, 300, -400, 500, -600, 700, -800]> : tensor<8xi32>
  %m = arith.constant dense<[1073741824, 1173741824, 1273741824, 1373741824, 1473741824, 1573741824, 1673741824, 1773741824]> : tensor<8xi32>
  %s = arith.constant dense<[6, 7, 8, 9, 6, 7, 8, 9]> : tensor<8xi32>
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    %zero_point = arith.constant -128 : i8
    tensor.yield %zero_point : i8
  } : tensor<1x5x7x3xi8> to tensor<1x7x9x3xi8>
  %empty = tensor.empty() : tensor<1x3x4x8xi32>
  %bias = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, o) -> (o)>, affine_map<(n, h, w, o) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%b : tensor<8xi32>) outs(%empty : tensor<1x3x4x8xi32>) {
  ^bb0(%v: i32, %_: i32):
    linalg.yield %v : i32
  } -> tensor<1x3x4x8xi32>
  %acc = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, o, kh, kw, c) -> (n, h * 2 + kh, w * 2 + kw, c)>,
      affine_map<(n, h, w, o, kh, kw, c) -> (o, kh, kw, c)>,
      affine_map<(n, h, w, o, kh, kw, c) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  } ins(%padded, %w : tensor<1x7x9x3xi8>, tensor<8x3x3x3xi8>) outs(%bias : tensor<1x3x4x8xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %zero_point = arith.constant -128 : i32
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %centred = arith.subi %a32, %zero_point : i32
    %product = arith.muli %centred, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<1x3x4x8xi32>
  %empty8 = tensor.empty() : tensor<1x3x4x8xi8>
  %y = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, o) -> (n, h, w, o)>, affine_map<(n, h, w, o) -> (o)>,
      affine_map<(n, h, w, o) -> (o)>, affine_map<(n, h, w, o) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%acc, %m, %s : tensor<1x3x4x8xi32>, tensor<8xi32>, tensor<8xi32>) outs(%empty8 : tensor<1x3x4x8xi8>) {
  ^bb0(%v: i32, %multiplier: i32, %shift: i32, %_: i8):
    %c31 = arith.constant 31 : i64
    %v64 = arith.extsi %v : i32 to i64
    %m64 = arith.extsi %multiplier : i32 to i64
    %p = arith.muli %v64, %m64 : i64
    %h64 = fixed.shift_right %p, %c31 {rounding = half_up} : i64
    %h = fixed.saturate %h64 : i64 to i32
    %r = fixed.shift_right %h, %shift {rounding = half_away} : i32
    %zero_point = arith.constant 3 : i32
    %z = arith.addi %r, %zero_point : i32
    %q = fixed.saturate %z : i32 to i8
    linalg.yield %q : i8
  } -> tensor<1x3x4x8xi8>
  return %y : tensor<1x3x4x8xi8>
}
