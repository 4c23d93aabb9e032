// Rows: maximum, table of exponentials, sum, quotient, and the position of the maximum.
func.func @main(%x: tensor<4x6xi8>) -> (tensor<4x6xi8>, tensor<4xi64>) {
  %table = arith.constant dense<"0x$BYTES(256)"> : tensor<256xi8>
  %lowest = arith.constant -128 : i8
  %zero = arith.constant 0 : i32
  %rows8 = tensor.empty() : tensor<4xi8>
  %start8 = linalg.fill ins(%lowest : i8) outs(%rows8 : tensor<4xi8>) -> tensor<4xi8>
  %max = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<4x6xi8>) outs(%start8 : tensor<4xi8>) {
  ^bb0(%v: i8, %best: i8):
    %next = arith.maxsi %v, %best : i8
    linalg.yield %next : i8
  } -> tensor<4xi8>
  %empty32 = tensor.empty() : tensor<4x6xi32>
  %exp = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %max : tensor<4x6xi8>, tensor<4xi8>) outs(%empty32 : tensor<4x6xi32>) {
  ^bb0(%v: i8, %m: i8, %_: i32):
    %d = arith.subi %m, %v : i8
    %wide = arith.extui %d : i8 to i32
    %index = arith.index_cast %wide : i32 to index
    %entry = tensor.extract %table[%index] : tensor<256xi8>
    %e = arith.extui %entry : i8 to i32
    linalg.yield %e : i32
  } -> tensor<4x6xi32>
  %rows32 = tensor.empty() : tensor<4xi32>
  %start32 = linalg.fill ins(%zero : i32) outs(%rows32 : tensor<4xi32>) -> tensor<4xi32>
  %sum = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%exp : tensor<4x6xi32>) outs(%start32 : tensor<4xi32>) {
  ^bb0(%v: i32, %acc: i32):
    %next = arith.addi %v, %acc : i32
    linalg.yield %next : i32
  } -> tensor<4xi32>
  %safe = linalg.generic {
    indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>],
    iterator_types = ["parallel"]
  } ins(%sum : tensor<4xi32>) outs(%rows32 : tensor<4xi32>) {
  ^bb0(%v: i32, %_: i32):
    %one = arith.constant 1 : i32
    %at_least = arith.maxsi %v, %one : i32
    linalg.yield %at_least : i32
  } -> tensor<4xi32>
  %empty8 = tensor.empty() : tensor<4x6xi8>
  %y = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%exp, %safe : tensor<4x6xi32>, tensor<4xi32>) outs(%empty8 : tensor<4x6xi8>) {
  ^bb0(%e: i32, %s: i32, %_: i8):
    %c8 = arith.constant 8 : i32
    %scaled = arith.shli %e, %c8 : i32
    %q = arith.divui %scaled, %s : i32
    %q8 = arith.trunci %q : i32 to i8
    linalg.yield %q8 : i8
  } -> tensor<4x6xi8>
  %zero64 = arith.constant 0 : i64
  %rows64 = tensor.empty() : tensor<4xi64>
  %start64 = linalg.fill ins(%zero64 : i64) outs(%rows64 : tensor<4xi64>) -> tensor<4xi64>
  %best, %position = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%y : tensor<4x6xi8>) outs(%start8, %start64 : tensor<4xi8>, tensor<4xi64>) {
  ^bb0(%v: i8, %best: i8, %at: i64):
    %k = linalg.index 1 : index
    %k64 = arith.index_cast %k : index to i64
    %greater = arith.cmpi sgt, %v, %best : i8
    %next = arith.select %greater, %v, %best : i8
    %next_at = arith.select %greater, %k64, %at : i64
    linalg.yield %next, %next_at : i8, i64
  } -> (tensor<4xi8>, tensor<4xi64>)
  return %y, %position : tensor<4x6xi8>, tensor<4xi64>
}
