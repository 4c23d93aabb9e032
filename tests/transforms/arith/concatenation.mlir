// The concatenation of four tensors: two that nests compute, an argument, and one that is
// also needed elsewhere; then a padded convolution of what a nest computes.
func.func @main(%x: tensor<5x8xi8>) -> (tensor<5x32xi8>, tensor<5x8xi8>, tensor<3x2xi32>) {
  %w = arith.constant dense<"0x$BYTES(64)"> : tensor<8x8xi8>
  %zero = arith.constant 0 : i32
  %bytes = tensor.empty() : tensor<5x8xi8>
  %sums = tensor.empty() : tensor<5x8xi32>
  %negated = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<5x8xi8>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%a: i8, %_: i8):
    %none = arith.constant 0 : i8
    %n = arith.subi %none, %a : i8
    linalg.yield %n : i8
  } -> tensor<5x8xi8> loc("negate")
  %wide = tensor.empty() : tensor<5x32xi8>
  %one = tensor.insert_slice %x into %wide[0, 24] [5, 8] [1, 1] : tensor<5x8xi8> into tensor<5x32xi8>
  %two = tensor.insert_slice %negated into %one[0, 8] [5, 8] [1, 1] : tensor<5x8xi8> into tensor<5x32xi8>
  %start = linalg.fill ins(%zero : i32) outs(%sums : tensor<5x8xi32>) -> tensor<5x8xi32>
  %acc = linalg.generic {
    indexing_maps = [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (o, k)>, affine_map<(r, o, k) -> (r, o)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%negated, %w : tensor<5x8xi8>, tensor<8x8xi8>) outs(%start : tensor<5x8xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<5x8xi32> loc("product")
  %product8 = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%acc : tensor<5x8xi32>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%s: i32, %_: i8):
    %byte = arith.trunci %s : i32 to i8
    linalg.yield %byte : i8
  } -> tensor<5x8xi8> loc("product")
  %doubled = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<5x8xi8>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%a: i8, %_: i8):
    %d = arith.addi %a, %a : i8
    linalg.yield %d : i8
  } -> tensor<5x8xi8> loc("double")
  %padded = tensor.pad %doubled low[1, 0] high[2, 0] {
  ^bb0(%r: index, %o: index):
    %pad = arith.constant -3 : i8
    tensor.yield %pad : i8
  } : tensor<5x8xi8> to tensor<8x8xi8>
  %v = arith.constant dense<"0x$BYTES(96)"> : tensor<2x6x8xi8>
  %small = tensor.empty() : tensor<3x2xi32>
  %none = linalg.fill ins(%zero : i32) outs(%small : tensor<3x2xi32>) -> tensor<3x2xi32>
  %conv = linalg.generic {
    indexing_maps = [affine_map<(r, o, i, k) -> (r + i, k)>, affine_map<(r, o, i, k) -> (o, i, k)>, affine_map<(r, o, i, k) -> (r, o)>],
    iterator_types = ["parallel", "parallel", "reduction", "reduction"]
  } ins(%padded, %v : tensor<8x8xi8>, tensor<2x6x8xi8>) outs(%none : tensor<3x2xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<3x2xi32> loc("conv")
  %three = tensor.insert_slice %product8 into %two[0, 0] [5, 8] [1, 1] : tensor<5x8xi8> into tensor<5x32xi8>
  %four = tensor.insert_slice %x into %three[0, 16] [5, 8] [1, 1] : tensor<5x8xi8> into tensor<5x32xi8>
  return %four, %negated, %conv : tensor<5x32xi8>, tensor<5x8xi8>, tensor<3x2xi32>
}
