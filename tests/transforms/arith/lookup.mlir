// A table lookup, then the loop counters are used: a chain of elementwise generics.
func.func @main(%x: tensor<3x5xi8>) -> tensor<5x3xi8> {
  %table = arith.constant dense<"0x$BYTES(256)"> : tensor<256xi8>
  %empty = tensor.empty() : tensor<3x5xi8>
  %looked = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<3x5xi8>) outs(%empty : tensor<3x5xi8>) {
  ^bb0(%v: i8, %_: i8):
    %wide = arith.extui %v : i8 to i32
    %index = arith.index_cast %wide : i32 to index
    %entry = tensor.extract %table[%index] : tensor<256xi8>
    linalg.yield %entry : i8
  } -> tensor<3x5xi8>
  %numbered = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%looked : tensor<3x5xi8>) outs(%empty : tensor<3x5xi8>) {
  ^bb0(%v: i8, %_: i8):
    %j = linalg.index 1 : index
    %column = arith.index_cast %j : index to i8
    %sum = arith.addi %v, %column : i8
    linalg.yield %sum : i8
  } -> tensor<3x5xi8>
  %empty_t = tensor.empty() : tensor<5x3xi8>
  %transposed = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%numbered : tensor<3x5xi8>) outs(%empty_t : tensor<5x3xi8>) {
  ^bb0(%v: i8, %_: i8):
    linalg.yield %v : i8
  } -> tensor<5x3xi8>
  return %transposed : tensor<5x3xi8>
}
