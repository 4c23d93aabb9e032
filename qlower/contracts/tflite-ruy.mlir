// The arithmetic of LiteRT's *optimized* built-in kernels on x86 (LiteRT 2.3,
// OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, one thread): matrix products by ruy, the
// rest with SSE through NEON_2_SSE.h.
//
// They differ from the reference (`tflite`) in the second rounding of fixed-point rescaling,
// which is half up instead of half away from zero. And where a kernel has a vector body, the
// remainder after the last whole vector is done by reference code: the rule depends on the
// channel or on the position in the tensor. What isn't here is as in the reference.
// # Formula
// U(x, M) is D of `tflite` with h / 2^max(-e, 0) rounded half up.
// - conv2d, linear: `y = clamp(U(acc, s_x s_w / s_y) + z)`; grouped convolutions and
//   transposed ones of int8 have D
// - depthwise_conv2d, int8: U in whole vectors of 8 channels, D in the rest; uint8: D
// - add: as the reference, but in whole vectors (16 of int8, 8 of uint8) each operand is
//   rounded once: int8 by one combined shift, uint8 drops the bits of the second shift
// - mean over an image that keeps its dimensions: `bias = z - trunc(z_x s_x / s_y ± 0.5)`,
//   then U (16 channels) or D (the rest) of the raw sum
// - sum: `y = clamp(away(F(F(sum * r) - F(F(z_x r) n))) + z)`, r = F(s_x / s_y)
// - quantize: in vectors of 8 `rne(F(x * F(1 / s))) + z`, in the rest away(x / s) in float64
// - dequantize: in vectors of 8 `F(F(q s) - F(z s))`; requantize: U in vectors of 16
// - softmax: float32 exponentials, summed in order, one division
// # Ties
// Half up where U, half away from zero where D; both after a first rounding half up to 31
// bits. The zero point is added after them.
// # Operands
// As in `tflite`. linear with one weight scale multiplies it with the input scale in float32;
// with a scale a channel in float64.
// # Quirks
// - Channels C - C % 8 and beyond of a depthwise convolution round otherwise than the others.
// - The same int8 fully connected layer has three different results in LiteRT: float64 in the
//   reference, U here, float32 in XNNPACK.
// - Vectors have 16 bits for the result of an addition: beyond 2^15 steps, which takes scales of
//   63 times the result's, it wraps. mul is refused where a product may be so large.
// - uint8 bilinear resizing multiplies the weights of each corner first.
// # Not matched
// - add that broadcasts: LiteRT goes run by run, here a position is that in the whole result.
//   0 to 1.7 % of the outputs are off by 1 where the scales make exact ties, none where they
//   don't.
// - Kernels on ARM, whose vectors differ; ruy there is `tflite-single`.
// - log_softmax, refused: the optimized kernel takes logf of a row's sum when it runs.
// - TRANSPOSE_CONV and other layers in float, which are as in `tflite`; and in products of matrices of float the
//   filters or units behind the last whole eight, and more than some 680 products an element, both
//   of which Eigen adds in parts.
// # Checked against
// LiteRT 2.3. Live, in the long run: over a million outputs of random and tie-seeking layers, over
// ten million of layers at the edges of the arithmetic, int8 and uint8; and a model of each operator
// that is read. Recorded: 57,152 outputs of convolutions and linear layers with exact ties (the same on an
// emulated Haswell), 18,455 of other operations, the outputs of 13 real models. No mismatch but for the above.
// Sums of real numbers: live, nine layers (convolutions, products of matrices, linear layers) with
// three draws each of numbers that cancel and differ by up to 2^24; all bits the same.
// Layers on real numbers with stored weights: live, ten layers with four draws each; all bits the
// same.
// # Sources
// Files of google-ai-edge/LiteRT, below tflite/kernels, and of google/ruy:
// - ruy/kernel_avx2_fma.cc; internal/common.h, MultiplyByQuantizedMultiplier4Rows
// - internal/optimized/optimized_ops.h and internal/optimized/integer_ops, a file an operation
// - kernel_util.cc, GetQuantizedConvolutionMultipler; softmax.cc

