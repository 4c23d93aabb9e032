module {
func.func @conv2d(%x: i32 {contract.value = "accumulator"}) -> i32 attributes {contract.product = "saturating_pairs_flat"} {
  return %x : i32
}
func.func @adaptive_avg_pool2d(
    %x: i32 {contract.value = "accumulator"},
    %n: i32 {contract.value = "count"},
    %element: i32 {contract.value = "element"}) -> i32 {
  %mean = arith.divsi %x, %n : i32
  %y = arith.addi %mean, %element : i32
  return %y : i32
}
}
