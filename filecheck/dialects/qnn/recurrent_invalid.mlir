// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_wide_state(%0: tensor<1x6x8x!c>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi64>) {
  // CHECK: error: qnn.lstm: state of 8 bits, expected as many as the input's
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!c>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi64>) -> (tensor<1x6x2x!a>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_wide_bias(%0: tensor<1x6x8x!c>, %1: tensor<1x2x!c>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: bias of i32, expected i64 for such input
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!c>, tensor<1x2x!c>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!c>, tensor<1x2x!c>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_state(%0: tensor<1x6x8x!a>, %1: tensor<2x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: shape [2, 2] of state does not match the expected [1, 2]
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<2x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!a>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_weights(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<6x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: shape [6, 8] of input_weight does not match the expected [8, 8]
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<6x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!a>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_bias(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<4xi32>) {
  // CHECK: error: qnn.lstm: shape [4] of bias does not match the expected [8]
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<4xi32>) -> (tensor<1x6x2x!a>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_storage(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: storage u8 of result differs from the i8 of state
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!quant.uniform<u8:f32, 0.25>>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_cell(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!a>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: operand 'cell' at position 2 does not verify
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!a>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!a>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_clip(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: cell_clip -1.0 is not at least 0
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 {cell_clip = -1.0} : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!a>, tensor<1x2x!a>, tensor<1x2x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @svdf_units(%0: tensor<1x8x!a>, %1: tensor<1x4x5x!c>, %2: tensor<4x8x!a>, %3: tensor<4x5x!c>, %4: tensor<3xi32>) {
  // CHECK: error: qnn.svdf: 4 filters are no multiple of the 3 elements of bias
  %y:2 = qnn.svdf %0, %1, %2, %3, %4 : (tensor<1x8x!a>, tensor<1x4x5x!c>, tensor<4x8x!a>, tensor<4x5x!c>, tensor<3xi32>) -> (tensor<1x3x!a>, tensor<1x4x5x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @svdf_state(%0: tensor<1x8x!a>, %1: tensor<1x4x6x!c>, %2: tensor<4x8x!a>, %3: tensor<4x5x!c>, %4: tensor<2xi32>) {
  // CHECK: error: qnn.svdf: shape [1, 4, 6] of state does not match the expected [1, 4, 5]
  %y:2 = qnn.svdf %0, %1, %2, %3, %4 : (tensor<1x8x!a>, tensor<1x4x6x!c>, tensor<4x8x!a>, tensor<4x5x!c>, tensor<2xi32>) -> (tensor<1x2x!a>, tensor<1x4x6x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @svdf_weights(%0: tensor<1x8x!a>, %1: tensor<1x4x5x!c>, %2: tensor<4x7x!a>, %3: tensor<4x5x!c>, %4: tensor<2xi32>) {
  // CHECK: error: qnn.svdf: shape [4, 7] of weight does not match the expected [4, 8]
  %y:2 = qnn.svdf %0, %1, %2, %3, %4 : (tensor<1x8x!a>, tensor<1x4x5x!c>, tensor<4x7x!a>, tensor<4x5x!c>, tensor<2xi32>) -> (tensor<1x2x!a>, tensor<1x4x5x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @svdf_result(%0: tensor<1x8x!a>, %1: tensor<1x4x5x!c>, %2: tensor<4x8x!a>, %3: tensor<4x5x!c>, %4: tensor<2xi32>) {
  // CHECK: error: qnn.svdf: shape [1, 3] of result does not match the expected [1, 2]
  %y:2 = qnn.svdf %0, %1, %2, %3, %4 : (tensor<1x8x!a>, tensor<1x4x5x!c>, tensor<4x8x!a>, tensor<4x5x!c>, tensor<2xi32>) -> (tensor<1x3x!a>, tensor<1x4x5x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5:1>

func.func @svdf_zero_point(%0: tensor<1x8x!a>, %1: tensor<1x4x5x!c>, %2: tensor<4x8x!a>, %3: tensor<4x5x!c>, %4: tensor<2xi32>) {
  // CHECK: error: qnn.svdf: zero point 1 of state, expected 0
  %y:2 = qnn.svdf %0, %1, %2, %3, %4 : (tensor<1x8x!a>, tensor<1x4x5x!c>, tensor<4x8x!a>, tensor<4x5x!c>, tensor<2xi32>) -> (tensor<1x2x!a>, tensor<1x4x5x!c>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i16:f32, 0.5>

func.func @svdf_next(%0: tensor<1x8x!a>, %1: tensor<1x4x5x!c>, %2: tensor<4x8x!a>, %3: tensor<4x5x!c>, %4: tensor<2xi32>) {
  // CHECK: error: qnn.svdf: quantization !quant.uniform<i16:f32, 2.500000e-01> of next_state differs from the !quant.uniform<i16:f32, 5.000000e-01> of state
  %y:2 = qnn.svdf %0, %1, %2, %3, %4 : (tensor<1x8x!a>, tensor<1x4x5x!c>, tensor<4x8x!a>, tensor<4x5x!c>, tensor<2xi32>) -> (tensor<1x2x!a>, tensor<1x4x5x!quant.uniform<i16:f32, 0.25>>)
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i8:f32, 0.25>
!c = !quant.uniform<i16:f32, 0.5>

func.func @lstm_quantization(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: quantization !quant.uniform<i8:f32, 2.500000e-01> of last_state differs from the !quant.uniform<i8:f32, 5.000000e-01> that it begins with
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!a>, tensor<1x2x!b>, tensor<1x2x!c>)
  return
}
