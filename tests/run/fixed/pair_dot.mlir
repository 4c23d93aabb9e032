// Pairs that saturate, and pairs that don't.
// INPUT: 127 -1 3 -128
// INPUT: 127 -128 5 -128
// INPUT: -1 127 7 1
// INPUT: 127 127 -9 -128
// EXPECT: 32767 -16511 -48 -16512
func.func @main(%x0: tensor<4xi8>, %x1: tensor<4xi8>, %x2: tensor<4xi8>, %x3: tensor<4xi8>) -> tensor<4xi16> {
  %empty = tensor.empty() : tensor<4xi16>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0, %x1, %x2, %x3 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) outs(%empty : tensor<4xi16>) {
  ^bb0(%a0: i8, %a1: i8, %a2: i8, %a3: i8, %_: i16):
    %r = fixed.pair_dot %a0, %a1, %a2, %a3 : i8 -> i16
    linalg.yield %r : i16
  } -> tensor<4xi16>
  return %y : tensor<4xi16>
}
