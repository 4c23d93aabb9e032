// RUN: %qopt %s --split-input-file -p 'lower-qnn{contract="%S/Inputs/pairs.mlir"},canonicalize,cse,dce' | %filecheck %s

// What a window sees, in a row: 1 * 3 pixels of 1 channel and a 0 for the odd one. Codes
// are 128 above the stored integers, so is the zero point that padding holds: -3 + 128.
// The sums start at the bias less 125 times the sum of the weights.

!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.5>
// CHECK-LABEL: func.func @conv2d
func.func @conv2d(%x: tensor<1x1x4x1x!x>) -> tensor<1x1x4x2x!x> {
  %w = qnn.constant dense<[[[[1], [2], [3]]], [[[4], [5], [6]]]]> : tensor<2x1x3x1xi8> -> tensor<2x1x3x1x!w>
  %b = arith.constant dense<[7, -2]> : tensor<2xi32>
  // CHECK: arith.xori {{%.*}}, {{%.*}} : i8
  // CHECK: tensor.pad {{%.*}} low[0, 0, 1, 0] high[0, 0, 1, 0]
  // CHECK: arith.constant 125 : i8
  // CHECK: [[PATCHES:%.*]] = linalg.generic
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d3), (d2 + d4), d5)>
  // CHECK: tensor.pad {{%.*}} low[0, 0, 0, 0] high[0, 0, 0, 1]
  // CHECK: tensor.expand_shape {{.*}} into tensor<1x1x4x2x2xi8>
  // CHECK: arith.constant dense<{{\[\[\[}}1, 2], [3, 0]], {{\[\[}}4, 5], [6, 0]]]> : tensor<2x2x2xi8>
  // CHECK: [[ZEROS:%.*]] = arith.constant dense<[-750, -1875]> : tensor<2xi32>
  // CHECK: linalg.generic {{.*}} ins(%b, [[ZEROS]] :
  // CHECK: linalg.generic
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4, 0)>
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4, 1)>
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, 0)>
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, 1)>
  // CHECK: [[PAIR:%.*]] = fixed.pair_dot {{%.*}}, {{%.*}}, {{%.*}}, {{%.*}} : i8 -> i16
  // CHECK: [[WIDE:%.*]] = arith.extsi [[PAIR]] : i16 to i32
  // CHECK: arith.addi {{%.*}}, [[WIDE]] : i32
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 1, 1], dilation = [1, 1]}
    : (tensor<1x1x4x1x!x>, tensor<2x1x3x1x!w>, tensor<2xi32>) -> tensor<1x1x4x2x!x>
  return %y : tensor<1x1x4x2x!x>
}

// -----

// Windows of 2 and 3 rows, starting at 0, 1 and 3; a row that is not of a window adds 0.
// Its rule asks for the position in the result.

!x = !quant.uniform<i8:f32, 0.5:-3>
// CHECK-LABEL: func.func @adaptive
func.func @adaptive(%x: tensor<1x5x4x2x!x>) -> tensor<1x3x2x2x!x> {
  // CHECK-DAG: arith.constant dense<[0, 1, 3]> : tensor<3xi32>
  // CHECK-DAG: arith.constant dense<[2, 3, 2]> : tensor<3xi32>
  // CHECK: linalg.generic
  // CHECK: arith.minsi
  // CHECK: [[INSIDE:%.*]] = arith.cmpi slt
  // CHECK: tensor.extract %x
  // CHECK: arith.select [[INSIDE]], {{%.*}}, {{%.*}} : i32
  // CHECK: linalg.generic
  // CHECK: arith.divsi
  // CHECK: linalg.yield
  %y = qnn.adaptive_avg_pool2d %x : (tensor<1x5x4x2x!x>) -> tensor<1x3x2x2x!x>
  return %y : tensor<1x3x2x2x!x>
}
