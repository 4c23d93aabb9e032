// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!w = !quant.uniform<i8:f32, 0.5>

func.func @weights(%0: tensor<1x9x9x4xf32>, %1: tensor<2x3x3x4xf32>) {
  // CHECK: error: qnn.hybrid_conv2d: operand 'weight' at position 1 does not verify: element type f32 is not !quant.uniform
  %x = qnn.hybrid_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4xf32>, tensor<2x3x3x4xf32>) -> tensor<1x7x7x2xf32>
  return
}

// -----

!w = !quant.uniform<i8:f32, 0.5>

func.func @bias(%0: tensor<1x9x9x4xf32>, %1: tensor<1x3x3x8x!w>, %2: tensor<4xf32>) {
  // CHECK: error: qnn.hybrid_depthwise_conv2d: shape [4] of bias does not match the expected [8]
  %x = qnn.hybrid_depthwise_conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4xf32>, tensor<1x3x3x8x!w>, tensor<4xf32>) -> tensor<1x7x7x8xf32>
  return
}

// -----

!z = !quant.uniform<i8:f32:0, {0.5, 0.5, 0.25:3, 0.5, 0.5}>

func.func @zero_point(%0: tensor<2x3xf32>, %1: tensor<5x3x!z>) {
  // CHECK: error: qnn.hybrid_linear: weights have a zero point, expected 0
  %x = qnn.hybrid_linear %0, %1 : (tensor<2x3xf32>, tensor<5x3x!z>) -> tensor<2x5xf32>
  return
}

// -----

!w = !quant.uniform<i8:f32, 0.5>

func.func @symmetric(%0: tensor<2x3xf32>, %1: tensor<5x3x!w>) {
  // CHECK: error: qnn.hybrid_linear: symmetric 1 : i64 is not true or false
  %x = qnn.hybrid_linear %0, %1 {symmetric = 1} : (tensor<2x3xf32>, tensor<5x3x!w>) -> tensor<2x5xf32>
  return
}
