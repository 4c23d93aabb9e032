// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

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

func.func @lstm_quantization(%0: tensor<1x6x8x!a>, %1: tensor<1x2x!a>, %2: tensor<1x2x!c>, %3: tensor<8x8x!a>, %4: tensor<8x2x!a>, %5: tensor<8xi32>) {
  // CHECK: error: qnn.lstm: quantization !quant.uniform<i8:f32, 2.500000e-01> of result differs from the !quant.uniform<i8:f32, 5.000000e-01> that it begins with
  %y:3 = qnn.lstm %0, %1, %2, %3, %4, %5 : (tensor<1x6x8x!a>, tensor<1x2x!a>, tensor<1x2x!c>, tensor<8x8x!a>, tensor<8x2x!a>, tensor<8xi32>) -> (tensor<1x6x2x!quant.uniform<i8:f32, 0.25>>, tensor<1x2x!a>, tensor<1x2x!c>)
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
