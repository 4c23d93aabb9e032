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
// CHECK: error: tensor.empty can't stand beside qnn operations
func.func @mixed_levels(%x: tensor<4x!q>) -> tensor<4x!q> {
  %e = tensor.empty() : tensor<4xi8>
  return %x : tensor<4x!q>
}
