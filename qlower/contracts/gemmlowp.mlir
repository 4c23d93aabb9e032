// gemmlowp's output pipeline for matrix products: OutputStageQuantizeDownInt32ByFixedPoint,
// saturating cast and clamp, with operands derived as in gemmlowp's example
// doc/quantization_example.cc. It rounds twice, like TFLite, whose ancestor it is.
//
// gemmlowp has matrix products and the two borders: conv2d, depthwise_conv2d (as products),
// linear, matmul, quantize and dequantize are its own. The rest is inherited from TFLite's
// reference kernels (`tflite`), which are written with gemmlowp's fixed-point functions.
// # Formula
// - products: `y = clamp(D(acc, M) + z)` with D of `tflite`; M = F(F(s_x s_w) / s_y), F one
//   float32 rounding
// - quantize: `y = clamp(away(F(z + F(x / s))))`; dequantize: F(s (q - z))
// # Ties
// Products: half away from zero after a first rounding half up, before the zero point is
// added. quantize: half away from zero, with the zero point inside.
// # Operands
// The scales combine in float32, so that the multiplier has 24 significant bits of its 31.
// # Quirks
// - Ratios of 1 and more, for which that stage has no form, are those of
//   OutputStageScaleInt32ByFixedPointAndExponent: its left shift wraps in the SSE4 and NEON
//   builds (here too) and saturates in the scalar one.
// # Checked against
// gemmlowp's functions, compiled and recorded: 60,000 rescalings with multipliers of 24 bits,
// and 48,000 of the stage with an exponent (SSE4.1, which needs the 31-bit multipliers of
// `tflite`). No mismatch. No framework is run: which operation calls what is from the example.
// # Sources
// Files of google/gemmlowp:
// - public/output_stages.h, internal/output.h, fixedpoint/fixedpoint.h
// - doc/quantization_example.cc

module attributes {contract.family = "gemmlowp", contract.base = "tflite",
    contract.summary = "gemmlowp's fixed-point pipeline: float32 scale, double rounding"} {

func.func private @pipeline(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear, matmul {
  %real = arith.extf @product_ratio : f32 to f64
  %result = func.call @rescale_and_store(%accumulator, %real) : (i32, f64) -> i32
}

// doc/quantization_example.cc, Quantize: the zero point is inside the rounding, which is
// half away from zero.
func.func private @quantize_real(%real: f32, %output_scale: f32) -> i32 serves bound {
  %quotient = arith.divf %real, %output_scale : f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = arith.addf %z, %quotient : f32
  %result = fixed.convert %moved {rounding = half_away} : f32 to i32
}

// NaN gives the largest code, as std::min in the example does.
func.func @quantize(%input: f32) -> i32 {
  %infinity = arith.constant 0x7F800000 : f32
  %below = arith.cmpf olt, %input, %infinity : f32
  %number = arith.select %below, %input, %infinity : f32
  %stored = func.call @quantize_real(%number) : (f32) -> i32
  %result = func.call @clamp_code(%stored) : (i32) -> i32
}

// Each type is read as what it is.
func.func @sum(%accumulator: i32) -> i32 {
  %result = func.call @sum_of_codes(%accumulator) : (i32) -> i32
}

}
