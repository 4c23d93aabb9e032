// RUN: %qopt %s --split-input-file -p 'lower-qnn{contract="%S/Inputs/layer-facts.mlir"},fold-constants,dce' | %filecheck %s

// Two scales and two biases. Half of each weight without its zero point, added up, is 1.5
// and 3.5, to the even integers 2 and 4.

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32:0, {0.5, 0.25}>
// CHECK-LABEL: func.func @several
func.func @several(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %b = arith.constant dense<[7, -2]> : tensor<2xi32>
  // CHECK: arith.constant dense<[2, 4]> : tensor<2xi32>
  // CHECK: arith.addi {{%.*}}, {{%.*}} : i32
  // CHECK-NEXT: fixed.saturate
  %y = qnn.linear %x, %w, %b : (tensor<1x2x!x>, tensor<2x2x!w>, tensor<2xi32>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}

// -----

// One scale per channel, which are equal, and equal biases.

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32:0, {0.5, 0.5}>
// CHECK-LABEL: func.func @equal
func.func @equal(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %b = arith.constant dense<[7, 7]> : tensor<2xi32>
  // CHECK: arith.constant dense<[1102, 1104]> : tensor<2xi32>
  %y = qnn.linear %x, %w, %b : (tensor<1x2x!x>, tensor<2x2x!w>, tensor<2xi32>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}

// -----

// No bias is one bias, 0. Without their zero point the weights are 0 and -3: -1.5 is -2.

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.5:4>
// CHECK-LABEL: func.func @no_bias
func.func @no_bias(%x: tensor<1x1x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<[[4], [1]]> : tensor<2x1xi8> -> tensor<2x1x!w>
  // CHECK: arith.constant dense<[1100, 1098]> : tensor<2xi32>
  %y = qnn.linear %x, %w : (tensor<1x1x!x>, tensor<2x1x!w>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}
