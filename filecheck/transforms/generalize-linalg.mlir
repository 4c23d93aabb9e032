// RUN: %qopt %s -p generalize-linalg | %filecheck %s

// Each named operation becomes the linalg.generic that upstream makes of it.

// CHECK-LABEL: func.func @conv
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), ((d2 * 2) + (d5 * 3)), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> ()>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
// CHECK-NEXT: ^bb0(%[[X:.*]]: i8, %[[W:.*]]: i8, %[[XZ:.*]]: i32, %[[WZ:.*]]: i32, %[[SUM:.*]]: i32):
// CHECK-NEXT:   %[[A:.*]] = arith.extsi %[[X]] : i8 to i32
// CHECK-NEXT:   %[[B:.*]] = arith.subi %[[A]], %[[XZ]] : i32
// CHECK-NEXT:   %[[C:.*]] = arith.extsi %[[W]] : i8 to i32
// CHECK-NEXT:   %[[D:.*]] = arith.subi %[[C]], %[[WZ]] : i32
// CHECK-NEXT:   %[[E:.*]] = arith.muli %[[B]], %[[D]] : i32
// CHECK-NEXT:   %[[F:.*]] = arith.addi %[[SUM]], %[[E]] : i32
// CHECK-NEXT:   linalg.yield %[[F]] : i32
func.func @conv(%x: tensor<1x5x8x4xi8>, %w: tensor<3x2x4x8xi8>, %o: tensor<1x2x3x8xi32>) -> tensor<1x2x3x8xi32> {
  %zero = arith.constant 3 : i32
  %0 = linalg.conv_2d_nhwc_hwcf_q {dilations = dense<[1, 3]> : tensor<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w, %zero, %zero : tensor<1x5x8x4xi8>, tensor<3x2x4x8xi8>, i32, i32) outs(%o : tensor<1x2x3x8xi32>) -> tensor<1x2x3x8xi32>
  return %0 : tensor<1x2x3x8xi32>
}

// CHECK-LABEL: func.func @moves
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
func.func @moves(%x: tensor<3x5xi32>, %z: tensor<5x3xi32>, %r: tensor<5xi32>, %b: tensor<3x2x5xi32>) -> (tensor<5x3xi32>, tensor<5xi32>, tensor<3x2x5xi32>) {
  %0 = linalg.transpose ins(%x : tensor<3x5xi32>) outs(%z : tensor<5x3xi32>) permutation = [1, 0]
  %1 = linalg.reduce ins(%x : tensor<3x5xi32>) outs(%r : tensor<5xi32>) dimensions = [0]
    (%in: i32, %out: i32) {
      %sum = arith.addi %in, %out : i32
      linalg.yield %sum : i32
    }
  %2 = linalg.broadcast ins(%x : tensor<3x5xi32>) outs(%b : tensor<3x2x5xi32>) dimensions = [1]
  return %0, %1, %2 : tensor<5x3xi32>, tensor<5xi32>, tensor<3x2x5xi32>
}
