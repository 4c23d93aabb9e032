// Registers of 16 bits for bytes, which are cut after each product, and of 40 for words, after two.
module {
func.func @accumulate(%accumulator: i32, %channel: i32, %channel_count: i32) -> i32 {
  %last = arith.subi %channel_count, 1 : i32
  %alone = arith.cmpi eq, %channel, %last : i32
  %high = arith.select %alone, 65535, 32767 : i32
  %result = arith.minsi %accumulator, %high : i32
}

func.func @accumulate_i16(%accumulator: i64) -> i64 {
  %result = arith.minsi %accumulator, 549755813887 : i64
}

func.func @accumulate_group_i16() -> i32 { %result = arith.constant 2 : i32 }

func.func @matmul(%accumulator: i32) -> i32 attributes {contract.product = "in_turn"} {
  func.return %accumulator : i32
}

func.func private @words(%accumulator: i64) -> i32
    serves linear_i16, matmul_i16 attributes {contract.product = "in_turn"} {
  %result = arith.trunci %accumulator : i64 to i32
}
}
