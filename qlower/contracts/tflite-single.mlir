// TFLite where fixed-point rescaling rounds once, half up: builds with the macro
// TFLITE_SINGLE_ROUNDING (CMSIS_NN_USE_SINGLE_ROUNDING in CMSIS-NN), and the matrix products
// of ruy on ARM in every build. LiteRT's packages don't have the macro. Otherwise as `tflite`.
// # Formula
// - every rescaling: `y = clamp(((x * m + 2^(30 - e)) >> (31 - e)) + z)` in 64 bits, with the
//   multiplier m and exponent e of `tflite`
// - linear: in fixed point too
// - resize_bilinear: int8 rounds half up
// # Ties
// Half up, toward positive infinity, before the zero point is added: 1/2 becomes 1 and -1/2
// becomes 0.
// # Operands
// As in `tflite`: float64 ratios of float32 scales, 31-bit multipliers. linear with one weight
// scale multiplies it with the input scale in float32.
// # Quirks
// - The product isn't cut to 32 bits before it is rounded, so nothing saturates on the way.
// # Checked against
// CMSIS-NN's arm_nn_requantize compiled with the macro, recorded: 64,000 rescalings and 39,200
// of 31-bit multipliers, no mismatch. Which kernels take it is from source: no package of
// LiteRT has the macro.
// # Sources
// - google-ai-edge/LiteRT, tflite/kernels/internal/common.cc, MultiplyByQuantizedMultiplier
// - google/ruy, ruy/apply_multiplier.cc and kernel_arm64.cc (SQDMULH without rounding, then
//   SRSHL)
// - ARM-software/CMSIS-NN, Include/arm_nnsupportfunctions.h, arm_nn_requantize

module attributes {contract.base = "tflite",
    contract.summary = "TFLITE_SINGLE_ROUNDING builds, ruy on ARM: one rounding, half up"} {

// internal/common.cc, MultiplyByQuantizedMultiplier with TFLITE_SINGLE_ROUNDING; ruy,
// apply_multiplier.cc and kernel_arm64.cc (SQDMULH without rounding, then SRSHL). The
// product isn't cut to 32 bits before it is rounded.
func.func private @multiply_by_quantized_multiplier(
    %x: i32, %multiplier: i32, %exponent: i32) -> i32 replaces {
  func.call @require_legal_exponent(%exponent) : (i32) -> ()
  %product = arith.muli %x, %multiplier : i64
  %places = arith.subi 31, %exponent : i32
  %scaled = fixed.shift_right %product, %places {rounding = half_up} : i64
  %result = arith.trunci %scaled : i64 to i32
}

// internal/optimized/integer_ops/fully_connected.h: fixed point by ruy. With one weight scale
// for all outputs the input scale is multiplied to it in float32.
func.func @linear(%accumulator: i32) -> i32 {
  %narrow = arith.xori %per_channel, true : i1
  %real = func.call @convolution_scale(%narrow) : (i1) -> f64
  %result = func.call @rescale_and_store(%accumulator, %real) : (i32, f64) -> i32
}

// internal/reference/resize_bilinear.h with TFLITE_SINGLE_ROUNDING: half up.
func.func private @divide_by_two_to_20(%sum: i32) -> i32 replaces {
  %result = fixed.shift_right %sum, 20 {rounding = half_up} : i32
}

}
