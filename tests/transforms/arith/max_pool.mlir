// Maximum over windows; the loops of the window come first in the generic.
func.func @main(%x: tensor<1x6x6x3xi8>) -> tensor<1x3x3x3xi8> {
  %lowest = arith.constant -128 : i8
  %window = tensor.empty() : tensor<2x2xi8>
  %empty = tensor.empty() : tensor<1x3x3x3xi8>
  %start = linalg.fill ins(%lowest : i8) outs(%empty : tensor<1x3x3x3xi8>) -> tensor<1x3x3x3xi8>
  %y = linalg.generic {
    indexing_maps = [
      affine_map<(kh, kw, n, h, w, c) -> (n, h * 2 + kh, w * 2 + kw, c)>,
      affine_map<(kh, kw, n, h, w, c) -> (kh, kw)>,
      affine_map<(kh, kw, n, h, w, c) -> (n, h, w, c)>],
    iterator_types = ["reduction", "reduction", "parallel", "parallel", "parallel", "parallel"]
  } ins(%x, %window : tensor<1x6x6x3xi8>, tensor<2x2xi8>) outs(%start : tensor<1x3x3x3xi8>) {
  ^bb0(%a: i8, %_: i8, %acc: i8):
    %next = arith.maxsi %acc, %a : i8
    linalg.yield %next : i8
  } -> tensor<1x3x3x3xi8>
  return %y : tensor<1x3x3x3xi8>
}
