// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @pool_height(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.avg_pool2d: output height 3 does not follow from input 4, kernel 2, stride 2, pad 0+0, dilation 1: expected 2
  %x = qnn.avg_pool2d %0 {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x3x2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pool_channels(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.avg_pool2d: shape [1, 2, 2, 4] of result does not match the expected [1, 2, 2, 3]
  %x = qnn.avg_pool2d %0 {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x2x2x4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pool_padding_before(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.avg_pool2d: pad [2, 0, 0, 0] leaves a window that holds only padding in its height: kernel 2, input 4
  %x = qnn.avg_pool2d %0 {kernel = [2, 2], stride = [1, 1], pad = [2, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x5x3x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pool_padding_after(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.max_pool2d: pad [0, 0, 0, 2] leaves a window that holds only padding in its width: kernel 2, input 4
  %x = qnn.max_pool2d %0 {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 2]} : (tensor<1x4x4x3x!a>) -> tensor<1x2x3x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @max_pool_quantization(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.max_pool2d: quantization !quant.uniform<i8:f32, 2.500000e-01> of result differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.max_pool2d %0 {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x2x2x3x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @mean_axis(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.mean: axis 4 is outside [0, 4)
  %x = qnn.mean %0 {axes = [4]} : (tensor<1x4x4x3x!a>) -> tensor<1x4x4x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @mean_axis_negative(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.mean: axes [-1]: -1 is outside [0, 2147483647]
  %x = qnn.mean %0 {axes = [-1]} : (tensor<1x4x4x3x!a>) -> tensor<1x4x4x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @mean_axis_twice(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.mean: axes [1, 1] repeat a dimension
  %x = qnn.mean %0 {axes = [1, 1]} : (tensor<1x4x4x3x!a>) -> tensor<1x4x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @mean_shape(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.mean: shape [1, 1, 1, 3] of result does not match the expected [1, 3]
  %x = qnn.mean %0 {axes = [1, 2]} : (tensor<1x4x4x3x!a>) -> tensor<1x1x1x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @mean_keep_dims(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.mean: shape [1, 3] of result does not match the expected [1, 1, 1, 3]
  %x = qnn.mean %0 {axes = [1, 2], keep_dims = true} : (tensor<1x4x4x3x!a>) -> tensor<1x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @adaptive_pool_channels(%0: tensor<1x4x4x3x!a>) {
  // CHECK: error: qnn.adaptive_avg_pool2d: shape [1, 2, 2, 4] of result does not match the expected [1, 2, 2, 3]
  %x = qnn.adaptive_avg_pool2d %0 : (tensor<1x4x4x3x!a>) -> tensor<1x2x2x4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @product_axes(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.product: axes [] name no dimension; expected at least one
  %x = qnn.product %0 {axes = []} : (tensor<2x3x!a>) -> tensor<2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @sum_axes(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.sum: axes [1, 1] repeat a dimension
  %x = qnn.sum %0 {axes = [1, 1]} : (tensor<2x3x!a>) -> tensor<2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @l2_normalize_rank(%0: tensor<!a>) {
  // CHECK: error: qnn.l2_normalize: an input of rank 0 has no rows
  %x = qnn.l2_normalize %0 : (tensor<!a>) -> tensor<!a>
  return
}
