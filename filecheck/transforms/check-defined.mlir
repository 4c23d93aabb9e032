// RUN: %qopt %s -p form-kernels,check-defined --split-input-file --verify-diagnostics | %filecheck %s

#id = affine_map<(d0) -> (d0)>

// A clamped amount, an index of the loop and a sum of few terms are proved.
// CHECK-LABEL: func.func @proved
func.func @proved(%x: tensor<4xi32>) -> tensor<4xi32> {
  %table = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %empty = tensor.empty() : tensor<4xi32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi32>) outs(%empty : tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %c0 = arith.constant 0 : i32
    %c31 = arith.constant 31 : i32
    %low = arith.maxsi %a, %c0 : i32
    %n = arith.minsi %low, %c31 : i32
    %shifted = fixed.shift_right %a, %n {rounding = half_up} : i32
    %i = linalg.index 0 : index
    %divisor = tensor.extract %table[%i] : tensor<4xi32>
    %quotient = arith.divsi %shifted, %divisor : i32
    %sum = arith.addi %n, %divisor overflow<nsw> : i32
    %r = arith.addi %quotient, %sum : i32
    linalg.yield %r : i32
  } -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// CHECK: check-defined.mlir:[[#]]:10: error: 'arith.shli' has no result where its amount is outside of [0, 31], and it may be in [-2147483648, 2147483647]
#id = affine_map<(d0) -> (d0)>
func.func @amount(%x: tensor<4xi32>) -> tensor<4xi32> {
  %empty = tensor.empty() : tensor<4xi32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi32>) outs(%empty : tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %r = arith.shli %a, %a : i32
    linalg.yield %r : i32
  } -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// CHECK: 'fixed.shift_right' has no result where its amount is outside of [0, 7], and it may be in [8, 8]
#id = affine_map<(d0) -> (d0)>
func.func @rounding_amount(%x: tensor<4xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %c8 = arith.constant 8 : i8
    %r = fixed.shift_right %a, %c8 {rounding = half_up} : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK: 'arith.divsi' has no result for a divisor of 0, and it may be in [-128, 127]
#id = affine_map<(d0) -> (d0)>
func.func @divisor(%x: tensor<4xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %r = arith.divsi %a, %a : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK: 'arith.remsi' has no result for a divisor of -1, and it may be in [-1, -1]
#id = affine_map<(d0) -> (d0)>
func.func @quotient(%x: tensor<4xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %c = arith.constant -1 : i8
    %r = arith.remsi %a, %c : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK: 'tensor.extract' has no result where its index of axis 0 is outside of [0, 3], and it may be in [0, 255]
#id = affine_map<(d0) -> (d0)>
func.func @index(%x: tensor<4xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %u = arith.extui %a : i8 to i32
    %i = arith.index_cast %u : i32 to index
    %r = tensor.extract %x[%i] : tensor<4xi8>
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK: 'arith.addi' has no result where it overflows in spite of nsw, and it may be in [-256, 254]
#id = affine_map<(d0) -> (d0)>
func.func @overflow(%x: tensor<4xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %r = arith.addi %a, %a overflow<nsw> : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// Two halves make a whole.
// CHECK-LABEL: func.func @written
func.func @written(%x: tensor<2xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %half = tensor.insert_slice %x into %empty[0] [2] [1] : tensor<2xi8> into tensor<4xi8>
  %y = tensor.insert_slice %x into %half[2] [2] [1] : tensor<2xi8> into tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK: 'func.return' reads elements of a tensor that were never written
func.func @unwritten(%x: tensor<2xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %y = tensor.insert_slice %x into %empty[1] [2] [1] : tensor<2xi8> into tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

// CHECK: 'kernel.copy' reads elements of a tensor that were never written
func.func @unwritten_part(%x: tensor<2xi8>) -> tensor<2xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %half = tensor.insert_slice %x into %empty[1] [2] [1] : tensor<2xi8> into tensor<4xi8>
  %y = tensor.extract_slice %half[2] [2] [1] : tensor<4xi8> to tensor<2xi8>
  return %y : tensor<2xi8>
}
