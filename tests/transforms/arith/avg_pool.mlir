// Average over the part of the window inside the image: the count per position is data.
func.func @main(%x: tensor<1x4x4x3xi8>) -> tensor<1x2x2x3xi8> {
  %counts = arith.constant dense<[[4, 6], [6, 9]]> : tensor<2x2xi32>
  %zero = arith.constant 0 : i32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    %pad = arith.constant 0 : i8
    tensor.yield %pad : i8
  } : tensor<1x4x4x3xi8> to tensor<1x5x5x3xi8>
  %window = tensor.empty() : tensor<3x3xi8>
  %empty = tensor.empty() : tensor<1x2x2x3xi32>
  %start = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x2x2x3xi32>) -> tensor<1x2x2x3xi32>
  %sum = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, c, kh, kw) -> (n, h * 2 + kh, w * 2 + kw, c)>,
      affine_map<(n, h, w, c, kh, kw) -> (kh, kw)>,
      affine_map<(n, h, w, c, kh, kw) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
  } ins(%padded, %window : tensor<1x5x5x3xi8>, tensor<3x3xi8>) outs(%start : tensor<1x2x2x3xi32>) {
  ^bb0(%a: i8, %_: i8, %acc: i32):
    %a32 = arith.extsi %a : i8 to i32
    %next = arith.addi %acc, %a32 : i32
    linalg.yield %next : i32
  } -> tensor<1x2x2x3xi32>
  %empty8 = tensor.empty() : tensor<1x2x2x3xi8>
  %y = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (h, w)>,
      affine_map<(n, h, w, c) -> (n, h, w, c)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%sum, %counts : tensor<1x2x2x3xi32>, tensor<2x2xi32>) outs(%empty8 : tensor<1x2x2x3xi8>) {
  ^bb0(%v: i32, %count: i32, %_: i8):
    %mean = arith.divsi %v, %count : i32
    %q = arith.trunci %mean : i32 to i8
    linalg.yield %q : i8
  } -> tensor<1x2x2x3xi8>
  return %y : tensor<1x2x2x3xi8>
}
