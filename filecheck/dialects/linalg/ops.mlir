// RUN: %roundtrip
// RUN: %generic_roundtrip

// Upstream's named operations, in the text of LLVM 22.

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<3x5xi8>, %b: tensor<5x7xi8>, %bt: tensor<7x5xi8>, %v: tensor<5xi8>, %c: tensor<3x7xi32>, %d: tensor<3xi32>) -> (tensor<3x7xi32>, tensor<3x7xi32>, tensor<3x7xi32>, tensor<3x7xi32>, tensor<3xi32>) {
  %zero = arith.constant 3 : i32
  // CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<3x5xi8>, tensor<5x7xi8>) outs(%{{.*}} : tensor<3x7xi32>) -> tensor<3x7xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<3x5xi8>, tensor<5x7xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  // CHECK: linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins
  %1 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<3x5xi8>, tensor<5x7xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  // CHECK: linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins
  %2 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%a, %bt : tensor<3x5xi8>, tensor<7x5xi8>) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  // CHECK: linalg.quantized_matmul ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<3x5xi8>, tensor<5x7xi8>, i32, i32) outs
  %3 = linalg.quantized_matmul ins(%a, %b, %zero, %zero : tensor<3x5xi8>, tensor<5x7xi8>, i32, i32) outs(%c : tensor<3x7xi32>) -> tensor<3x7xi32>
  // CHECK: linalg.matvec ins
  %4 = linalg.matvec ins(%a, %v : tensor<3x5xi8>, tensor<5xi8>) outs(%d : tensor<3xi32>) -> tensor<3xi32>
  return %0, %1, %2, %3, %4 : tensor<3x7xi32>, tensor<3x7xi32>, tensor<3x7xi32>, tensor<3x7xi32>, tensor<3xi32>
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x6x6x4xi8>, %w: tensor<3x3x4x8xi8>, %d: tensor<3x3x4xi8>, %k: tensor<2x2xi8>, %o: tensor<1x2x2x8xi32>, %p: tensor<1x4x4x4xi32>, %q: tensor<1x3x3x4xi8>) -> (tensor<1x2x2x8xi32>, tensor<1x4x4x4xi32>, tensor<1x3x3x4xi8>) {
  %zero = arith.constant 3 : i32
  // CHECK: linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : vector<2xi64>} ins
  %0 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w, %zero, %zero : tensor<1x6x6x4xi8>, tensor<3x3x4x8xi8>, i32, i32) outs(%o : tensor<1x2x2x8xi32>) -> tensor<1x2x2x8xi32>
  // CHECK: linalg.depthwise_conv_2d_nhwc_hwc ins
  %1 = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %d : tensor<1x6x6x4xi8>, tensor<3x3x4xi8>) outs(%p : tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi32>
  // CHECK: linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins
  %2 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%x, %k : tensor<1x6x6x4xi8>, tensor<2x2xi8>) outs(%q : tensor<1x3x3x4xi8>) -> tensor<1x3x3x4xi8>
  return %0, %1, %2 : tensor<1x2x2x8xi32>, tensor<1x4x4x4xi32>, tensor<1x3x3x4xi8>
}

// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<3x5xi8>, %y: tensor<3x5xi32>, %z: tensor<5x3xi32>, %r: tensor<3xi32>, %b: tensor<3x2x5xi32>) -> (tensor<5x3xi32>, tensor<3xi32>, tensor<3x2x5xi32>) {
  // CHECK: linalg.copy {cast = #linalg.type_fn<cast_unsigned>} ins
  %0 = linalg.copy {cast = #linalg.type_fn<cast_unsigned>} ins(%x : tensor<3x5xi8>) outs(%y : tensor<3x5xi32>) -> tensor<3x5xi32>
  // CHECK: linalg.max ins
  %1 = linalg.max ins(%0, %y : tensor<3x5xi32>, tensor<3x5xi32>) outs(%y : tensor<3x5xi32>) -> tensor<3x5xi32>
  // CHECK: linalg.transpose
  %2 = linalg.transpose ins(%1 : tensor<3x5xi32>) outs(%z : tensor<5x3xi32>) permutation = [1, 0]
  // CHECK: linalg.reduce
  %3 = linalg.reduce ins(%1 : tensor<3x5xi32>) outs(%r : tensor<3xi32>) dimensions = [1]
    (%in: i32, %out: i32) {
      %sum = arith.addi %in, %out : i32
      linalg.yield %sum : i32
    }
  // CHECK: linalg.broadcast
  %4 = linalg.broadcast ins(%1 : tensor<3x5xi32>) outs(%b : tensor<3x2x5xi32>) dimensions = [1]
  return %2, %3, %4 : tensor<5x3xi32>, tensor<3xi32>, tensor<3x2x5xi32>
}
