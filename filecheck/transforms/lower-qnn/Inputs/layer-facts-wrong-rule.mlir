module {
func.func @add(%lhs: i32, %rhs: i32, %one_weight_scale: i1) -> i32 {
  %result = arith.addi %lhs, %rhs : i32
}
}
