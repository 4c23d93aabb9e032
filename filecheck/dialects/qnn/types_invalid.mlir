// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

func.func @real_values(%0: tensor<4xf32>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: element type f32 is not !quant.uniform
  %x = qnn.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @unranked(%0: tensor<*x!a>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: tensor<*x!quant.uniform<i8:f32, 5.000000e-01>> is not a ranked tensor
  %x = qnn.relu %0 : (tensor<*x!a>) -> tensor<*x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @scalar(%0: !a) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: !quant.uniform<i8:f32, 5.000000e-01> is not a ranked tensor
  %x = qnn.relu %0 : (!a) -> !a
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @dynamic_shape(%0: tensor<?x!a>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: dimension 0 of tensor<?x!quant.uniform<i8:f32, 5.000000e-01>> is not a fixed size of at least 1
  %x = qnn.relu %0 : (tensor<?x!a>) -> tensor<?x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @empty(%0: tensor<4x0x!a>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: dimension 1 of tensor<4x0x!quant.uniform<i8:f32, 5.000000e-01>> is not a fixed size of at least 1
  %x = qnn.relu %0 : (tensor<4x0x!a>) -> tensor<4x0x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @too_large(%0: tensor<65536x32768x!a>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: tensor<65536x32768x!quant.uniform<i8:f32, 5.000000e-01>> has 2147483648 elements, more than the 2147483647 supported
  %x = qnn.relu %0 : (tensor<65536x32768x!a>) -> tensor<65536x32768x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @wide_activation(%0: tensor<4x!quant.uniform<i32:f32, 0.5>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: storage i32 is not supported yet: i8 or u8 or i16 or u16
  %x = qnn.relu %0 : (tensor<4x!quant.uniform<i32:f32, 0.5>>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @narrow_weight(%0: tensor<4x8x!a>, %1: tensor<2x8x!quant.uniform<u4:f32, 0.5>>) {
  // CHECK: error: qnn.linear: operand 'weight' at position 1 does not verify: storage u4 is not supported yet: i4 or i8 or u8
  %x = qnn.linear %0, %1 : (tensor<4x8x!a>, tensor<2x8x!quant.uniform<u4:f32, 0.5>>) -> tensor<4x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!n = !quant.uniform<i4:f32, 0.5:8>

func.func @narrow_zero_point(%0: tensor<4x8x!a>, %1: tensor<2x8x!n>) {
  // CHECK: error: qnn.linear: operand 'weight' at position 1 does not verify: zero point 8 is outside [-8, 7] of its storage type i4
  %x = qnn.linear %0, %1 : (tensor<4x8x!a>, tensor<2x8x!n>) -> tensor<4x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @narrow_activation(%0: tensor<4x!quant.uniform<i4:f32, 0.5>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: storage i4 is not supported yet: i8 or u8 or i16 or u16
  %x = qnn.relu %0 : (tensor<4x!quant.uniform<i4:f32, 0.5>>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @half_precision(%0: tensor<4x!quant.uniform<i8:f16, 0.5>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: expressed type f16 is not supported yet: f32
  %x = qnn.relu %0 : (tensor<4x!quant.uniform<i8:f16, 0.5>>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @per_axis_activation(%0: tensor<2x!w>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: per-axis quantization is only supported for weights: use per tensor
  %x = qnn.relu %0 : (tensor<2x!w>) -> tensor<2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @by_blocks(%0: tensor<1x2x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1}}>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: sub-channel quantization is not supported: use per tensor or per axis
  %x = qnn.relu %0 : (tensor<1x2x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1}}>>) -> tensor<1x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @no_parameters(%0: tensor<4x!quant.any<i8:f32>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: element type !quant.any<i8:f32> is not !quant.uniform
  %x = qnn.relu %0 : (tensor<4x!quant.any<i8:f32>>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @only_calibrated(%0: tensor<4x!quant.calibrated<f32<0.0:1.0>>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: element type !quant.calibrated<f32<0.000000e+00:1.000000e+00>> is not !quant.uniform
  %x = qnn.relu %0 : (tensor<4x!quant.calibrated<f32<0.0:1.0>>>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @signed_zero_point(%0: tensor<4x!a>) {
  // CHECK: error: qnn.relu: result 'result' at position 0 does not verify: zero point 200 is outside [-128, 127] of its storage type i8
  %x = qnn.relu %0 : (tensor<4x!a>) -> tensor<4x!quant.uniform<i8:f32, 0.5:200>>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @unsigned_zero_point(%0: tensor<4x!quant.uniform<u8:f32, 0.5:-1>>) {
  // CHECK: error: qnn.relu: operand 'input' at position 0 does not verify: zero point -1 is outside [0, 255] of its storage type u8
  %x = qnn.relu %0 : (tensor<4x!quant.uniform<u8:f32, 0.5:-1>>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @weight_zero_point(%0: tensor<4x8x!a>, %1: tensor<2x8x!quant.uniform<i8:f32:0, {0.5,0.5:128}>>) {
  // CHECK: error: qnn.linear: operand 'weight' at position 1 does not verify: zero point 128 is outside [-128, 127] of its storage type i8
  %x = qnn.linear %0, %1 : (tensor<4x8x!a>, tensor<2x8x!quant.uniform<i8:f32:0, {0.5,0.5:128}>>) -> tensor<4x2x!a>
  return
}
