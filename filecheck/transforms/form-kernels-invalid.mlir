// RUN: %qopt %s -p form-kernels --split-input-file --verify-diagnostics | %filecheck %s

func.func @unwritten() -> tensor<4xi8> {
  // CHECK: error: a tensor is read before it is written
  %y = tensor.empty() : tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @other_level(%x: tensor<4xi8>) -> tensor<4xi8> {
  // CHECK: error: 'arith.addi' has no form at the kernel level
  %y = arith.addi %x, %x : tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @computed_fill(%v: i8) -> tensor<4xi8> {
  // CHECK: error: linalg.fill of tensor<4xi8> needs a constant of its element type
  %e = tensor.empty() : tensor<4xi8>
  %y = linalg.fill ins(%v : i8) outs(%e : tensor<4xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @negative_padding(%x: tensor<4xi8>) -> tensor<4xi8> {
  // CHECK: error: tensor.pad low [-1] high [1] must be static and >= 0
  %y = tensor.pad %x low[-1] high[1] {
  ^bb0(%i: index):
    %v = arith.constant 0 : i8
    tensor.yield %v : i8
  } : tensor<4xi8> to tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @padding_with_a_computed_value(%x: tensor<4xindex>) -> tensor<5xindex> {
  // CHECK: error: tensor.pad needs a constant pad value
  %y = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xindex> to tensor<5xindex>
  return %y : tensor<5xindex>
}

// -----

func.func @dynamic_offset(%x: tensor<4xi8>, %i: index) -> tensor<2xi8> {
  // CHECK: error: 'tensor.extract_slice' needs static offsets, sizes and strides
  %y = tensor.extract_slice %x[%i] [2] [1] : tensor<4xi8> to tensor<2xi8>
  return %y : tensor<2xi8>
}

// -----

func.func @scalar_from_outside(%x: tensor<4xi8>, %s: i8) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  // CHECK: error: a loop body uses a value of type i8 from outside, which is neither a tensor nor a constant
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%v: i8, %_: i8):
    %r = arith.addi %v, %s : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @a_loop_that_writes_again(%x: tensor<4x3xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  // CHECK: error: linalg.generic has no loop nest: the map of result #0, (d0, d1) -> (d0), must name each parallel loop once and cover the shape [4]
  %y = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<4x3xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%v: i8, %_: i8):
    linalg.yield %v : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}
