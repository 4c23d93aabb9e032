// Thresholds, as QONNX's MultiThreshold counts them: each itself, and the numbers next to it. Those
// of the second channel aren't in order, and one is there twice.
// INPUT: -1.5 0.25 0.5 3.0 -1.4999998807907104 0.2500000298023224 0.5000000596046448 3.000000238418579 -1.5000001192092896 0.2499999850988388 0.4999999701976776 2.999999761581421 0.10000000149011612 -0.10000000149011612 0.10000000149011612 2.0 0.10000000894069672 -0.09999999403953552 0.10000000894069672 2.000000238418579 0.09999999403953552 -0.10000000894069672 0.09999999403953552 1.9999998807907104
// EXPECT: -0.699999988079071 -0.3999999761581421 -0.09999996423721313 0.20000004768371582 -0.699999988079071 -0.3999999761581421 -0.09999996423721313 0.20000004768371582 -1.0 -0.699999988079071 -0.3999999761581421 -0.09999996423721313 -0.09999996423721313 -0.699999988079071 -0.09999996423721313 0.20000004768371582 -0.09999996423721313 -0.699999988079071 -0.09999996423721313 0.20000004768371582 -0.699999988079071 -1.0 -0.699999988079071 -0.09999996423721313
func.func @main(%x: tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>) {
  %0 = arith.constant dense<[[-1.500000e+00, 2.500000e-01, 5.000000e-01, 3.000000e+00], [1.000000e-01, -1.000000e-01, 1.000000e-01, 2.000000e+00]]> : tensor<2x4xf32>
  %1 = tensor.empty() : tensor<1x2x3x4xi32>
  %2 = arith.constant 0 : i32
  %3 = linalg.fill ins(%2 : i32) outs(%1 : tensor<1x2x3x4xi32>) -> tensor<1x2x3x4xi32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x, %0 : tensor<1x2x3x4xf32>, tensor<2x4xf32>) outs(%3 : tensor<1x2x3x4xi32>) {
  ^bb0(%5: f32, %6: f32, %7: i32):
    %is_reached = arith.cmpf oge, %5, %6 : f32
    %result = arith.extui %is_reached : i1 to i32
    %8 = arith.addi %7, %result : i32
    linalg.yield %8 : i32
  } -> tensor<1x2x3x4xi32>
  %9 = tensor.empty() : tensor<1x2x3x4xf32>
  %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<1x2x3x4xi32>) outs(%9 : tensor<1x2x3x4xf32>) {
  ^bb0(%11: i32, %12: f32):
    %13 = arith.constant 3.000000e-01 : f32
    %14 = arith.constant -1.000000e+00 : f32
    %number = arith.sitofp %11 : i32 to f32
    %scaled = arith.mulf %number, %13 : f32
    %result_1 = arith.addf %scaled, %14 : f32
    linalg.yield %result_1 : f32
  } -> tensor<1x2x3x4xf32>
  func.return %10 : tensor<1x2x3x4xf32>
}
