// The arithmetic of TVM's quantized Relay operators (QNN) in integers: what builds for
// aarch64 and for plain x86-64 do (v0.7 to v0.19, rounding UPWARD, compute_dtype int64),
// with graphs as the TFLite front end makes them.
// # Formula
// - requantize: `y = clamp(((x << max(s, 0)) * m + 2^(t-1) >> t) + z)`, `t = 31 + max(-s, 0)`,
//   in 64 bits; x is an accumulator, or a stored integer less its zero point. Without a
//   multiplication where the scales are equal.
// - conv, linear, matmul, mul: the int32 accumulator, requantized.
// - add, sub: both operands requantized to the output's scale and zero point, then
//   `a + b - z` or `a - b + z`.
// - average pools: `truncate(sum / count)` of the stored integers; mean: that, requantized.
// - quantize: `clamp(round(F(x * F(1 / scale))) + z)`; dequantize: `F((q - z) * scale)`.
// - sigmoid, tanh, hard_swish, leaky_relu, softmax, bilinear resizing: dequantized, float32,
//   quantized.
// # Ties
// Requantization rounds once, half up, before the zero point is added; sums round twice.
// Quantization rounds half away from zero. Averages round toward zero: the means 1.5 and 2.5
// are 1 and 2, -1.5 is -1.
// # Operands
// `m * 2^(s-31)` is the float64 quotient of two float32 scales, to 31 bits, half away from
// zero; the scale of an accumulator is the float32 product of two. Integer biases are added
// to it; real ones are divided by its scale in float32 and rounded half away from zero. A
// bound of a fused activation is a float64 quotient, rounded half to even.
// # Quirks
// - One power of two for the whole tensor (m = 2^30) is an addition and a shift of 32 bits,
//   and the addition wraps around near 2^31. Multipliers of channels have no such case.
// - TVM does not compile a ratio of 2^-32; here it is refused.
// - Pools need one scale and zero point for input and output; others are refused.
// - Since v0.20 TVM has no QNN; of this, `q_multiply_shift` is left.
// # Not matched
// - Softmax: TVM subtracts dequantized values, here their difference is dequantized; a
//   term may differ in its last bit. None of 179,376 results did.
//   The TFLite front end drops beta, which is applied here.
// - Bilinear resizing on targets with FMA: which products are fused depends on how a loop
//   is vectorized. Here none are, as on targets without.
// - Bounds of a relu6 that is an operator of its own are rounded on the input's grid by the
//   front end, here on the output's; they differ only where the scales do.
// - The TFLite front end's batch_matmul drops scales and zero points. Here they count, as in
//   models from other front ends.
// - Convolutions for AVX2 and AVX-512 without VNNI saturate pairs of products; sums are
//   exact here.
// - elu has no quantized form and is refused.
// # Checked against
// 53,655 recorded results of q_multiply_shift (TVM 0.27 on x86-64; 0.16 on x86-64 and
// aarch64) and 16,384 of qnn.requantize; TFLite models built and run by TVM 0.16 for
// x86-64 without FMA: none of 2,275,440 outputs of 235 layers (20 operators, random and
// tie-seeking) differ.
// # Sources
// apache/tvm: `src/target/intrin_rule.cc`, `src/relay/qnn/op`, `src/relay/qnn/utils.cc`,
// `python/tvm/relay/frontend/tflite.py`, `python/tvm/topi`, `include/tvm/topi`.

