// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @concat_axis(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.concat: axis 2 is outside [0, 2)
  %x = qnn.concat %0 {axis = 2} : (tensor<2x3x!a>) -> tensor<2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @concat_nothing() {
  // CHECK: error: qnn.concat: expected at least one operand
  %x = qnn.concat {axis = 0} : () -> tensor<2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @concat_input(%0: tensor<2x3x!a>, %1: tensor<3x3x!a>) {
  // CHECK: error: qnn.concat: shape [3, 3] of operand 1 differs from [2, 3] beside axis 1
  %x = qnn.concat %0, %1 {axis = 1} : (tensor<2x3x!a>, tensor<3x3x!a>) -> tensor<2x6x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @concat_input_rank(%0: tensor<2x3x!a>, %1: tensor<2x!a>) {
  // CHECK: error: qnn.concat: shape [2] of operand 1 differs from [2, 3] beside axis 1
  %x = qnn.concat %0, %1 {axis = 1} : (tensor<2x3x!a>, tensor<2x!a>) -> tensor<2x6x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @concat_result(%0: tensor<2x3x!a>, %1: tensor<2x3x!a>) {
  // CHECK: error: qnn.concat: shape [2, 5] of result does not match the expected [2, 6]
  %x = qnn.concat %0, %1 {axis = 1} : (tensor<2x3x!a>, tensor<2x3x!a>) -> tensor<2x5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @pad_quantization(%0: tensor<4x!a>) {
  // CHECK: error: qnn.pad: quantization !quant.uniform<i8:f32, 2.500000e-01> of result differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.pad %0 {low = [0], high = [1]} : (tensor<4x!a>) -> tensor<5x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pad_length(%0: tensor<4x!a>) {
  // CHECK: error: qnn.pad: low [0, 0] has length 2, expected 1
  %x = qnn.pad %0 {low = [0, 0], high = [1]} : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pad_less_than_none(%0: tensor<4x!a>) {
  // CHECK: error: qnn.pad: low [-1]: -1 is outside [0, 2147483647]
  %x = qnn.pad %0 {low = [-1], high = [1]} : (tensor<4x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pad_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.pad: shape [5] of result does not match the expected [6]
  %x = qnn.pad %0 {low = [1], high = [1]} : (tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @pad_value(%0: tensor<4x!a>) {
  // CHECK: error: qnn.pad: value 128 is outside [-128, 127] of its storage type i8
  %x = qnn.pad %0 {low = [1], high = [1], value = 128} : (tensor<4x!a>) -> tensor<6x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @reshape_quantization(%0: tensor<4x!a>) {
  // CHECK: error: qnn.reshape: quantization !quant.uniform<i8:f32, 2.500000e-01> of result differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.reshape %0 : (tensor<4x!a>) -> tensor<2x2x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @reshape_to_real(%0: tensor<4x!a>) {
  // CHECK: error: qnn.reshape: quantization f32 of result differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.reshape %0 : (tensor<4x!a>) -> tensor<2x2xf32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @reshape_count(%0: tensor<4x!a>) {
  // CHECK: error: qnn.reshape: 4 elements of [4] don't have shape [2, 3]
  %x = qnn.reshape %0 : (tensor<4x!a>) -> tensor<2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @transpose_perm(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.transpose: [0, 0] is not an order of the axes of [2, 3]
  %x = qnn.transpose %0 {perm = [0, 0]} : (tensor<2x3x!a>) -> tensor<2x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @transpose_shape(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.transpose: shape [2, 3] of result does not match the expected [3, 2]
  %x = qnn.transpose %0 {perm = [1, 0]} : (tensor<2x3x!a>) -> tensor<2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @slice_length(%0: tensor<2x4x!a>) {
  // CHECK: error: qnn.slice: offsets [0] has length 1, expected 2
  %x = qnn.slice %0 {offsets = [0], sizes = [2, 2], strides = [1, 1]} : (tensor<2x4x!a>) -> tensor<2x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @slice_outside(%0: tensor<2x4x!a>) {
  // CHECK: error: qnn.slice: slice of axis 1 reads element 4, outside [0, 3]
  %x = qnn.slice %0 {offsets = [0, 1], sizes = [2, 2], strides = [1, 3]} : (tensor<2x4x!a>) -> tensor<2x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @slice_shape(%0: tensor<2x4x!a>) {
  // CHECK: error: qnn.slice: shape [2, 3] of result does not match the expected [2, 2]
  %x = qnn.slice %0 {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]} : (tensor<2x4x!a>) -> tensor<2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @slice_quantization(%0: tensor<4x!a>) {
  // CHECK: error: qnn.slice: quantization !quant.uniform<i8:f32, 2.500000e-01> of result differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.slice %0 {offsets = [0], sizes = [2], strides = [1]} : (tensor<4x!a>) -> tensor<2x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @split_axis(%0: tensor<4x!a>) {
  // CHECK: error: qnn.split: axis 1 is outside [0, 1)
  %x, %y = qnn.split %0 {axis = 1} : (tensor<4x!a>) -> (tensor<2x!a>, tensor<2x!a>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @split_unequal(%0: tensor<5x!a>) {
  // CHECK: error: qnn.split: dimension 0 of size 5 does not split into 2 equal parts
  %x, %y = qnn.split %0 {axis = 0} : (tensor<5x!a>) -> (tensor<2x!a>, tensor<3x!a>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @split_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.split: shape [3] of result 1 does not match the expected [2]
  %x, %y = qnn.split %0 {axis = 0} : (tensor<4x!a>) -> (tensor<2x!a>, tensor<3x!a>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @split_quantization(%0: tensor<4x!a>) {
  // CHECK: error: qnn.split: quantization !quant.uniform<i8:f32, 2.500000e-01> of result 1 differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x, %y = qnn.split %0 {axis = 0} : (tensor<4x!a>) -> (tensor<2x!a>, tensor<2x!b>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @resize_mode(%0: tensor<1x2x2x3x!a>) {
  // CHECK: error: qnn.resize: mode "cubic" is not one of nearest, bilinear
  %x = qnn.resize %0 {mode = "cubic"} : (tensor<1x2x2x3x!a>) -> tensor<1x4x4x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @resize_channels(%0: tensor<1x2x2x3x!a>) {
  // CHECK: error: qnn.resize: shape [1, 4, 4, 4] of result does not match the expected [1, 4, 4, 3]
  %x = qnn.resize %0 {mode = "nearest"} : (tensor<1x2x2x3x!a>) -> tensor<1x4x4x4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @resize_quantization(%0: tensor<1x2x2x3x!a>) {
  // CHECK: error: qnn.resize: quantization !quant.uniform<i8:f32, 2.500000e-01> of result differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.resize %0 {mode = "nearest"} : (tensor<1x2x2x3x!a>) -> tensor<1x4x4x3x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @resize_centers(%0: tensor<1x2x2x3x!a>) {
  // CHECK: error: qnn.resize: align_corners and half_pixel_centers exclude each other
  %x = qnn.resize %0 {mode = "nearest", align_corners = true, half_pixel_centers = true} : (tensor<1x2x2x3x!a>) -> tensor<1x4x4x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @arg_max_type(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.arg_max: result 'result' at position 0 does not verify: element type i8 is not i32 or i64
  %x = qnn.arg_max %0 {axis = 1} : (tensor<2x3x!a>) -> tensor<2xi8>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @arg_max_axis(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.arg_max: axis 2 is outside [0, 2)
  %x = qnn.arg_max %0 {axis = 2} : (tensor<2x3x!a>) -> tensor<2xi32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @arg_max_shape(%0: tensor<2x3x!a>) {
  // CHECK: error: qnn.arg_max: shape [2, 1] of result does not match the expected [2]
  %x = qnn.arg_max %0 {axis = 1} : (tensor<2x3x!a>) -> tensor<2x1xi32>
  return
}

// -----

func.func @pad_value_of_reals(%0: tensor<4xf32>) {
  // CHECK: error: qnn.pad: value is for the padding of quantized tensors
  %x = qnn.pad %0 {low = [1], high = [1], value = 1} : (tensor<4xf32>) -> tensor<6xf32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @concat_real_with_quantized(%0: tensor<4x!a>, %1: tensor<4xf32>) {
  // CHECK: error: qnn.concat: quantization f32 of input 1 differs from the !quant.uniform<i8:f32, 5.000000e-01> of input
  %x = qnn.concat %0, %1 {axis = 0} : (tensor<4x!a>, tensor<4xf32>) -> tensor<8x!a>
  return
}
