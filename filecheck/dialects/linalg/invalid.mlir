// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

// What is refused of named operations.

func.func @f(%a: tensor<3x5xi8>, %b: tensor<4x7xi8>, %c: tensor<3x7xi32>) -> tensor<3x7xi32> {
  // CHECK: [[#]]:8: error: linalg.matmul: inferred input/output operand #1 has shape's dimension #0 to be 5, but found 4
  %0 = linalg.matmul ins(%a, %b : tensor<3x5xi8>, tensor<4x7xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  return %0 : tensor<3x7xi32>
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<5x7xi8>, %c: tensor<3x7xi32>) -> tensor<3x7xi32> {
  // CHECK: error: linalg.matmul: f32 isn't turned into i32
  %0 = linalg.matmul ins(%a, %b : tensor<3x5xf32>, tensor<5x7xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  return %0 : tensor<3x7xi32>
}

// -----

func.func @f(%a: tensor<3x5xi8>, %b: tensor<5x7xi8>, %c: tensor<3x7xi32>) -> tensor<3x7xi32> {
  // CHECK: error: linalg.quantized_matmul: 2 inputs, 1 outputs and 1 results, wanted are 4, 1 and 1
  %0 = linalg.quantized_matmul ins(%a, %b : tensor<3x5xi8>, tensor<5x7xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  return %0 : tensor<3x7xi32>
}

// -----

func.func @f(%a: tensor<3x5xi8>, %b: tensor<5x7xi8>, %z: tensor<i32>, %c: tensor<3x7xi32>) -> tensor<3x7xi32> {
  // CHECK: error: linalg.quantized_matmul: tensor<i32> is not a scalar
  %0 = linalg.quantized_matmul ins(%a, %b, %z, %z : tensor<3x5xi8>, tensor<5x7xi8>, tensor<i32>, tensor<i32>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  return %0 : tensor<3x7xi32>
}

// -----

func.func @f(%a: tensor<?x5xi8>, %b: tensor<5x7xi8>, %c: tensor<?x7xi32>) -> tensor<?x7xi32> {
  // CHECK: error: linalg.matmul: the sizes of tensor<?x5xi8> are not all fixed
  %0 = linalg.matmul ins(%a, %b : tensor<?x5xi8>, tensor<5x7xi8>) outs(%c : tensor<?x7xi32>) -> tensor<?x7xi32>
  return %0 : tensor<?x7xi32>
}

// -----

func.func @f(%a: memref<3x5xi8>, %b: memref<5x7xi8>, %c: memref<3x7xi32>) {
  // CHECK: error: linalg.matmul: 2 inputs, 1 outputs and 0 results, wanted are 2, 1 and 1; operations on buffers aren't supported
  linalg.matmul ins(%a, %b : memref<3x5xi8>, memref<5x7xi8>) outs(%c : memref<3x7xi32>)
  return
}

// -----

func.func @f(%a: tensor<3x5xi8>, %b: tensor<5x7xi8>, %c: tensor<3x7xi32>) -> tensor<3x7xi32> {
  // CHECK: error: linalg.matmul: indexing_maps are no transposition or broadcast of the operands
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, m)>] ins(%a, %b : tensor<3x5xi8>, tensor<5x7xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  return %0 : tensor<3x7xi32>
}

// -----

func.func @f(%x: tensor<1x6x6x4xi8>, %w: tensor<3x3x4x8xi8>, %o: tensor<1x2x2x8xi32>) -> tensor<1x2x2x8xi32> {
  // CHECK: error: linalg.conv_2d_nhwc_hwcf: strides [0, 2] are not 2 numbers of at least 1
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<[0, 2]> : tensor<2xi64>} ins(%x, %w : tensor<1x6x6x4xi8>, tensor<3x3x4x8xi8>) outs(%o : tensor<1x2x2x8xi32>) -> tensor<1x2x2x8xi32>
  return %0 : tensor<1x2x2x8xi32>
}

// -----

func.func @f(%x: tensor<1x6x6x4xi8>, %w: tensor<3x3x4x8xi8>, %o: tensor<1x3x2x8xi32>) -> tensor<1x3x2x8xi32> {
  // CHECK: error: linalg.conv_2d_nhwc_hwcf: inferred input/output operand #0 has shape's dimension #1 to be greater than or equal to 7, but found 6
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x6x6x4xi8>, tensor<3x3x4x8xi8>) outs(%o : tensor<1x3x2x8xi32>) -> tensor<1x3x2x8xi32>
  return %0 : tensor<1x3x2x8xi32>
}

// -----

func.func @f(%x: tensor<3xi32>, %y: tensor<3xi8>) -> tensor<3xi32> {
  // CHECK: error: linalg.add: elements of i32, i8; all must be of i32
  %0 = linalg.add ins(%x, %y : tensor<3xi32>, tensor<3xi8>) outs(%x : tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

func.func @f(%x: tensor<3xi32>) -> tensor<3xi32> {
  // CHECK: error: linalg.sqrt: sqrt has no meaning on i32
  %0 = linalg.sqrt ins(%x : tensor<3xi32>) outs(%x : tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

func.func @f(%x: tensor<3xi32>) -> tensor<3xi32> {
  // CHECK: error: the region is not that of linalg.add
  %0 = "linalg.add"(%x, %x, %x) <{operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%a: i32, %b: i32, %c: i32):
    %sum = arith.subi %a, %b : i32
    linalg.yield %sum : i32
  }) : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

func.func @f(%x: tensor<3xi32>) -> tensor<3xi32> {
  // CHECK: error: operation linalg.map is not supported
  // CHECK: help: mlir-opt --linalg-generalize-named-ops writes it as linalg.generic
  %0 = linalg.map { math.absi } ins(%x : tensor<3xi32>) outs(%x : tensor<3xi32>)
  return %0 : tensor<3xi32>
}

// -----

// CHECK: error: 'torch.vtensor' is not registered
// CHECK: help: torch-mlir-opt makes TOSA or linalg of it
func.func @f(%x: !torch.vtensor<[3],si8>) -> !torch.vtensor<[3],si8> {
  return %x : !torch.vtensor<[3],si8>
}

// -----

// CHECK: error: operation util.func is not registered
// CHECK: help: IREE's own levels aren't read
util.func public @f(%x: tensor<3xi32>) -> tensor<3xi32> {
  util.return %x : tensor<3xi32>
}
