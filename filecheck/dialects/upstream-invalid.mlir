// RUN: %qopt %s --split-input-file --verify-diagnostics | %filecheck %s

// What upstream's verifier says of tensor and linalg operations.

func.func @pad(%x: tensor<4xi8>) -> tensor<8xi8> {
  %c = arith.constant 0 : i8
  // CHECK: upstream-invalid.mlir:[[#]]:8: error: tensor.pad: axis 0 of 8 elements is not 1 + 4 + 2
  %y = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %c : i8
  } : tensor<4xi8> to tensor<8xi8>
  return %y : tensor<8xi8>
}

// -----

func.func @pad_rank(%x: tensor<4xi8>) -> tensor<1x7xi8> {
  %c = arith.constant 0 : i8
  // CHECK: error: tensor.pad: low [1] and high [2] do not fit tensor<4xi8> and tensor<1x7xi8>
  %y = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %c : i8
  } : tensor<4xi8> to tensor<1x7xi8>
  return %y : tensor<1x7xi8>
}

// -----

func.func @pad_region(%x: tensor<4xi8>) -> tensor<7xi8> {
  %c = arith.constant 0 : i8
  // CHECK: error: tensor.pad: the region takes one index for each of 1 axes
  %y = tensor.pad %x low[1] high[2] {
  ^bb0(%i: i32):
    tensor.yield %c : i8
  } : tensor<4xi8> to tensor<7xi8>
  return %y : tensor<7xi8>
}

// -----

func.func @pad_yields(%x: tensor<4xi8>) -> tensor<7xi8> {
  %c = arith.constant 0 : i8
  // CHECK: error: tensor.pad: the region must yield one value
  %y = "tensor.pad"(%x) <{static_low = array<i64: 1>, static_high = array<i64: 2>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%i: index):
    "tensor.yield"(%c, %c) : (i8, i8) -> ()
  }) : (tensor<4xi8>) -> tensor<7xi8>
  return %y : tensor<7xi8>
}

// -----

func.func @pad_value(%x: tensor<4xi8>) -> tensor<7xi8> {
  %c = arith.constant 0 : i16
  // CHECK: error: tensor.pad: element types i8 and i16 differ
  %y = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %c : i16
  } : tensor<4xi8> to tensor<7xi8>
  return %y : tensor<7xi8>
}

// -----

func.func @extract_slice(%x: tensor<2x4xi8>) -> tensor<1x3xi8> {
  // CHECK: error: tensor.extract_slice: offset 1, size 3, stride 2 leave axis 1 of 4 elements
  %y = tensor.extract_slice %x[0, 1] [1, 3] [1, 2] : tensor<2x4xi8> to tensor<1x3xi8>
  return %y : tensor<1x3xi8>
}

// -----

func.func @extract_slice_shape(%x: tensor<2x4xi8>) -> tensor<4xi8> {
  // CHECK: error: tensor.extract_slice: a box of [1, 3] elements is not tensor<4xi8>, unit axes aside
  %y = tensor.extract_slice %x[0, 1] [1, 3] [1, 1] : tensor<2x4xi8> to tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @insert_slice(%x: tensor<3xi8>, %d: tensor<4xi8>) -> tensor<4xi8> {
  // CHECK: error: tensor.insert_slice: offset 2, size 3, stride 1 leave axis 0 of 4 elements
  %y = tensor.insert_slice %x into %d[2] [3] [1] : tensor<3xi8> into tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @extract(%x: tensor<2x3xi8>, %i: index) -> i8 {
  // CHECK: error: tensor.extract: 1 indices into tensor<2x3xi8>
  %y = tensor.extract %x[%i] : tensor<2x3xi8>
  return %y : i8
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @index(%x: tensor<4xi8>) -> tensor<4xindex> {
  %empty = tensor.empty() : tensor<4xindex>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi8>) outs(%empty : tensor<4xindex>) {
  ^bb0(%a: i8, %o: index):
    // CHECK: error: linalg.index: loop 1 of 1 loops
    %r = linalg.index 1 : index
    linalg.yield %r : index
  } -> tensor<4xindex>
  return %y : tensor<4xindex>
}

// -----

func.func @extf(%x: f64) -> f32 {
  // CHECK: error: arith.extf: f64 is not narrower than f32
  %y = arith.extf %x : f64 to f32
  return %y : f32
}

// -----

func.func @truncf(%x: f32) -> f32 {
  // CHECK: error: arith.truncf: f32 is not narrower than f32
  %y = arith.truncf %x : f32 to f32
  return %y : f32
}
