// Depthwise convolution of a padded tensor, which is computed and needed again afterwards.
func.func @main(%image: tensor<1x4x4x4xi8>) -> (tensor<1x4x4x4xi8>, tensor<1x4x4x4xi8>) {
  %bytes = tensor.empty() : tensor<1x4x4x4xi8>
  %turned = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, c) -> (n, w, h, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%image : tensor<1x4x4x4xi8>) outs(%bytes : tensor<1x4x4x4xi8>) {
  ^bb0(%v: i8, %_: i8):
    linalg.yield %v : i8
  } -> tensor<1x4x4x4xi8>
  %x = tensor.pad %turned low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%n: index, %h: index, %w: index, %c: index):
    %pad = arith.constant -3 : i8
    tensor.yield %pad : i8
  } : tensor<1x4x4x4xi8> to tensor<1x6x6x4xi8>
  %weights = arith.constant dense<"0x$BYTES(36)"> : tensor<1x3x3x4xi8>
  %m = arith.constant dense<1173741824> : tensor<1xi32>
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x4x4x4xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi32>
  %acc = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, c, kh, kw) -> (n, h + kh, w + kw, c)>,
      affine_map<(n, h, w, c, kh, kw) -> (0, kh, kw, c)>,
      affine_map<(n, h, w, c, kh, kw) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
  } ins(%x, %weights : tensor<1x6x6x4xi8>, tensor<1x3x3x4xi8>) outs(%start : tensor<1x4x4x4xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<1x4x4x4xi32>
  %empty8 = tensor.empty() : tensor<1x4x4x4xi8>
  %y = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (0)>,
      affine_map<(n, h, w, c) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%acc, %m : tensor<1x4x4x4xi32>, tensor<1xi32>) outs(%empty8 : tensor<1x4x4x4xi8>) {
  ^bb0(%v: i32, %multiplier: i32, %_: i8):
    %shift = arith.constant 38 : i64
    %v64 = arith.extsi %v : i32 to i64
    %m64 = arith.extsi %multiplier : i32 to i64
    %p = arith.muli %v64, %m64 : i64
    %h = fixed.shift_right %p, %shift {rounding = half_even} : i64
    %q = fixed.saturate %h : i64 to i8
    linalg.yield %q : i8
  } -> tensor<1x4x4x4xi8>
  %both = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, w, h, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%y, %turned : tensor<1x4x4x4xi8>, tensor<1x4x4x4xi8>) outs(%empty8 : tensor<1x4x4x4xi8>) {
  ^bb0(%v: i8, %old: i8, %_: i8):
    %sum = arith.addi %v, %old : i8
    linalg.yield %sum : i8
  } -> tensor<1x4x4x4xi8>
  return %y, %both : tensor<1x4x4x4xi8>, tensor<1x4x4x4xi8>
}
