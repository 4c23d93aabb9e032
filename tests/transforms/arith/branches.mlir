// Values with several uses, in-place updates and a value that is returned twice.
func.func @main(%x: tensor<40x40xi8>) -> (tensor<40x40xi8>, tensor<40x40xi8>, tensor<40x40xi8>) {
  %empty = tensor.empty() : tensor<40x40xi8>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<40x40xi8>) outs(%empty : tensor<40x40xi8>) {
  ^bb0(%v: i8, %_: i8):
    %r = arith.addi %v, %v : i8
    linalg.yield %r : i8
  } -> tensor<40x40xi8>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%a, %a : tensor<40x40xi8>, tensor<40x40xi8>) outs(%empty : tensor<40x40xi8>) {
  ^bb0(%v: i8, %w: i8, %_: i8):
    %r = arith.subi %v, %w : i8
    linalg.yield %r : i8
  } -> tensor<40x40xi8>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%b, %a : tensor<40x40xi8>, tensor<40x40xi8>) outs(%empty : tensor<40x40xi8>) {
  ^bb0(%v: i8, %w: i8, %_: i8):
    %r = arith.muli %v, %w : i8
    linalg.yield %r : i8
  } -> tensor<40x40xi8>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (39 - i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%c, %b : tensor<40x40xi8>, tensor<40x40xi8>) outs(%empty : tensor<40x40xi8>) {
  ^bb0(%v: i8, %w: i8, %_: i8):
    %r = arith.xori %v, %w : i8
    linalg.yield %r : i8
  } -> tensor<40x40xi8>
  %e = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, 0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%c, %d : tensor<40x40xi8>, tensor<40x40xi8>) outs(%empty : tensor<40x40xi8>) {
  ^bb0(%v: i8, %w: i8, %_: i8):
    %r = arith.addi %v, %w : i8
    linalg.yield %r : i8
  } -> tensor<40x40xi8>
  return %d, %e, %d : tensor<40x40xi8>, tensor<40x40xi8>, tensor<40x40xi8>
}
