// The arithmetic of ONNX's own reference implementation (the evaluator `onnx.reference` of onnx
// 1.21), which made the expected outputs of ONNX's node tests: QLinearConv, QLinearMatMul,
// QuantizeLinear and DequantizeLinear, and float32 operators between the last two.
// # Formula
// F(...) is one float32 rounding, D(...) one in float64, rne rounds half to even.
// - conv2d, depthwise_conv2d: `y = clamp(rne(D(D(acc m) + z)))` with `m = F(F(s_x s_w) / s_y)`
// - linear, matmul (QLinearMatMul): the same without a clamp; the lowest 8 bits are kept
// - quantize: `y = clamp(rne(F(x / s_y)) + z)`; dequantize: `F(F(x - z_x) s_x)`
// - add, sub, mul, concat, clamp, requantize, leaky_relu: dequantize, the operator in float32,
//   quantize; of concat for every input
// # Ties
// Half to even; the zero point is added before the rounding in products, after it in quantize.
// # Operands
// Scales combine in float32, those of float16 in float16, in which QuantizeLinear divides by one,
// too; the product with the int32 sum is one in float64, as numpy has it. Scales that only run time
// knows are taken the same way.
// The bias is an int32 of the accumulator's step, a real one is refused.
// # Quirks
// - QLinearMatMul wraps: a result of -235.7 is stored as 20. ONNX's tests expect that, and runtimes
//   that saturate fail four of them. From 2^31 on, and from -2^31 down, it is 0.
// - QuantizeLinear adds the zero point to the lowest int32 for anything that is 2^31 steps or more,
//   of either sign, and for NaN: the lowest code, or the highest one if the zero point is negative,
//   as the sum wraps.
// # Not matched
// - auto_pad = SAME: the evaluator takes the padding from the wrong dimensions.
// - Sums of products beyond 2^31 wrap here.
// - DynamicQuantizeLinear of nothing but zeros has the scale 1, as in ONNX Runtime, not 1/255.
// # Checked against
// onnx 1.21.0, live: a million outputs of layers drawn at exact and near ties, and all codes of
// the operators between DequantizeLinear and QuantizeLinear, all equal.
// # Sources
// - onnx/onnx, onnx/reference/ops/op_qlinear_conv.py, op_qlinear_matmul.py
// - onnx/reference/ops/op_quantize_linear.py, op_dequantize_linear.py

module attributes {contract.family = "ONNX", contract.base = "_real_operands",
    contract.qdq = "as-written",
    contract.summary = "ONNX's reference evaluator: float64 products, matrix products wrap"} {

// In numpy a product of int32 and a float is one in float64.
func.func private @steps_of(%accumulator: i32) -> f64 {
  %ratio = arith.select %half_scales, @half_ratio, @product_ratio : f32
  %scaled = arith.mulf %accumulator, %ratio : f64
  %result = arith.addf %scaled, %output_zero_point : f64
}

// The ratio of float16 scales in float16: numpy's product and quotient are those of float32,
// rounded once more.
func.func private @half_ratio() -> f32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %half_step = func.call @half(%step) : (f32) -> f32
  %ratio = arith.divf %half_step, %output_scale : f32
  %result = func.call @half(%ratio) : (f32) -> f32
}

// op_qlinear_conv.py; it clamps before it rounds, which makes no difference.
func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d, conv2d_with {
  %steps = func.call @steps_of(%accumulator) : (i32) -> f64
  %rounded = fixed.convert %steps {rounding = half_even} : f64 to i32
  %result = func.call @clamp_code(%rounded) : (i32) -> i32
}

// op_qlinear_matmul.py: `rint(..).astype(..)`, which is an int32's lowest byte.
func.func @matmul(%accumulator: i32) -> i32 serves linear, matmul, matmul_with {
  %steps = func.call @steps_of(%accumulator) : (i32) -> f64
  %rounded = fixed.convert %steps {rounding = half_even} : f64 to i32
  %beyond = arith.constant 2147483647.5 : f64
  %fits = arith.cmpf olt, %steps, %beyond : f64
  %integer = arith.select %fits, %rounded, 0 : i32
  %byte = arith.trunci %integer : i32 to i8
  %unsigned = arith.extui %byte : i8 to i32
  %signed = arith.extsi %byte : i8 to i32
  %wrapped = arith.select %output_unsigned, %unsigned, %signed : i32
  %result = func.call @clamp_code(%wrapped) : (i32) -> i32
}

// op_quantize_linear.py; what no int32 holds is the lowest of them, and the sum wraps.
func.func private @quantized(%input: f32) -> i32 replaces serves quantize, quantize_i16 {
  %steps = arith.divf %input, %output_scale : f32
  %result = func.call @store_or_lowest(%steps) : (f32) -> i32
}

// Of float16, a quotient that numpy has in float16.
func.func @quantize_with(%input: f32) -> i32 serves quantize_with, quantize_with_i16 {
  %quotient = arith.divf %input, %output_scale : f32
  %half_quotient = func.call @half(%quotient) : (f32) -> f32
  %steps = arith.select %half_scales, %half_quotient, %quotient : f32
  %result = func.call @store_or_lowest(%steps) : (f32) -> i32
}

// op_dequantize_linear.py.
func.func @dequantize(%input: i32, %input_scale: f32, %input_zero_point: i32) -> f32
    serves dequantize, dequantize_i16, dequantize_with {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

// The code of a bound, within twice the range of any.
func.func @bound(%real: f32, %output_scale: f32, %output_zero_point: i32) -> i32 {
  %steps = arith.divf %real, %output_scale : f32
  %rounded = fixed.convert %steps {rounding = half_even} : f32 to i32
  %within = func.call @clamp_code(%rounded, -512, 512) : (i32, i32, i32) -> i32
  %result = arith.addi %within, %output_zero_point : i32
}

// DequantizeLinear, maybe Clip, Relu or Concat, QuantizeLinear.
func.func private @rescale(%input: i32) -> i32 serves requantize, clamp, concat {
  %result = func.call @quantized(@dequantize) : (f32) -> i32
}

// op_leaky_relu.py.
func.func @leaky_relu(%input: i32) -> i32 {
  %real = func.call @dequantize(%input) : (i32) -> f32
  %leak = arith.mulf %real, %alpha : f32
  %negative = arith.cmpf olt, %real, 0.0 : f32
  %y = arith.select %negative, %leak, %real : f32
  %result = func.call @quantized(%y) : (f32) -> i32
}

}
