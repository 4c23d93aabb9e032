// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!q = !quant.uniform<i8:f32, 0.5>

func.func @scale(%x: tensor<2xf32>, %s: tensor<f32>, %z: tensor<i32>) {
  // CHECK: error: qnn.quantize_with: result has the scale 0.5 and the zero point 0, expected 1 and 0: operands give them
  %y = qnn.quantize_with %x, %s, %z : (tensor<2xf32>, tensor<f32>, tensor<i32>) -> tensor<2x!q>
  return
}

// -----

func.func @broadcast(%x: tensor<2xi32>, %s: tensor<3xf32>, %z: tensor<i32>) {
  // CHECK: error: qnn.dequantize_with: shape [3] of input_scale does not broadcast to [2]
  %y = qnn.dequantize_with %x, %s, %z : (tensor<2xi32>, tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

!q = !quant.uniform<i8:f32, 1.0:3>

func.func @zero_point(%x: tensor<2xi32>, %s: tensor<f32>, %z: tensor<i32>) {
  // CHECK: error: qnn.requantize_with: result has the scale 1.0 and the zero point 3, expected 1 and 0: operands give them
  %y = qnn.requantize_with %x, %s, %s, %s, %z {layer = "matmul"} : (tensor<2xi32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) -> tensor<2x!q>
  return
}

// -----

!q = !quant.uniform<i8:f32, 1.0>

func.func @layer(%x: tensor<2xi32>, %s: tensor<f32>, %z: tensor<i32>) {
  // CHECK: error: qnn.requantize_with: layer "linear" is not one of conv2d, matmul
  %y = qnn.requantize_with %x, %s, %s, %s, %z {layer = "linear"} : (tensor<2xi32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) -> tensor<2x!q>
  return
}
