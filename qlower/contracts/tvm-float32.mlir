// The arithmetic of TVM's quantized operators with compute_dtype float32: the default of
// builds for x86 with SSE4.1 (v0.9 to v0.19), rounding UPWARD, at the default optimization
// level. Operations are not fused, as on targets without FMA.
// # Formula
// requantize: `y = clamp(floor(F(F(float(x) * k) + (z + 0.5))))`. The rest is as in the
// contract tvm; sums round each operand by this formula.
// # Ties
// Half up, after the zero point was added. The sum has a float32 rounding of its own, so
// that values just below a tie may become the upper integer.
// # Operands
// `k = F(s_in / s_out)`; the scale of an accumulator is the float32 product of two.
// # Quirks
// - What does not fit 32 bits becomes -2^31, so the smallest stored integer, above too.
// - Ratios that float32 can't hold are refused.
// # Not matched
// - Targets with FMA (haswell and later): LLVM fuses the product and the sum of some loops
//   and not of others, depending on how they are vectorized. Results on ties differ by 1:
//   1 of 756 in one small convolution.
// - Builds at optimization level 1, and those before the rewrite that adds both constants at
//   once, add z and 0.5 one after the other.
// # Checked against
// TFLite models built and run by TVM 0.16 for x86-64 with SSE4.2: none of 2,275,440
// outputs of 235 layers (20 operators, random and tie-seeking) differ.
// # Sources
// apache/tvm v0.14: `src/relay/qnn/op/requantize.cc`, RequantizeLowerFP;
// `src/relay/qnn/op/requantize_config.h`; `src/relay/transforms/simplify_expr.cc`.

module attributes {
  contract.summary = "TVM's QNN as x86 builds have it: float32, half up with the zero point inside",
  contract.base = "tvm"
} {

// relay/qnn/op/requantize.cc, RequantizeLowerFP: a float32 product, the zero point and a
// half added in float32, and a floor. What does not fit 32 bits becomes -2^31, as
// cvttps2dq has it. transforms/simplify_expr.cc adds both constants at once.
func.func private @requantize_to_i32(%x: i32, %input_scale: f32, %per_channel: i1) -> i32 replaces {
  %ratio = arith.divf %input_scale, %output_scale : f32
  func.call @require_finite_ratio(%ratio) : (f32) -> ()
  %steps = arith.sitofp %x : i32 to f32
  %scaled = arith.mulf %steps, %ratio : f32
  %zero_point_real = arith.sitofp %output_zero_point : i32 to f32
  %offset = arith.addf %zero_point_real, 0.5 : f32
  %nudged = arith.addf %scaled, %offset : f32
  %floor = fixed.convert %nudged {rounding = floor} : f32 to i32
  %two_to_31 = arith.constant 2147483648.0 : f32
  %overflow = arith.cmpf oge, %nudged, %two_to_31 : f32
  %smallest = arith.constant -2147483648 : i32
  %result = arith.select %overflow, %smallest, %floor : i32
}

}
