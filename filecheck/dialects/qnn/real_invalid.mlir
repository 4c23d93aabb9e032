// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @input_type(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4xf32>) {
  // CHECK: error: qnn.real_conv2d: operand 'input' at position 0 does not verify: element type !quant.uniform<i8:f32, 5.000000e-01> is not f32
  %x = qnn.real_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4xf32>) -> tensor<1x7x7x2xf32>
  return
}

// -----

func.func @weight_rank(%0: tensor<1x9x9x4xf32>, %1: tensor<3x3x4xf32>) {
  // CHECK: error: qnn.real_conv2d: operand 'weight' at position 1 does not verify: tensor<3x3x4xf32> has rank 3, expected 4
  %x = qnn.real_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4xf32>, tensor<3x3x4xf32>) -> tensor<1x7x7x2xf32>
  return
}

// -----

func.func @depth(%0: tensor<1x9x9x4xf32>, %1: tensor<2x3x3x4xf32>) {
  // CHECK: error: qnn.real_conv2d: weight has 4 channels along axis 3, input has 2 in each of 2 groups
  %x = qnn.real_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], groups = 2} : (tensor<1x9x9x4xf32>, tensor<2x3x3x4xf32>) -> tensor<1x7x7x2xf32>
  return
}

// -----

func.func @bias(%0: tensor<1x9x9x4xf32>, %1: tensor<1x3x3x8xf32>, %2: tensor<4xf32>) {
  // CHECK: error: qnn.real_depthwise_conv2d: shape [4] of bias does not match the expected [8]
  %x = qnn.real_depthwise_conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4xf32>, tensor<1x3x3x8xf32>, tensor<4xf32>) -> tensor<1x7x7x8xf32>
  return
}

// -----

func.func @columns(%0: tensor<2x3xf32>, %1: tensor<5x4xf32>) {
  // CHECK: error: qnn.real_linear: weight has 4 elements to sum along axis 1, input has 3
  %x = qnn.real_linear %0, %1 : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @fallback(%0: tensor<2x3xf32>, %1: tensor<5x3xf32>) {
  // CHECK: error: qnn.real_linear: fallback "mine.mlir" is not the name of a contract
  %x = qnn.real_linear %0, %1 {fallback = "mine.mlir"} : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @activation(%0: tensor<2x3xf32>, %1: tensor<5x3xf32>) {
  // CHECK: error: qnn.real_linear: activation "gelu" is not one of relu, relu6, relu_n1_to_1
  %x = qnn.real_linear %0, %1 {activation = "gelu"} : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @rows(%0: tensor<2x3xf32>, %1: tensor<4x5xf32>) {
  // CHECK: error: qnn.real_matmul: rhs has 4 elements to sum along axis 0, lhs has 3
  %x = qnn.real_matmul %0, %1 : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @batch(%0: tensor<2x2x3xf32>, %1: tensor<3x3x5xf32>) {
  // CHECK: error: qnn.real_matmul: rhs has size 3 along axis 0, lhs has 2
  %x = qnn.real_matmul %0, %1 : (tensor<2x2x3xf32>, tensor<3x3x5xf32>) -> tensor<2x2x5xf32>
  return
}

// -----

func.func @rank(%0: tensor<3xf32>, %1: tensor<3x5xf32>) {
  // CHECK: error: qnn.real_matmul: ranks 1 and 2 of lhs and rhs must be at least 2
  %x = qnn.real_matmul %0, %1 : (tensor<3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @broadcast(%0: tensor<2x3xf32>, %1: tensor<3x5xf32>, %2: tensor<3x5xf32>) {
  // CHECK: error: qnn.real_matmul: shape [3, 5] of bias does not broadcast to [2, 5]
  %x = qnn.real_matmul %0, %1, %2 : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @computed(%0: tensor<2x3xf32>, %1: tensor<3x5xf32>) {
  // CHECK: error: qnn.real_matmul: computed_weights 1 : i64 is not true or false
  %x = qnn.real_matmul %0, %1 {computed_weights = 1} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @scaled(%0: tensor<2x3xf32>, %1: tensor<3x5xf32>) {
  // CHECK: error: qnn.real_matmul: scaled 2 : i64 is not true or false
  %x = qnn.real_matmul %0, %1 {scaled = 2} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @narrow(%0: tensor<2x3xf32>, %1: tensor<5x3xf32>) {
  // CHECK: error: qnn.real_linear: narrow_weights "int4" is not true or false
  %x = qnn.real_linear %0, %1 {narrow_weights = "int4"} : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
  return
}
