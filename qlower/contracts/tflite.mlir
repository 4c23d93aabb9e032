// The arithmetic of LiteRT's *reference* kernels (LiteRT 2.3, OpResolverType.BUILTIN_REF),
// int8, uint8 and int16: fixed point that rounds twice, and a fully connected layer in float64.
// The kernels are plain loops, so layout, threads and the machine don't matter.
// # Formula
// D(x, M) is MultiplyByQuantizedMultiplier: M = m * 2^(e - 31) with m in [2^30, 2^31); x <<
// max(e, 0) wraps; h = sat32((x * m + 2^30) >> 31); h / 2^max(-e, 0) rounded half away. s are
// scales, z zero points; clamp is to the storage type, narrowed by a fused activation.
// - conv2d, depthwise_conv2d, matmul: `y = clamp(D(acc, s_x s_w / s_y) + z)`
// - linear: `y = clamp(away(acc * (s_x s_w / s_y)) + z)`, one rounding, in float64
// - add, sub: `l = D((a - z_a) << 20, s_a / 2s)`, r alike with s = max(s_a, s_b); `y =
//   clamp(D(l ± r, 2s / (2^20 s_y)) + z)`: three double roundings
// - mul: `y = clamp(D((a - z_a)(b - z_b), s_a s_b / s_y) + z)`
// - avg_pool2d: `y = clamp(away(sum(x) / n))` of stored integers, zero point not subtracted
// - mean: D of the sum less n z, its multiplier shifted left and divided by n, truncating
// - requantize, clamp, leaky_relu: `y = clamp(D(x - z_x, s_x / s_y) + z)`, in clamp divided in
//   float32; a negative input of leaky_relu has alpha s_x / s_y
// - quantize: `y = clamp(away(F(x / s_y)) + z)`, F one float32 rounding; dequantize: F(s (q -
//   z))
// - sum: `y = clamp(D(sum less n z, s_x / s_y) + z)`
// - product: `p = E(p (x - z_x))` for all x but the first, `y = clamp(E(p) + z)`; E rounds once, as
//   conv2d of int16, by s_x / s_y^(1 / n)
// - squared_difference: l and r as in add with 7 bits for 20, `y = clamp(D((l - r)^2, 4 s^2 / (2^14 s_y)) + z)`
// - div: the reciprocal of b - z_b in Q0.31 by Newton steps, times a - z_a, times s_a / (s_b s_y)
// - abs, prelu: D by ratios divided in float32; rsqrt, l2_normalize: reciprocal root by Newton
//   steps in Q3.28; compare: D((x - z) << 8, s) of both operands
// - sigmoid, tanh, elu, exp, log, gelu: tables, float32 function, half away; hard_swish: 16-bit fixed point
// - sqrt: `y = clamp(trunc(F(F(root(F(s_x (x - z_x)))) / s_y)) + z)`
// - softmax: exponentials and reciprocal in gemmlowp's fixed point
// - log_softmax: the same exponentials, a rational function for the logarithm
// - of int16, whose accumulators have 64 bits: conv2d: `y = clamp((acc * m' + 2^(14 - e)) >> (15 -
//   e))`, one rounding, m' = m rounded to 15 bits; linear as for int8; add, sub with 15 bits for
//   20; sigmoid, tanh, softmax, exp, log, gelu, rsqrt: tables with straight lines between their
//   entries; matmul as conv2d. With a bias of 32 bits sums wrap at 32 bits, and conv2d is as for int8.
// - hybrid_conv2d, hybrid_depthwise_conv2d, hybrid_linear: each row (image) by its own range,
//   `s = F(F(max - min) / 255)`, `q = half_away(F(x F(1 / s))) + z`, or symmetric by `F(127 / max|x|)`;
//   `y = F(F(acc F(s s_w)) + b)`, of convolutions with a scale for each filter `F(F(F(acc s_w) s) + b)`
// - linear layers with weights of 4 bits in blocks, whose scales are s_w: `y = F(F(F(sum - F(z sum_w)) s)
//   + b)`, sums of `F(acc s_w)` and of `F(s_w w)` one block after the other, rows by their range
// - real_conv2d, real_depthwise_conv2d, real_linear: `y = clamp(F(sum + b))`, the sum made one
//   product after the other from 0, each product and each sum rounded; real_matmul: that sum
// - real_average_pool, real_global_average: `y = clamp(F(sum / n))`, one element after the other from
//   0; real_l2_pool: `clamp(F(sqrt(F(sum / n))))` of squares F(x x); real_max_pool
// - real_softmax: `F(e / sum)`, e = expf(F(F(x - max) beta)); real_log_softmax: `F(F(x - max) -
//   logf(sum))`; real_l2_normalize: `F(x / max(F(sqrt(sum)), 1e-6))`; sums one after the other
// - lstm: each gate `sat16(D(sum_h, s_h s_w 2^12) + sat16(D(sum_x, s_x s_w 2^12)))` in Q3.12, by
//   gemmlowp's int16 logistic or tanh to Q0.15; the cell's products half away, its sum saturates;
//   `y = clamp(D(output * tanh(cell), 2^-30 / s_y) + z)`. Peepholes add `D(cell w, s_c s_w 2^12)`,
//   saturated; normalized gates have steps of their own, `sat16(D(away((D(2^10 x - mean, 1 /
//   deviation) w + b) / 2^10), 2^12 s_w))`; a projection is a sum, `clamp(D(acc, s_w s_h / s_y) + z)`
// - svdf: D of float32 ratios of scales, to 16 bits for what is remembered, then to 8 bits
// - resize_bilinear: int8 has weights of 10 + 10 bits, half away; uint8 float32, truncated
// # Ties
// In D: below a ratio of 1/2 the first rounding is half up to 31 bits, the second half away
// from zero; from 1/2 on there is the first alone, half up. Two roundings also move what is
// not a tie: 1 * 1/4 gives 1, as 1/2 becomes 1 in the first and again in the second. linear,
// avg_pool2d and quantize: half away from zero. The zero point is added after the rounding
// everywhere.
// # Operands
// int8 convolutions, matmul and add divide float32 scales in float64: double(s_x) *
// double(s_w) / double(s_y). uint8 convolutions and mul multiply the first two in float32. The
// multiplier m is the mantissa of M rounded half away to 31 bits; magnitudes of M below 2^-32
// become 0. An lstm combines its scales in float32. The bias is int32 in steps of s_x s_w; a real one is quantized as the converter
// does, with the float32 reciprocal, half away.
// # Quirks
// - The fully connected layer is not the fixed-point formula of the TFLite papers, and hasn't
//   been since April 2025: TFLite Micro (`tflm`) still has that one.
// - quantize of what is 2^31 steps or more away, of infinities and of NaN, which C++ leaves
//   undefined, is what x86 makes of it: -2^31 plus the zero point, which wraps. That is the
//   smallest code, +inf included, or for a negative zero point the largest.
// - div shifts by 32 places and more where the dividend is small and the divisor large, and then
//   gives the wrong end of the range: here, too.
// - Weights in blocks have LiteRT's optimized kernel: its reference gives the bias, its XNNPACK adds
//   in another order. A layer with an activation function is refused: the kernel leaves it out.
// - sum of int8 reads negative elements as 256 more, clamps to [0, 255] and stores that: what is
//   above 127 is negative then.
// - An average ignores zero points: with other quantization before than after, it is wrong.
// - leaky_relu with a negative alpha rounds |alpha| and changes the sign after that.
// - add and sub are refused where an operand's scale is 2^19 times the result's or more: there
//   LiteRT's ADD aborts, and its SUB shifts by a negative number.
// - lstm: a cell in steps of less than 2^-15, as the converter writes it where cells stay below
//   1/2, or of more than 2^-9 has no tanh, and the state is made of input gate times output gate.
//   With a projection, elements of the cell behind as many as the state has get no peephole, the zero
//   point of what is projected is negated, and the clip is around the code 0.
// - hard_swish makes zero point + 1 or - 1 of everything where s_y is more than some 470 s_x: its
//   division by 2^16 and more is done in 16 bits.
// - A bias of 32 bits beside int16 is read as such. LiteRT reads it as one of 64, beyond its end,
//   where the options' `quantized_bias_type` isn't INT32, and refuses it in depthwise convolutions,
//   which are refused here, too: TFLite Micro reads them beyond the bias.
// - Sums wrap. A linear layer's sum that is beyond int32 in steps of the output saturates, where
//   C++ leaves the conversion undefined (x86-64 then gives the smallest code).
// - Refused, as LiteRT does: int8 concat of differing quantization; softmax whose output isn't
//   1/256 a step from the smallest code. Refused too: ratios of 2^30 and more, where the
//   kernel would shift a 32-bit value out of its range.
// # Not matched
// - sum of int16: the reference kernel of LiteRT 2.3 gives noise, as it adds bytes; this is what
//   its source says.
// - rsqrt of a negative number, where LiteRT stops with an error, is the largest code, sqrt the root of 0.
// - softmax over more than 512 equal logits: the kernel shifts a 32-bit value by more than 31
//   places, which C++ leaves undefined; here it is done in 64 bits.
// # Checked against
// LiteRT 2.3. Live, in the long run: over a million outputs of random and tie-seeking layers, over
// ten million of layers at the edges of the arithmetic, int8 and uint8; and a model of each operator
// that is read. Recorded: 13 real models, every input, and every layer for one input (13.9 million values);
// 57,152 outputs of convolutions and linear layers with exact ties, 18,455 of other operations;
// 48,000 rescalings of gemmlowp, 39,200 of 31-bit multipliers; 46,453 outputs of 80 LSTMs, called
// eleven times each, and all 65,536 sums of each gate. No mismatch. Live, 72 LSTMs with peepholes,
// projections, normalized or coupled gates, 16,800 outputs: no mismatch.
// Sums of real numbers: live, nine layers (convolutions, products of matrices, linear layers) with
// three draws each of numbers that cancel and differ by up to 2^24; all bits the same.
// Layers on real numbers with stored weights: live, ten layers with four draws each; all bits the
// same.
// # Sources
// Files of google-ai-edge/LiteRT, below tflite/kernels:
// - internal/common.cc, MultiplyByQuantizedMultiplier; internal/quantization_util.cc
// - internal/reference and internal/reference/integer_ops, a file an operation
// - kernel_util.cc, PopulateConvolutionQuantizationParams, CalculateActivationRangeQuantized
// - google/gemmlowp, fixedpoint/fixedpoint.h

