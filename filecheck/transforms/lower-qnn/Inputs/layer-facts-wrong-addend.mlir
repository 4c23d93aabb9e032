module {
func.func @weight_addend(%weight: i32) -> i32 {
  %result = arith.addi %weight, 1 : i32
}
}