module attributes {contract.family = "TVM", contract.base = "_steps",
    contract.summary = "TVM's QNN in integers: single rounding half up, truncating averages"} {

// ---------------------------------------------------------------- fixed-point steps

// relay/qnn/utils.cc, GetFixedPointMultiplierShift: real = multiplier * 2^(shift - 31) with
// the multiplier in [2^30, 2^31); frexp, then a rounding half away from zero.
func.func private @multiplier_and_shift(%real: f64) -> (i32, i32) {
  %bits = arith.bitcast %real : f64 to i64
  %mantissa_bits = arith.constant 52 : i64
  %biased = arith.shrui %bits, %mantissa_bits : i64
  %bias = arith.constant 1022 : i64
  %exponent = arith.subi %biased, %bias : i64
  %multiplier, %shift = func.call @round_mantissa(%bits, %exponent) : (i64, i64) -> (i64, i64)
  %m32 = arith.trunci %multiplier : i64 to i32
  %s32 = arith.trunci %shift : i64 to i32
  return %m32, %s32 : i32, i32
}

func.func private @require_shift(%shift: i32) {
  %not_below = arith.cmpi sge, %shift, -31 : i32
  %not_above = arith.cmpi sle, %shift, 31 : i32
  %legal = arith.andi %not_below, %not_above : i1
  cf.assert %legal, "the ratio of the scales is not in [2^-32, 2^31): TVM's shifts would not fit 64 bits"
}

// target/intrin_rule.cc, tir.q_multiply_shift with q = 31: the 64-bit product is rounded
// once, half up; product and result wrap around.
//
// Where one multiplier is a power of two TVM emits a 32-bit addition and a shift instead.
// That gives the same unless the addition wraps around, so that alone is done here. The
// shifts that TVM does not compile are refused.
func.func private @q_multiply_shift(
    %x: i32, %multiplier: i32, %shift: i32, %per_channel: i1) -> i32 {
  func.call @require_shift(%shift) : (i32) -> ()
  %power = arith.constant 1073741824 : i32
  %is_power = arith.cmpi eq, %multiplier, %power : i32
  %per_tensor = arith.xori %per_channel, true : i1
  %special = arith.andi %is_power, %per_tensor : i1
  %general = arith.xori %special, true : i1
  %is_one = arith.cmpi eq, %shift, 1 : i32
  %is_smallest = arith.cmpi eq, %shift, -31 : i32
  %uncompiled = arith.ori %is_one, %is_smallest : i1
  %compiled = arith.xori %uncompiled, true : i1
  %legal = arith.ori %general, %compiled : i1
  cf.assert %legal, "TVM does not compile this power of two: its shift would be by -1 or by 32"

  %left, %right = func.call @left_and_right(%shift) : (i32) -> (i32, i32)
  %half_shift = arith.minsi %right, 30 : i32
  %half = arith.shli 1, %half_shift : i32
  %goes_right = arith.cmpi sle, %shift, 0 : i32
  %adds = arith.andi %special, %goes_right : i1
  %nudge = arith.select %adds, %half, 0 : i32
  %nudged = arith.addi %x, %nudge : i32
  %x64 = arith.subi %nudged, %nudge : i64

  %shifted = arith.shli %x64, %left : i64
  %product = arith.muli %shifted, %multiplier : i64
  %places = arith.addi %right, 31 : i64
  %rounded = fixed.shift_right %product, %places {rounding = half_up} : i64
  %result = arith.trunci %rounded : i64 to i32
}

// relay/qnn/op/requantize.cc, RequantizeLowerInt: an integer less its zero point, from one
// scale to another; nothing is multiplied where they are equal. Without the clip.
func.func private @requantize_to_i32(%x: i32, %input_scale: f32, %per_channel: i1) -> i32 {
  %multiplier, %shift = func.call @multiplier_and_shift(@wide_ratio) : (f64) -> (i32, i32)
  // a legal pair for the multiplication that is then dropped
  %equal = arith.cmpf oeq, %input_scale, %output_scale : f32
  %used_shift = arith.select %equal, 0, %shift : i32
  %multiplied = func.call @q_multiply_shift(%x, %multiplier, %used_shift, %per_channel) : (i32, i32, i32, i1) -> i32
  %scaled = arith.select %equal, %x, %multiplied : i32
  %result = arith.addi %scaled, %output_zero_point : i32
}

func.func private @clip(%x: i32) -> i32 { %result = func.call @clamp_code(%x) : (i32) -> i32 }

// ---------------------------------------------------------------- convolution, matmul

// relay/frontend/tflite.py, convert_conv and convert_fully_connected: the scale of the
// accumulator is a float32 product.
func.func private @contraction(%accumulator: i32, %per_channel: i1) -> i32
    serves conv2d, depthwise_conv2d, linear, matmul {
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %stored = func.call @requantize_to_i32(%accumulator, %scale, %per_channel) : (i32, f32, i1) -> i32
  %result = func.call @clip(%stored) : (i32) -> i32
}

// relay/frontend/qnn_torch.py, _do_bias_and_requantize: qnn.quantize to int32.
func.func @quantize_bias() -> i32 {
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.divf %real_bias, %scale : f32
  %result = fixed.convert %steps {rounding = half_away} : f32 to i32
}

// ---------------------------------------------------------------- pooling, mean

// topi/nn/pooling.h: the sum of the *stored* integers as int32, divided toward zero.
func.func private @average(%accumulator: i32, %count: i32) -> i32
    serves avg_pool2d, adaptive_avg_pool2d {
  cf.assert @is_same_quantization, "TVM averages the stored integers: the pool's input and output must have one scale and one zero point"
  %mean = arith.divsi %accumulator, %count : i32
  %result = func.call @clip(%mean) : (i32) -> i32
}

// relay/frontend/tflite.py, _convert_reduce: the truncated mean, then qnn.requantize.
func.func @mean(%accumulator: i32) -> i32 {
  %mean = arith.divsi %accumulator, %count : i32
  %result = func.call @rescale(%mean) : (i32) -> i32
}

// ---------------------------------------------------------------- elementwise

// relay/qnn/op/op_common.h, RequantizeOrUpcast: an operand on the output's grid, as int32.
func.func private @operand(%stored: i32, %scale: f32, %input_zero_point: i32) -> i32 {
  %centred = arith.subi %stored, %input_zero_point : i32
  %result = func.call @requantize_to_i32(%centred, %scale, false) : (i32, f32, i1) -> i32
}

// relay/qnn/op/add.cc, subtract.cc: each operand is rounded by itself.
func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @operand(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> i32
  %b = func.call @operand(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> i32
  %both = arith.addi %a, %b : i32
  %stored = arith.subi %both, %output_zero_point : i32
  %result = func.call @clip(%stored) : (i32) -> i32
}

func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @operand(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> i32
  %b = func.call @operand(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> i32
  %both = arith.subi %a, %b : i32
  %stored = arith.addi %both, %output_zero_point : i32
  %result = func.call @clip(%stored) : (i32) -> i32
}

// relay/qnn/op/mul.cc
func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %result = func.call @contraction(@centred_product, false) : (i32, i1) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

// relay/frontend/tflite.py, convert_qnn_fused_activation_function: Python's round of a
// float64 quotient, half to even.
func.func @bound(%real: f32, %output_zero_point: i32) -> i32 {
  %steps = func.call @wide_ratio(%real) : (f32) -> f64
  %rounded = fixed.convert %steps {rounding = half_even} : f64 to i32
  %limited = func.call @limit(%rounded) : (i32) -> i32
  %result = arith.addi %limited, %output_zero_point : i32
}

// Far outside of the storage range, but where adding a zero point does not overflow.
func.func private @limit(%x: i32) -> i32 {
  %result = func.call @clamp_code(%x, -65536, 65536) : (i32, i32, i32) -> i32
}

// relay/qnn/op/quantize.cc. The scale is a constant, and the division by it becomes a
// multiplication by its reciprocal (arith/rewrite_simplify.cc).
func.func private @quantize_real(%real: f32, %output_scale: f32) -> i32 {
  %reciprocal = arith.divf 1.0, %output_scale : f32
  %steps = arith.mulf %real, %reciprocal : f32
  %rounded = fixed.convert %steps {rounding = half_away} : f32 to i32
  %limited = func.call @limit(%rounded) : (i32) -> i32
  %stored = arith.addi %limited, %output_zero_point : i32
  %result = func.call @clip(%stored) : (i32) -> i32
}

// relay/qnn/op/dequantize.cc
func.func @dequantize(%input: i32) -> f32 {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

// NaN gives the smallest code, as x86 converts it.
func.func @quantize(%input: f32) -> i32 {
  %infinity = arith.constant 0xFF800000 : f32
  %above = arith.cmpf ogt, %input, %infinity : f32
  %number = arith.select %above, %input, %infinity : f32
  %result = func.call @quantize_real(%number) : (f32) -> i32
}

// relay/qnn/op/concatenate.cc
func.func private @rescale(%input: i32, %input_scale: f32, %input_zero_point: i32) -> i32
    serves requantize, clamp, concat {
  %stored = func.call @requantize_to_i32(@centred_input, %input_scale, false) : (i32, f32, i1) -> i32
  %result = func.call @clip(%stored) : (i32) -> i32
}

// ---------------------------------------------------------------- activations (tables)

// relay/frontend/tflite.py dequantizes, computes in float32 and quantizes again.
func.func @sigmoid(%input: i32) -> i32 {
  %negated = arith.negf @dequantize_exactly : f32
  %exponential = math.exp %negated : f32
  %denominator = arith.addf 1.0, %exponential : f32
  %real = arith.divf 1.0, %denominator : f32
  %result = func.call @quantize_real(%real) : (f32) -> i32
}

// target/llvm/intrin_rule_llvm.cc, tir.tanh: (1 - exp(-2x)) / (1 + exp(-2x)), mirrored.
func.func @tanh(%input: i32) -> i32 {
  %x = func.call @dequantize_exactly(%input) : (i32) -> f32
  %magnitude = math.absf %x : f32
  %exponent = arith.mulf -2.0, %magnitude : f32
  %exponential = math.exp %exponent : f32
  %numerator = arith.subf 1.0, %exponential : f32
  %denominator = arith.addf 1.0, %exponential : f32
  %positive = arith.divf %numerator, %denominator : f32
  %negative = arith.negf %positive : f32
  %below = arith.cmpf olt, %x, 0.0 : f32
  %real = arith.select %below, %negative, %positive : f32
  %result = func.call @quantize_real(%real) : (f32) -> i32
}

func.func @hard_swish(%input: i32) -> i32 {
  %x = func.call @dequantize_exactly(%input) : (i32) -> f32
  %moved = arith.addf %x, 3.0 : f32
  %positive = arith.maximumf %moved, 0.0 : f32
  %relu6 = arith.minimumf %positive, 6.0 : f32
  %product = arith.mulf %x, %relu6 : f32
  // a division by a constant, again
  %sixth = arith.divf 1.0, 6.0 : f32
  %real = arith.mulf %product, %sixth : f32
  %result = func.call @quantize_real(%real) : (f32) -> i32
}

func.func @leaky_relu(%input: i32) -> i32 {
  %x = func.call @dequantize_exactly(%input) : (i32) -> f32
  %sloped = arith.mulf %x, %alpha : f32
  %positive = arith.cmpf ogt, %x, 0.0 : f32
  %real = arith.select %positive, %x, %sloped : f32
  %result = func.call @quantize_real(%real) : (f32) -> i32
}

// ---------------------------------------------------------------- softmax

// topi/nn/softmax.h in float32: exp(x - max), summed in order, one division each. TVM
// subtracts the dequantized values, of which only the difference is known here.
func.func @softmax_term(%difference: i32) -> f32 {
  %steps = arith.sitofp %difference : i32 to f32
  %scaled = arith.mulf %steps, %input_scale : f32
  %real = arith.mulf %scaled, %beta : f32
  %result = math.exp %real : f32
}

func.func @softmax_addend(%term: f32) -> f32 { return %term : f32 }

func.func @softmax_output(%term: f32, %sum: f32) -> i32 {
  %real = arith.divf %term, %sum : f32
  %result = func.call @quantize_real(%real) : (f32) -> i32
}

// ---------------------------------------------------------------- resizing

// topi/image/resize.py, get_inx: the position in the input, in float32.
func.func private @input_position() -> f32 {
  %i = arith.sitofp %output_index : i32 to f32
  %input_real = arith.sitofp %input_size : i32 to f32
  %output_real = arith.sitofp %output_size : i32 to f32
  %ratio = arith.divf %input_real, %output_real : f32
  %asymmetric = arith.mulf %ratio, %i : f32
  %centre = arith.addf %i, 0.5 : f32
  %scaled_centre = arith.mulf %centre, %ratio : f32
  %half_pixel = arith.subf %scaled_centre, 0.5 : f32
  %input_last = arith.subi %input_size, 1 : i32
  %output_last = arith.subi %output_size, 1 : i32
  // an output of one pixel would divide by 0
  %divisor = arith.maxsi %output_last, 1 : i32
  %input_last_real = arith.sitofp %input_last : i32 to f32
  %divisor_real = arith.sitofp %divisor : i32 to f32
  %aligned_ratio = arith.divf %input_last_real, %divisor_real : f32
  %aligned = arith.mulf %aligned_ratio, %i : f32
  %corner = arith.select %align_corners, %aligned, %asymmetric : f32
  %result = arith.select %half_pixel_centers, %half_pixel, %corner : f32
}

func.func private @inside(%index: i32) -> i32 {
  %last = arith.subi %input_size, 1 : i32
  %below = arith.minsi %index, %last : i32
  %result = arith.maxsi %below, 0 : i32
}

// get_closest_index: half up with half-pixel centres, half away from zero (of positions
// that are not negative) with aligned corners, else the floor of slightly more. An output
// that is a multiple of the input is divided in integers, which the nudge gives too.
func.func @resize_nearest_position() -> i32 {
  %position = func.call @input_position() : () -> f32
  %epsilon = arith.constant 0.00001 : f32
  %rounds = arith.ori %align_corners, %half_pixel_centers : i1
  %nudge = arith.select %rounds, 0.5, %epsilon : f32
  %nudged = arith.addf %position, %nudge : f32
  %floor = fixed.convert %nudged {rounding = floor} : f32 to i32
  %rounded = fixed.convert %position {rounding = half_away} : f32 to i32
  %away = arith.select %half_pixel_centers, %floor, %rounded : i32
  %closest = arith.select %align_corners, %away, %floor : i32
  %result = func.call @inside(%closest) : (i32) -> i32
}

// The weight is a float32, as bits.
func.func @resize_bilinear_position() -> (i32, i32, i32) {
  %position = func.call @input_position() : () -> f32
  %floor = fixed.convert %position {rounding = floor} : f32 to i32
  %floor_real = arith.sitofp %floor : i32 to f32
  %fraction = arith.subf %position, %floor_real : f32
  %weight = arith.bitcast %fraction : f32 to i32
  %next = arith.addi %floor, 1 : i32
  %lower = func.call @inside(%floor) : (i32) -> i32
  %upper = func.call @inside(%next) : (i32) -> i32
  return %lower, %upper, %weight : i32, i32, i32
}

func.func private @interpolate(%a: f32, %b: f32, %weight: i32) -> f32 {
  %t = arith.bitcast %weight : i32 to f32
  %rest = arith.subf 1.0, %t : f32
  %a_part = arith.mulf %a, %rest : f32
  %b_part = arith.mulf %b, %t : f32
  %result = arith.addf %a_part, %b_part : f32
}

// Of dequantized values, quantized again: relay/frontend/tflite.py, _convert_resize.
func.func @resize_bilinear(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %tl = func.call @dequantize_exactly(%top_left) : (i32) -> f32
  %tr = func.call @dequantize_exactly(%top_right) : (i32) -> f32
  %bl = func.call @dequantize_exactly(%bottom_left) : (i32) -> f32
  %br = func.call @dequantize_exactly(%bottom_right) : (i32) -> f32
  %top = func.call @interpolate(%tl, %tr, %x_weight) : (f32, f32, i32) -> f32
  %bottom = func.call @interpolate(%bl, %br, %x_weight) : (f32, f32, i32) -> f32
  %real = func.call @interpolate(%top, %bottom, %y_weight) : (f32, f32, i32) -> f32
  %result = func.call @quantize_real(%real) : (f32) -> i32
}

}
