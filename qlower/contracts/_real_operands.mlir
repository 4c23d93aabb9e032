// Operations as dequantize, float32, quantize, for contracts that name this file as their base and
// replace `quantized`. F(...) is one float32 rounding.

module attributes {contract.base = "_reals"} {

func.func @dequantize(%input: i32) -> f32 {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

// clamp(rne(F(x / s)) + z)
func.func private @quantized(%input: f32) -> i32 {
  %steps = arith.divf %input, %output_scale : f32
  %result = func.call @store_half_even(%steps) : (f32) -> i32
}

func.func private @operands(%lhs: i32, %rhs: i32) -> (f32, f32) {
  %a = func.call @dequantize_exactly(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> f32
  %b = func.call @dequantize_exactly(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> f32
  return %a, %b : f32, f32
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %a, %b = func.call @operands(%lhs, %rhs) : (i32, i32) -> (f32, f32)
  %real = arith.addf %a, %b : f32
  %result = func.call @quantized(%real) : (f32) -> i32
}

func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %a, %b = func.call @operands(%lhs, %rhs) : (i32, i32) -> (f32, f32)
  %real = arith.subf %a, %b : f32
  %result = func.call @quantized(%real) : (f32) -> i32
}

func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %a, %b = func.call @operands(%lhs, %rhs) : (i32, i32) -> (f32, f32)
  %real = arith.mulf %a, %b : f32
  %result = func.call @quantized(%real) : (f32) -> i32
}

}
