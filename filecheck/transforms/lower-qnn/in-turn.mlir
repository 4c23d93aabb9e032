// RUN: %qopt %s --split-input-file -p 'lower-qnn{contract="%S/Inputs/in-turn.mlir"},canonicalize,cse,dce' | %filecheck %s

// The last column has a longer register: the bounds are constants, along columns.

!x = !quant.uniform<i8:f32, 0.5:-3>
// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<2x4x!x>, %y: tensor<4x3x!x>) -> tensor<2x3x!x> {
  // CHECK: [[HIGH:%.*]] = arith.constant dense<[32767, 32767, 65535]> : tensor<3xi32>
  // CHECK: linalg.generic
  // CHECK-SAME: "reduction"
  // CHECK-SAME: ins(%x, %y, [[HIGH]] :
  // CHECK: [[PRODUCT:%.*]] = arith.muli {{%.*}}, {{%.*}} : i32
  // CHECK: [[SUM:%.*]] = arith.addi {{%.*}}, [[PRODUCT]] : i32
  // CHECK: [[KEPT:%.*]] = arith.minsi [[SUM]], {{%.*}} : i32
  // CHECK: linalg.yield [[KEPT]] : i32
  %z = qnn.matmul %x, %y : (tensor<2x4x!x>, tensor<4x3x!x>) -> tensor<2x3x!x>
  return %z : tensor<2x3x!x>
}

// -----

// After 2 products, and after the last of 5.

!x = !quant.uniform<i16:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.5>
// CHECK-LABEL: func.func @words
func.func @words(%x: tensor<1x5x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<3> : tensor<2x5xi8> -> tensor<2x5x!w>
  // CHECK: linalg.generic
  // CHECK: [[PRODUCT:%.*]] = arith.muli {{%.*}}, {{%.*}} : i32
  // CHECK: [[WIDE:%.*]] = arith.extsi [[PRODUCT]] : i32 to i64
  // CHECK: [[SUM:%.*]] = arith.addi {{%.*}}, [[WIDE]] : i64
  // CHECK: [[KEPT:%.*]] = arith.minsi [[SUM]], {{%.*}} : i64
  // CHECK: [[WITHIN:%.*]] = arith.remsi
  // CHECK: [[ENDS:%.*]] = arith.cmpi eq, [[WITHIN]]
  // CHECK: [[LAST:%.*]] = arith.cmpi eq
  // CHECK: [[EITHER:%.*]] = arith.ori [[ENDS]], [[LAST]] : i1
  // CHECK: arith.select [[EITHER]], [[KEPT]], [[SUM]] : i64
  %z = qnn.linear %x, %w : (tensor<1x5x!x>, tensor<2x5x!w>) -> tensor<1x2x!x>
  return %z : tensor<1x2x!x>
}