module attributes {contract.family = "TensorFlow Lite", contract.base = "_glibc",
    contract.summary = "LiteRT reference kernels: double rounding, float64 fully connected"} {

// ---------------------------------------------------------------- fixed-point steps

// internal/quantization_util.cc, QuantizeMultiplier: real = multiplier * 2^(exponent - 31)
// with |multiplier| in [2^30, 2^31); frexp, then a rounding to 31 fractional bits.
// Magnitudes below 2^-32 become 0.
func.func private @quantize_multiplier(%real: f64) -> (i32, i32) {
  %bits = arith.bitcast %real : f64 to i64
  %mantissa_bits = arith.constant 52 : i64
  %sign_and_exponent = arith.shrui %bits, %mantissa_bits : i64
  %exponent_mask = arith.constant 2047 : i64
  %biased = arith.andi %sign_and_exponent, %exponent_mask : i64
  %bias = arith.constant 1022 : i64
  %exponent = arith.subi %biased, %bias : i64
  %multiplier, %final = func.call @round_mantissa(%bits, %exponent) : (i64, i64) -> (i64, i64)
  // too small for 31 bits: zero
  %tiny = arith.cmpi slt, %final, -31 : i64
  %magnitude = arith.select %tiny, 0, %multiplier : i64
  %e = arith.select %tiny, 0, %final : i64
  %negative = arith.cmpi slt, %bits, 0 : i64
  %negated = arith.subi 0, %magnitude : i64
  %m = arith.select %negative, %negated, %magnitude : i64
  %m32 = arith.trunci %m : i64 to i32
  %e32 = arith.trunci %e : i64 to i32
  return %m32, %e32 : i32, i32
}

// internal/common.cc, MultiplyByQuantizedMultiplier (default build): rounds twice.
// The left shift wraps.
func.func private @multiply_by_quantized_multiplier(
    %x: i32, %multiplier: i32, %exponent: i32) -> i32 {
  func.call @require_legal_exponent(%exponent) : (i32) -> ()
  %result = func.call @scale(%x, %multiplier, %exponent) : (i32, i32, i32) -> i32
}

func.func private @scale(%x: i32, %multiplier: i32, %exponent: i32) -> i32 {
  %left, %right = func.call @left_and_right(%exponent) : (i32) -> (i32, i32)
  %shifted = arith.shli %x, %left : i32
  %high = func.call @saturating_rounding_doubling_high_mul(%shifted, %multiplier) : (i32, i32) -> i32
  %result = fixed.shift_right %high, %right {rounding = half_away} : i32
}

func.func private @require_legal_exponent(%exponent: i32) {
  %legal = arith.cmpi sle, %exponent, 30 : i32
  cf.assert %legal, "the ratio of the scales is 2^30 or more: the kernel would shift a 32-bit value out of its range"
}

func.func private @multiply_by_real(%x: i32, %real: f64) -> i32 {
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %result = func.call @multiply_by_quantized_multiplier(%x, %multiplier, %exponent) : (i32, i32, i32) -> i32
}

func.func private @rescale_and_store(%x: i32, %real: f64) -> i32 {
  %scaled = func.call @multiply_by_real(%x, %real) : (i32, f64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// ---------------------------------------------------------------- convolution, matmul

// kernel_util.cc, PopulateConvolutionQuantizationParams: the scales combine in float64.
// For uint8 GetQuantizedConvolutionMultipler multiplies input and weight scale in float32.
func.func private @convolution_scale(%float32_product: i1, %weight_scale: f32) -> f64 {
  %wide = arith.mulf %input_scale, %weight_scale : f64
  %product = arith.mulf %input_scale, %weight_scale : f32
  %scale = arith.select %float32_product, %product, %wide : f64
  %result = arith.divf %scale, %output_scale : f64
}

// internal/reference/integer_ops/conv.h and conv.h
// internal/reference/integer_ops/depthwise_conv.h and depthwiseconv_uint8.h (kAwayFromZero)
func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d {
  %real = func.call @convolution_scale(%input_unsigned) : (i1) -> f64
  %result = func.call @rescale_and_store(%accumulator, %real) : (i32, f64) -> i32
}

// internal/reference/integer_ops/fully_connected.h and fully_connected.h: multiplies in
// float64 and rounds once, half away from zero (LiteRT since April 2025).
func.func @linear(%accumulator: i32) -> i32 {
  %real = func.call @convolution_scale(false) : (i1) -> f64
  %product = arith.mulf %accumulator, %real : f64
  %scaled = fixed.convert %product {rounding = half_away} : f64 to i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// batch_matmul.cc and internal/reference/batch_matmul.h
func.func @matmul(%accumulator: i32) -> i32 {
  %real = func.call @convolution_scale(true) : (i1) -> f64
  %result = func.call @rescale_and_store(%accumulator, %real) : (i32, f64) -> i32
}

// tflite/tools/optimize/quantization_utils.cc, SymmetricBiasQuantize: the converter makes
// the integer bias, with a float32 reciprocal, ties away from zero. -2^31 is not used.
func.func @quantize_bias() -> i32 {
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %reciprocal = arith.divf 1.0, %scale : f32
  %product = arith.mulf %real_bias, %reciprocal : f32
  %rounded = fixed.convert %product {rounding = half_away} : f32 to i32
  %smallest = arith.constant -2147483647 : i32
  %result = arith.maxsi %rounded, %smallest : i32
}

func.func @dequantize_bias() -> f32 { %result = func.call @bias_in_float32() : () -> f32 }

// ---------------------------------------------------------------- sums of real numbers

// internal/reference/conv.h, depthwiseconv_float.h, fully_connected.h: plain loops over the
// kernel's rows, columns and channels; CalculateActivationRange leaves no infinity.
func.func @real_linear(%sum: f32, %real_bias: f32) -> f32
    serves real_conv2d, real_depthwise_conv2d, real_linear attributes {contract.product = "sequential"} {
  %y = arith.addf %sum, %real_bias : f32
  %result = func.call @clamp_real(%y) : (f32) -> f32
}

// std::min(std::max(x, low), high): NaN stays, and so does a zero's sign.
func.func private @clamp_real(%x: f32, %activation_min: f32, %activation_max: f32) -> f32 {
  %low = arith.maximumf %activation_min, -3.4028234663852886e+38 : f32
  %high = arith.minimumf %activation_max, 3.4028234663852886e+38 : f32
  %below = arith.cmpf olt, %x, %low : f32
  %above_low = arith.select %below, %low, %x : f32
  %above = arith.cmpf ogt, %above_low, %high : f32
  %result = arith.select %above, %high, %above_low : f32
}

// internal/reference/batch_matmul.h
func.func @real_matmul(%sum: f32) -> f32 attributes {contract.product = "sequential"} {
  return %sum : f32
}

// ---------------------------------------------------------------- rows of real numbers

// internal/reference/pooling.h: loops over rows and columns. Taps outside of the image are skipped
// there; here they are 0, which changes no sum, or the lowest number.
func.func @real_average_pool() -> f32
    serves real_average_pool, real_loop_average_pool, real_volume_average_pool, real_global_average {
  %n = arith.sitofp %count : i32 to f32
  %mean = arith.divf @elements_in_turn, %n : f32
  %result = func.call @clamp_real(%mean) : (f32) -> f32
}

// internal/reference/reduce.h: from an initial value on, the last dimension fastest
func.func @real_mean() -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf @elements_in_turn, %n : f32
}

func.func @real_sum() -> f32 {
  %result = func.call @elements_in_turn() : () -> f32
}

func.func @real_product() -> f32 {
  %result = func.call @multiplied(1.0) : (f32) -> f32
}

func.func private @multiplied(%so_far: f32, %input: f32) -> f32
    attributes {contract.rows = "fold"} {
  %result = arith.mulf %so_far, %input : f32
}

func.func @real_maximum() -> f32 {
  %result = func.call @further_up(-3.4028234663852886e+38) : (f32) -> f32
}

func.func private @further_up(%so_far: f32, %input: f32) -> f32 attributes {contract.rows = "fold"} {
  %is_larger = arith.cmpf ogt, %input, %so_far : f32
  %result = arith.select %is_larger, %input, %so_far : f32
}

func.func @real_minimum() -> f32 {
  %result = func.call @further_down(3.4028234663852886e+38) : (f32) -> f32
}

func.func private @further_down(%so_far: f32, %input: f32) -> f32
    attributes {contract.rows = "fold"} {
  %is_smaller = arith.cmpf olt, %input, %so_far : f32
  %result = arith.select %is_smaller, %input, %so_far : f32
}

func.func @real_l2_pool() -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %mean = arith.divf @squares_in_turn, %n : f32
  %root = math.sqrt %mean : f32
  %result = func.call @clamp_real(%root) : (f32) -> f32
}

func.func @real_max_pool() -> f32 {
  %y = func.call @larger(-3.4028234663852886e+38) : (f32) -> f32
  %result = func.call @clamp_real(%y) : (f32) -> f32
}

func.func private @squares_in_turn(%input: f32) -> f32 attributes {contract.rows = "sequential"} {
  %result = arith.mulf %input, %input : f32
}

// std::max: what was there before stays where they are equal, or one isn't a number.
func.func private @larger(%so_far: f32, %input: f32) -> f32 attributes {contract.rows = "fold"} {
  %is_larger = arith.cmpf ogt, %so_far, %input : f32
  %result = arith.select %is_larger, %so_far, %input : f32
}

// internal/reference/softmax.h, log_softmax.h: the C library's expf and logf
func.func @real_softmax(%input: f32) -> f32 {
  %e = func.call @exponential(%input) : (f32) -> f32
  %result = arith.divf %e, @exponentials : f32
}

func.func @real_log_softmax(%input: f32) -> f32 {
  %below = arith.subf %input, @largest : f32
  %result = arith.subf %below, @log_of_exponentials : f32
}

func.func private @largest() -> f32 {
  %result = func.call @larger(-3.4028234663852886e+38) : (f32) -> f32
}

func.func private @exponential(%input: f32) -> f32 attributes {contract.rows = "each"} {
  %below = arith.subf %input, @largest : f32
  %scaled = arith.mulf %below, %beta : f32
  %result = func.call @expf(%scaled) : (f32) -> f32
}

func.func private @exponentials(%input: f32) -> f32 attributes {contract.rows = "sequential"} {
  %result = func.call @exponential(%input) : (f32) -> f32
}

func.func private @log_of_exponentials() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @logf(@exponentials) : (f32) -> f32
}

// internal/reference/l2normalization.h: std::max keeps NaN
func.func @real_l2_normalize(%input: f32) -> f32 {
  %result = arith.divf %input, @norm_of_row : f32
}

func.func private @norm_of_row() -> f32 attributes {contract.rows = "row"} {
  %root = math.sqrt @squares_in_turn : f32
  %is_small = arith.cmpf olt, %root, 9.999999974752427e-07 : f32
  %result = arith.select %is_small, 9.999999974752427e-07, %root : f32
}

// ---------------------------------------------------------------- real numbers, stored weights

// internal/reference/portable_tensor_utils.cc, PortableAsymmetricQuantizeFloats: the end of the
// range from which the zero point is computed with the smaller error. Ranges below 1e-36, whose
// scale has no reciprocal in float32, are not reproduced.
func.func @hybrid_range(%lowest: f32, %highest: f32) -> (f32, f32, i32) {
  %is_zero = arith.cmpf oeq, %lowest, %highest : f32
  %difference = arith.subf %highest, %lowest : f32
  %distance = arith.select %is_zero, 255.0, %difference : f32
  %scale = arith.divf %distance, 255.0 : f32
  %factor = arith.divf 1.0, %scale : f32
  %wide = arith.extf %distance : f32 to f64
  %step = arith.divf %wide, 255.0 : f64
  %codes_below = arith.divf %lowest, %step : f64
  %from_lowest = arith.subf -128.0, %codes_below : f64
  %size_below = math.absf %codes_below : f64
  %error_lowest = arith.addf 128.0, %size_below : f64
  %codes_above = arith.divf %highest, %step : f64
  %from_highest = arith.subf 127.0, %codes_above : f64
  %size_above = math.absf %codes_above : f64
  %error_highest = arith.addf 127.0, %size_above : f64
  %is_lowest = arith.cmpf olt, %error_lowest, %error_highest : f64
  %real_point = arith.select %is_lowest, %from_lowest, %from_highest : f64
  %point = fixed.convert %real_point {rounding = half_away} : f64 to i8
  %zero_point = arith.extsi %point : i8 to i32
  return %scale, %factor, %zero_point : f32, f32, i32
}

// PortableSymmetricQuantizeFloats.
func.func @hybrid_symmetric_range(%lowest: f32, %highest: f32) -> (f32, f32, i32) {
  %is_zero = arith.cmpf oeq, %lowest, %highest : f32
  %below = arith.negf %lowest : f32
  %is_below = arith.cmpf ogt, %below, %highest : f32
  %size = arith.select %is_below, %below, %highest : f32
  %largest = arith.select %is_zero, 127.0, %size : f32
  %scale = arith.divf %largest, 127.0 : f32
  %factor = arith.divf 127.0, %largest : f32
  %zero_point = arith.constant 0 : i32
  return %scale, %factor, %zero_point : f32, f32, i32
}

func.func @hybrid_code(%input: f32, %input_factor: f32, %input_zero_point: i32) -> i32 {
  %steps = arith.mulf %input, %input_factor : f32
  %rounded = fixed.convert %steps {rounding = half_away} : f32 to i32
  %moved = arith.addi %input_zero_point, %rounded : i32
  %code = fixed.saturate %moved : i32 to i8
  %result = arith.extsi %code : i8 to i32
}

// internal/reference/fully_connected.h, depthwiseconv_float.h (DepthwiseConvHybridPerChannel);
// portable_tensor_utils.cc, PortableMatrixBatchVectorMultiplyAccumulate
func.func @hybrid_linear(%accumulator: i32, %input_scale: f32) -> f32
    serves hybrid_depthwise_conv2d, hybrid_linear {
  %real = arith.sitofp %accumulator : i32 to f32
  %result = func.call @hybrid_by_scales(%real, %input_scale) : (f32, f32) -> f32
}

// internal/reference/conv.h, HybridConvPerChannel, where filters have scales of their own
func.func @hybrid_conv2d(%accumulator: i32, %input_scale: f32) -> f32 {
  %real = arith.sitofp %accumulator : i32 to f32
  %by_filters = func.call @hybrid_by_filters(%real, %input_scale) : (f32, f32) -> f32
  %by_scales = func.call @hybrid_by_scales(%real, %input_scale) : (f32, f32) -> f32
  %result = arith.select %per_channel, %by_filters, %by_scales : f32
}

func.func private @hybrid_by_scales(%real: f32, %input_scale: f32, %weight_scale: f32) -> f32 {
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %product = arith.mulf %real, %scale : f32
  %result = func.call @add_real_bias(%product) : (f32) -> f32
}

func.func private @hybrid_by_filters(%real: f32, %input_scale: f32, %weight_scale: f32) -> f32 {
  %weighted = arith.mulf %real, %weight_scale : f32
  %product = arith.mulf %weighted, %input_scale : f32
  %result = func.call @add_real_bias(%product) : (f32) -> f32
}

func.func private @add_real_bias(%product: f32, %real_bias: f32) -> f32 {
  %y = arith.addf %product, %real_bias : f32
  %result = func.call @activate_real(%y) : (f32) -> f32
}

// The bounds of an activation, where there is one.
func.func private @activate_real(%y: f32, %activation_min: f32, %activation_max: f32) -> f32 {
  %below = arith.cmpf olt, %y, %activation_min : f32
  %above_low = arith.select %below, %activation_min, %y : f32
  %above = arith.cmpf ogt, %above_low, %activation_max : f32
  %result = arith.select %above, %activation_max, %above_low : f32
}

// ---------------------------------------------------------------- pooling, mean

// pooling.cc, Prepare: scales may differ by 10^-6.
func.func private @require_equal_quantization() {
  %difference = arith.subf %input_scale, %output_scale : f32
  %distance = math.absf %difference : f32
  %same_scale = arith.cmpf ole, %distance, 1.0e-06 : f32
  %same_zero = arith.cmpi eq, %input_zero_point, %output_zero_point : i32
  %legal = arith.andi %same_scale, %same_zero : i1
  cf.assert %legal, "input and output of an average differ in scale or zero point, which TensorFlow Lite doesn't provide for"
}

// internal/reference/integer_ops/pooling.h: the mean of the *stored* integers, ties away
// from zero; the zero point is not subtracted.
func.func @avg_pool2d(%accumulator: i32, %output_min: i32, %output_max: i32, %count: i32) -> i32
    serves avg_pool2d, avg_pool2d_i16 {
  func.call @require_equal_quantization() : () -> ()
  %half = arith.divsi %count, 2 : i32
  %positive = arith.cmpi sgt, %accumulator, 0 : i32
  %above = arith.addi %accumulator, %half : i32
  %below = arith.subi %accumulator, %half : i32
  %nudged = arith.select %positive, %above, %below : i32
  %mean = arith.divsi %nudged, %count : i32
  %result = func.call @clamp_code(%mean) : (i32) -> i32
}

// internal/reference/reduce.h, QuantizedMeanOrSum: 1/count is folded into the multiplier
// by a truncating division.
func.func private @mean_multiplier(%real: f64) -> (i32, i32) {
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  // k = min(floor(log2(count)), 32, 31 + exponent)
  %leading = math.ctlz %count : i32
  %log2 = arith.subi 31, %leading : i32
  %capped = arith.minsi %log2, 32 : i32
  %room = arith.addi 31, %exponent : i32
  %k = arith.minsi %capped, %room : i32
  %scaled_up = arith.shli %multiplier, %k : i64
  %divided = arith.divsi %scaled_up, %count : i64
  %mean_multiplier = arith.trunci %divided : i64 to i32
  %mean_exponent = arith.subi %exponent, %k : i32
  return %mean_multiplier, %mean_exponent : i32, i32
}

func.func @mean(%accumulator: i32) -> i32 serves mean, mean_i16 {
  %mean_multiplier, %mean_exponent = func.call @mean_multiplier(@wide_ratio) : (f64) -> (i32, i32)
  %scaled = func.call @multiply_by_quantized_multiplier(@centred_sum, %mean_multiplier, %mean_exponent) : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// reduce.cc, EvalSum: signed bytes are read as unsigned
func.func @sum_addend(%input: i32) -> i32 { %result = arith.andi %input, 255 : i32 }

// internal/reference/reduce.h, QuantizedMeanOrSum of bytes without a sign, and so it is stored
func.func @sum(%sum: i32) -> i32 {
  %centred = func.call @centred_sum(%sum) : (i32) -> i32
  %scaled = func.call @multiply_by_real(%centred, @wide_ratio) : (i32, f64) -> i32
  %offset = arith.addi %scaled, %output_zero_point : i32
  %byte = func.call @clamp_code(%offset, 0, 255) : (i32, i32, i32) -> i32
  %above = arith.cmpi sgt, %byte, %output_max : i32
  %negative = arith.subi %byte, 256 : i32
  %result = arith.select %above, %negative, %byte : i32
}

// As QuantizedMeanOrSum means it.
func.func @sum_of_codes(%accumulator: i32) -> i32 serves sum_i16 {
  %result = func.call @rescale_and_store(@centred_sum, @wide_ratio) : (i32, f64) -> i32
}

// internal/reference/reduce.h, QuantizedReduceProd: each factor but the first, and the result,
// come with a rescaling, so that all together have the scales' ratio.
func.func @product(%product: i32, %input: i32) -> i32 serves product, product_i16 {
  %centred = arith.subi %input, %input_zero_point : i32
  %next = arith.muli %product, %centred : i64
  %result = func.call @product_step(%next) : (i64) -> i32
}

func.func @product_output(%product: i32) -> i32 serves product_output, product_output_i16 {
  %scaled = func.call @product_step(%product) : (i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// reduce.cc, GetQuantProdScaling: s_x / s_y^(1 / n), in float64.
func.func private @product_step(%product: i64) -> i32 {
  %power = arith.divf 1.0, %count : f64
  %root = math.powf %output_scale, %power : f64
  %real = arith.divf %input_scale, %root : f64
  %result = func.call @multiply_wide_by_real(%product, %real) : (i64, f64) -> i32
}

// ---------------------------------------------------------------- elementwise

// add.cc, PrepareGeneralAddOrSub; internal/reference/add.h: both operands are brought to
// a common scale with more bits, 20 of 8-bit ones, added, and scaled to the output.
func.func private @add_operands(%lhs: i32, %rhs: i32, %more: i32) -> (i32, i32, f64) {
  %twice = func.call @twice_the_larger() : () -> f64
  %lhs_scaled = func.call @on_common_scale(%lhs, %lhs_scale, %lhs_zero_point, %twice, %more) : (i32, f32, i32, f64, i32) -> i32
  %rhs_scaled = func.call @on_common_scale(%rhs, %rhs_scale, %rhs_zero_point, %twice, %more) : (i32, f32, i32, f64, i32) -> i32
  return %lhs_scaled, %rhs_scaled, %twice : i32, i32, f64
}

func.func private @twice_the_larger() -> f64 {
  %larger = arith.maximumf %lhs_scale, %rhs_scale : f32
  %result = arith.mulf %larger, 2.0 : f64
}

// An operand in steps of the common scale over 2^left_shift.
func.func private @on_common_scale(
    %stored: i32, %scale: f32, %zero_point: i32, %twice: f64, %left_shift: i32) -> i32 {
  %real = arith.divf %scale, %twice : f64
  %centred = arith.subi %stored, %zero_point : i32
  %shifted = arith.shli %centred, %left_shift : i32
  %result = func.call @multiply_by_real(%shifted, %real) : (i32, f64) -> i32
}

func.func private @add_output(%sum: i32, %twice: f64) -> i32 {
  %scaled = func.call @scale_sum(%sum, %twice) : (i32, f64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func private @scale_sum(%sum: i32, %twice: f64) -> i32 {
  %shifted_scale = arith.mulf %output_scale, 1048576.0 : f64
  %real = arith.divf %twice, %shifted_scale : f64
  // QuantizeMultiplierSmallerThanOneExp
  %legal = arith.cmpf olt, %real, 1.0 : f64
  cf.assert %legal, "the scale of an operand is 2^19 times that of the result or more, where LiteRT's ADD aborts and its SUB shifts by a negative number"
  %result = func.call @multiply_by_real(%sum, %real) : (i32, f64) -> i32
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %a, %b, %twice = func.call @add_operands(%lhs, %rhs, 20) : (i32, i32, i32) -> (i32, i32, f64)
  %sum = arith.addi %a, %b : i32
  %result = func.call @add_output(%sum, %twice) : (i32, f64) -> i32
}

func.func @sub(%lhs: i32, %rhs: i32, %output_min: i32, %output_max: i32) -> i32 {
  %a, %b, %twice = func.call @add_operands(%lhs, %rhs, 20) : (i32, i32, i32) -> (i32, i32, f64)
  %difference = arith.subi %a, %b : i32
  %result = func.call @add_output(%difference, %twice) : (i32, f64) -> i32
}

// mul.cc: the scales combine in float32. internal/reference/integer_ops/mul.h
func.func @mul(%lhs: i32, %rhs: i32, %output_min: i32, %output_max: i32) -> i32 serves mul, mul_i16
     {
  %ratio = func.call @product_ratio(%lhs_scale, %rhs_scale) : (f32, f32) -> f32
  %result = func.call @rescale_and_store(@centred_product, %ratio) : (i32, f64) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

// kernel_util.cc, CalculateActivationRangeQuantized: the stored integer of a real bound of
// a fused activation; float32 division, half away from zero.
func.func @bound(%real: f32, %output_scale: f32, %output_zero_point: i32) -> i32
    serves bound, bound_i16 {
  %quotient = arith.divf %real, %output_scale : f32
  %steps = math.absf %quotient : f32
  %fits = arith.cmpf olt, %steps, 2147483648.0 : f32
  cf.assert %fits, "the activation's bound is 2^31 steps of the output or more, which LiteRT refuses"
  %rounded = fixed.convert %quotient {rounding = half_away} : f32 to i32
  %result = arith.addi %rounded, %output_zero_point : i32
}

// kernel_util.cc, CalculateActivationRangeQuantized: the storage range within the bounds of an
// activation; an infinite one is no bound. For contracts whose `bound` is another.
func.func private @activation_range() -> (i32, i32) {
  %max = func.call @activation_bound(%activation_max, %storage_max) : (f32, i32) -> i32
  %low_result = func.call @clamp_code(@activation_bound, %storage_min, %storage_max) : (i32, i32, i32) -> i32
  %below = arith.minsi %max, %storage_max : i32
  %high_result = arith.maxsi %below, %low_result : i32
  return %low_result, %high_result : i32, i32
}

func.func private @activation_bound(%activation_min: f32, %storage_min: i32) -> i32 {
  %magnitude = math.absf %activation_min : f32
  %infinity = arith.constant 0x7F800000 : f32
  %finite = arith.cmpf olt, %magnitude, %infinity : f32
  %number = arith.select %finite, %activation_min, 0.0 : f32
  %code = func.call @bound(%number) : (f32) -> i32
  %result = arith.select %finite, %code, %storage_min : i32
}

// Within 2^20 steps, far outside the storage range; NaN is 2^20. (Compared and selected like
// this, it is one minimum and one maximum of x86.)
func.func private @few_steps(%x: f32) -> f32 {
  %below = arith.cmpf olt, %x, 1048576.0 : f32
  %not_high = arith.select %below, %x, 1048576.0 : f32
  %least = arith.constant -1048576.0 : f32
  %above = arith.cmpf ogt, %not_high, %least : f32
  %result = arith.select %above, %not_high, %least : f32
}

// Steps to be rounded, so that they give the stored integer which x86 does where C++ leaves it
// undefined: what int32 can't hold, NaN too, is converted to -2^31, and adding the zero point
// wraps.
func.func private @convertible(%steps: f32) -> f32 {
  %least = arith.constant -1048576.0 : f32
  %negative = arith.cmpi slt, %output_zero_point, 0 : i32
  %wrapped = arith.select %negative, 1048576.0, %least : f32
  // the largest float32 below 2^31 is 2^31 - 128
  %large = arith.cmpi sge, %output_zero_point, 128 : i32
  %largest = arith.constant 2147483520.0 : f32
  %two_to_31 = arith.constant 2147483648.0 : f32
  %limit = arith.select %large, %largest, %two_to_31 : f32
  %magnitude = math.absf %steps : f32
  %fits = arith.cmpf olt, %magnitude, %limit : f32
  %number = func.call @few_steps(%steps) : (f32) -> f32
  %result = arith.select %fits, %number, %wrapped : f32
}

// internal/reference/quantize.h, AffineQuantize: float32 division, half away from zero.
func.func @quantize(%input: f32) -> i32 serves quantize, quantize_i16 {
  %quotient = arith.divf %input, %output_scale : f32
  %number = func.call @convertible(%quotient) : (f32) -> f32
  %rounded = fixed.convert %number {rounding = half_away} : f32 to i32
  %result = func.call @offset_and_clamp(%rounded) : (i32) -> i32
}

// internal/reference/dequantize.h: the scale is widened to float64.
func.func @dequantize(%input: i32, %input_scale: f32, %input_zero_point: i32) -> f32
    serves dequantize, dequantize_i16 {
  %centred = arith.subi %input, %input_zero_point : i32
  %product = arith.mulf %input_scale, %centred : f64
  %result = arith.truncf %product : f64 to f32
}

// internal/reference/requantize.h
func.func @requantize(%input: i32, %input_scale: f32) -> i32 serves requantize, requantize_i16 {
  %result = func.call @rescale_and_store(@centred_input, @wide_ratio) : (i32, f64) -> i32
}

// activations.cc, QuantizedReluX: RELU, RELU6 and RELU_N1_TO_1 on their own. The scales are
// divided in float32; output_min and output_max carry the activation's bounds.
func.func @clamp(%input: i32, %output_min: i32, %output_max: i32) -> i32 serves clamp, clamp_i16 {
  %ratio = arith.divf %input_scale, %output_scale : f32
  %result = func.call @rescale_and_store(@centred_input, %ratio) : (i32, f64) -> i32
}

// internal/reference/concatenation.h: int8 inputs must share the output's parameters;
// uint8 is rescaled in float32 (ConcatenationWithScaling).
func.func @concat(%input: i32) -> i32 {
  %same = func.call @is_same_quantization() : () -> i1
  %legal = arith.ori %same, %input_unsigned : i1
  cf.assert %legal, "int8 inputs of concat must have the output's scale and zero point: LiteRT refuses others"
  %inverse = arith.divf 1.0, %output_scale : f32
  %ratio = arith.mulf %input_scale, %inverse : f32
  %z = arith.sitofp %input_zero_point : i32 to f32
  %negated = arith.negf %z : f32
  %bias = arith.mulf %negated, %ratio : f32
  %value = arith.sitofp %input : i32 to f32
  %product = arith.mulf %value, %ratio : f32
  %sum = arith.addf %product, %bias : f32
  %rounded = fixed.convert %sum {rounding = half_away} : f32 to i32
  %rescaled = func.call @offset_and_clamp(%rounded) : (i32) -> i32
  %result = arith.select %same, %input, %rescaled : i32
}

// ---------------------------------------------------------------- activations (tables)

// internal/common.h, LUTPopulateInt8: float32 throughout, reciprocal of the output scale,
// half away from zero.
func.func private @table_input(%input: i32) -> f32 {
  %integer = arith.sitofp @centred_input : i32 to f32
  %result = arith.mulf %input_scale, %integer : f32
}

func.func private @table_output(%real: f32) -> i32 {
  %inverse = arith.divf 1.0, %output_scale : f32
  %scaled = arith.mulf %real, %inverse : f32
  %rounded = fixed.convert %scaled {rounding = half_away} : f32 to i32
  %result = func.call @offset_and_clamp(%rounded) : (i32) -> i32
}

func.func @sigmoid(%input: i32) -> i32 {
  %negated = arith.negf @table_input : f32
  %exponential = math.exp %negated : f32
  %denominator = arith.addf 1.0, %exponential : f32
  %real = arith.divf 1.0, %denominator : f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

func.func @tanh(%input: i32) -> i32 {
  %real = math.tanh @table_input : f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

func.func @elu(%input: i32) -> i32 {
  %x = func.call @table_input(%input) : (i32) -> f32
  %negative = arith.cmpf olt, %x, 0.0 : f32
  %at_most_zero = arith.minimumf %x, 0.0 : f32
  %exponential = math.expm1 %at_most_zero : f32
  %real = arith.select %negative, %exponential, %x : f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

// elementwise.cc, AbsEvalQuantized: the ratio is a float32 quotient; equal scales need none.
func.func @abs(%input: i32) -> i32 serves abs, abs_i16 {
  %magnitude = math.absi @centred_input : i32
  %ratio = arith.divf %input_scale, %output_scale : f32
  %scaled = func.call @multiply_by_real(%magnitude, %ratio) : (i32, f64) -> i32
  %same = arith.cmpf oeq, %input_scale, %output_scale : f32
  %kept = arith.select %same, %magnitude, %scaled : i32
  %result = func.call @offset_and_clamp(%kept) : (i32) -> i32
}

// exp.cc
func.func @exp(%input: i32) -> i32 {
  %real = math.exp @table_input : f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

// elementwise.cc, LogLUTPrepare: at 0 and below, the smallest real number of the output
func.func @log(%input: i32) -> i32 {
  %real = func.call @log_or_least(@table_input, -128, %output_scale, %output_zero_point) : (f32, i32, f32, i32) -> f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

func.func private @log_or_least(
    %x: f32, %least_code: i32, %output_scale: f32, %output_zero_point: i32) -> f32 {
  %positive = arith.cmpf ogt, %x, 0.0 : f32
  %legal = arith.select %positive, %x, 1.0 : f32
  %logarithm = math.log %legal : f32
  %least = func.call @dequantize_exactly(%least_code, %output_scale, %output_zero_point) : (i32, f32, i32) -> f32
  %result = arith.select %positive, %logarithm, %least : f32
}

// a0 + x (a1 + x (a2 + ...))
func.func private @polynomial(
    %x: f32, %a8: f32, %a7: f32, %a6: f32, %a5: f32, %a4: f32, %a3: f32, %a2: f32, %a1: f32,
    %a0: f32) -> f32 {
  %p7 = arith.mulf %x, %a8 : f32
  %s7 = arith.addf %a7, %p7 : f32
  %p6 = arith.mulf %x, %s7 : f32
  %s6 = arith.addf %a6, %p6 : f32
  %p5 = arith.mulf %x, %s6 : f32
  %s5 = arith.addf %a5, %p5 : f32
  %p4 = arith.mulf %x, %s5 : f32
  %s4 = arith.addf %a4, %p4 : f32
  %p3 = arith.mulf %x, %s4 : f32
  %s3 = arith.addf %a3, %p3 : f32
  %p2 = arith.mulf %x, %s3 : f32
  %s2 = arith.addf %a2, %p2 : f32
  %p1 = arith.mulf %x, %s2 : f32
  %s1 = arith.addf %a1, %p1 : f32
  %p0 = arith.mulf %x, %s1 : f32
  %result = arith.addf %a0, %p0 : f32
}

// erfcf of the GNU C library (up to 2.40), sysdeps/ieee754/flt-32/s_erff.c
func.func private @erfc(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %near = func.call @erfc_near(%x) : (f32) -> f32
  %middle = func.call @erfc_around_1(%x, %size) : (f32, f32) -> f32
  %far = func.call @erfc_far(%x, %size) : (f32, f32) -> f32
  %is_near = arith.cmpf olt, %size, 0.84375 : f32
  %is_middle = arith.cmpf olt, %size, 1.25 : f32
  %beyond = arith.select %is_middle, %middle, %far : f32
  %result = arith.select %is_near, %near, %beyond : f32
}

func.func private @erfc_near(%x: f32) -> f32 {
  %square = arith.mulf %x, %x : f32
  %numerator = func.call @polynomial(
      %square, 0.0, 0.0, 0.0, 0.0, -2.3763017452e-05, -0.005770270247, -0.028481749818,
      -0.32504209876, 0.12837916613)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %denominator = func.call @polynomial(
      %square, 0.0, 0.0, 0.0, -3.9602282413e-06, 0.00013249473704, 0.0050813062117, 0.0650222525,
      0.39791721106, 1.0)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %y = arith.divf %numerator, %denominator : f32
  %product = arith.mulf %x, %y : f32
  %erf = arith.addf %x, %product : f32
  %low = arith.subf 1.0, %erf : f32
  %rest = arith.subf %x, 0.5 : f32
  %sum = arith.addf %product, %rest : f32
  %high = arith.subf 0.5, %sum : f32
  %is_low = arith.cmpf olt, %x, 0.25 : f32
  %result = arith.select %is_low, %low, %high : f32
}

func.func private @erfc_around_1(%x: f32, %size: f32) -> f32 {
  %s = arith.subf %size, 1.0 : f32
  %numerator = func.call @polynomial(
      %s, 0.0, 0.0, -0.0021663755178, 0.035478305072, -0.11089469492, 0.31834661961,
      -0.37220788002, 0.41485610604, -0.0023621185683)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %denominator = func.call @polynomial(
      %s, 0.0, 0.0, 0.011984500103, 0.013637083583, 0.12617121637, 0.071828655899, 0.54039794207,
      0.10642088205, 1.0)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %quotient = arith.divf %numerator, %denominator : f32
  %erf_of_1 = arith.constant 8.4506291151e-01 : f32
  %rest = arith.subf 1.0, %erf_of_1 : f32
  %positive = arith.subf %rest, %quotient : f32
  %sum = arith.addf %erf_of_1, %quotient : f32
  %negative = arith.addf 1.0, %sum : f32
  %is_positive = arith.cmpf oge, %x, 0.0 : f32
  %result = arith.select %is_positive, %positive, %negative : f32
}

// 2 from 6 below 0 on, and 0 or 2 from 28 on
func.func private @erfc_far(%x: f32, %size: f32) -> f32 {
  %square = arith.mulf %size, %size : f32
  %s = arith.divf 1.0, %square : f32
  %first_numerator = func.call @polynomial(
      %s, 0.0, -9.8143291473, -81.287437439, -184.60508728, -162.39666748, -62.375331879,
      -10.558626175, -0.6938585639, -0.0098649440333)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %first_denominator = func.call @polynomial(
      %s, -0.060424413532, 6.5702495575, 108.63500214, 429.00814819, 645.38726807, 434.56588745,
      137.65776062, 19.65127182, 1.0)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %second_numerator = func.call @polynomial(
      %s, 0.0, 0.0, -483.51919556, -1025.0950928, -637.56646729, -160.63638306, -17.757955551,
      -0.79928326607, -0.009864943102)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %second_denominator = func.call @polynomial(
      %s, 0.0, -22.440952301, 474.52853394, 2553.050293, 3199.8581543, 1536.7296143, 325.79251099,
      30.338060379, 1.0)
      : (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) -> f32
  %is_first = arith.cmpf olt, %size, 0x4036DB6D : f32
  %numerator = arith.select %is_first, %first_numerator, %second_numerator : f32
  %denominator = arith.select %is_first, %first_denominator, %second_denominator : f32
  %quotient = arith.divf %numerator, %denominator : f32
  %bits = arith.bitcast %size : f32 to i32
  %high_bits = arith.andi %bits, -8192 : i32
  %z = arith.bitcast %high_bits : i32 to f32
  %z_square = arith.mulf %z, %z : f32
  %z_negated = arith.negf %z_square : f32
  %z_power = arith.subf %z_negated, 0.5625 : f32
  %z_exp = math.exp %z_power : f32
  %difference = arith.subf %z, %size : f32
  %sum = arith.addf %z, %size : f32
  %product = arith.mulf %difference, %sum : f32
  %power = arith.addf %product, %quotient : f32
  %exp = math.exp %power : f32
  %r = arith.mulf %z_exp, %exp : f32
  %within = arith.divf %r, %size : f32
  %ends = arith.cmpf oge, %size, 28.0 : f32
  %positive = arith.select %ends, 0.0, %within : f32
  %negative = arith.subf 2.0, %positive : f32
  %is_low = arith.cmpf olt, %x, -6.0 : f32
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %below = arith.select %is_low, 2.0, %negative : f32
  %result = arith.select %is_positive, %positive, %below : f32
}

// internal/reference/gelu.h, GeluTransform
func.func @gelu(%input: i32) -> i32 {
  %real = func.call @gelu_value(@table_input) : (f32) -> f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

func.func private @gelu_value(%x: f32) -> f32 {
  %turned = arith.mulf %x, -0.707106769 : f32
  %erfc = func.call @erfc(%turned) : (f32) -> f32
  %half_x = arith.mulf 0.5, %x : f32
  %result = arith.mulf %half_x, %erfc : f32
}

// internal/reference/gelu.h, GeluTransformApproximate
func.func @gelu_tanh(%input: i32) -> i32 {
  %real = func.call @gelu_tanh_value(@table_input) : (f32) -> f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

func.func private @gelu_tanh_value(%x: f32) -> f32 {
  %once = arith.mulf 4.471500e-02, %x : f32
  %twice = arith.mulf %once, %x : f32
  %thrice = arith.mulf %twice, %x : f32
  %sum = arith.addf %x, %thrice : f32
  %root = arith.constant 0.797884583 : f32
  %argument = arith.mulf %root, %sum : f32
  %tanh = math.tanh %argument : f32
  %gate = arith.addf 1.0, %tanh : f32
  %half_x = arith.mulf 0.5, %x : f32
  %result = arith.mulf %half_x, %gate : f32
}

// elementwise.cc, SqrtEvalQuantized: float32 throughout, truncated before the zero point is
// added. Below 0, where LiteRT stops with an error, it is the root of 0.
func.func @sqrt(%input: i32) -> i32 serves sqrt, sqrt_i16 {
  %legal = arith.maximumf @table_input, 0.0 : f32
  %root = math.sqrt %legal : f32
  %steps = arith.divf %root, %output_scale : f32
  %integer = fixed.convert %steps {rounding = toward_zero} : f32 to i32
  %result = func.call @clamp_and_offset(%integer) : (i32) -> i32
}

// elementwise.cc, RsqrtEvalQuantizedInt8. At 0 the largest code; below 0 LiteRT stops with an
// error, and here it is the largest code, too.
func.func @rsqrt(%input: i32) -> i32 {
  %x = arith.subi %input, %input_zero_point : i32
  %positive = arith.cmpi sge, %x, 1 : i32
  %legal = arith.maxsi %x, 1 : i32
  %multiplier, %exponent = func.call @inverse_square_root(%legal) : (i32) -> (i32, i32)
  %raised = arith.addi %exponent, 20 : i32
  %data = func.call @multiply_by_quantized_multiplier(1, %multiplier, %raised) : (i32, i32, i32) -> i32
  %root = math.sqrt %input_scale : f32
  %product = arith.mulf %root, %output_scale : f32
  %real = arith.divf 1.0, %product : f64
  %scale_multiplier, %scale_exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %lowered = arith.subi %scale_exponent, 20 : i32
  %scaled = func.call @multiply_by_quantized_multiplier(%data, %scale_multiplier, %lowered) : (i32, i32, i32) -> i32
  %stored = func.call @offset_and_clamp(%scaled) : (i32) -> i32
  %result = arith.select %positive, %stored, %output_max : i32
}

// internal/common.h, GetInvSqrtQuantizedMultiplierExp of a positive number: its reciprocal
// root is multiplier * 2^(exponent - 31), by five Newton steps in Q3.28.
func.func private @inverse_square_root(%x: i32) -> (i32, i32) {
  %two_to_29 = arith.constant 536870912 : i32
  %large = arith.cmpi sge, %x, %two_to_29 : i32
  %quarter = arith.divsi %x, 4 : i32
  %below_two_to_29 = arith.select %large, %quarter, %x : i32
  // which the minimum says for the compiler
  %most = arith.constant 536870911 : i32
  %reduced = arith.minsi %below_two_to_29, %most : i32
  %large_shift = arith.extui %large : i1 to i32
  %leading = math.ctlz %reduced : i32
  %bits = arith.subi %leading, 1 : i32
  %all_pairs = arith.divui %bits, 2 : i32
  %pairs = arith.subi %all_pairs, 1 : i32
  %first_shift = arith.addi 11, %large_shift : i32
  %right = arith.subi %first_shift, %pairs : i32
  %left = arith.muli 2, %pairs : i32
  %normal = arith.shli %reduced, %left : i32
  %input = arith.shrsi %normal, 1 : i32
  %half_input = fixed.shift_right %input, 1 {rounding = half_away} : i32
  %start = arith.constant 268435456 : i32
  %x1 = func.call @root_step(%start, %half_input) : (i32, i32) -> i32
  %x2 = func.call @root_step(%x1, %half_input) : (i32, i32) -> i32
  %x3 = func.call @root_step(%x2, %half_input) : (i32, i32) -> i32
  %x4 = func.call @root_step(%x3, %half_input) : (i32, i32) -> i32
  %x5 = func.call @root_step(%x4, %half_input) : (i32, i32) -> i32
  %half_root = arith.constant 1518500250 : i32
  %root = func.call @saturating_rounding_doubling_high_mul(%x5, %half_root) : (i32, i32) -> i32
  // a negative right shift is done at once
  %negated = arith.subi 0, %right : i32
  %places = arith.maxsi %negated, 0 : i32
  %shifted = arith.shli %root, %places : i32
  %kept = arith.minsi %negated, 0 : i32
  // 1 is handled by itself
  %is_one = arith.cmpi sle, %x, 1 : i32
  %almost_one = arith.constant 2147483647 : i32
  %multiplier = arith.select %is_one, %almost_one, %shifted : i32
  %exponent = arith.select %is_one, 0, %kept : i32
  return %multiplier, %exponent : i32, i32
}

// x (3 - a x^2) / 2 in Q3.28, from x and a / 2
func.func private @root_step(%x: i32, %half_input: i32) -> i32 {
  %square = func.call @saturating_rounding_doubling_high_mul(%x, %x) : (i32, i32) -> i32
  %cube = func.call @saturating_rounding_doubling_high_mul(%square, %x) : (i32, i32) -> i32
  %cube3 = func.call @saturating_shift_left(%cube, 6) : (i32, i64) -> i32
  %half_three = arith.constant 402653184 : i32
  %rising = func.call @saturating_rounding_doubling_high_mul(%half_three, %x) : (i32, i32) -> i32
  %falling = func.call @saturating_rounding_doubling_high_mul(%half_input, %cube3) : (i32, i32) -> i32
  %difference = arith.subi %rising, %falling : i32
  %result = func.call @saturating_shift_left(%difference, 3) : (i32, i64) -> i32
}

// internal/reference/integer_ops/l2normalization.h: int8 in steps of 1/128 around 0;
// internal/reference/l2normalization.h: uint8 around 128. Zero points are checked, scales not.
func.func @l2_normalize(%input: i32, %accumulator: i32) -> i32 {
  %middle = arith.select %input_unsigned, 128, 0 : i32
  %legal = arith.cmpi eq, %output_zero_point, %middle : i32
  cf.assert %legal, "l2_normalize: the output zero point must be 0, or 128 of uint8: LiteRT refuses others"
  %positive = arith.maxsi %accumulator, 1 : i32
  %multiplier, %exponent = func.call @inverse_square_root(%positive) : (i32) -> (i32, i32)
  %x = arith.subi %input, %input_zero_point : i32
  %raised = arith.addi %exponent, 7 : i32
  %signed = func.call @scale(%x, %multiplier, %raised) : (i32, i32, i32) -> i32
  %scaled_x = arith.shli %x, 7 : i32
  %unsigned = func.call @scale(%scaled_x, %multiplier, %exponent) : (i32, i32, i32) -> i32
  %scaled = arith.select %input_unsigned, %unsigned, %signed : i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// gemmlowp fixedpoint.h, RoundingDivideByPOT, also by 2^32 and more: C++ leaves that
// undefined, processors shift by the amount modulo 32, and 1 is added to what isn't negative.
func.func private @divide_by_power_of_two(%x: i32, %exponent: i32) -> i32 {
  %small = arith.minsi %exponent, 31 : i32
  %rounded = fixed.shift_right %x, %small {rounding = half_away} : i32
  %places = arith.andi %exponent, 31 : i32
  %shifted = arith.shrsi %x, %places : i32
  %added = func.call @by_sign(%x, 1, 0) : (i32, i32, i32) -> i32
  %wrong = arith.addi %shifted, %added : i32
  %in_range = arith.cmpi sle, %exponent, 31 : i32
  %result = arith.select %in_range, %rounded, %wrong : i32
}

// div.cc, Prepare; internal/reference/div.h: a reciprocal in Q0.31 times the dividend, which
// is shifted up as far as it goes. A divisor of 0, undefined in the kernel, counts as 1.
func.func @div(%lhs: i32, %rhs: i32) -> i32 serves div, div_i16 {
  %steps = arith.mulf %rhs_scale, %output_scale : f32
  %ratio = arith.divf %lhs_scale, %steps : f32
  %multiplier, %exponent = func.call @quantize_multiplier(%ratio) : (f64) -> (i32, i32)
  %a = arith.subi %lhs, %lhs_zero_point : i32
  %b = arith.subi %rhs, %rhs_zero_point : i32
  %negative = arith.cmpi slt, %b, 0 : i32
  %minus_a = arith.subi 0, %a : i32
  %dividend = arith.select %negative, %minus_a, %a : i32
  %magnitude = math.absi %b : i32
  %divisor = arith.maxsi %magnitude, 1 : i32
  %headroom = math.ctlz %divisor : i32
  %places = arith.subi 31, %headroom : i32
  %normalized = arith.shli %divisor, %headroom : i32
  %smallest = arith.constant -2147483648 : i32
  %fraction = arith.addi %normalized, %smallest : i32
  %reciprocal = func.call @one_over_one_plus_x(%fraction) : (i32) -> i32
  // the dividend's leading bits that repeat its sign
  %sign = arith.shrsi %dividend, 31 : i32
  %bits = arith.xori %dividend, %sign : i32
  %leading = math.ctlz %bits : i32
  %unused = arith.subi %leading, 1 : i32
  %spare = arith.maxsi %unused, 0 : i32
  %shifted = arith.shli %dividend, %spare : i32
  %quotient = func.call @saturating_rounding_doubling_high_mul(%shifted, %reciprocal) : (i32, i32) -> i32
  %product = func.call @saturating_rounding_doubling_high_mul(%quotient, %multiplier) : (i32, i32) -> i32
  %used = arith.addi %places, %spare : i32
  %right = arith.subi %used, %exponent : i32
  %not_negative = arith.maxsi %right, 0 : i32
  %rounded = func.call @divide_by_power_of_two(%product, %not_negative) : (i32, i32) -> i32
  %result = func.call @offset_and_clamp(%rounded) : (i32) -> i32
}

// squared_difference.cc: 7 more bits than the operands have, and one squared.
func.func @squared_difference(%lhs: i32, %rhs: i32) -> i32 {
  %larger = arith.maximumf %lhs_scale, %rhs_scale : f32
  %twice_f = arith.mulf 2.0, %larger : f32
  %lhs_scaled = func.call @on_common_scale(%lhs, %lhs_scale, %lhs_zero_point, %twice_f, 7) : (i32, f32, i32, f64, i32) -> i32
  %rhs_scaled = func.call @on_common_scale(%rhs, %rhs_scale, %rhs_zero_point, %twice_f, 7) : (i32, f32, i32, f64, i32) -> i32
  %difference = arith.subi %lhs_scaled, %rhs_scaled : i32
  %square = arith.muli %difference, %difference : i32
  %product = arith.mulf %twice_f, %twice_f : f64
  %steps = arith.mulf 16384.0, %output_scale : f32
  %real = arith.divf %product, %steps : f64
  %legal = arith.cmpf olt, %real, 1.0 : f64
  cf.assert %legal, "squared_difference: the output scale is too small, LiteRT aborts"
  %result = func.call @rescale_and_store(%square, %real) : (i32, f64) -> i32
}

// internal/reference/prelu.h: a multiplier for each sign, derived in float32.
func.func @prelu(%lhs: i32, %rhs: i32) -> i32 {
  %x = arith.subi %lhs, %lhs_zero_point : i32
  %alpha = arith.subi %rhs, %rhs_zero_point : i32
  %identity_ratio = arith.divf %lhs_scale, %output_scale : f32
  %slope_ratio = func.call @product_ratio(%lhs_scale, %rhs_scale) : (f32, f32) -> f32
  %above = func.call @multiply_by_real(%x, %identity_ratio) : (i32, f64) -> i32
  %product = arith.muli %x, %alpha : i32
  %below = func.call @multiply_by_real(%product, %slope_ratio) : (i32, f64) -> i32
  %scaled = func.call @by_sign(%x, %above, %below) : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// comparisons.cc, ComparisonQuantized: 8 more bits, times the scale itself.
func.func @compare(%input: i32) -> i32 serves compare, compare_i16 {
  %shifted = arith.shli @centred_input, 8 : i32
  %legal = arith.cmpf olt, %input_scale, 1.0 : f64
  cf.assert %legal, "compare: a scale of 1 and more, with which LiteRT aborts"
  %result = func.call @multiply_by_real(%shifted, %input_scale) : (i32, f64) -> i32
}

// internal/reference/leaky_relu.h: one multiplier for each sign, derived in float32. Where
// alpha is negative, LiteRT's answers are those of |alpha| with the sign changed after the
// roundings.
func.func @leaky_relu(%input: i32) -> i32 serves leaky_relu, leaky_relu_i16 {
  %identity_real, %alpha_real = func.call @leaky_ratios(%alpha) : (f32) -> (f64, f64)
  %x = arith.subi %input, %input_zero_point : i32
  %identity = func.call @multiply_by_real(%x, %identity_real) : (i32, f64) -> i32
  %alpha_magnitude = math.absf %alpha_real : f64
  %steep = func.call @multiply_by_real(%x, %alpha_magnitude) : (i32, f64) -> i32
  %mirrored = arith.subi 0, %steep : i32
  %falling = arith.cmpf olt, %alpha_real, 0.0 : f64
  %sloped = arith.select %falling, %mirrored, %steep : i32
  %scaled = func.call @by_sign(%x, %identity, %sloped) : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func private @leaky_ratios(%alpha: f32) -> (f64, f64) {
  %identity_ratio = arith.divf %input_scale, %output_scale : f32
  %alpha_ratio = func.call @product_ratio(%input_scale, %alpha) : (f32, f32) -> f32
  return %identity_ratio, %alpha_ratio : f64, f64
}

// hard_swish.cc, HardSwishPrepare; internal/reference/hard_swish.h. 16-bit fixed point:
// x * relu6(x + 3) / 6 with both factors at 128 times the input's resolution.
func.func private @saturating_rounding_doubling_high_mul_16(%a: i32, %b: i32) -> i32 {
  %product = arith.muli %a, %b : i32
  %high = fixed.shift_right %product, 15 {rounding = half_up} : i32
  %result = func.call @saturate_16(%high) : (i32) -> i32
}

func.func private @saturate_16(%x: i32) -> i32 {
  %narrow = fixed.saturate %x : i32 to i16
  %result = arith.extsi %narrow : i16 to i32
}

func.func private @reduce_multiplier_to_16_bits(%multiplier: i32) -> i32 {
  %rounded = fixed.shift_right %multiplier, 16 {rounding = half_up} : i32
  %result = func.call @saturate_16(%rounded) : (i32) -> i32
}

func.func @hard_swish(%input: i32) -> i32 {
  %fine_step = arith.constant 0.0078125 : f32
  %fine_scale = arith.mulf %fine_step, %input_scale : f32
  %output_ratio = arith.divf %fine_scale, %output_scale : f32
  %output_multiplier, %output_exponent = func.call @quantize_multiplier(%output_ratio) : (f64) -> (i32, i32)
  %output_16 = func.call @reduce_multiplier_to_16_bits(%output_multiplier) : (i32) -> i32
  // 3 / 32768: the scale at which the relu-like factor fills 16 bits
  %relu_scale = arith.divf 3.0, 32768.0 : f32
  %relu_ratio = arith.divf %fine_scale, %relu_scale : f32
  %relu_multiplier, %relu_exponent = func.call @quantize_multiplier(%relu_ratio) : (f64) -> (i32, i32)
  %relu_16 = func.call @reduce_multiplier_to_16_bits(%relu_multiplier) : (i32) -> i32

  %fine = arith.shli @centred_input, 7 : i32
  %factor = func.call @saturating_rounding_doubling_high_mul_16(%fine, %output_16) : (i32, i32) -> i32

  %up = arith.cmpi sgt, %relu_exponent, 0 : i32
  %exponent_minus_1 = arith.subi %relu_exponent, 1 : i32
  // more than 15 places saturate whatever is not zero
  %left_capped = func.call @clamp_code(%exponent_minus_1, 0, 15) : (i32, i32, i32) -> i32
  %fine_shifted = arith.shli %fine, %left_capped : i32
  %relu_0 = func.call @saturate_16(%fine_shifted) : (i32) -> i32
  %relu_1 = func.call @saturating_rounding_doubling_high_mul_16(%relu_0, %relu_16) : (i32, i32) -> i32
  %relu_doubled = arith.shli %relu_1, 1 : i32
  %relu_saturated = func.call @saturate_16(%relu_doubled) : (i32) -> i32
  %relu_2 = arith.select %up, %relu_saturated, %relu_1 : i32
  %relu_negated = arith.subi 0, %relu_exponent : i32
  %relu_right = arith.maxsi %relu_negated, 0 : i32
  %relu_3 = fixed.shift_right %relu_2, %relu_right {rounding = half_away} : i32
  // from [-1, 1] to [0, 1]
  %relu_4 = arith.addi %relu_3, 32768 : i32
  %relu = arith.shrsi %relu_4, 1 : i32

  // SaturatingDoublingHighMul: no rounding, toward zero
  %product = arith.muli %relu, %factor : i32
  %high = arith.divsi %product, 32768 : i32
  %swish = func.call @saturate_16(%high) : (i32) -> i32
  %output_negated = arith.subi 0, %output_exponent : i32
  %output_right = arith.maxsi %output_negated, 0 : i32
  %representable = arith.cmpi sle, %output_exponent, 0 : i32
  cf.assert %representable, "hard_swish: the output scale is less than 1/128 of the input scale, which LiteRT refuses"
  %scaled = fixed.shift_right %swish, %output_right {rounding = half_away} : i32
  // RoundingDivideByPOT's mask of 16 bits is all ones beyond 15 places: 1 or -1 is left
  %beyond = arith.cmpi sgt, %output_right, 15 : i32
  %negative = arith.cmpi slt, %swish, 0 : i32
  %sign = arith.select %negative, -1, 1 : i32
  %divided = arith.select %beyond, %sign, %scaled : i32
  %result = func.call @offset_and_clamp(%divided) : (i32) -> i32
}

// ---------------------------------------------------------------- softmax

// softmax.cc, PreprocessSoftmaxScaling and CalculateInputRadius; internal/reference/softmax.h.
// Differences from the row's maximum become Q5.26, their exponentials Q0.31.
func.func private @softmax_difference(%difference: i32, %beta: f32) -> (i32, i1) {
  %beta_scale = arith.mulf %beta, %input_scale : f64
  %two_to_26 = arith.constant 67108864.0 : f64
  %real = arith.mulf %beta_scale, %two_to_26 : f64
  %largest = arith.constant 2147483647.0 : f64
  %capped = arith.minimumf %real, %largest : f64
  %legal = arith.cmpf ogt, %capped, 1.0 : f64
  cf.assert %legal, "softmax: beta times the input scale is 2^-26 or less, which LiteRT refuses"
  %multiplier, %left = func.call @quantize_multiplier(%capped) : (f64) -> (i32, i32)

  // radius = floor(31 * 2^26 / 2^left): smaller differences underflow to a term of 0
  %input_range = arith.constant 2080374784 : i32
  %radius = arith.shrui %input_range, %left : i32
  %smallest = arith.subi 0, %radius : i32
  %in_range = arith.cmpi sge, %difference, %smallest : i32
  %kept = arith.maxsi %difference, %smallest : i32
  %shifted = arith.shli %kept, %left : i32
  %fixed_point = func.call @saturating_rounding_doubling_high_mul(%shifted, %multiplier) : (i32, i32) -> i32
  return %fixed_point, %in_range : i32, i1
}

func.func @softmax_term(%difference: i32) -> i32 {
  %fixed_point, %in_range = func.call @softmax_difference(%difference, %beta) : (i32, f32) -> (i32, i1)
  %exponential = func.call @exp_on_negative_values(%fixed_point, 5) : (i32, i32) -> i32
  %result = arith.select %in_range, %exponential, 0 : i32
}

// gemmlowp fixedpoint.h, exp_on_negative_values: from at most 0 with `integer_bits` and a sign
// (Q5.26 if 5) to Q0.31. A polynomial on [-1/4, 0), then one factor for each bit of the rest.
func.func private @exp_on_negative_values(%a: i32, %integer_bits: i32) -> i32 {
  %quarter_place = arith.subi 29, %integer_bits : i32
  %quarter = arith.shli 1, %quarter_place : i32
  %quarter_mask = arith.subi %quarter, 1 : i32
  %low_bits = arith.andi %a, %quarter_mask : i32
  %fraction = arith.subi %low_bits, %quarter : i32
  %remainder = arith.subi %fraction, %a : i32
  // exp on [-1/4, 0) by its Taylor series about -1/8, in Q0.31
  %q31 = arith.shli %fraction, %integer_bits : i32
  %eighth = arith.constant 268435456 : i32
  %x = arith.addi %q31, %eighth : i32
  %x2 = func.call @saturating_rounding_doubling_high_mul(%x, %x) : (i32, i32) -> i32
  %x3 = func.call @saturating_rounding_doubling_high_mul(%x2, %x) : (i32, i32) -> i32
  %x4 = func.call @saturating_rounding_doubling_high_mul(%x2, %x2) : (i32, i32) -> i32
  %x4_over_4 = fixed.shift_right %x4, 2 {rounding = half_away} : i32
  %x4_over_4_plus_x3 = arith.addi %x4_over_4, %x3 : i32
  %third = arith.constant 715827883 : i32
  %cubic = func.call @saturating_rounding_doubling_high_mul(%x4_over_4_plus_x3, %third) : (i32, i32) -> i32
  %twice_tail = arith.addi %cubic, %x2 : i32
  %tail = fixed.shift_right %twice_tail, 1 {rounding = half_away} : i32
  %series = arith.addi %x, %tail : i32
  %exp_minus_eighth = arith.constant 1895147668 : i32
  %scaled = func.call @saturating_rounding_doubling_high_mul(%exp_minus_eighth, %series) : (i32, i32) -> i32
  %base = arith.addi %exp_minus_eighth, %scaled : i32
  // e^-(2^-2), e^-(2^-1) and so on to e^-(2^4)
  %power_0 = func.call @multiply_if_bit(%base, 1672461947, %remainder, %quarter, 0) : (i32, i32, i32, i32, i32) -> i32
  %power_1 = func.call @multiply_if_bit(%power_0, 1302514674, %remainder, %quarter, 1) : (i32, i32, i32, i32, i32) -> i32
  %power_2 = func.call @multiply_if_bit(%power_1, 790015084, %remainder, %quarter, 2) : (i32, i32, i32, i32, i32) -> i32
  %power_3 = func.call @multiply_if_bit(%power_2, 290630308, %remainder, %quarter, 3) : (i32, i32, i32, i32, i32) -> i32
  %power_4 = func.call @multiply_if_bit(%power_3, 39332535, %remainder, %quarter, 4) : (i32, i32, i32, i32, i32) -> i32
  %power_5 = func.call @multiply_if_bit(%power_4, 720401, %remainder, %quarter, 5) : (i32, i32, i32, i32, i32) -> i32
  %power_6 = func.call @multiply_if_bit(%power_5, 242, %remainder, %quarter, 6) : (i32, i32, i32, i32, i32) -> i32
  %is_zero = arith.cmpi eq, %a, 0 : i32
  %almost_one = arith.constant 2147483647 : i32
  %result = arith.select %is_zero, %almost_one, %power_6 : i32
}

// x times the factor if the bit `place` above `quarter` is set in `bits`.
func.func private @multiply_if_bit(
    %x: i32, %factor: i32, %bits: i32, %quarter: i32, %place: i32) -> i32 {
  %bit = arith.shli %quarter, %place : i32
  %masked = arith.andi %bits, %bit : i32
  %set = arith.cmpi ne, %masked, 0 : i32
  %product = func.call @saturating_rounding_doubling_high_mul(%x, %factor) : (i32, i32) -> i32
  %result = arith.select %set, %product, %x : i32
}

// The sum of exponentials is Q12.19.
func.func @softmax_addend(%term: i32) -> i32 {
  %result = fixed.shift_right %term, 12 {rounding = half_away} : i32
}

// gemmlowp fixedpoint.h, one_over_one_plus_x_for_x_in_0_1: Q0.31.
func.func private @one_over_one_plus_x(%x: i32) -> i32 {
  %twice = func.call @two_over_one_plus_x(%x) : (i32) -> i32
  %result = func.call @saturating_shift_left(%twice, 1) : (i32, i64) -> i32
}

// From Q0.31 to Q2.29 by three Newton steps.
func.func private @two_over_one_plus_x(%x: i32) -> i32 {
  %one64 = arith.constant 2147483647 : i64
  %denominator = arith.addi %x, %one64 : i64
  %half64 = fixed.shift_right %denominator, 1 {rounding = half_up} : i64
  %half = fixed.saturate %half64 : i64 to i32
  %c48_17 = arith.constant 1515870810 : i32
  %minus_32_17 = arith.constant -1010580540 : i32
  %slope = func.call @saturating_rounding_doubling_high_mul(%half, %minus_32_17) : (i32, i32) -> i32
  %guess = arith.addi %c48_17, %slope : i32
  %first = func.call @newton_step(%guess, %half) : (i32, i32) -> i32
  %second = func.call @newton_step(%first, %half) : (i32, i32) -> i32
  %result = func.call @newton_step(%second, %half) : (i32, i32) -> i32
}

func.func private @newton_step(%guess: i32, %half: i32) -> i32 {
  %product = func.call @saturating_rounding_doubling_high_mul(%half, %guess) : (i32, i32) -> i32
  %one = arith.constant 536870912 : i32
  %error = arith.subi %one, %product : i32
  %correction = func.call @saturating_rounding_doubling_high_mul(%guess, %error) : (i32, i32) -> i32
  %rescaled = func.call @saturating_shift_left(%correction, 2) : (i32, i64) -> i32
  %result = arith.addi %guess, %rescaled : i32
}

func.func private @saturating_shift_left(%x: i32, %shift: i64) -> i32 {
  %shifted = arith.shli %x, %shift : i64
  %result = fixed.saturate %shifted : i64 to i32
}

// The output is 1/256 a step from the storage type's minimum: LiteRT demands that scale and
// zero point. Sums of 2^28 and more (over 512 equal logits) would shift a 32-bit value by more
// than 31 places, undefined in the kernel; here it is done in 64 bits. The sum is never 0,
// as it has the term of the largest element; that it is at least 1 is said for the compiler.
func.func @softmax_output(%term: i32, %sum: i32) -> i32 {
  %step = arith.constant 0.00390625 : f32
  %right_scale = arith.cmpf oeq, %output_scale, %step : f32
  cf.assert %right_scale, "softmax: the output scale must be 1/256, LiteRT refuses others"
  %right_zero_point = arith.cmpi eq, %output_zero_point, %output_min : i32
  cf.assert %right_zero_point, "softmax: the output zero point must be the storage type's minimum, LiteRT refuses others"
  %positive = arith.maxsi %sum, 1 : i32
  %headroom = math.ctlz %positive : i32
  %normalized = arith.shli %positive, %headroom : i32
  %minus_one = arith.constant -2147483648 : i32
  %fraction = arith.addi %normalized, %minus_one : i32
  %reciprocal = func.call @one_over_one_plus_x(%fraction) : (i32) -> i32
  %product = func.call @saturating_rounding_doubling_high_mul(%reciprocal, %term) : (i32, i32) -> i32
  %places = arith.subi 35, %headroom : i32
  %rounded = fixed.shift_right %product, %places {rounding = half_away} : i64
  %probability = arith.trunci %rounded : i64 to i32
  %result = func.call @offset_and_clamp(%probability, %output_min) : (i32, i32) -> i32
}

// internal/reference/integer_ops/log_softmax.h: differences in Q5.26 less the logarithm of the
// sum, in steps of 1/16 below the largest code. uint8 is the same.
func.func @log_softmax_output(%difference: i32, %sum: i32) -> i32 {
  %step = arith.constant 0.0625 : f32
  %right_scale = arith.cmpf oeq, %output_scale, %step : f32
  cf.assert %right_scale, "log_softmax: the output scale must be 1/16, LiteRT refuses others"
  %right_zero_point = arith.cmpi eq, %output_zero_point, %output_max : i32
  cf.assert %right_zero_point, "log_softmax: the output zero point must be the largest code, LiteRT refuses others"
  %fixed_point, %in_range = func.call @softmax_difference(%difference, 1.0) : (i32, f32) -> (i32, i1)
  %log_wide = arith.extsi @log_of_sum : i32 to i64
  %below = arith.subi %fixed_point, %log_wide : i64
  %steps = fixed.shift_right %below, 22 {rounding = half_away} : i64
  %steps32 = arith.trunci %steps : i64 to i32
  %result = func.call @offset_and_clamp(%steps32) : (i32) -> i32
}

// internal/common.h, log_x_for_x_greater_than_or_equal_to_1_impl: from Q12.19 to Q5.26
func.func private @log_of_sum(%sum: i32) -> i32 {
  %x = arith.maxsi %sum, 1 : i32
  %sqrt_half = arith.constant 1518500250 : i32
  %quarter = arith.constant 8388608 : i32
  // one candidate without, one with a factor of sqrt(1/2)
  %headroom_a1 = math.ctlz %x : i32
  %headroom_a = arith.subi %headroom_a1, 1 : i32
  %a_top = func.call @saturating_shift_left(%x, %headroom_a) : (i32, i64) -> i32
  %a_half = func.call @saturating_rounding_doubling_high_mul(%a_top, %sqrt_half) : (i32, i32) -> i32
  %r_a = func.call @saturating_shift_left(%a_half, 1) : (i32, i64) -> i32
  %integer_a = arith.subi 12, %headroom_a1 : i32
  %shifted_a = arith.shli %integer_a, 25 : i32
  %power_a = arith.addi %shifted_a, %quarter : i32
  %b = func.call @saturating_rounding_doubling_high_mul(%x, %sqrt_half) : (i32, i32) -> i32
  %b_positive = arith.maxsi %b, 1 : i32
  %headroom_b1 = math.ctlz %b_positive : i32
  %headroom_b = arith.subi %headroom_b1, 1 : i32
  %r_b = func.call @saturating_shift_left(%x, %headroom_b) : (i32, i64) -> i32
  %integer_b = arith.subi 12, %headroom_b : i32
  %shifted_b = arith.shli %integer_b, 25 : i32
  %power_b = arith.subi %shifted_b, %quarter : i32
  %r = arith.minsi %r_a, %r_b : i32
  %power = arith.maxsi %power_a, %power_b : i32
  // a rational function of r around sqrt(sqrt(1/2))
  %root = arith.constant 1805811301 : i32
  %p = func.call @rounding_half_sum(%r, %root) : (i32, i32) -> i32
  %distance = arith.subi %r, %root : i32
  %q = arith.addi %distance, %distance : i32
  %square = func.call @saturating_rounding_doubling_high_mul(%q, %q) : (i32, i32) -> i32
  %q_r = func.call @saturating_rounding_doubling_high_mul(%q, %r) : (i32, i32) -> i32
  %cube = func.call @saturating_rounding_doubling_high_mul(%q, %square) : (i32, i32) -> i32
  %alpha_n = arith.constant 117049297 : i32
  %cubic = func.call @saturating_rounding_doubling_high_mul(%cube, %alpha_n) : (i32, i32) -> i32
  %numerator = arith.addi %q_r, %cubic : i32
  %alpha_d = arith.constant 127690142 : i32
  %quadratic = func.call @saturating_rounding_doubling_high_mul(%alpha_d, %square) : (i32, i32) -> i32
  %alpha_i = arith.constant 1057819769 : i32
  %linear = arith.addi %alpha_i, %q : i32
  %factor = arith.addi %linear, %quadratic : i32
  %first = func.call @saturating_rounding_doubling_high_mul(%p, %factor) : (i32, i32) -> i32
  %alpha_f = arith.constant 638450708 : i32
  %second = func.call @saturating_rounding_doubling_high_mul(%alpha_f, %q) : (i32, i32) -> i32
  %denominator = arith.addi %first, %second : i32
  %reciprocal = func.call @one_over_one_plus_x(%denominator) : (i32) -> i32
  %scaled = fixed.shift_right %numerator, 6 {rounding = half_away} : i32
  %fraction = func.call @saturating_rounding_doubling_high_mul(%scaled, %reciprocal) : (i32, i32) -> i32
  %log_2 = arith.constant 1488522236 : i32
  %whole = func.call @saturating_rounding_doubling_high_mul(%power, %log_2) : (i32, i32) -> i32
  %total = arith.addi %whole, %fraction : i32
  %result = func.call @saturating_shift_left(%total, 1) : (i32, i64) -> i32
}

// gemmlowp fixedpoint.h, RoundingHalfSum: ties away from zero
func.func private @rounding_half_sum(%a: i32, %b: i32) -> i32 {
  %sum = arith.addi %a, %b : i64
  %half = fixed.shift_right %sum, 1 {rounding = half_away} : i64
  %result = arith.trunci %half : i64 to i32
}

// ---------------------------------------------------------------- resizing

// internal/reference/resize_nearest_neighbor.h, GetNearestNeighbor: float32
func.func @resize_nearest_position() -> i32
    serves resize_nearest_position, resize_nearest_position_i16 {
  %numerator, %denominator, %input_less_1 = func.call @resizing_steps() : () -> (i32, i32, i32)
  %numerator_f = arith.sitofp %numerator : i32 to f32
  %denominator_f = arith.sitofp %denominator : i32 to f32
  %scale = arith.divf %numerator_f, %denominator_f : f32
  %offset = arith.select %half_pixel_centers, 0.5, 0.0 : f32
  %index_f = arith.sitofp %output_index : i32 to f32
  %centre = arith.addf %index_f, %offset : f32
  %position = arith.mulf %centre, %scale : f32
  %rounded = fixed.convert %position {rounding = half_away} : f32 to i32
  %floored = fixed.convert %position {rounding = floor} : f32 to i32
  %nearest = arith.select %align_corners, %rounded, %floored : i32
  %below = arith.minsi %nearest, %input_less_1 : i32
  %result = arith.maxsi %below, 0 : i32
}

// internal/reference/resize_bilinear.h: the neighbours, and the weight of the upper one. int8
// has positions with 10 fractional bits (ComputeInterpolationValuesInteger); uint8 has float32
// ones, whose weights are handed on by their bits.
func.func @resize_bilinear_position() -> (i32, i32, i32)
    serves resize_bilinear_position, resize_bilinear_position_i16 {
  %numerator, %denominator, %input_less_1 = func.call @resizing_steps() : () -> (i32, i32, i32)
  %lower, %upper, %weight = func.call @fixed_point_position(%numerator, %denominator, %input_less_1) : (i32, i32, i32) -> (i32, i32, i32)
  %lower_f, %upper_f, %weight_f = func.call @float32_position(%numerator, %denominator, %input_less_1) : (i32, i32, i32) -> (i32, i32, i32)
  %lower_result = arith.select %input_unsigned, %lower_f, %lower : i32
  %upper_result = arith.select %input_unsigned, %upper_f, %upper : i32
  %weight_result = arith.select %input_unsigned, %weight_f, %weight : i32
  return %lower_result, %upper_result, %weight_result : i32, i32, i32
}

func.func private @fixed_point_position(
    %numerator: i32, %denominator: i32, %last: i32) -> (i32, i32, i32) {
  %shifted = arith.shli %numerator, 10 : i32
  %half_denominator = arith.divsi %denominator, 2 : i32
  %nudged = arith.addi %shifted, %half_denominator : i32
  %scale = arith.divsi %nudged, %denominator : i32
  %corner = arith.muli %output_index, %scale : i32
  %half_scale = arith.divsi %scale, 2 : i32
  %moved = arith.addi %corner, %half_scale : i32
  %centred = arith.subi %moved, 512 : i32
  %position = arith.select %half_pixel_centers, %centred, %corner : i32
  %lower_unclamped = arith.divsi %position, 1024 : i32
  %lower = arith.maxsi %lower_unclamped, 0 : i32
  %position_up = arith.addi %position, 1023 : i32
  %upper_unclamped = arith.divsi %position_up, 1024 : i32
  %upper = arith.minsi %upper_unclamped, %last : i32
  %lower_position = arith.shli %lower, 10 : i32
  %weight = arith.subi %position, %lower_position : i32
  return %lower, %upper, %weight : i32, i32, i32
}

// ComputeInterpolationValues
func.func private @float32_position(
    %numerator: i32, %denominator: i32, %last: i32) -> (i32, i32, i32) {
  %numerator_f = arith.sitofp %numerator : i32 to f32
  %denominator_f = arith.sitofp %denominator : i32 to f32
  %scale = arith.divf %numerator_f, %denominator_f : f32
  %index_f = arith.sitofp %output_index : i32 to f32
  %corner = arith.mulf %index_f, %scale : f32
  %moved = arith.addf %index_f, 0.5 : f32
  %moved_scaled = arith.mulf %moved, %scale : f32
  %centred = arith.subf %moved_scaled, 0.5 : f32
  %position = arith.select %half_pixel_centers, %centred, %corner : f32
  %floor = fixed.convert %position {rounding = floor} : f32 to i32
  %ceiling = fixed.convert %position {rounding = ceil} : f32 to i32
  %lower = arith.maxsi %floor, 0 : i32
  %upper = arith.minsi %ceiling, %last : i32
  %lower_f = arith.sitofp %lower : i32 to f32
  %fraction = arith.subf %position, %lower_f : f32
  %weight = arith.bitcast %fraction : f32 to i32
  return %lower, %upper, %weight : i32, i32, i32
}

// internal/reference/resize_bilinear.h, ResizeBilinearInteger and ResizeBilinear.
func.func @resize_bilinear(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %y_bits = arith.select %input_unsigned, %y_weight, 0 : i32
  %x_bits = arith.select %input_unsigned, %x_weight, 0 : i32
  %y = arith.bitcast %y_bits : i32 to f32
  %x = arith.bitcast %x_bits : i32 to f32
  %top_left_f = arith.sitofp %top_left : i32 to f32
  %top_right_f = arith.sitofp %top_right : i32 to f32
  %bottom_left_f = arith.sitofp %bottom_left : i32 to f32
  %bottom_right_f = arith.sitofp %bottom_right : i32 to f32
  %real = func.call @interpolate_float32(%top_left_f, %top_right_f, %bottom_left_f, %bottom_right_f, %y, %x) : (f32, f32, f32, f32, f32, f32) -> f32
  %above = arith.addf %real, 0.5 : f32
  %rounded = fixed.convert %above {rounding = toward_zero} : f32 to i32
  %result = arith.select %input_unsigned, %rounded, @interpolate_fixed_point : i32
}

// Weights sum to 2^20; one rounding, half away from zero.
func.func private @interpolate_fixed_point(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %left, %right = func.call @interpolate_columns(%top_left, %top_right, %bottom_left, %bottom_right) : (i32, i32, i32, i32) -> (i32, i32)
  %x_rest = arith.subi 1024, %x_weight : i32
  %left_x = arith.muli %left, %x_rest : i32
  %right_x = arith.muli %right, %x_weight : i32
  %sum = arith.addi %left_x, %right_x : i32
  %result = func.call @divide_by_two_to_20(%sum) : (i32) -> i32
}

func.func private @interpolate_columns(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> (i32, i32) {
  %y_rest = arith.subi 1024, %y_weight : i32
  %top_left_y = arith.muli %top_left, %y_rest : i32
  %top_right_y = arith.muli %top_right, %y_rest : i32
  %bottom_left_y = arith.muli %bottom_left, %y_weight : i32
  %bottom_right_y = arith.muli %bottom_right, %y_weight : i32
  %left = arith.addi %top_left_y, %bottom_left_y : i32
  %right = arith.addi %top_right_y, %bottom_right_y : i32
  return %left, %right : i32, i32
}

func.func private @divide_by_two_to_20(%sum: i32) -> i32 {
  %result = fixed.shift_right %sum, 20 {rounding = half_away} : i32
}

func.func private @interpolate_float32(
    %top_left: f32, %top_right: f32, %bottom_left: f32, %bottom_right: f32, %y: f32,
    %x: f32) -> f32 {
  %y_rest = arith.subf 1.0, %y : f32
  %x_rest = arith.subf 1.0, %x : f32
  %top_left_y = arith.mulf %top_left, %y_rest : f32
  %top_left_x = arith.mulf %top_left_y, %x_rest : f32
  %bottom_left_y = arith.mulf %bottom_left, %y : f32
  %bottom_left_x = arith.mulf %bottom_left_y, %x_rest : f32
  %top_right_y = arith.mulf %top_right, %y_rest : f32
  %top_right_x = arith.mulf %top_right_y, %x : f32
  %bottom_right_y = arith.mulf %bottom_right, %y : f32
  %bottom_right_x = arith.mulf %bottom_right_y, %x : f32
  %left = arith.addf %top_left_x, %bottom_left_x : f32
  %three = arith.addf %left, %top_right_x : f32
  %result = arith.addf %three, %bottom_right_x : f32
}

// ---------------------------------------------------------------- 16-bit activations

// internal/common.cc, MultiplyByQuantizedMultiplier of an int64: the multiplier has 15 bits,
// and there is one rounding, half up.
func.func private @multiply_wide_by_real(%x: i64, %real: f64) -> i32 {
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %at_least = arith.cmpi sge, %exponent, -31 : i32
  %at_most = arith.cmpi sle, %exponent, 7 : i32
  %legal = arith.andi %at_least, %at_most : i1
  cf.assert %legal, "the ratio of the scales (of input * weight and output, of a product a root of it) is not in [2^-32, 2^7)"
  %limit = arith.constant 2147418112 : i32
  %fits = arith.cmpi slt, %multiplier, %limit : i32
  %reduced = fixed.shift_right %multiplier, 16 {rounding = half_up} : i32
  %short = arith.select %fits, %reduced, 32767 : i32
  %product = arith.muli %x, %short : i64
  %places = arith.subi 15, %exponent : i32
  %scaled = fixed.shift_right %product, %places {rounding = half_up} : i64
  %result = arith.trunci %scaled : i64 to i32
}

// internal/reference/integer_ops/conv.h. Beside a bias of 32 bits sums have 32, and wrap.
func.func @conv2d_i16(%accumulator: i64) -> i32 {
  func.call @require_byte_weights() : () -> ()
  %narrow = func.call @narrow_sum(%accumulator) : (i64) -> i32
  %wide = func.call @wide_sum(%accumulator) : (i64) -> i32
  %scaled = arith.select @has_narrow_bias, %narrow, %wide : i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func private @require_byte_weights() {
  %legal = arith.cmpi ule, %weight_bits, 8 : i32
  cf.assert %legal, "weights of 16 bits: TFLite has layers of int16 with int8 weights alone"
}

func.func private @has_narrow_bias() -> i1 {
  %result = arith.cmpi eq, %bias_bits, 32 : i32
}

func.func private @narrow_sum(%accumulator: i64) -> i32 {
  %sum = arith.trunci %accumulator : i64 to i32
  %result = func.call @multiply_by_real(%sum, @wide_scale) : (i32, f64) -> i32
}

func.func private @wide_scale() -> f64 {
  %result = func.call @convolution_scale(false) : (i1) -> f64
}

// a ratio that isn't used is no reason to refuse
func.func private @wide_sum(%accumulator: i64) -> i32 {
  %real = arith.select @has_narrow_bias, 1.0, @wide_scale : f64
  %result = func.call @multiply_wide_by_real(%accumulator, %real) : (i64, f64) -> i32
}

// internal/reference/integer_ops/depthwise_conv.h
func.func @depthwise_conv2d_i16(%accumulator: i64) -> i32 {
  func.call @require_byte_weights() : () -> ()
  %legal = arith.xori @has_narrow_bias, true : i1
  cf.assert %legal, "a depthwise convolution of 16 bits needs a bias of 64 bits: LiteRT refuses one of 32, TFLite Micro reads it as if it had 64"
  %result = func.call @rescale_wide(%accumulator) : (i64) -> i32
}

func.func private @rescale_wide(%accumulator: i64) -> i32 {
  %scaled = func.call @multiply_wide_by_real(%accumulator, @wide_scale) : (i64, f64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// internal/reference/integer_ops/fully_connected.h. Sums beside a bias of 32 bits wrap as in
// convolutions.
func.func @linear_i16(%accumulator: i64) -> i32 {
  func.call @require_byte_weights() : () -> ()
  %low = arith.trunci %accumulator : i64 to i32
  %wrapped = arith.extsi %low : i32 to i64
  %sum = arith.select @has_narrow_bias, %wrapped, %accumulator : i64
  %sum64 = arith.sitofp %sum : i64 to f64
  %product = arith.mulf %sum64, @wide_scale : f64
  %scaled = fixed.convert %product {rounding = half_away} : f64 to i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// batch_matmul.cc, EvalInt16
func.func @matmul_i16(%accumulator: i64) -> i32 {
  %real = func.call @convolution_scale(true) : (i1) -> f64
  %scaled = func.call @multiply_wide_by_real(%accumulator, %real) : (i64, f64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// add.cc, PrepareGeneralAddOrSub: as for 8 bits, with 15 more bits for 20.
func.func private @word_sum(%sum: i32, %twice: f64) -> i32 {
  %shifted_scale = arith.mulf %output_scale, 32768.0 : f64
  %real = arith.divf %twice, %shifted_scale : f64
  %legal = arith.cmpf olt, %real, 1.0 : f64
  cf.assert %legal, "the scale of an operand is 2^14 times that of the result or more, where LiteRT aborts"
  %result = func.call @rescale_and_store(%sum, %real) : (i32, f64) -> i32
}

func.func @add_i16(%lhs: i32, %rhs: i32) -> i32 {
  %a, %b, %twice = func.call @add_operands(%lhs, %rhs, 15) : (i32, i32, i32) -> (i32, i32, f64)
  %sum = arith.addi %a, %b : i32
  %result = func.call @word_sum(%sum, %twice) : (i32, f64) -> i32
}

func.func @sub_i16(%lhs: i32, %rhs: i32) -> i32 {
  %a, %b, %twice = func.call @add_operands(%lhs, %rhs, 15) : (i32, i32, i32) -> (i32, i32, f64)
  %difference = arith.subi %a, %b : i32
  %result = func.call @word_sum(%difference, %twice) : (i32, f64) -> i32
}

// activations.cc, SigmoidPrepare and TanhPrepare: the real input times 3 * 2^12, in which a step of
// the table, 1/24, is 2^9 (of tanh, of twice the input, 2^8). The factor is 3 for a scale of
// 2^-12; another one keeps 14 or 15 bits, cut off.
func.func private @table_steps(%input: i32, %input_scale: f32) -> i32 {
  %scaled = arith.mulf %input_scale, 12288.0 : f64
  // doubled until it is above 2^14 - 1/2, 31 times at most
  %bits = arith.bitcast %scaled : f64 to i64
  %biased = arith.shrui %bits, 52 : i64
  %mask = arith.constant 4503599627370495 : i64
  %fraction = arith.andi %bits, %mask : i64
  %limit = arith.constant 4503324749463552 : i64
  %almost = arith.cmpi sgt, %fraction, %limit : i64
  %above = arith.extui %almost : i1 to i64
  %goal = arith.constant 1037 : i64
  %up = arith.subi %goal, %biased : i64
  %needed = arith.subi %up, %above : i64
  %at_least_0 = arith.maxsi %needed, 0 : i64
  %times = arith.minsi %at_least_0, 31 : i64
  %raised = arith.addi %biased, %times : i64
  %exponent = arith.shli %raised, 52 : i64
  %doubled_bits = arith.ori %exponent, %fraction : i64
  %doubled = arith.bitcast %doubled_bits : i64 to f64
  %general = fixed.convert %doubled {rounding = toward_zero} : f64 to i32
  %general_shift = arith.trunci %times : i64 to i32
  %step = arith.constant 2.44140625E-04 : f32
  %is_plain = arith.cmpf oeq, %input_scale, %step : f32
  %multiplier = arith.select %is_plain, 3, %general : i32
  %shift = arith.select %is_plain, 0, %general_shift : i32
  %product = arith.muli %input, %multiplier : i32
  %result = fixed.shift_right %product, %shift {rounding = half_up} : i32
}

// 2^16 sigmoid(index / 24)
func.func private @sigmoid_value(%index: f64) -> f64 {
  %x = arith.divf %index, -24.0 : f64
  %exponential = math.exp %x : f64
  %denominator = arith.addf 1.0, %exponential : f64
  %result = arith.divf 65536.0, %denominator : f64
}

// internal/common.h, sigmoid_table_uint16: its 256 entries are the values less half the error
// that a straight line makes halfway to the next; the last is 2^16 - 1.
func.func private @sigmoid_entry(%index: i32) -> i32 attributes {contract.table = 256} {
  %halfway = arith.addf %index, 0.5 : f64
  %next = arith.addf %index, 1.0 : f64
  %value = func.call @sigmoid_value(%index) : (f64) -> f64
  %middle = func.call @sigmoid_value(%halfway) : (f64) -> f64
  %end = func.call @sigmoid_value(%next) : (f64) -> f64
  %sum = arith.addf %value, %end : f64
  %mean = arith.mulf %sum, 0.5 : f64
  %error = arith.subf %mean, %middle : f64
  %excess = arith.mulf %error, 0.5 : f64
  %corrected = arith.subf %value, %excess : f64
  %entry = fixed.convert %corrected {rounding = half_away} : f64 to i32
  %is_last = arith.cmpi eq, %index, 255 : i32
  %result = arith.select %is_last, 65535, %entry : i32
}

// Between two entries of the table, with `bits` of fraction, or `beyond` where the table has ended.
func.func private @sigmoid_between(%magnitude: i32, %bits: i32, %beyond: i32) -> i32 {
  %place = arith.shrui %magnitude, %bits : i32
  %inside = arith.cmpi slt, %place, 255 : i32
  %index = arith.minui %place, 254 : i32
  %next = arith.addi %index, 1 : i32
  %low = func.call @sigmoid_entry(%index) : (i32) -> i32
  %high = func.call @sigmoid_entry(%next) : (i32) -> i32
  %unit = arith.shli 1, %bits : i32
  %mask = arith.subi %unit, 1 : i32
  %fraction = arith.andi %magnitude, %mask : i32
  %rise = arith.subi %high, %low : i32
  %more = arith.muli %fraction, %rise : i32
  %base = arith.muli %low, %unit : i32
  %between = arith.addi %base, %more : i32
  %result = arith.select %inside, %between, %beyond : i32
}

// internal/reference/integer_ops/logistic.h
func.func @sigmoid_i16(%input: i32) -> i32 {
  %steps = func.call @table_steps(%input, %input_scale) : (i32, f32) -> i32
  %result = func.call @sigmoid_of_steps(%steps) : (i32) -> i32
}

func.func private @sigmoid_of_steps(%steps: i32) -> i32 {
  %magnitude = math.absi %steps : i32
  %beyond = arith.constant 33553408 : i32
  %value = func.call @sigmoid_between(%magnitude, 9, %beyond) : (i32, i32, i32) -> i32
  %half = arith.constant 512 : i32
  %above = arith.addi %value, %half : i32
  %mirror = arith.constant 33554943 : i32
  %below = arith.subi %mirror, %value : i32
  %positive = arith.cmpi sge, %steps, 0 : i32
  %chosen = arith.select %positive, %above, %below : i32
  %result = arith.shrui %chosen, 10 : i32
}

// internal/reference/integer_ops/tanh.h: 2 sigmoid(2 x) - 1
func.func @tanh_i16(%input: i32) -> i32 {
  %steps = func.call @table_steps(%input, %input_scale) : (i32, f32) -> i32
  %result = func.call @tanh_of_steps(%steps) : (i32) -> i32
}

func.func private @tanh_of_steps(%steps: i32) -> i32 {
  %magnitude = math.absi %steps : i32
  %beyond = arith.constant 16776960 : i32
  %value = func.call @sigmoid_between(%magnitude, 8, %beyond) : (i32, i32, i32) -> i32
  %up = arith.constant -8388480 : i32
  %above = arith.addi %value, %up : i32
  %down = arith.constant 8388735 : i32
  %below = arith.subi %down, %value : i32
  %positive = arith.cmpi sge, %steps, 0 : i32
  %chosen = arith.select %positive, %above, %below : i32
  %result = arith.shrsi %chosen, 8 : i32
}

// internal/common.h, LUTPopulate: an entry of a table that is interpolated, less half the
// error that this makes halfway to the next. All in steps of 2^-15.
func.func private @interpolated_entry(%value: f64, %halfway: f64, %next: f64) -> i32 {
  %steps = arith.mulf %value, 32768.0 : f64
  %next_steps = arith.mulf %next, 32768.0 : f64
  %halfway_steps = arith.mulf %halfway, 32768.0 : f64
  %sample = math.round %steps : f64
  %sum = arith.addf %next_steps, %sample : f64
  %mean = arith.divf %sum, 2.0 : f64
  %found = math.round %mean : f64
  %wanted = math.round %halfway_steps : f64
  %error = arith.subf %found, %wanted : f64
  %half_error = arith.divf %error, 2.0 : f64
  %excess = math.round %half_error : f64
  %corrected = arith.subf %sample, %excess : f64
  %entry = fixed.convert %corrected {rounding = half_away} : f64 to i32
  %result = func.call @clamp_code(%entry, -32768, 32767) : (i32, i32, i32) -> i32
}

// internal/common.h, LUTLookup: between entries 128 steps apart. The rise and the sum are
// of 16 bits, and wrap.
func.func private @interpolate(%low: i32, %high: i32, %place: i32) -> i32 {
  %fraction = arith.andi %place, 127 : i32
  %difference = arith.subi %high, %low : i32
  %narrow_rise = arith.trunci %difference : i32 to i16
  %rise = arith.extsi %narrow_rise : i16 to i32
  %product = arith.muli %rise, %fraction : i32
  %more = fixed.shift_right %product, 7 {rounding = half_up} : i32
  %sum = arith.addi %low, %more : i32
  %narrow = arith.trunci %sum : i32 to i16
  %result = arith.extsi %narrow : i16 to i32
}

// e^x at x = 10 / 512 * index - 10
func.func private @exponential_entry(%index: i32) -> i32 attributes {contract.table = 513} {
  %half_index = arith.addf %index, 0.5 : f64
  %next_index = arith.addf %index, 1.0 : f64
  %step = arith.constant 0.01953125 : f64
  %distance = arith.mulf %index, %step : f64
  %half_distance = arith.mulf %half_index, %step : f64
  %next_distance = arith.mulf %next_index, %step : f64
  %x = arith.subf %distance, 10.0 : f64
  %half_x = arith.subf %half_distance, 10.0 : f64
  %next_x = arith.subf %next_distance, 10.0 : f64
  %value = math.exp %x : f64
  %half_value = math.exp %half_x : f64
  %next_value = math.exp %next_x : f64
  %entry = func.call @interpolated_entry(%value, %half_value, %next_value) : (f64, f64, f64) -> i32
  %last = arith.cmpi eq, %index, 512 : i32
  %result = arith.select %last, 32767, %entry : i32
}

// softmax.cc; internal/reference/softmax.h, SoftMaxCalculateExp: differences of 10 have all of
// 16 bits, those beyond count as 10.
func.func @softmax_term_i16(%difference: i32) -> i32 {
  %product = arith.mulf %input_scale, %beta : f32
  %step = arith.divf 10.0, 65535.0 : f64
  %real = arith.divf %product, %step : f64
  %scaled = func.call @multiply_by_real(%difference, %real) : (i32, f64) -> i32
  %clamped = func.call @clamp_code(%scaled, -65535, 0) : (i32, i32, i32) -> i32
  %place = arith.addi %clamped, 65535 : i32
  %index = arith.shrui %place, 7 : i32
  %next = arith.addi %index, 1 : i32
  %low = func.call @exponential_entry(%index) : (i32) -> i32
  %high = func.call @exponential_entry(%next) : (i32) -> i32
  %result = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
}

func.func @softmax_addend_i16(%term: i32) -> i32 { return %term : i32 }

// 1 / (1 + x) at x = index / 512
func.func private @reciprocal_entry(%index: i32) -> i32 attributes {contract.table = 513} {
  %half_index = arith.addf %index, 0.5 : f64
  %next_index = arith.addf %index, 1.0 : f64
  %step = arith.constant 0.001953125 : f64
  %distance = arith.mulf %index, %step : f64
  %half_distance = arith.mulf %half_index, %step : f64
  %next_distance = arith.mulf %next_index, %step : f64
  %x = arith.addf %distance, 1.0 : f64
  %half_x = arith.addf %half_distance, 1.0 : f64
  %next_x = arith.addf %next_distance, 1.0 : f64
  %value = arith.divf 1.0, %x : f64
  %half_value = arith.divf 1.0, %half_x : f64
  %next_value = arith.divf 1.0, %next_x : f64
  %entry = func.call @interpolated_entry(%value, %half_value, %next_value) : (f64, f64, f64) -> i32
  %last = arith.cmpi eq, %index, 512 : i32
  %result = arith.select %last, 16384, %entry : i32
}

// internal/reference/softmax.h, SoftmaxInt16: the sum's reciprocal from a table, times the term.
// The sum is at least 1, the largest term being that of difference 0.
func.func @softmax_output_i16(%term: i32, %sum: i32) -> i32 {
  %total = arith.maxsi %sum, 1 : i32
  %headroom = math.ctlz %total : i32
  %left = arith.subi %headroom, 1 : i32
  %normal = arith.shli %total, %left : i32
  %shifted = fixed.shift_right %normal, 14 {rounding = half_up} : i32
  %above_one = arith.subi %shifted, 65536 : i32
  %place = func.call @clamp_code(%above_one, 0, 65535) : (i32, i32, i32) -> i32
  %index = arith.shrui %place, 7 : i32
  %next = arith.addi %index, 1 : i32
  %low = func.call @reciprocal_entry(%index) : (i32) -> i32
  %high = func.call @reciprocal_entry(%next) : (i32) -> i32
  %reciprocal = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
  %product = arith.muli %term, %reciprocal : i64
  %right = arith.subi 31, %headroom : i32
  %quotient = fixed.shift_right %product, %right {rounding = half_up} : i64
  %narrow = arith.trunci %quotient : i64 to i32
  %result = func.call @clamp_code(%narrow, 0, 32767) : (i32, i32, i32) -> i32
}

// internal/common.h, LUTPopulate in float32: where a table of 512 steps is from a first to a last
// input, halfway to the next entry, and at that.
func.func private @float_places(
    %index: i32, %scale: f32, %first: f32, %last: f32) -> (f32, f32, f32) {
  %low = arith.mulf %scale, %first : f32
  %high = arith.mulf %scale, %last : f32
  %range = arith.subf %high, %low : f32
  %step = arith.divf %range, 512.0 : f32
  %half_step = arith.mulf %step, 0.5 : f32
  %next_index = arith.addi %index, 1 : i32
  %real = arith.sitofp %index : i32 to f32
  %next_real = arith.sitofp %next_index : i32 to f32
  %distance = arith.mulf %real, %step : f32
  %next_distance = arith.mulf %next_real, %step : f32
  %x = arith.addf %low, %distance : f32
  %half_x = arith.addf %x, %half_step : f32
  %next_x = arith.addf %low, %next_distance : f32
  return %x, %half_x, %next_x : f32, f32, f32
}

// How many of the output's steps the real number 1 is.
func.func private @float_steps(%scale: f32) -> f32 {
  %low = arith.mulf %scale, -32768.0 : f32
  %high = arith.mulf %scale, 32767.0 : f32
  %range = arith.subf %high, %low : f32
  %result = arith.divf 65536.0, %range : f32
}

// As interpolated_entry, with all roundings those of float32.
func.func private @float_entry(%value: f32, %halfway: f32, %next: f32, %scale: f32) -> i32 {
  %unit = func.call @float_steps(%scale) : (f32) -> f32
  %steps = arith.mulf %value, %unit : f32
  %next_steps = arith.mulf %next, %unit : f32
  %halfway_steps = arith.mulf %halfway, %unit : f32
  %sample = math.round %steps : f32
  %sum = arith.addf %next_steps, %sample : f32
  %mean = arith.mulf %sum, 0.5 : f32
  %found = math.round %mean : f32
  %wanted = math.round %halfway_steps : f32
  %error = arith.subf %found, %wanted : f32
  %half_error = arith.mulf %error, 0.5 : f32
  %excess = math.round %half_error : f32
  %corrected = arith.subf %sample, %excess : f32
  %result = func.call @word(%corrected) : (f32) -> i32
}

func.func private @word(%steps: f32) -> i32 {
  %integer = fixed.convert %steps {rounding = half_away} : f32 to i32
  %result = func.call @clamp_code(%integer, -32768, 32767) : (i32, i32, i32) -> i32
}

// internal/common.h, LUTPopulate of an int16: the inputs of entry `index`, of the places halfway
// to the next and there, and of the last entry, which is that of 32767.
func.func private @word_places(%index: i32, %input_scale: f32) -> (f32, f32, f32, f32) {
  %x, %half_x, %next_x = func.call @float_places(%index, %input_scale, -32768.0, 32767.0) : (i32, f32, f32, f32) -> (f32, f32, f32)
  %end = arith.mulf %input_scale, 32767.0 : f32
  return %x, %half_x, %next_x, %end : f32, f32, f32, f32
}

func.func private @word_entry(
    %index: i32, %value: f32, %half_value: f32, %next_value: f32, %end_value: f32) -> i32 {
  %entry = func.call @float_entry(%value, %half_value, %next_value, %output_scale) : (f32, f32, f32, f32) -> i32
  %unit = func.call @float_steps(%output_scale) : (f32) -> f32
  %end_steps = arith.mulf %end_value, %unit : f32
  %end_entry = func.call @word(%end_steps) : (f32) -> i32
  %ends = arith.cmpi eq, %index, 512 : i32
  %result = arith.select %ends, %end_entry, %entry : i32
}

// The entries beside an input, and how far between them it is.
func.func private @word_index(%input: i32) -> (i32, i32, i32) {
  %place = arith.addi %input, 32768 : i32
  %index = arith.shrui %place, 7 : i32
  %next = arith.addi %index, 1 : i32
  return %index, %next, %place : i32, i32, i32
}

func.func private @exp_value(%x: f32) -> f32 { %result = math.exp %x : f32 }

func.func private @exp_entry(%index: i32, %input_scale: f32, %output_scale: f32) -> i32
    attributes {contract.table = 513} {
  %x, %half_x, %next_x, %end = func.call @word_places(%index, %input_scale) : (i32, f32) -> (f32, f32, f32, f32)
  %value = func.call @exp_value(%x) : (f32) -> f32
  %half_value = func.call @exp_value(%half_x) : (f32) -> f32
  %next_value = func.call @exp_value(%next_x) : (f32) -> f32
  %end_value = func.call @exp_value(%end) : (f32) -> f32
  %result = func.call @word_entry(%index, %value, %half_value, %next_value, %end_value) : (i32, f32, f32, f32, f32) -> i32
}

func.func @exp_i16(%input: i32) -> i32 {
  %index, %next, %place = func.call @word_index(%input) : (i32) -> (i32, i32, i32)
  %low = func.call @exp_entry(%index, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %high = func.call @exp_entry(%next, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %result = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
}

func.func private @gelu_entry(%index: i32, %input_scale: f32, %output_scale: f32) -> i32
    attributes {contract.table = 513} {
  %x, %half_x, %next_x, %end = func.call @word_places(%index, %input_scale) : (i32, f32) -> (f32, f32, f32, f32)
  %value = func.call @gelu_value(%x) : (f32) -> f32
  %half_value = func.call @gelu_value(%half_x) : (f32) -> f32
  %next_value = func.call @gelu_value(%next_x) : (f32) -> f32
  %end_value = func.call @gelu_value(%end) : (f32) -> f32
  %result = func.call @word_entry(%index, %value, %half_value, %next_value, %end_value) : (i32, f32, f32, f32, f32) -> i32
}

func.func @gelu_i16(%input: i32) -> i32 {
  %index, %next, %place = func.call @word_index(%input) : (i32) -> (i32, i32, i32)
  %low = func.call @gelu_entry(%index, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %high = func.call @gelu_entry(%next, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %result = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
}

func.func private @gelu_tanh_entry(%index: i32, %input_scale: f32, %output_scale: f32) -> i32
    attributes {contract.table = 513} {
  %x, %half_x, %next_x, %end = func.call @word_places(%index, %input_scale) : (i32, f32) -> (f32, f32, f32, f32)
  %value = func.call @gelu_tanh_value(%x) : (f32) -> f32
  %half_value = func.call @gelu_tanh_value(%half_x) : (f32) -> f32
  %next_value = func.call @gelu_tanh_value(%next_x) : (f32) -> f32
  %end_value = func.call @gelu_tanh_value(%end) : (f32) -> f32
  %result = func.call @word_entry(%index, %value, %half_value, %next_value, %end_value) : (i32, f32, f32, f32, f32) -> i32
}

func.func @gelu_tanh_i16(%input: i32) -> i32 {
  %index, %next, %place = func.call @word_index(%input) : (i32) -> (i32, i32, i32)
  %low = func.call @gelu_tanh_entry(%index, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %high = func.call @gelu_tanh_entry(%next, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %result = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
}

// elementwise.cc, LogLUTPrepare: the least code where there is no logarithm
func.func private @log_value(%x: f32, %output_scale: f32) -> f32 {
  %result = func.call @log_or_least(%x, -32768, %output_scale, 0) : (f32, i32, f32, i32) -> f32
}

func.func private @log_entry(%index: i32, %input_scale: f32, %output_scale: f32) -> i32
    attributes {contract.table = 513} {
  %x, %half_x, %next_x, %end = func.call @word_places(%index, %input_scale) : (i32, f32) -> (f32, f32, f32, f32)
  %value = func.call @log_value(%x, %output_scale) : (f32, f32) -> f32
  %half_value = func.call @log_value(%half_x, %output_scale) : (f32, f32) -> f32
  %next_value = func.call @log_value(%next_x, %output_scale) : (f32, f32) -> f32
  %end_value = func.call @log_value(%end, %output_scale) : (f32, f32) -> f32
  %result = func.call @word_entry(%index, %value, %half_value, %next_value, %end_value) : (i32, f32, f32, f32, f32) -> i32
}

func.func @log_i16(%input: i32) -> i32 {
  %index, %next, %place = func.call @word_index(%input) : (i32) -> (i32, i32, i32)
  %low = func.call @log_entry(%index, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %high = func.call @log_entry(%next, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %result = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
}

// elementwise.cc, GenericPrepare: the largest code where there is no root
func.func private @rsqrt_value(%x: f32, %output_scale: f32) -> f32 {
  %positive = arith.cmpf ogt, %x, 0.0 : f32
  %legal = arith.select %positive, %x, 1.0 : f32
  %root = math.sqrt %legal : f32
  %reciprocal = arith.divf 1.0, %root : f32
  %largest = arith.mulf 32767.0, %output_scale : f32
  %result = arith.select %positive, %reciprocal, %largest : f32
}

func.func private @rsqrt_entry(%index: i32, %input_scale: f32, %output_scale: f32) -> i32
    attributes {contract.table = 513} {
  %x, %half_x, %next_x, %end = func.call @word_places(%index, %input_scale) : (i32, f32) -> (f32, f32, f32, f32)
  %value = func.call @rsqrt_value(%x, %output_scale) : (f32, f32) -> f32
  %half_value = func.call @rsqrt_value(%half_x, %output_scale) : (f32, f32) -> f32
  %next_value = func.call @rsqrt_value(%next_x, %output_scale) : (f32, f32) -> f32
  %end_value = func.call @rsqrt_value(%end, %output_scale) : (f32, f32) -> f32
  %result = func.call @word_entry(%index, %value, %half_value, %next_value, %end_value) : (i32, f32, f32, f32, f32) -> i32
}

func.func @rsqrt_i16(%input: i32) -> i32 {
  %index, %next, %place = func.call @word_index(%input) : (i32) -> (i32, i32, i32)
  %low = func.call @rsqrt_entry(%index, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %high = func.call @rsqrt_entry(%next, %input_scale, %output_scale) : (i32, f32, f32) -> i32
  %result = func.call @interpolate(%low, %high, %place) : (i32, i32, i32) -> i32
}

// internal/reference/resize_bilinear.h, ResizeBilinearInteger: as int8, in 64 bits.
func.func @resize_bilinear_i16(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %left, %right = func.call @interpolate_columns(%top_left, %top_right, %bottom_left, %bottom_right) : (i32, i32, i32, i32) -> (i32, i32)
  %x_rest = arith.subi 1024, %x_weight : i32
  %left_x = arith.muli %left, %x_rest : i64
  %right_x = arith.muli %right, %x_weight : i64
  %sum = arith.addi %left_x, %right_x : i64
  %mean = fixed.shift_right %sum, 20 {rounding = half_away} : i64
  %result = arith.trunci %mean : i64 to i32
}

// ---------------------------------------------------------------- LSTM

// gemmlowp fixedpoint.h, exp_on_negative_values of an int16: from at most 0 with
// `integer_bits` and a sign to Q0.15. Below -32 that is 0.
func.func private @exp_on_negative_values_16(%a: i32, %integer_bits: i32) -> i32 {
  %quarter_place = arith.subi 13, %integer_bits : i32
  %quarter = arith.shli 1, %quarter_place : i32
  %quarter_mask = arith.subi %quarter, 1 : i32
  %low_bits = arith.andi %a, %quarter_mask : i32
  %fraction = arith.subi %low_bits, %quarter : i32
  %remainder = arith.subi %fraction, %a : i32
  // exp on [-1/4, 0) by its Taylor series about -1/8, in Q0.15
  %q15 = arith.shli %fraction, %integer_bits : i32
  %eighth = arith.constant 4096 : i32
  %x = arith.addi %q15, %eighth : i32
  %x2 = func.call @saturating_rounding_doubling_high_mul_16(%x, %x) : (i32, i32) -> i32
  %x3 = func.call @saturating_rounding_doubling_high_mul_16(%x2, %x) : (i32, i32) -> i32
  %x4 = func.call @saturating_rounding_doubling_high_mul_16(%x2, %x2) : (i32, i32) -> i32
  %x4_over_4 = fixed.shift_right %x4, 2 {rounding = half_away} : i32
  %x4_over_4_plus_x3 = arith.addi %x4_over_4, %x3 : i32
  %third = arith.constant 10923 : i32
  %cubic = func.call @saturating_rounding_doubling_high_mul_16(%x4_over_4_plus_x3, %third) : (i32, i32) -> i32
  %twice_tail = arith.addi %cubic, %x2 : i32
  %tail = fixed.shift_right %twice_tail, 1 {rounding = half_away} : i32
  %series = arith.addi %x, %tail : i32
  %exp_minus_eighth = arith.constant 28918 : i32
  %scaled = func.call @saturating_rounding_doubling_high_mul_16(%exp_minus_eighth, %series) : (i32, i32) -> i32
  %sum = arith.addi %exp_minus_eighth, %scaled : i32
  %base = func.call @saturate_16(%sum) : (i32) -> i32
  // e^-(2^-2), e^-(2^-1) and so on to e^-(2^4), which is 0
  %power_0 = func.call @multiply_if_bit_16(%base, 25520, %remainder, %quarter, 0) : (i32, i32, i32, i32, i32) -> i32
  %power_1 = func.call @multiply_if_bit_16(%power_0, 19875, %remainder, %quarter, 1) : (i32, i32, i32, i32, i32) -> i32
  %power_2 = func.call @multiply_if_bit_16(%power_1, 12055, %remainder, %quarter, 2) : (i32, i32, i32, i32, i32) -> i32
  %power_3 = func.call @multiply_if_bit_16(%power_2, 4435, %remainder, %quarter, 3) : (i32, i32, i32, i32, i32) -> i32
  %power_4 = func.call @multiply_if_bit_16(%power_3, 600, %remainder, %quarter, 4) : (i32, i32, i32, i32, i32) -> i32
  %power_5 = func.call @multiply_if_bit_16(%power_4, 11, %remainder, %quarter, 5) : (i32, i32, i32, i32, i32) -> i32
  %power_6 = func.call @multiply_if_bit_16(%power_5, 0, %remainder, %quarter, 6) : (i32, i32, i32, i32, i32) -> i32
  %thirty_two = arith.shli %quarter, 7 : i32
  %lowest = arith.subi 0, %thirty_two : i32
  %below = arith.cmpi slt, %a, %lowest : i32
  %inside = arith.select %below, 0, %power_6 : i32
  %is_zero = arith.cmpi eq, %a, 0 : i32
  %almost_one = arith.constant 32767 : i32
  %result = arith.select %is_zero, %almost_one, %inside : i32
}

func.func private @multiply_if_bit_16(
    %x: i32, %factor: i32, %bits: i32, %quarter: i32, %place: i32) -> i32 {
  %bit = arith.shli %quarter, %place : i32
  %masked = arith.andi %bits, %bit : i32
  %set = arith.cmpi ne, %masked, 0 : i32
  %product = func.call @saturating_rounding_doubling_high_mul_16(%x, %factor) : (i32, i32) -> i32
  %result = arith.select %set, %product, %x : i32
}

// gemmlowp fixedpoint.h: 2 / (1 + x) from Q0.15 to Q2.13 by three Newton steps.
func.func private @two_over_one_plus_x_16(%x: i32) -> i32 {
  %one = arith.constant 32767 : i32
  %denominator = arith.addi %x, %one : i32
  %half = fixed.shift_right %denominator, 1 {rounding = half_away} : i32
  %c48_17 = arith.constant 23130 : i32
  %minus_32_17 = arith.constant -15420 : i32
  %slope = func.call @saturating_rounding_doubling_high_mul_16(%half, %minus_32_17) : (i32, i32) -> i32
  %guess = arith.addi %c48_17, %slope : i32
  %first = func.call @newton_step_16(%guess, %half) : (i32, i32) -> i32
  %second = func.call @newton_step_16(%first, %half) : (i32, i32) -> i32
  %result = func.call @newton_step_16(%second, %half) : (i32, i32) -> i32
}

func.func private @newton_step_16(%guess: i32, %half: i32) -> i32 {
  %product = func.call @saturating_rounding_doubling_high_mul_16(%half, %guess) : (i32, i32) -> i32
  %one = arith.constant 8192 : i32
  %error = arith.subi %one, %product : i32
  %correction = func.call @saturating_rounding_doubling_high_mul_16(%guess, %error) : (i32, i32) -> i32
  %raised = arith.shli %correction, 2 : i32
  %rescaled = func.call @saturate_16(%raised) : (i32) -> i32
  %result = arith.addi %guess, %rescaled : i32
}

// gemmlowp fixedpoint.h, logistic and tanh, which is 2 logistic(2 x) - 1: to Q0.15.
func.func private @logistic_or_tanh_16(%x: i32, %integer_bits: i32, %is_tanh: i1) -> i32 {
  %magnitude = math.absi %x : i32
  %negated = arith.subi 0, %magnitude : i32
  %bits_of_twice = arith.addi %integer_bits, 1 : i32
  %bits = arith.select %is_tanh, %bits_of_twice, %integer_bits : i32
  %exponential = func.call @exp_on_negative_values_16(%negated, %bits) : (i32, i32) -> i32
  %quotient = func.call @two_over_one_plus_x_16(%exponential) : (i32) -> i32
  %one_of_quotient = arith.constant 8192 : i32
  %less = arith.select %is_tanh, %one_of_quotient, 0 : i32
  %rest = arith.subi %quotient, %less : i32
  %places = arith.select %is_tanh, 2, 1 : i32
  %raised = arith.shli %rest, %places : i32
  %above = func.call @saturate_16(%raised) : (i32) -> i32
  %almost_one = arith.constant 32767 : i32
  %sum_of_mirrored = arith.select %is_tanh, 0, %almost_one : i32
  %below = arith.subi %sum_of_mirrored, %above : i32
  %chosen = func.call @by_sign(%x, %above, %below) : (i32, i32, i32) -> i32
  %half = arith.constant 16384 : i32
  %middle = arith.select %is_tanh, 0, %half : i32
  %is_zero = arith.cmpi eq, %x, 0 : i32
  %result = arith.select %is_zero, %middle, %chosen : i32
}

// lstm_eval.cc, CalculateLstmGateInteger8x8_16: both sums become Q3.12 one after the other, and
// are added with saturation. unidirectional_sequence_lstm.cc, PopulateQuantizedLstmParams8x8_16
// combines the scales in float32. Gates are Q0.15.
func.func @lstm_gate(%input_sum: i32, %state_sum: i32) -> i32 serves lstm_gate_i16 {
  %of_input = func.call @lstm_addend(%input_sum, %input_weight_scale, %input_scale) : (i32, f32, f32) -> i32
  %of_state = func.call @lstm_addend(%state_sum, %state_weight_scale, %state_scale) : (i32, f32, f32) -> i32
  %first = func.call @saturate_16(%of_input) : (i32) -> i32
  %sum = arith.addi %of_state, %first : i32
  %saturated = func.call @saturate_16(%sum) : (i32) -> i32
  %result = func.call @logistic_or_tanh_16(%saturated, 3, %is_update) : (i32, i32, i1) -> i32
}

func.func private @lstm_addend(%sum: i32, %weight_scale: f32, %scale: f32) -> i32 {
  %product = arith.mulf %weight_scale, %scale : f32
  %steps = arith.mulf %product, 4096.0 : f32
  %result = func.call @multiply_by_real(%sum, %steps) : (i32, f64) -> i32
}

// The same where gates have steps of their own, as normalized ones have, with products of peephole
// weights and the cell, which are added likewise (VectorBatchVectorCwiseProductAccumulate).
func.func private @lstm_sum(
    %sum: i32, %before: i32, %weight_scale: f32, %scale: f32, %gate_scale: f32) -> i32 {
  %product = arith.mulf %weight_scale, %scale : f32
  %ratio = arith.divf %product, %gate_scale : f32
  %scaled = func.call @multiply_by_real(%sum, %ratio) : (i32, f64) -> i32
  %added = arith.addi %scaled, %before : i32
  %result = func.call @saturate_16(%added) : (i32) -> i32
}

func.func private @lstm_peephole(%cell: i32, %before: i32, %weight: i32, %weight_scale: f32,
    %cell_scale: f32, %gate_scale: f32) -> i32 {
  %product = arith.muli %weight, %cell : i32
  %result = func.call @lstm_sum(%product, %before, %weight_scale, %cell_scale, %gate_scale) : (i32, i32, f32, f32, f32) -> i32
}

// internal/reference/portable_tensor_utils.cc, PortableApplyLayerNorm: the mean in steps of 2^-10
// and the reciprocal root of the variance, which is divided by the number of elements first.
func.func private @lstm_square(%x: i64) -> i64 { %result = arith.muli %x, %x : i64 }

func.func private @lstm_rows(%sum: i64, %squares: i64, %count: i32, %scale: f32) -> (i32, i32, i32) {
  %n = arith.extsi %count : i32 to i64
  %fine_sum = arith.muli %sum, 1024 : i64
  %quotient = arith.divsi %fine_sum, %n : i64
  %mean = arith.trunci %quotient : i64 to i32
  %two_to_20 = arith.constant 1048576 : i64
  %share = arith.divsi %two_to_20, %n : i64
  %mean_of_squares = arith.muli %squares, %share : i64
  %square_of_mean = arith.muli %quotient, %quotient : i64
  %fine_variance = arith.subi %mean_of_squares, %square_of_mean : i64
  %wide_variance = arith.divsi %fine_variance, %two_to_20 : i64
  %variance = arith.trunci %wide_variance : i64 to i32
  // 10000 times the scale of the weights where the variance is nothing
  %guard_steps = arith.mulf 10000.0, %scale : f32
  %whole_steps = fixed.convert %guard_steps {rounding = toward_zero} : f32 to i32
  %guard = arith.maxsi %whole_steps, 1 : i32
  %is_nothing = arith.cmpi slt, %variance, 1 : i32
  %guarded = arith.select %is_nothing, %guard, %variance : i32
  %positive = arith.maxsi %guarded, 1 : i32
  %multiplier, %exponent = func.call @inverse_square_root(%positive) : (i32) -> (i32, i32)
  return %mean, %multiplier, %exponent : i32, i32, i32
}

func.func private @lstm_normalized(%x: i32, %mean: i32, %multiplier: i32, %exponent: i32, %weight: i32,
    %bias: i32, %scale: f32) -> i32 {
  %fine = arith.muli %x, 1024 : i32
  %distance = arith.subi %fine, %mean : i32
  // that the exponent is 0 at most is said for the compiler
  %places = func.call @clamp_code(%exponent, -31, 0) : (i32, i32, i32) -> i32
  %normal = func.call @scale(%distance, %multiplier, %places) : (i32, i32, i32) -> i32
  %weighted = arith.muli %normal, %weight : i32
  %moved = arith.addi %weighted, %bias : i32
  %wide = arith.extsi %moved : i32 to i64
  %coarse = fixed.shift_right %wide, 10 {rounding = half_away} : i64
  %steps = arith.trunci %coarse : i64 to i32
  %scale_multiplier, %scale_exponent = func.call @quantize_multiplier(%scale) : (f64) -> (i32, i32)
  %raised = arith.addi %scale_exponent, 12 : i32
  %scaled = func.call @multiply_by_quantized_multiplier(%steps, %scale_multiplier, %raised) : (i32, i32, i32) -> i32
  %result = func.call @saturate_16(%scaled) : (i32) -> i32
}

func.func private @lstm_gate_function(%x: i32, %is_update: i1) -> i32 {
  %result = func.call @logistic_or_tanh_16(%x, 3, %is_update) : (i32, i32, i1) -> i32
}

// The input gate of a layer that has none of its own, Sub1Vector.
func.func private @lstm_coupled_gate(%forget_gate: i32) -> i32 {
  %result = arith.subi 32767, %forget_gate : i32
}

// CalculateLstmOutputInteger8x8_16 with a projection: the clip is in steps of the result, around the
// code 0. The hidden state before it is that of lstm_output, with its zero point negated.
func.func private @lstm_projection(%sum: i32, %weight_scale: f32, %hidden_scale: f32, %state_scale: f32,
    %state_zero_point: i32, %output_scale: f32, %proj_clip: f32) -> i32 {
  %product = arith.mulf %weight_scale, %hidden_scale : f32
  %ratio = arith.divf %product, %state_scale : f32
  %scaled = func.call @multiply_by_real(%sum, %ratio) : (i32, f64) -> i32
  %moved = arith.addi %scaled, %state_zero_point : i32
  %code = func.call @clamp_code(%moved, -128, 127) : (i32, i32, i32) -> i32
  %steps = arith.divf %proj_clip, %output_scale : f32
  %few = arith.minimumf %steps, 127.0 : f32
  %clip = fixed.convert %few {rounding = toward_zero} : f32 to i32
  %clips = arith.cmpi sgt, %clip, 0 : i32
  %negative_clip = arith.subi 0, %clip : i32
  %high = arith.select %clips, %clip, 127 : i32
  %low = arith.select %clips, %negative_clip, -128 : i32
  %result = func.call @clamp_code(%code, %low, %high) : (i32, i32, i32) -> i32
}

// The integer bits of the cell, whose step is a power of two.
func.func private @lstm_cell_bits(%scale: f32) -> i32 {
  %bits = arith.bitcast %scale : f32 to i32
  %exponent = arith.shrui %bits, 23 : i32
  %power = arith.shli %exponent, 23 : i32
  %is_power = arith.cmpi eq, %power, %bits : i32
  cf.assert %is_power, "lstm: the scale of the cell must be a power of two"
  %at_least = arith.cmpi sge, %exponent, 97 : i32
  %at_most = arith.cmpi sle, %exponent, 128 : i32
  %legal = arith.andi %at_least, %at_most : i1
  cf.assert %legal, "lstm: the scale of the cell must be between 2^-30 and 2: the kernel would shift a 32-bit value out of its range"
  %result = arith.subi %exponent, 112 : i32
}

// lstm_eval.cc, UpdateLstmCellInteger
func.func @lstm_cell(%cell: i32, %input_gate: i32, %forget_gate: i32, %update_gate: i32) -> i32
    serves lstm_cell_i16 {
  %bits = func.call @lstm_cell_bits(%cell_scale) : (f32) -> i32
  %kept_product = arith.muli %forget_gate, %cell : i32
  %kept = fixed.shift_right %kept_product, 15 {rounding = half_away} : i32
  %places = arith.addi %bits, 15 : i32
  %new_product = arith.muli %input_gate, %update_gate : i32
  %scaled = fixed.shift_right %new_product, %places {rounding = half_away} : i32
  %wrapped = arith.trunci %scaled : i32 to i16
  %new = arith.extsi %wrapped : i16 to i32
  %sum = arith.addi %kept, %new : i32
  %saturated = func.call @saturate_16(%sum) : (i32) -> i32

  // a clip of 0, also one that is cut off to 0 steps, is none
  %steps = arith.divf %cell_clip, %cell_scale : f32
  %few = arith.minimumf %steps, 32767.0 : f32
  %clip = fixed.convert %few {rounding = toward_zero} : f32 to i32
  %clips = arith.cmpi sgt, %clip, 0 : i32
  %negative_clip = arith.subi 0, %clip : i32
  %high = arith.select %clips, %clip, 32767 : i32
  %low = arith.select %clips, %negative_clip, -32768 : i32
  %result = func.call @clamp_code(%saturated, %low, %high) : (i32, i32, i32) -> i32
}

// lstm_eval.cc, CalculateLstmOutputInteger8x8_16 without a projection. internal/reference/
// portable_tensor_utils.cc, PortableApplyTanh has 0 to 6 integer bits. For others it does nothing,
// and its buffer holds the input gate still.
func.func @lstm_output(%cell: i32, %input_gate: i32, %output_gate: i32) -> i32
    serves lstm_output_i16 {
  %bits = func.call @lstm_cell_bits(%cell_scale) : (f32) -> i32
  %legal_bits = func.call @clamp_code(%bits, 0, 6) : (i32, i32, i32) -> i32
  %has_tanh = arith.cmpi eq, %bits, %legal_bits : i32
  %is_tanh = arith.constant true
  %tanh_of_cell = func.call @logistic_or_tanh_16(%cell, %legal_bits, %is_tanh) : (i32, i32, i1) -> i32
  %tanh = arith.select %has_tanh, %tanh_of_cell, %input_gate : i32
  %product = arith.muli %output_gate, %tanh : i32
  %step = arith.constant 3.0517578125E-05 : f64
  %quotient = arith.divf %step, %output_scale : f64
  %ratio = arith.mulf %quotient, %step : f64
  %narrow = arith.truncf %ratio : f64 to f32
  %result = func.call @rescale_and_store(%product, %narrow) : (i32, f64) -> i32
}

// ---------------------------------------------------------------- weights in blocks

// fully_connected.cc, EvalBlockwise4Bit, of the optimized kernels; the reference has none.
func.func private @block_sum(%so_far: f32, %accumulator: i32, %block_scale: f32) -> f32 {
  %real = arith.sitofp %accumulator : i32 to f32
  %product = arith.mulf %real, %block_scale : f32
  %result = arith.addf %so_far, %product : f32
}

func.func private @blockwise_linear(%sum: f32, %input_zero_point: i32, %weight_sum: f32,
    %input_scale: f32, %real_bias: f32) -> f32 {
  %point = arith.sitofp %input_zero_point : i32 to f32
  %of_points = arith.mulf %point, %weight_sum : f32
  %centred = arith.subf %sum, %of_points : f32
  %real = arith.mulf %centred, %input_scale : f32
  %result = arith.addf %real, %real_bias : f32
}

// ---------------------------------------------------------------- SVDF

// internal/reference/svdf.h, EvalIntegerSVDF: what is remembered of a call; and its result.
// svdf.cc, Prepare, combines the scales in float32.
func.func @svdf_state(%accumulator: i32) -> i32 serves svdf_state_i16 {
  %result = func.call @svdf_rescale(%accumulator, %input_scale, %weight_scale) : (i32, f32, f32) -> i32
}

func.func @svdf(%accumulator: i32) -> i32 serves svdf_i16 {
  %result = func.call @svdf_rescale(%accumulator, %state_scale, %time_weight_scale) : (i32, f32, f32) -> i32
}

func.func private @svdf_rescale(%accumulator: i32, %scale: f32, %other_scale: f32) -> i32 {
  %product = arith.mulf %scale, %other_scale : f32
  %ratio = arith.divf %product, %output_scale : f32
  %result = func.call @rescale_and_store(%accumulator, %ratio) : (i32, f64) -> i32
}

}
