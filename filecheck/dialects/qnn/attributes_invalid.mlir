// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @missing(%0: tensor<4x!a>) {
  // CHECK: error: property 'axes' expected in operation 'qnn.mean'
  %x = qnn.mean %0 : (tensor<4x!a>) -> tensor<!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @not_a_list(%0: tensor<4x!a>) {
  // CHECK: error: qnn.mean: axes 0 : i64 is not a list of integers
  %x = qnn.mean %0 {axes = 0} : (tensor<4x!a>) -> tensor<!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @list_of_strings(%0: tensor<4x!a>) {
  // CHECK: error: axes ["x"] is not a list of integers
  %x = qnn.mean %0 {axes = ["x"]} : (tensor<4x!a>) -> tensor<!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @list_of_i32(%0: tensor<4x!a>) {
  // CHECK: error: qnn.mean: axes array<i32: 0> is not a list of integers
  %x = qnn.mean %0 {axes = array<i32: 0>} : (tensor<4x!a>) -> tensor<!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @length(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.avg_pool2d: kernel [2] has 1 entries, expected 2
  %x = qnn.avg_pool2d %0 {kernel = [2], stride = [1, 1], pad = [0, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x3x3x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @stride(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.avg_pool2d: stride [0, 1]: 0 is outside [1, 2147483647]
  %x = qnn.avg_pool2d %0 {kernel = [2, 2], stride = [0, 1], pad = [0, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x3x3x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @negative_pad(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.avg_pool2d: pad [0, 0, -1, 0]: -1 is outside [0, 2147483647]
  %x = qnn.avg_pool2d %0 {kernel = [2, 2], stride = [1, 1], pad = [0, 0, -1, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x3x3x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @not_an_integer(%0: tensor<4x!a>) {
  // CHECK: error: qnn.softmax: axis true is not an integer
  %x = qnn.softmax %0 {axis = true} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @not_a_boolean(%0: tensor<4x!a>) {
  // CHECK: error: qnn.mean: keep_dims 1 : i64 is not true or false
  %x = qnn.mean %0 {axes = [0], keep_dims = 1} : (tensor<4x!a>) -> tensor<1x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @not_a_number(%0: tensor<4x!a>) {
  // CHECK: error: qnn.leaky_relu: alpha 1 : i64 is not an f32 number
  %x = qnn.leaky_relu %0 {alpha = 1} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @nan(%0: tensor<4x!a>) {
  // CHECK: error: qnn.leaky_relu: alpha is not a number
  %x = qnn.leaky_relu %0 {alpha = 0x7FC00000 : f32} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @activation(%0: tensor<4x!a>, %1: tensor<4x!a>) {
  // CHECK: error: qnn.add: activation "relu7" is not one of relu, relu6, relu_n1_to_1
  %x = qnn.add %0, %1 {activation = "relu7"} : (tensor<4x!a>, tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @contract(%0: tensor<4x!a>, %1: tensor<4x!a>) {
  // CHECK: error: qnn.add: contract is not a string
  %x = qnn.add %0, %1 {contract = 3} : (tensor<4x!a>, tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @operands(%0: tensor<4x!a>) {
  // CHECK: error: qnn.add: expected 2 operands, but got 1
  %x = qnn.add %0 : (tensor<4x!a>) -> tensor<4x!a>
  return
}
