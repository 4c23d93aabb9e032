// RUN: %qopt %s --split-input-file --verify-diagnostics -p lower-qnn | %filecheck %s

!q = !quant.uniform<i8:f32, 0.05:3>
// CHECK: error: qnn.relu has no contract
func.func @no_contract(%x: tensor<4x!q>) -> tensor<4x!q> {
  %y = qnn.relu %x : (tensor<4x!q>) -> tensor<4x!q>
  return %y : tensor<4x!q>
}

// -----

!q = !quant.uniform<i8:f32, 0.05:3>
// CHECK: error: there is no contract 'tflight'
func.func @unknown_contract(%x: tensor<4x!q>) -> tensor<4x!q> {
  %y = qnn.relu %x {contract = "tflight"} : (tensor<4x!q>) -> tensor<4x!q>
  return %y : tensor<4x!q>
}

// -----

!q = !quant.uniform<i8:f32, 0.05:3>
!p = !quant.uniform<i8:f32, 0.05:4>
// CHECK: error: int8 inputs of concat must have the output's scale and zero point
func.func @refused_by_the_rule(%x: tensor<4x!q>) -> tensor<4x!p> {
  %y = qnn.concat %x {axis = 0, contract = "tflite"} : (tensor<4x!q>) -> tensor<4x!p>
  return %y : tensor<4x!p>
}

// -----

!q = !quant.uniform<i8:f32, 0.05:3>
// CHECK: error: math.absf can't stand beside qnn operations
func.func @mixed_levels(%x: tensor<4x!q>, %f: f32) -> tensor<4x!q> {
  %e = math.absf %f : f32
  return %x : tensor<4x!q>
}

// -----

!q = !quant.uniform<i8:f32, 0.05:3>
module attributes {qnn.contract = "tflite"} {
  // CHECK: error: tensor.expand_shape is not defined on tensor<4x!quant.uniform<i8:f32, 5.000000e-02:3>>
  func.func @upstream_operation_on_quantized(%x: tensor<4x!q>) -> tensor<2x2x!q> {
    %y = tensor.expand_shape %x [[0, 1]] output_shape [2, 2] : tensor<4x!q> into tensor<2x2x!q>
    return %y : tensor<2x2x!q>
  }
}

// -----

!h = !quant.uniform<i8:f16, 0.05:3>
module attributes {qnn.contract = "tflite"} {
  // CHECK: error: contract tflite has no arithmetic for scales of f16
  func.func @half_scales(%x: tensor<4x2x!h>, %y: tensor<2x4x!h>) -> tensor<4x4x!h> {
    %z = qnn.matmul %x, %y : (tensor<4x2x!h>, tensor<2x4x!h>) -> tensor<4x4x!h>
    return %z : tensor<4x4x!h>
  }
}

// -----

!q = !quant.uniform<i32:f32, 0.5:3>
module attributes {qnn.contract = "tflite"} {
  // CHECK: error: quant.dcast: storage i32 is not supported yet: i8 or u8 or i16 or u16
  func.func @wide_storage(%x: tensor<4x!q>) -> tensor<4xf32> {
    %y = quant.dcast %x : tensor<4x!q> to tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
