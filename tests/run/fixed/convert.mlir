// Ties, their neighbours, and what int32 can't hold.
// INPUT: -3e9 -2.5 -1.5 -1.4999999 -0.5 -0.0 0.49999997 0.5 1.5 2.5 8388609.0 3e9
// EXPECT: -2147483648 -3 -2 -1 -1 0 0 1 2 3 8388609 2147483647
func.func @main(%x0: tensor<12xf32>) -> tensor<12xi32> {
  %empty = tensor.empty() : tensor<12xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<12xf32>) outs(%empty : tensor<12xi32>) {
  ^bb0(%a0: f32, %_: i32):
    %r = fixed.convert %a0 {rounding = half_away} : f32 to i32
    linalg.yield %r : i32
  } -> tensor<12xi32>
  return %y : tensor<12xi32>
}
// -----
// INPUT: -3e9 -2.5 -1.5 -1.4999999 -0.5 -0.0 0.49999997 0.5 1.5 2.5 8388609.0 3e9
// EXPECT: -2147483648 -2 -2 -1 0 0 0 0 2 2 8388609 2147483647
func.func @main(%x0: tensor<12xf32>) -> tensor<12xi32> {
  %empty = tensor.empty() : tensor<12xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<12xf32>) outs(%empty : tensor<12xi32>) {
  ^bb0(%a0: f32, %_: i32):
    %r = fixed.convert %a0 {rounding = half_even} : f32 to i32
    linalg.yield %r : i32
  } -> tensor<12xi32>
  return %y : tensor<12xi32>
}
// -----
// INPUT: -3e9 -2.5 -1.5 -1.4999999 -0.5 -0.0 0.49999997 0.5 1.5 2.5 8388609.0 3e9
// EXPECT: -2147483648 -2 -1 -1 0 0 0 0 1 2 8388609 2147483647
func.func @main(%x0: tensor<12xf32>) -> tensor<12xi32> {
  %empty = tensor.empty() : tensor<12xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<12xf32>) outs(%empty : tensor<12xi32>) {
  ^bb0(%a0: f32, %_: i32):
    %r = fixed.convert %a0 {rounding = toward_zero} : f32 to i32
    linalg.yield %r : i32
  } -> tensor<12xi32>
  return %y : tensor<12xi32>
}
// -----
// INPUT: -3e9 -2.5 -1.5 -1.4999999 -0.5 -0.0 0.49999997 0.5 1.5 2.5 8388609.0 3e9
// EXPECT: -2147483648 -3 -2 -2 -1 0 0 0 1 2 8388609 2147483647
func.func @main(%x0: tensor<12xf32>) -> tensor<12xi32> {
  %empty = tensor.empty() : tensor<12xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<12xf32>) outs(%empty : tensor<12xi32>) {
  ^bb0(%a0: f32, %_: i32):
    %r = fixed.convert %a0 {rounding = floor} : f32 to i32
    linalg.yield %r : i32
  } -> tensor<12xi32>
  return %y : tensor<12xi32>
}
