// Digits of a number say what a layer's constants have in common.
module {
func.func @weight_addend(%weight: i32) -> f32 {
  %real = arith.sitofp %weight : i32 to f32
  %result = arith.mulf %real, 0.5 : f32
}
func.func @linear(%accumulator: i32) -> i32 {
  %one_scale = arith.extui %one_weight_scale : i1 to i32
  %bias_is_one = arith.extui %one_bias : i1 to i32
  %total = fixed.convert %weight_total {rounding = half_even} : f32 to i32
  %thousands = arith.muli %one_scale, 1000 : i32
  %hundreds = arith.muli %bias_is_one, 100 : i32
  %both = arith.addi %thousands, %hundreds : i32
  %all = arith.addi %both, %total : i32
  %result = arith.addi %accumulator, %all : i32
}
}
