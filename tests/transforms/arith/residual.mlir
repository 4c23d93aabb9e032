// Two linear layers, the sum of their results, a table lookup of that, and a transpose.
func.func @main(%x: tensor<5x8xi8>) -> (tensor<5x8xi8>, tensor<8x5xi8>) {
  %w = arith.constant dense<"0x$BYTES(64)"> : tensor<8x8xi8>
  %table = arith.constant dense<"0x$BYTES(256)"> : tensor<256xi8>
  %zero = arith.constant 0 : i32
  %sums = tensor.empty() : tensor<5x8xi32>
  %bytes = tensor.empty() : tensor<5x8xi8>
  %none = linalg.fill ins(%zero : i32) outs(%sums : tensor<5x8xi32>) -> tensor<5x8xi32>
  %acc = linalg.generic {
    indexing_maps = [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (o, k)>, affine_map<(r, o, k) -> (r, o)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %w : tensor<5x8xi8>, tensor<8x8xi8>) outs(%none : tensor<5x8xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<5x8xi32> loc("first")
  %first = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%acc : tensor<5x8xi32>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%s: i32, %_: i8):
    %byte = arith.trunci %s : i32 to i8
    linalg.yield %byte : i8
  } -> tensor<5x8xi8> loc("first")
  %acc2 = linalg.generic {
    indexing_maps = [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (k, o)>, affine_map<(r, o, k) -> (r, o)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%first, %w : tensor<5x8xi8>, tensor<8x8xi8>) outs(%none : tensor<5x8xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<5x8xi32> loc("second")
  %second = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%acc2 : tensor<5x8xi32>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%s: i32, %_: i8):
    %byte = arith.trunci %s : i32 to i8
    linalg.yield %byte : i8
  } -> tensor<5x8xi8> loc("second")
  %added = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%first, %second : tensor<5x8xi8>, tensor<5x8xi8>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%a: i8, %b: i8, %_: i8):
    %sum = arith.addi %a, %b : i8
    linalg.yield %sum : i8
  } -> tensor<5x8xi8> loc("add")
  %looked = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%added : tensor<5x8xi8>) outs(%bytes : tensor<5x8xi8>) {
  ^bb0(%b: i8, %_: i8):
    %wide = arith.extui %b : i8 to i32
    %index = arith.index_cast %wide : i32 to index
    %entry = tensor.extract %table[%index] : tensor<256xi8>
    linalg.yield %entry : i8
  } -> tensor<5x8xi8> loc("lookup")
  %columns = tensor.empty() : tensor<8x5xi8>
  %transposed = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%looked : tensor<5x8xi8>) outs(%columns : tensor<8x5xi8>) {
  ^bb0(%b: i8, %_: i8):
    linalg.yield %b : i8
  } -> tensor<8x5xi8> loc("transpose")
  return %looked, %transposed : tensor<5x8xi8>, tensor<8x5xi8>
}
