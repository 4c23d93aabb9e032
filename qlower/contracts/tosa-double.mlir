// TOSA with RESCALE in mode DOUBLE_ROUND everywhere, as tosa-converter-for-tflite 2026.2
// writes it. Otherwise as `tosa`.
// # Formula
// As in `tosa` with DOUBLE_ROUND: `(x * m ± 2^30 + 2^(k - 1)) >> k` where k > 31, + for x >=
// 0.
// - avg_pool2d: of stored integers, the zero point not subtracted, as in `tflite`
// - clamp on its own: SINGLE_ROUND
// # Ties
// As two roundings: half up to 31 bits, then half away from zero. Lone RELUs: half up, once.
// # Operands
// As in `tosa`: float64 ratios, 31-bit multipliers.
// # Quirks
// - Rescalings have the bits of `tflm`, in convolutions also those of `tflite`; a fully
//   connected layer differs from LiteRT's reference, which has float64 there.
// - quantize to int8 wraps where there is a zero point, see `tosa`.
// # Not matched
// - Bilinear RESIZE is refused; elu isn't what the converter writes, which isn't valid TOSA.
// - The converter drops the fused activation of a pool; here it is applied.
// # Checked against
// tosa-converter-for-tflite 2026.2 and the TOSA reference model of tosa-tools 2026.8. Live, in
// the long run: over two million outputs of random and tie-seeking int8 layers of all operations but
// those above, and of layers at the edges. Recorded: 35 RESCALEs, 57,152 outputs of convolutions and linear layers with exact
// ties, 39,200 rescalings of 31-bit multipliers, 32,768 values of IREE 3.13's RESCALE. No
// mismatch.
// # Sources
// - arm/tosa-specification 1.0, pseudocode/library/scale_helpers.tosac, apply_scale_32
// - tosa-converter-for-tflite 2026.2

module attributes {contract.base = "tosa",
    contract.summary = "TOSA's RESCALE in DOUBLE_ROUND mode, as made from TFLite models"} {

func.func private @rounds_twice() -> i1 replaces { %result = arith.constant true }

// Lone RELUs are the exception: the converter gives them SINGLE_ROUND.
func.func @clamp(%input: i32) -> i32 {
  %max = func.call @lone_bound(%activation_max) : (f32) -> i32
  %multiplier, %exponent = func.call @quantize_multiplier(@wide_ratio) : (f64) -> (i32, i32)
  %places = arith.subi 31, %exponent : i32
  %scaled = func.call @apply_scale_32(@centred_input, %multiplier, %places, false) : (i32, i32, i64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled, %output_zero_point, @lone_bound, %max) : (i32, i32, i32, i32) -> i32
}

// The converter gives AVG_POOL2D zero points of 0, so that it averages stored integers as
// TFLite does.
func.func @avg_pool2d(%accumulator: i32) -> i32 {
  %result = func.call @tosa.avg_pool2d(%accumulator, 0, 0) : (i32, i32, i32) -> i32
}

}
