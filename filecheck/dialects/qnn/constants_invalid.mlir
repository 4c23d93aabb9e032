// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>

func.func @constant_type() {
  // CHECK: error: qnn.constant: element type i16 of value is not the storage type i8 of result
  %c = qnn.constant dense<1> : tensor<2xi16> -> tensor<2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @constant_shape() {
  // CHECK: error: qnn.constant: shape [2] of value does not match the expected [3]
  %c = qnn.constant dense<1> : tensor<2xi8> -> tensor<3x!a>
  return
}

// -----

!v = !quant.uniform<i8<-127:127>:f32:1, {0.5,0.25}>

func.func @constant_axis() {
  // CHECK: error: qnn.constant: result 'result' at position 0 does not verify: quantized dimension 1 is outside the rank 1
  %c = qnn.constant dense<1> : tensor<2xi8> -> tensor<2x!v>
  return
}

// -----

!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @constant_scales() {
  // CHECK: error: qnn.constant: result 'result' at position 0 does not verify: 2 scales do not match the size 3 of quantized dimension 0
  %c = qnn.constant dense<1> : tensor<3xi8> -> tensor<3x!w>
  return
}

// -----

!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @constant_range() {
  // CHECK: error: qnn.constant: stored value -128 is outside [-127, 127] of i8<-127:127>
  %c = qnn.constant dense<[-127, -128]> : tensor<2xi8> -> tensor<2x!w>
  return
}

// -----

func.func @constant_narrow_range() {
  // CHECK: error: qnn.constant: stored value -8 is outside [-7, 7] of i4<-7:7>
  %c = qnn.constant dense<[7, -8]> : tensor<2xi4> -> tensor<2x!quant.uniform<i4<-7:7>:f32, 0.5>>
  return
}

// -----

func.func @constant_narrow_type() {
  // CHECK: error: qnn.constant: element type i8 of value is not the storage type i4 of result
  %c = qnn.constant dense<7> : tensor<2xi8> -> tensor<2x!quant.uniform<i4:f32, 0.5>>
  return
}

// -----

func.func @constant_unsigned_range() {
  // CHECK: error: qnn.constant: stored value 128 is outside [0, 127] of u8<0:127>
  %c = qnn.constant dense<[127, -128]> : tensor<2xi8> -> tensor<2x!quant.uniform<u8<0:127>:f32, 0.5>>
  return
}

// -----

func.func @constant_real() {
  // CHECK: error: qnn.constant: result 'result' at position 0 does not verify: element type f32 is not !quant.uniform
  %c = qnn.constant dense<1> : tensor<2xi8> -> tensor<2xf32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>

func.func @constant_not_dense() {
  // CHECK: error: expected dense stored values and their type
  %c = qnn.constant 1 : i8 -> tensor<2x!a>
  return
}

// -----

func.func @constant_of_quantized_elements() {
  // CHECK: constants_invalid.mlir:97:32: error: expected memref, vector or tensor type of integer, index, float, or complex type (stored values have that of the storage: i8, for example)
  %c = qnn.constant dense<1> : tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
