// Ties of both signs and both ends.
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -2 -2 -1 -1 0 0 1 1 2 2 3 3 4 1073741823 1073741824
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = half_up} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -3 -2 -2 -1 -1 0 0 1 1 2 2 3 3 1073741823 1073741823
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = half_down} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -3 -2 -2 -1 -1 0 1 1 2 2 3 3 4 1073741823 1073741824
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = half_away} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -2 -2 -1 -1 0 0 0 1 1 2 2 3 3 1073741823 1073741823
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = half_toward_zero} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -2 -2 -2 -1 0 0 0 1 2 2 2 3 4 1073741823 1073741824
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = half_even} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -3 -2 -2 -1 -1 0 0 1 1 2 2 3 3 1073741823 1073741823
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = floor} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -2 -2 -1 -1 0 0 1 1 2 2 3 3 4 1073741823 1073741824
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = ceil} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
// -----
// INPUT: -2147483648 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 2147483646 2147483647
// EXPECT: -1073741824 -2 -2 -1 -1 0 0 0 1 1 2 2 3 3 1073741823 1073741823
func.func @main(%x0: tensor<16xi32>) -> tensor<16xi32> {
  %empty = tensor.empty() : tensor<16xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<16xi32>) outs(%empty : tensor<16xi32>) {
  ^bb0(%a0: i32, %_: i32):
    %n = arith.constant 1 : i32
    %r = fixed.shift_right %a0, %n {rounding = toward_zero} : i32
    linalg.yield %r : i32
  } -> tensor<16xi32>
  return %y : tensor<16xi32>
}
