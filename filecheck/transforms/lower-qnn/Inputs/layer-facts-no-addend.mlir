module {
func.func @linear(%accumulator: i32) -> i32 {
  %result = fixed.convert %weight_total {rounding = half_even} : f32 to i32
}
}
