// Two linear layers of different names, and a matrix times a transposed matrix.
func.func @main(%x: tensor<2x8xi8>) -> (tensor<2x4xi32>, tensor<2x2xi32>) {
  %w = arith.constant dense<"0x$BYTES(32)"> : tensor<4x8xi8>
  %b = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %empty = tensor.empty() : tensor<2x4xi32>
  %bias = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%b : tensor<4xi32>) outs(%empty : tensor<2x4xi32>) {
  ^bb0(%v: i32, %_: i32):
    linalg.yield %v : i32
  } -> tensor<2x4xi32> loc("first")
  %acc = linalg.generic {
    indexing_maps = [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (o, k)>, affine_map<(r, o, k) -> (r, o)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) outs(%bias : tensor<2x4xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<2x4xi32> loc("first")
  %negated = linalg.generic {
    indexing_maps = [affine_map<(r, o) -> (r, o)>, affine_map<(r, o) -> (r, o)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%acc : tensor<2x4xi32>) outs(%empty : tensor<2x4xi32>) {
  ^bb0(%v: i32, %_: i32):
    %zero = arith.constant 0 : i32
    %n = arith.subi %zero, %v : i32
    linalg.yield %n : i32
  } -> tensor<2x4xi32> loc("second")
  %zero = arith.constant 0 : i32
  %square = tensor.empty() : tensor<2x2xi32>
  %start = linalg.fill ins(%zero : i32) outs(%square : tensor<2x2xi32>) -> tensor<2x2xi32>
  %gram = linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%negated, %negated : tensor<2x4xi32>, tensor<2x4xi32>) outs(%start : tensor<2x2xi32>) {
  ^bb0(%a: i32, %f: i32, %sum: i32):
    %product = arith.muli %f, %a : i32
    %next = arith.addi %product, %sum : i32
    linalg.yield %next : i32
  } -> tensor<2x2xi32> loc("third")
  return %negated, %gram : tensor<2x4xi32>, tensor<2x2xi32>
}
