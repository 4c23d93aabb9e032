// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/layer-facts.mlir"}' | %filecheck %s
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/layer-facts-no-addend.mlir"}' | %filecheck %s --check-prefix=NO-ADDEND
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/layer-facts-wrong-type.mlir"}' | %filecheck %s --check-prefix=TYPE
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/layer-facts-wrong-rule.mlir"}' | %filecheck %s --check-prefix=RULE
// RUN: %qopt %s --split-input-file --verify-diagnostics -p 'lower-qnn{contract="%S/Inputs/layer-facts-wrong-addend.mlir"}' | %filecheck %s --check-prefix=ADDEND

// TYPE: error: argument 1 of rule linear wants one_bias as i32, it is given as i1
// RULE: error: rule add is not given a value 'one_weight_scale'
// ADDEND: error: rule weight_addend returns (i32), it must return (f32)

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.5:4>
// CHECK: error: contract layer-facts asks for the sum of a channel's weights, which needs constant weights
func.func @computed_weights(%x: tensor<1x1x!x>, %w: tensor<2x1x!w>) -> tensor<1x2x!x> {
  %y = qnn.linear %x, %w : (tensor<1x1x!x>, tensor<2x1x!w>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.5:4>
// CHECK: func.func @constant_weights
// NO-ADDEND: error: contract layer-facts-no-addend has no rule weight_addend, which this model needs
func.func @constant_weights(%x: tensor<1x1x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<[[4], [1]]> : tensor<2x1xi8> -> tensor<2x1x!w>
  %y = qnn.linear %x, %w : (tensor<1x1x!x>, tensor<2x1x!w>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}
