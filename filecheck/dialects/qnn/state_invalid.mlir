// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

// CHECK: error: func.func: qnn.state is no list of dense tensors
func.func @no_list(%s: tensor<2xi8>) -> tensor<2xi8> attributes {qnn.state = 3 : i64} {
  return %s : tensor<2xi8>
}

// -----

// CHECK: error: func.func: qnn.state has 1 initial values, the function 0 results
func.func @no_result(%s: tensor<2xi8>) attributes {qnn.state = [dense<0> : tensor<2xi8>]} {
  return
}

// -----

// CHECK: error: func.func: qnn.state has 2 initial values, the function 1 arguments
func.func @no_argument(%s: tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi8>)
    attributes {qnn.state = [dense<0> : tensor<2xi8>, dense<0> : tensor<2xi8>]} {
  return %s, %s : tensor<2xi8>, tensor<2xi8>
}

// -----

// CHECK: error: func.func: state 0 is taken as tensor<2xi8>, and left as tensor<1xi8>
func.func @another_type(%x: tensor<1xi8>, %s: tensor<2xi8>) -> (tensor<2xi8>, tensor<1xi8>)
    attributes {qnn.state = [dense<0> : tensor<2xi8>]} {
  return %s, %x : tensor<2xi8>, tensor<1xi8>
}

// -----

!q = !quant.uniform<i8:f32, 0.5:3>

// CHECK: error: func.func: state 0 is tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>, its initial value tensor<2xi16>
func.func @another_start(%s: tensor<2x!q>) -> tensor<2x!q>
    attributes {qnn.state = [dense<0> : tensor<2xi16>]} {
  return %s : tensor<2x!q>
}
