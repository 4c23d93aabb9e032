// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @relu_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.relu: shape [5] of result does not match the expected [4]
  %x = qnn.relu %0 : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @clamp_bounds(%0: tensor<4x!a>) {
  // CHECK: error: qnn.clamp: min 1.0 is not at most max -1.0
  %x = qnn.clamp %0 {min = 1.0, max = -1.0} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @leaky_relu_alpha(%0: tensor<4x!a>) {
  // CHECK: error: qnn.leaky_relu: alpha inf is not finite
  %x = qnn.leaky_relu %0 {alpha = 0x7F800000 : f32} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @lut_length(%0: tensor<4x!a>, %1: tensor<255xi8>) {
  // CHECK: error: qnn.lut: shape [255] of table does not match the expected [256]
  %x = qnn.lut %0, %1 : (tensor<4x!a>, tensor<255xi8>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @lut_type(%0: tensor<4x!a>, %1: tensor<256xi16>) {
  // CHECK: error: qnn.lut: operand 'table' at position 1 does not verify: element type i16 is not i8
  %x = qnn.lut %0, %1 : (tensor<4x!a>, tensor<256xi16>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @lut_shape(%0: tensor<4x!a>, %1: tensor<256xi8>) {
  // CHECK: error: qnn.lut: shape [5] of result does not match the expected [4]
  %x = qnn.lut %0, %1 : (tensor<4x!a>, tensor<256xi8>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @softmax_axis(%0: tensor<4x5x!a>) {
  // CHECK: error: qnn.softmax: axis 0 of an input of rank 2 is not its last dimension
  %x = qnn.softmax %0 {axis = 0} : (tensor<4x5x!a>) -> tensor<4x5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @softmax_scalar(%0: tensor<!a>) {
  // CHECK: error: qnn.softmax: axis -1 of an input of rank 0 is not its last dimension
  %x = qnn.softmax %0 : (tensor<!a>) -> tensor<!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @softmax_beta(%0: tensor<4x!a>) {
  // CHECK: error: qnn.softmax: beta 0.0 is not positive and finite
  %x = qnn.softmax %0 {beta = 0.0} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @relu6_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.relu6: shape [5] of result does not match the expected [4]
  %x = qnn.relu6 %0 : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @sigmoid_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.sigmoid: shape [5] of result does not match the expected [4]
  %x = qnn.sigmoid %0 : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @tanh_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.tanh: shape [5] of result does not match the expected [4]
  %x = qnn.tanh %0 : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @hard_swish_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.hard_swish: shape [5] of result does not match the expected [4]
  %x = qnn.hard_swish %0 : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @elu_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.elu: shape [5] of result does not match the expected [4]
  %x = qnn.elu %0 : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @function_name(%0: tensor<4x!a>) {
  // CHECK: error: {{.*}}function "sine" is not one of abs, exp, gelu, gelu_tanh, log, rsqrt, sqrt
  %x = qnn.function %0 {function = "sine"} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @log_softmax_rank(%0: tensor<!a>) {
  // CHECK: error: qnn.log_softmax: an input of rank 0 has no rows
  %x = qnn.log_softmax %0 : (tensor<!a>) -> tensor<!a>
  return
}
