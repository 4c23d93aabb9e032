// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

func.func @unknown(%0: tensor<1x9x9x4xf32>) {
  // CHECK: error: qnn.real_pool2d: function "median_pool" is not one of average_pool, loop_average_pool, volume_average_pool, l2_pool, sum_pool, max_pool
  %x = qnn.real_pool2d %0 {function = "median_pool", kernel = [3, 3], stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4xf32>) -> tensor<1x7x7x4xf32>
  return
}

// -----

func.func @rank(%0: tensor<9x9x4xf32>) {
  // CHECK: error: qnn.real_pool2d: operand 'input' at position 0 does not verify: tensor<9x9x4xf32> has rank 3, expected 4
  %x = qnn.real_pool2d %0 {function = "max_pool", kernel = [3, 3], stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<9x9x4xf32>) -> tensor<1x7x7x4xf32>
  return
}

// -----

func.func @window(%0: tensor<1x9x9x4xf32>) {
  // CHECK: error: qnn.real_pool2d: output height 7 does not follow from input 9, kernel 3, stride 1, pad 0+0, dilation 2: expected 5
  %x = qnn.real_pool2d %0 {function = "max_pool", kernel = [3, 3], stride = [1, 1], pad = [0, 0, 0, 0], dilation = [2, 1]} : (tensor<1x9x9x4xf32>) -> tensor<1x7x7x4xf32>
  return
}

// -----

func.func @kept(%0: tensor<1x9x9x4xf32>) {
  // CHECK: error: qnn.real_reduce: shape [1, 4] of result does not match the expected [1, 1, 1, 4]
  %x = qnn.real_reduce %0 {function = "global_average", axes = [1, 2], keep_dims = true} : (tensor<1x9x9x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @order(%0: tensor<1x9x9x4xf32>) {
  // CHECK: error: qnn.real_reduce: axes [2, 1]: expected dimensions in order{{$}}
  %x = qnn.real_reduce %0 {function = "global_average", axes = [2, 1]} : (tensor<1x9x9x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @axis(%0: tensor<4x8xf32>) {
  // CHECK: error: qnn.real_normalize: axis 2 is outside [0, 2)
  %x = qnn.real_normalize %0 {function = "softmax", axis = 2} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @bias(%0: tensor<4x8xf32>, %1: tensor<8xf32>, %2: tensor<4xf32>) {
  // CHECK: error: qnn.real_normalize: shape [4] of bias does not broadcast to [4, 8]
  %x = qnn.real_normalize %0, %1, %2 {function = "layer_norm", axis = 1} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @parameters(%0: tensor<4x8xf32>, %1: tensor<8xf32>) {
  // CHECK: error: qnn.real_normalize: 3 parameters; expected scale, bias
  %x = qnn.real_normalize %0, %1, %1, %1 {function = "layer_norm", axis = 1} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @norm(%0: tensor<4x8xf32>) {
  // CHECK: error: qnn.real_normalize: function "batch_norm" is not one of softmax, log_softmax, l2_normalize, layer_norm, loop_layer_norm, rms_norm, loop_rms_norm, plain_layer_norm, instance_norm, group_norm
  %x = qnn.real_normalize %0 {function = "batch_norm", axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scale(%0: tensor<4x8xf32>, %1: tensor<4xf32>) {
  // CHECK: error: qnn.real_normalize: shape [4] of scale does not broadcast to [4, 8]
  %x = qnn.real_normalize %0, %1 {function = "rms_norm", axis = 1} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @norm_result(%0: tensor<4x8xf32>) {
  // CHECK: error: qnn.real_normalize: shape [4, 9] of result does not match the expected [4, 8]
  %x = qnn.real_normalize %0 {function = "instance_norm", axis = 1} : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @norm_stored(%0: tensor<4x8xi32>) {
  // CHECK: error: qnn.real_normalize: operand 'input' at position 0 does not verify:
  %x = qnn.real_normalize %0 {function = "group_norm", axis = 1} : (tensor<4x8xi32>) -> tensor<4x8xi32>
  return
}
