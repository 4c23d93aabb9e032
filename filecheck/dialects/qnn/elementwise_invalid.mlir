// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @no_broadcast(%0: tensor<2x3x!a>, %1: tensor<2x1x4x!a>) {
  // CHECK: error: qnn.add: shapes [2, 3] and [2, 1, 4] don't broadcast
  %x = qnn.add %0, %1 : (tensor<2x3x!a>, tensor<2x1x4x!a>) -> tensor<2x2x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @broadcast_result(%0: tensor<2x3x!a>, %1: tensor<3x!a>) {
  // CHECK: error: qnn.mul: shape [3] of result does not match the expected [2, 3]
  %x = qnn.mul %0, %1 : (tensor<2x3x!a>, tensor<3x!a>) -> tensor<3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @requantize_unsigned_long(%0: tensor<4x!a>) {
  // CHECK: error: qnn.requantize: result 'result' at position 0 does not verify: storage u32 is not supported yet: i8 or u8 or i16 or u16 or i32
  %x = qnn.requantize %0 : (tensor<4x!a>) -> tensor<4x!quant.uniform<u32:f32, 0.5>>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>

func.func @requantize_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.requantize: shape [2, 2] of result does not match the expected [4]
  %x = qnn.requantize %0 : (tensor<4x!a>) -> tensor<2x2x!b>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @quantize_integers(%0: tensor<4xi32>) {
  // CHECK: error: qnn.quantize: operand 'input' at position 0 does not verify: element type i32 is not f32
  %x = qnn.quantize %0 : (tensor<4xi32>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @quantize_shape(%0: tensor<4xf32>) {
  // CHECK: error: qnn.quantize: shape [5] of result does not match the expected [4]
  %x = qnn.quantize %0 : (tensor<4xf32>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @dequantize_type(%0: tensor<4x!a>) {
  // CHECK: error: qnn.dequantize: result 'result' at position 0 does not verify: element type f64 is not f32
  %x = qnn.dequantize %0 : (tensor<4x!a>) -> tensor<4xf64>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @dequantize_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.dequantize: shape [5] of result does not match the expected [4]
  %x = qnn.dequantize %0 : (tensor<4x!a>) -> tensor<5xf32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @sub_result(%0: tensor<2x3x!a>, %1: tensor<3x!a>) {
  // CHECK: error: qnn.sub: shape [3, 3] of result does not match the expected [2, 3]
  %x = qnn.sub %0, %1 : (tensor<2x3x!a>, tensor<3x!a>) -> tensor<3x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @squared_difference_shape(%0: tensor<4x!a>) {
  // CHECK: error: qnn.squared_difference: shape [5] of result does not match the expected [4]
  %x = qnn.squared_difference %0, %0 : (tensor<4x!a>, tensor<4x!a>) -> tensor<5x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @prelu_shapes(%0: tensor<4x!a>, %1: tensor<3x!a>) {
  // CHECK: error: qnn.prelu: shapes [4] and [3] don't broadcast
  %x = qnn.prelu %0, %1 : (tensor<4x!a>, tensor<3x!a>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @prelu_result(%0: tensor<4x!a>, %1: tensor<1x!a>) {
  // CHECK: error: qnn.prelu: shape [1] of result does not match the expected [4]
  %x = qnn.prelu %0, %1 : (tensor<4x!a>, tensor<1x!a>) -> tensor<1x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @prelu_plain(%0: tensor<4x!a>, %1: tensor<4xi8>) {
  // CHECK: error: qnn.prelu: operand 'rhs' at position 1 does not verify:
  %x = qnn.prelu %0, %1 : (tensor<4x!a>, tensor<4xi8>) -> tensor<4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @compare_predicate(%0: tensor<4x!a>) {
  // CHECK: error: {{.*}}predicate "less" is not one of eq, ne, lt, le, gt, ge
  %x = qnn.compare %0, %0 {predicate = "less"} : (tensor<4x!a>, tensor<4x!a>) -> tensor<4xi1>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @compare_result(%0: tensor<4x!a>) {
  // CHECK: error: qnn.compare: result 'result' at position 0 does not verify: element type i8 is not i1
  %x = qnn.compare %0, %0 {predicate = "lt"} : (tensor<4x!a>, tensor<4x!a>) -> tensor<4xi8>
  return
}

// -----

func.func @quantize_blocks(%0: tensor<2x5xf32>) {
  // CHECK: error: qnn.quantize: result 'result' at position 0 does not verify: 2 scales do not match the 3 blocks of [2, 5]
  %x = qnn.quantize %0 : (tensor<2x5xf32>) -> tensor<2x5x!quant.uniform<i8:f32:{1:2}, {{0.5, 0.25}}>>
  return
}

// -----

func.func @dequantize_axis(%0: tensor<2x!quant.uniform<i16:f32:1, {0.5, 0.25}>>) {
  // CHECK: error: qnn.dequantize: operand 'input' at position 0 does not verify: quantized dimension 1 is outside the rank 1
  %x = qnn.dequantize %0 : (tensor<2x!quant.uniform<i16:f32:1, {0.5, 0.25}>>) -> tensor<2xf32>
  return
}

// -----

func.func @quantize_width(%0: tensor<2xf32>) {
  // CHECK: error: qnn.quantize: result 'result' at position 0 does not verify: storage i4 is not supported yet: i8 or u8 or i16 or u16
  %x = qnn.quantize %0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i4:f32, 0.5>>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @div_shapes(%0: tensor<4x!a>, %1: tensor<3x!a>) {
  // CHECK: error: qnn.div: shapes [4] and [3] don't broadcast
  %x = qnn.div %0, %1 : (tensor<4x!a>, tensor<3x!a>) -> tensor<4x!a>
  return
}
