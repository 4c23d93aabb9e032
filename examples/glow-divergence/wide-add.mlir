// Glow's CPU back end with one change: an addition keeps 8 bits below a step of the output
// until after the sum, and rounds there. Still integers only.

module attributes {
  contract.summary = "Glow's CPU back end, but additions round after the sum",
  contract.base = "glow-cpu"
} {

func.func private @finer(%stored: i32, %zero_point: i32, %scale: f32, %output_scale: f32) -> i32 {
  %c256 = arith.constant 256.0 : f32
  %finer_scale = arith.divf %output_scale, %c256 : f32
  %result = func.call @scale_operand(%stored, %zero_point, %scale, %finer_scale) : (i32, i32, f32, f32) -> i32
  return %result : i32
}

func.func @add(
    %lhs: i32, %lhs_scale: f32, %lhs_zero_point: i32, %rhs: i32, %rhs_scale: f32,
    %rhs_zero_point: i32, %output_scale: f32, %output_zero_point: i32, %output_min: i32,
    %output_max: i32) -> i32 {
  %a = func.call @finer(%lhs, %lhs_zero_point, %lhs_scale, %output_scale) : (i32, i32, f32, f32) -> i32
  %b = func.call @finer(%rhs, %rhs_zero_point, %rhs_scale, %output_scale) : (i32, i32, f32, f32) -> i32
  %sum = arith.addi %a, %b : i32
  %c8 = arith.constant 8 : i32
  %rounded = fixed.shift_right %sum, %c8 {rounding = half_up} : i32
  %result = func.call @offset_and_clamp(%rounded, %output_zero_point, %output_min, %output_max) : (i32, i32, i32, i32) -> i32
  return %result : i32
}

}
