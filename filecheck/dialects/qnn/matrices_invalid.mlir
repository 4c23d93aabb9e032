// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @linear_input_rank(%0: tensor<!a>, %1: tensor<2x8x!w>) {
  // CHECK: error: qnn.linear: input has rank 0, expected at least 1
  %x = qnn.linear %0, %1 : (tensor<!a>, tensor<2x8x!w>) -> tensor<2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @linear_depth(%0: tensor<5x8x!a>, %1: tensor<2x9x!w>) {
  // CHECK: error: qnn.linear: weight has 9 elements to sum along axis 1, input has 8
  %x = qnn.linear %0, %1 : (tensor<5x8x!a>, tensor<2x9x!w>) -> tensor<5x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @linear_result(%0: tensor<5x8x!a>, %1: tensor<2x8x!w>) {
  // CHECK: error: qnn.linear: shape [4, 2] of result does not match the expected [5, 2]
  %x = qnn.linear %0, %1 : (tensor<5x8x!a>, tensor<2x8x!w>) -> tensor<4x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @linear_bias(%0: tensor<5x8x!a>, %1: tensor<2x8x!w>, %2: tensor<8xi32>) {
  // CHECK: error: qnn.linear: shape [8] of bias does not match the expected [2]
  %x = qnn.linear %0, %1, %2 : (tensor<5x8x!a>, tensor<2x8x!w>, tensor<8xi32>) -> tensor<5x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!v = !quant.uniform<i8<-127:127>:f32:1, {0.5,0.25}>

func.func @linear_axis(%0: tensor<5x2x!a>, %1: tensor<2x2x!v>) {
  // CHECK: error: qnn.linear: operand 'weight' at position 1 does not verify: weights are quantized along dimension 1, expected 0
  %x = qnn.linear %0, %1 : (tensor<5x2x!a>, tensor<2x2x!v>) -> tensor<5x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @matmul_rank(%0: tensor<8x!a>, %1: tensor<8x!a>) {
  // CHECK: error: qnn.matmul: lhs has rank 1, expected at least 2
  %x = qnn.matmul %0, %1 : (tensor<8x!a>, tensor<8x!a>) -> tensor<1x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @matmul_ranks(%0: tensor<2x3x4x!a>, %1: tensor<4x5x!a>) {
  // CHECK: error: qnn.matmul: rhs has rank 2, expected 3
  %x = qnn.matmul %0, %1 : (tensor<2x3x4x!a>, tensor<4x5x!a>) -> tensor<2x3x5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @matmul_batch(%0: tensor<2x3x4x!a>, %1: tensor<1x4x5x!a>) {
  // CHECK: error: qnn.matmul: rhs has size 1 along axis 0, lhs has 2
  %x = qnn.matmul %0, %1 : (tensor<2x3x4x!a>, tensor<1x4x5x!a>) -> tensor<2x3x5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @matmul_depth(%0: tensor<3x4x!a>, %1: tensor<5x6x!a>) {
  // CHECK: error: qnn.matmul: rhs has 5 elements to sum along axis 0, lhs has 4
  %x = qnn.matmul %0, %1 : (tensor<3x4x!a>, tensor<5x6x!a>) -> tensor<3x6x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @matmul_result(%0: tensor<3x4x!a>, %1: tensor<4x6x!a>) {
  // CHECK: error: qnn.matmul: shape [6, 3] of result does not match the expected [3, 6]
  %x = qnn.matmul %0, %1 : (tensor<3x4x!a>, tensor<4x6x!a>) -> tensor<6x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @matmul_weight(%0: tensor<3x2x!a>, %1: tensor<2x6x!w>) {
  // CHECK: error: qnn.matmul: operand 'rhs' at position 1 does not verify: per-axis quantization is only supported for weights: use per tensor
  %x = qnn.matmul %0, %1 : (tensor<3x2x!a>, tensor<2x6x!w>) -> tensor<3x6x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @half_and_single(%0: tensor<1x2x!quant.uniform<i8:f16, 0.5>>, %1: tensor<2x1x!a>) {
  // CHECK: error: qnn.matmul: scales of f32 and of f16 are mixed
  %x = qnn.matmul %0, %1 : (tensor<1x2x!quant.uniform<i8:f16, 0.5>>, tensor<2x1x!a>) -> tensor<1x1x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @sums_with_activation(%0: tensor<1x2x!a>, %1: tensor<2x1x!a>) {
  // CHECK: error: qnn.matmul: activation relu bounds real values, and the result is i32
  %x = qnn.matmul %0, %1 {activation = "relu"} : (tensor<1x2x!a>, tensor<2x1x!a>) -> tensor<1x1xi32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @sums_with_real_bias(%0: tensor<1x2x!a>, %1: tensor<1x2x!a>, %2: tensor<1xf32>) {
  // CHECK: error: qnn.linear: a bias of f32 can't be added to a result of i32
  %x = qnn.linear %0, %1, %2 : (tensor<1x2x!a>, tensor<1x2x!a>, tensor<1xf32>) -> tensor<1x1xi32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i16:f32, 0.5>

func.func @matmul_widths(%0: tensor<2x3x!b>, %1: tensor<3x2x!a>) {
  // CHECK: error: qnn.matmul: lhs of 16 bits does not go with rhs of 8
  %x = qnn.matmul %0, %1 : (tensor<2x3x!b>, tensor<3x2x!a>) -> tensor<2x2x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i16:f32, 0.5>

func.func @matmul_result(%0: tensor<2x3x!b>, %1: tensor<3x2x!b>) {
  // CHECK: error: qnn.matmul: a result of 8 bits does not go with an input of 16
  %x = qnn.matmul %0, %1 : (tensor<2x3x!b>, tensor<3x2x!b>) -> tensor<2x2x!a>
  return
}
