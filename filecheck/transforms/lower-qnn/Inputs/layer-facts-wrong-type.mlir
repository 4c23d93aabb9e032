module {
func.func @linear(%accumulator: i32, %one_bias: i32) -> i32 {
  %result = arith.addi %accumulator, %one_bias : i32
}
}
