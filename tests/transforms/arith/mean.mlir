// Mean over the middle axes; the result is added to an input and the sum is negated.
func.func @main(%x: tensor<2x3x4x5xi8>, %z: tensor<2x5xi32>) -> tensor<2x5xi32> {
  %start = arith.constant dense<12> : tensor<2x5xi32>
  %sum = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, c)>],
    iterator_types = ["parallel", "reduction", "reduction", "parallel"]
  } ins(%x : tensor<2x3x4x5xi8>) outs(%start : tensor<2x5xi32>) {
  ^bb0(%v: i8, %acc: i32):
    %wide = arith.extsi %v : i8 to i32
    %next = arith.addi %acc, %wide : i32
    linalg.yield %next : i32
  } -> tensor<2x5xi32>
  %empty = tensor.empty() : tensor<2x5xi32>
  %mean = linalg.generic {
    indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (n, c)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%sum : tensor<2x5xi32>) outs(%empty : tensor<2x5xi32>) {
  ^bb0(%v: i32, %_: i32):
    %count = arith.constant 12 : i32
    %quotient = arith.divsi %v, %count : i32
    linalg.yield %quotient : i32
  } -> tensor<2x5xi32>
  %added = linalg.generic {
    indexing_maps = [affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (n, c)>, affine_map<(n, c) -> (n, c)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%mean, %z : tensor<2x5xi32>, tensor<2x5xi32>) outs(%empty : tensor<2x5xi32>) {
  ^bb0(%v: i32, %other: i32, %_: i32):
    %total = arith.addi %v, %other : i32
    linalg.yield %total : i32
  } -> tensor<2x5xi32>
  return %added : tensor<2x5xi32>
}