module attributes {contract.base = "tflite",
    contract.summary = "LiteRT optimized kernels on x86: half up, tails as the reference"} {

// ruy, kernel_avx2_fma.cc, and internal/common.h, MultiplyByQuantizedMultiplier4Rows: both
// roundings are half up. Where `away`, the second one is half away from zero, as in
// the reference: that is half up of a value that is one less if it is negative (so does
// gemmlowp's NEON code; without a second shift there is nothing to round).
func.func private @multiply_by_real_half_up(%x: i32, %real: f64, %away: i1) -> i32 {
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  func.call @require_legal_exponent(%exponent) : (i32) -> ()
  %left, %right = func.call @left_and_right(%exponent) : (i32) -> (i32, i32)
  %shifted = arith.shli %x, %left : i32
  %high = func.call @saturating_rounding_doubling_high_mul(%shifted, %multiplier) : (i32, i32) -> i32
  %sign = arith.shrsi %high, 31 : i32
  %nudged = arith.addi %high, %sign : i32
  %shifts = arith.cmpi sgt, %right, 0 : i32
  %fix = arith.andi %away, %shifts : i1
  %fixed = arith.select %fix, %nudged, %high : i32
  %result = fixed.shift_right %fixed, %right {rounding = half_up} : i32
}

// ---------------------------------------------------------------- convolution, linear

// internal/optimized/integer_ops/conv.h and optimized_ops.h, Conv: GEMM by ruy. conv.cc
// gives grouped convolutions to the reference kernel. A transposed one of int8 (optimized_ops.h,
// TransposeConvV2) rounds as the reference.
func.func @conv2d(%accumulator: i32) -> i32 {
  %grouped = arith.cmpi ne, %groups, 1 : i32
  %signed = arith.xori %input_unsigned, true : i1
  %transposed_signed = arith.andi %transposed, %signed : i1
  %away = arith.ori %grouped, %transposed_signed : i1
  %real = func.call @convolution_scale(%input_unsigned) : (i1) -> f64
  %scaled = func.call @multiply_by_real_half_up(%accumulator, %real, %away) : (i32, f64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// internal/optimized/optimized_ops.h, Quantize, called by integer_ops/depthwise_conv.h:
// vectors of 8 channels. uint8 (depthwiseconv_uint8.h) rounds as the reference.
func.func @depthwise_conv2d(%accumulator: i32) -> i32 {
  %tail = func.call @is_in_tail(%channel, %channel_count, 8) : (i32, i32, i32) -> i1
  %away = arith.ori %tail, %input_unsigned : i1
  %real = func.call @convolution_scale(%input_unsigned) : (i1) -> f64
  %scaled = func.call @multiply_by_real_half_up(%accumulator, %real, %away) : (i32, f64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// internal/optimized/integer_ops/fully_connected.h: GEMM by ruy. With one weight scale for
// all outputs the input scale is multiplied to it in float32 (kernel_util.cc,
// GetQuantizedConvolutionMultipler).
func.func @linear(%accumulator: i32, %output_min: i32, %output_max: i32) -> i32 {
  %narrow = arith.xori %per_channel, true : i1
  %real = func.call @convolution_scale(%narrow) : (i1) -> f64
  %scaled = func.call @multiply_by_real_half_up(%accumulator, %real, false) : (i32, f64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// ---------------------------------------------------------------- sums of real numbers

// internal/optimized/depthwiseconv_float.h: an accumulator begins as the bias.
func.func @real_depthwise_conv2d(%sum: f32) -> f32 attributes {contract.product = "sequential"} {
  %result = func.call @clamp_real(%sum) : (f32) -> f32
}

// cpu_backend_gemm.h, Gemm: Eigen's product with a vector (GeneralMatrixVector.h, packets of
// four) for one row, with a matrix for more, in which as for convolutions one product is added
// after the other, but see below.
func.func @real_rows(%sum: f32, %real_bias: f32) -> f32
    serves real_linear attributes {contract.product = ["sequential", "lanes"]} {
  %result = func.call @real_linear(%sum, %real_bias) : (f32, f32) -> f32
}

func.func @real_linear_product(%place_count: i32) -> i32 {
  %is_row = arith.cmpi eq, %place_count, 1 : i32
  %result = arith.extui %is_row : i1 to i32
}

// ---------------------------------------------------------------- real numbers, stored weights

// internal/optimized/optimized_ops.h, HybridConvPerChannel, multiplies matrices; a layer in groups
// has the reference kernel.
func.func @hybrid_conv2d(%accumulator: i32, %input_scale: f32, %per_channel: i1, %groups: i32) -> f32 {
  %real = arith.sitofp %accumulator : i32 to f32
  %by_filters = func.call @hybrid_by_filters(%real, %input_scale) : (f32, f32) -> f32
  %by_scales = func.call @hybrid_by_scales(%real, %input_scale) : (f32, f32) -> f32
  %in_groups = arith.cmpi sgt, %groups, 1 : i32
  %is_reference = arith.andi %in_groups, %per_channel : i1
  %result = arith.select %is_reference, %by_filters, %by_scales : f32
}

// internal/optimized/depthwiseconv_3x3_filter_common.h and integer_ops/depthwise_conv_hybrid.h
func.func @hybrid_depthwise_conv2d(%accumulator: i32, %input_scale: f32) -> f32 {
  %real = arith.sitofp %accumulator : i32 to f32
  %result = func.call @hybrid_by_filters(%real, %input_scale) : (f32, f32) -> f32
}

// ---------------------------------------------------------------- mean

// internal/optimized/integer_ops/mean.h and optimized/reduce.h, Mean: the mean of an image
// over its rows and columns that keeps them as dimensions. All scales combine in float32,
// the zero points are rounded by themselves, and the channels go by vectors of 16. Other
// means are the reference's.
func.func @mean(%accumulator: i32) -> i32 {
  %reference = func.call @tflite.mean(%accumulator) : (i32) -> i32

  %z = arith.sitofp %input_zero_point : i32 to f32
  %z_ratio = func.call @product_ratio(%z, %input_scale) : (f32, f32) -> f32
  %z_rounded = func.call @add_half_and_truncate(%z_ratio) : (f32) -> i32
  %bias = arith.subi %output_zero_point, %z_rounded : i32
  %n = arith.sitofp %count : i32 to f32
  %n_scale = arith.mulf %n, %output_scale : f32
  %ratio = arith.divf %input_scale, %n_scale : f32
  %tail = func.call @is_in_tail(%channel, %channel_count, 16) : (i32, i32, i32) -> i1
  %scaled = func.call @multiply_by_real_half_up(%accumulator, %ratio, %tail) : (i32, f64, i1) -> i32
  %image_mean = func.call @offset_and_clamp(%scaled, %bias) : (i32, i32) -> i32

  %is_image_mean = arith.andi %over_image, %keep_dims : i1
  %result = arith.select %is_image_mean, %image_mean, %reference : i32
}

// C: x > 0 ? x + 0.5f : x - 0.5f, converted to an integer. In float32, so that the sum
// itself is rounded.
func.func private @add_half_and_truncate(%x: f32) -> i32 {
  %above = arith.addf %x, 0.5 : f32
  %below = arith.subf %x, 0.5 : f32
  %positive = arith.cmpf ogt, %x, 0.0 : f32
  %nudged = arith.select %positive, %above, %below : f32
  %result = fixed.convert %nudged {rounding = toward_zero} : f32 to i32
}

// ---------------------------------------------------------------- elementwise

// internal/optimized/integer_ops/add.h and optimized_ops.h, AddElementwise. In the vector
// body an operand is rounded once only: int8 merges the left shift by 20 and the right
// shift of the multiplier into one left shift, uint8 drops the bits of the second shift.
// int8 has 16 lanes, uint8 has 8. Operands that broadcast are done run by run in the
// kernel; here the position is that in the whole result, so such a sum may differ from
// LiteRT's by 1, in up to 2 % of the results where the scales make ties.
func.func @add(%lhs: i32, %rhs: i32, %output_min: i32, %output_max: i32, %element: i32) -> i32 {
  %larger = arith.maximumf %lhs_scale, %rhs_scale : f32
  %twice = arith.mulf %larger, 2.0 : f64
  %lhs_centred = arith.subi %lhs, %lhs_zero_point : i32
  %rhs_centred = arith.subi %rhs, %rhs_zero_point : i32
  %lhs_body, %lhs_tail = func.call @add_operand(%lhs_centred, %lhs_scale, %twice) : (i32, f32, f64) -> (i32, i32)
  %rhs_body, %rhs_tail = func.call @add_operand(%rhs_centred, %rhs_scale, %twice) : (i32, f32, f64) -> (i32, i32)
  %body = arith.addi %lhs_body, %rhs_body : i32
  %tail = arith.addi %lhs_tail, %rhs_tail : i32
  %lanes = arith.select %output_unsigned, 8, 16 : i32
  %in_tail = func.call @is_in_tail(%element, %element_count, %lanes) : (i32, i32, i32) -> i1
  %sum = arith.select %in_tail, %tail, %body : i32
  %plain = func.call @add_output(%sum, %twice) : (i32, f64) -> i32
  // vectors have 16 bits for the result: it wraps, if it can be so large
  %scaled = func.call @scale_sum(%sum, %twice) : (i32, f64) -> i32
  %narrow = arith.trunci %scaled : i32 to i16
  %wrapped = arith.extsi %narrow : i16 to i32
  %moved = arith.addi %wrapped, %output_zero_point : i32
  %moved_narrow = arith.trunci %moved : i32 to i16
  %moved_wrapped = arith.extsi %moved_narrow : i16 to i32
  %clamped = func.call @clamp_code(%moved_wrapped) : (i32) -> i32
  %in_body = arith.xori %in_tail, true : i1
  %ratio = arith.divf %larger, %output_scale : f32
  // two operands of at most 255 steps each give less than 2^15 - 255
  %safe_ratio = arith.constant 63.0 : f32
  %can_wrap = arith.cmpf ogt, %ratio, %safe_ratio : f32
  %wraps = arith.andi %can_wrap, %in_body : i1
  %result = arith.select %wraps, %clamped, %plain : i32
}

// internal/optimized/integer_ops/mul.h: as the reference, but vectors have 16 bits for the
// result. Where that may not be enough, the operation is refused.
func.func @mul(%lhs: i32, %lhs_scale: f32, %lhs_zero_point: i32, %rhs: i32) -> i32 {
  %a = func.call @largest_difference(%lhs_zero_point, %storage_min, %storage_max) : (i32, i32, i32) -> f32
  %b = func.call @largest_difference(%rhs_zero_point, %storage_min, %storage_max) : (i32, i32, i32) -> f32
  %lhs_reach = arith.mulf %a, %lhs_scale : f32
  %rhs_reach = arith.mulf %b, %rhs_scale : f32
  %steps = func.call @product_ratio(%lhs_reach, %rhs_reach) : (f32, f32) -> f32
  // 2^15 less a zero point
  %legal = arith.cmpf olt, %steps, 32512.0 : f32
  cf.assert %legal, "a product may be 2^15 steps of the result or more, which LiteRT's vectors of 16 bits can't hold"
  %result = func.call @tflite.mul(%lhs, %rhs) : (i32, i32) -> i32
}

// The largest |stored - zero point|.
func.func private @largest_difference(%zero_point: i32, %min: i32, %max: i32) -> f32 {
  %above = arith.subi %max, %zero_point : i32
  %below = arith.subi %zero_point, %min : i32
  %larger = arith.maxsi %above, %below : i32
  %result = arith.sitofp %larger : i32 to f32
}

// An operand of an addition in the common scale, in the vector body and in the tail.
func.func private @add_operand(%centred: i32, %scale: f32, %twice: f64) -> (i32, i32) {
  %real = arith.divf %scale, %twice : f64
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %right = arith.subi 0, %exponent : i32
  %shifted = arith.shli %centred, 20 : i32
  %high = func.call @saturating_rounding_doubling_high_mul(%shifted, %multiplier) : (i32, i32) -> i32
  %tail = fixed.shift_right %high, %right {rounding = half_away} : i32
  %dropped = arith.shrsi %high, %right : i32
  // vshlq_s32 by a negative count shifts right, toward minus infinity
  %merged_shift = arith.addi 20, %exponent : i32
  %merged_left, %merged_right = func.call @left_and_right(%merged_shift) : (i32) -> (i32, i32)
  %merged_up = arith.shli %centred, %merged_left : i32
  %merged_centred = arith.shrsi %merged_up, %merged_right : i32
  %merged = func.call @saturating_rounding_doubling_high_mul(%merged_centred, %multiplier) : (i32, i32) -> i32
  %body = arith.select %output_unsigned, %dropped, %merged : i32
  return %body, %tail : i32, i32
}

// ---------------------------------------------------------------- borders, rescaling

// internal/optimized/optimized_ops.h, AffineQuantize: vectors of 8 multiply by the float32
// reciprocal of the scale and round half to even; the rest divides in float64 and rounds
// half away from zero.
func.func @quantize(%input: f32, %output_scale: f32, %element: i32) -> i32 {
  %reciprocal = arith.divf 1.0, %output_scale : f32
  %product = arith.mulf %input, %reciprocal : f32
  %number = func.call @convertible(%product) : (f32) -> f32
  %body = fixed.convert %number {rounding = half_even} : f32 to i32
  %quotient = func.call @wide_ratio(%input) : (f32) -> f64
  %quotient32 = arith.truncf %quotient : f64 to f32
  %fit = func.call @convertible(%quotient32) : (f32) -> f32
  %magnitude = math.absf %quotient : f64
  %is_few = arith.cmpf olt, %magnitude, 1048576.0 : f64
  %number64 = arith.select %is_few, %quotient, %fit : f64
  %tail = fixed.convert %number64 {rounding = half_away} : f64 to i32
  %in_tail = func.call @is_in_tail(%element, %element_count, 8) : (i32, i32, i32) -> i1
  %rounded = arith.select %in_tail, %tail, %body : i32
  %result = func.call @offset_and_clamp(%rounded) : (i32) -> i32
}

// internal/optimized/optimized_ops.h, Dequantize: vectors of 8 multiply the stored integer
// and the zero point by themselves, in float32.
func.func @dequantize(
    %input: i32, %input_scale: f32, %input_zero_point: i32, %element: i32) -> f32 {
  %stored = arith.sitofp %input : i32 to f32
  %scaled = arith.mulf %stored, %input_scale : f32
  %z = arith.sitofp %input_zero_point : i32 to f32
  %z_negated = arith.negf %z : f32
  %z_scaled = arith.mulf %z_negated, %input_scale : f32
  %body = arith.addf %z_scaled, %scaled : f32
  %tail = func.call @tflite.dequantize(%input) : (i32) -> f32
  %in_tail = func.call @is_in_tail(%element, %element_count, 8) : (i32, i32, i32) -> i1
  %result = arith.select %in_tail, %tail, %body : f32
}

// internal/optimized/optimized_ops.h, Requantize: vectors of 16.
func.func @requantize(%input: i32, %input_zero_point: i32, %element: i32) -> i32 {
  %tail = func.call @is_in_tail(%element, %element_count, 16) : (i32, i32, i32) -> i1
  %scaled = func.call @multiply_by_real_half_up(@centred_input, @wide_ratio, %tail) : (i32, f64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// ---------------------------------------------------------------- softmax

// softmax.cc, PopulateSoftmaxLookupTable, and internal/optimized/optimized_ops.h, Softmax:
// float32 exponentials of the 256 differences, summed in order, and one division a row.
func.func @softmax_term(%difference: i32) -> f32 {
  %scale = arith.mulf %input_scale, %beta : f32
  %steps = arith.sitofp %difference : i32 to f32
  %real = arith.mulf %scale, %steps : f32
  %result = math.exp %real : f32
}

func.func @softmax_addend(%term: f32) -> f32 { return %term : f32 }

func.func @softmax_output(%term: f32, %sum: f32) -> i32 {
  %step = arith.constant 0.00390625 : f32
  %right_scale = arith.cmpf oeq, %output_scale, %step : f32
  cf.assert %right_scale, "softmax: the output scale must be 1/256, LiteRT refuses others"
  %right_zero_point = arith.cmpi eq, %output_zero_point, %output_min : i32
  cf.assert %right_zero_point, "softmax: the output zero point must be the storage type's minimum, LiteRT refuses others"
  %scaled_sum = arith.mulf %sum, %output_scale : f32
  %reciprocal = arith.divf 1.0, %scaled_sum : f32
  %probability = arith.mulf %term, %reciprocal : f32
  // uint8 adds a half and truncates
  %above = arith.addf %probability, 0.5 : f32
  %unsigned_steps = fixed.convert %above {rounding = floor} : f32 to i32
  %signed_steps = fixed.convert %probability {rounding = half_away} : f32 to i32
  %steps = arith.select %output_unsigned, %unsigned_steps, %signed_steps : i32
  %result = func.call @offset_and_clamp(%steps) : (i32) -> i32
}

// internal/optimized/optimized_ops.h, LogSoftmax: float32, with the C library's logf.
func.func @log_softmax_output(%difference: i32, %sum: f32) -> i32 {
  cf.assert false, "log_softmax: LiteRT's optimized kernel takes logf of a sum, which has no definition to the bit; `tflite` has the reference kernel"
  %result = arith.constant 0 : i32
}

// internal/optimized/resize_bilinear.h, ResizeBilinearGenericSmallChannel: uint8 multiplies the
// weights of each corner first.
func.func private @interpolate_float32(
    %top_left: f32, %top_right: f32, %bottom_left: f32, %bottom_right: f32, %y: f32,
    %x: f32) -> f32 replaces {
  %y_rest = arith.subf 1.0, %y : f32
  %x_rest = arith.subf 1.0, %x : f32
  %top_left_weight = arith.mulf %y_rest, %x_rest : f32
  %top_right_weight = arith.mulf %y_rest, %x : f32
  %bottom_left_weight = arith.mulf %y, %x_rest : f32
  %bottom_right_weight = arith.mulf %y, %x : f32
  %top_left_part = arith.mulf %top_left, %top_left_weight : f32
  %top_right_part = arith.mulf %top_right, %top_right_weight : f32
  %bottom_left_part = arith.mulf %bottom_left, %bottom_left_weight : f32
  %bottom_right_part = arith.mulf %bottom_right, %bottom_right_weight : f32
  %top = arith.addf %top_left_part, %top_right_part : f32
  %three = arith.addf %top, %bottom_left_part : f32
  %result = arith.addf %three, %bottom_right_part : f32
}

// internal/reference/reduce.h, QuantizedMeanOrSum by scales: float32 throughout, and what the
// zero points add up to is rounded by itself.
func.func @sum(%accumulator: i32) -> i32 {
  %ratio = arith.divf %input_scale, %output_scale : f32
  %zero = arith.sitofp %input_zero_point : i32 to f32
  %zero_scaled = arith.mulf %zero, %ratio : f32
  %n = arith.sitofp %count : i32 to f32
  %zeros = arith.mulf %zero_scaled, %n : f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %ratio : f32
  %centred = arith.subf %scaled, %zeros : f32
  %rounded = fixed.convert %centred {rounding = half_away} : f32 to i32
  %result = func.call @offset_and_clamp(%rounded) : (i32) -> i32
}

}
