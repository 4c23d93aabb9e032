module {
func.func @accumulate(%accumulator: i32) -> i32 { return %accumulator : i32 }
func.func @accumulate_group() -> i32 { %result = arith.constant 0 : i32 }
func.func @matmul(%accumulator: i32) -> i32 attributes {contract.product = "in_turn"} {
  func.return %accumulator : i32
}
}
