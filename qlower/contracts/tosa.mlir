// TOSA 1.0: every rescaling is the operator RESCALE, in the mode SINGLE_ROUND or, where an
// operation has tosa.rounding_mode = "DOUBLE_ROUND", in that one. The contract `tosa-double`
// has DOUBLE_ROUND everywhere.
//
// Operations are taken apart as tosa-converter-for-tflite does it (which writes DOUBLE_ROUND),
// so that the bits are those of the TOSA reference model on its output; average pooling is
// TOSA's own. Hard-swish and softmax, which the converter tabulates or writes out, are as in
// `tflite`.
// # Formula
// R(x, M) is apply_scale_32: with the multiplier m and shift k = 31 - e of M, `(x * m + 2^(k -
// 1)) >> k` in 64 bits. DOUBLE_ROUND adds 2^30 for x >= 0 and subtracts it for x < 0 before
// that, if k > 31.
// - conv2d, depthwise_conv2d, linear, matmul: `y = clamp(R(acc, s_x s_w / s_y) + z)`
// - add, sub: operands R'd to int32 with 20 more bits, added, R to the output
// - mul: R of the product; mean: R of the sum, once, by s_x / (n s_y); sum: each input R'd to
//   int32 with 20 more bits, added, R to the output
// - avg_pool2d: R of the sum less n z by reciprocal_scale, always SINGLE_ROUND
// - quantize: MUL by the float32 reciprocal, CAST half to even, ADD of the zero point, CAST
// - sigmoid, tanh: TABLE of the function in float64, cut to float32
// - resize_nearest: the nearest position, exactly, up from a half on (LiteRT without flags
//   takes the one below: of 4 rows to 8 the first twice, here once)
// # Ties
// SINGLE_ROUND: half up. DOUBLE_ROUND: as two roundings, the second half away from zero. The
// zero point is added after it. Averages: a multiplier a little above 1/n makes ties go away
// from zero.
// # Operands
// float64 ratios of float32 scales (float32 in mul), 31-bit multipliers, as TFLite and the
// converter derive them. The bias is int32. The bounds of an activation are divided in
// float64, too, and rounded half away from zero: with the zero point if it is fused, without
// if it is on its own.
// # Quirks
// - quantize to int8 doesn't clamp where there is a zero point: the converter writes CAST to
//   int32, ADD, CAST, and the last one wraps: 127 steps and a zero point of 10 give -119.
//   LiteRT clamps. Where ADD itself overflows, which TOSA calls unpredictable, it wraps, too.
//   NaN has no steps.
// - What the specification calls unpredictable is refused when a model is compiled: shifts
//   outside [2, 62], and values that may not be smaller than 2^(k - 1).
// - leaky_relu with a negative alpha is refused: RESCALE has no negative multiplier.
// # Not matched
// - Bilinear RESIZE, whose weights have a denominator of their own for each model, is refused.
// - elu: for a quantized one the converter writes TOSA that isn't valid; here it is as in
//   `tflite`.
// # Checked against
// The TOSA reference model (tosa-tools 2026.8), recorded: 35 RESCALEs, 57,152 outputs of
// convolutions and linear layers with exact ties; IREE 3.13's RESCALE, 32,768 values. No
// mismatch. Live, in the long run: over two million outputs of random and tie-seeking int8
// layers, and of layers at the edges, as the converter writes them but with SINGLE_ROUND for DOUBLE_ROUND; pools only in
// `tosa-double`, because the converter gives them zero points of 0. No mismatch. Live, of TOSA's
// operators on float32: 73,288 values of 29 operators. No mismatch.
// # Sources
// - arm/tosa-specification 1.0, pseudocode/library/scale_helpers.tosac, pseudocode/operators
// - tosa-converter-for-tflite 2026.2

module attributes {contract.family = "TOSA", contract.base = "tflite",
    contract.summary = "TOSA's RESCALE, in the rounding mode that an operation names"} {

// ---------------------------------------------------------------- RESCALE

// Whether RESCALE is in mode DOUBLE_ROUND, given whether the operation says so.
func.func private @rounds_twice(%double_round: i1) -> i1 { return %double_round : i1 }

// scale_helpers.tosac, apply_scale_32: x * multiplier / 2^shift rounded half up. In mode
// DOUBLE_ROUND a shift over 31 moves the sum by 2^30, away from zero; that gives the bits of
// two roundings, the second half away from zero.
func.func private @apply_scale_32(
    %x: i32, %multiplier: i32, %shift: i64, %double_round: i1) -> i32 {
  %not_small = arith.cmpi sge, %shift, 2 : i64
  %not_large = arith.cmpi sle, %shift, 62 : i64
  %legal = arith.andi %not_small, %not_large : i1
  cf.assert %legal, "the ratio of the scales is 2^30 or more: TOSA's RESCALE can't shift by less than 2"
  %product = arith.muli %x, %multiplier : i64
  %half = arith.constant 1073741824 : i64
  %minus_half = arith.constant -1073741824 : i64
  %negative = arith.cmpi slt, %x, 0 : i64
  %away = arith.select %negative, %minus_half, %half : i64
  %moved = arith.addi %product, %away : i64
  %far = arith.cmpi sgt, %shift, 31 : i64
  %moves = arith.andi %double_round, %far : i1
  %sum = arith.select %moves, %moved, %product : i64
  %scaled = fixed.shift_right %sum, %shift {rounding = half_up} : i64
  %result = arith.trunci %scaled : i64 to i32
}

// scale_helpers.tosac, apply_scale_16: the same of wider values and 16-bit multipliers. It is
// called where a model is TOSA itself.
func.func private @apply_scale_16(%x: i64, %multiplier: i32, %shift: i64) -> i32 {
  %product = arith.muli %x, %multiplier : i64
  %scaled = fixed.shift_right %product, %shift {rounding = half_up} : i64
  %result = arith.trunci %scaled : i64 to i32
}

// ---------------------------------------------------------------- operations of TOSA itself

// They are called where a model is TOSA, with the operation's operands by their names; zero
// points and shifts are constants. Operations that are one of `arith` have no function here.

func.func private @tosa_abs(%input1: i32) -> i32 {
  %negative = arith.subi 0, %input1 : i32
  %result = arith.maxsi %input1, %negative : i32
}

// operators/NEGATE.tosac, before the result is saturated: 32 bits can't overflow.
func.func private @tosa_negate(%input1: i32, %input1_zp: i32, %output_zp: i32) -> i32 {
  %sum = arith.addi %input1_zp, %output_zp : i32
  %result = arith.subi %sum, %input1 : i32
}

func.func private @tosa_negate_i32(%input1: i64, %input1_zp: i64, %output_zp: i64) -> i64 {
  %sum = arith.addi %input1_zp, %output_zp : i64
  %result = arith.subi %sum, %input1 : i64
}

// Of float32 the specification allows errors; these are the reference model's functions, with the
// C library's expf, logf, sinf, cosf and erff.

func.func private @tosa_reciprocal(%input1: f32) -> f32 {
  %result = arith.divf 1.0, %input1 : f32
}

func.func private @tosa_rsqrt(%input1: f32) -> f32 {
  %root = math.sqrt %input1 : f32
  %result = arith.divf 1.0, %root : f32
}

func.func private @tosa_sigmoid(%input1: f32) -> f32 {
  %opposite = arith.negf %input1 : f32
  %power = func.call @expf(%opposite) : (f32) -> f32
  %sum = arith.addf 1.0, %power : f32
  %result = arith.divf 1.0, %sum : f32
}

// F(1 - e^-2x) over F(1 + e^-2x), and -1 where the power is infinite
func.func private @tosa_tanh(%input1: f32) -> f32 {
  %twice = arith.mulf -2.0, %input1 : f32
  %power = func.call @expf(%twice) : (f32) -> f32
  %difference = arith.subf 1.0, %power : f32
  %sum = arith.addf 1.0, %power : f32
  %quotient = arith.divf %difference, %sum : f32
  %is_infinite = arith.cmpf oeq, %power, 0x7F800000 : f32
  %result = arith.select %is_infinite, -1.0, %quotient : f32
}

// e^F(y log(x)), of x from 0 on; other bases are unpredictable
func.func private @tosa_pow(%input1: f32, %input2: f32) -> f32 {
  %logarithm = func.call @logf(%input1) : (f32) -> f32
  %exponent = arith.mulf %input2, %logarithm : f32
  %result = func.call @expf(%exponent) : (f32) -> f32
}

// An integer that is as large among others as a number is: zeros are equal, NaN is the largest.
func.func private @tosa_rank(%input: f32) -> i32 {
  %number = arith.addf %input, 0.0 : f32
  %bits = arith.bitcast %number : f32 to i32
  %sign = arith.shrsi %bits, 31 : i32
  %below = arith.andi %sign, 2147483647 : i32
  %rank = arith.xori %bits, %below : i32
  %is_nan = arith.cmpf une, %input, %input : f32
  %result = arith.select %is_nan, 2147483647, %rank : i32
}

func.func private @tosa_mul(%input1: i32, %input2: i32) -> i32 {
  %result = arith.muli %input1, %input2 : i32
}

// operators/MUL.tosac of i32 with a shift: the product is exact before.
func.func private @tosa_mul_shifted(%input1: i64, %input2: i64, %shift: i64) -> i32 {
  %product = arith.muli %input1, %input2 : i64
  %rounded = fixed.shift_right %product, %shift {rounding = half_up} : i64
  %result = arith.trunci %rounded : i64 to i32
}

// operators/INTDIV.tosac: the quotient cut toward zero, by the divisor's magnitude. What TOSA
// calls unpredictable is a division by 1 in place of 0, and wraps around.
func.func private @tosa_intdiv(%input1: i64, %input2: i64) -> i32 {
  %opposite = arith.subi 0, %input2 : i64
  %magnitude = arith.maxsi %input2, %opposite : i64
  %divisor = arith.maxsi %magnitude, 1 : i64
  %quotient = arith.divsi %input1, %divisor : i64
  %negated = arith.subi 0, %quotient : i64
  %is_negative = arith.cmpi slt, %input2, 0 : i64
  %signed = arith.select %is_negative, %negated, %quotient : i64
  %result = arith.trunci %signed : i64 to i32
}

// operators/TABLE.tosac of i16: the entry and the next one, with 7 bits of fraction.
func.func private @tosa_table_position(%input1: i32) -> (i32, i32) {
  %entry = arith.shrsi %input1, 7 : i32
  %fraction = arith.andi %input1, 127 : i32
  return %entry, %fraction : i32, i32
}

func.func private @tosa_table_between(%below: i32, %above: i32, %fraction: i32) -> i32 {
  %slope = arith.subi %above, %below : i32
  %moved = arith.shli %below, 7 : i32
  %part = arith.muli %slope, %fraction : i32
  %result = arith.addi %moved, %part : i32
}

// ---------------------------------------------------------------- rescaling by real scales

// RESCALE by `real` without its zero points, of values in [smallest, largest]. TFLite's
// multiplier and exponent are TOSA's multiplier and 31 - shift.
func.func private @rescale(
    %x: i32, %real: f64, %smallest: i64, %largest: i64, %double_round: i1) -> i32 {
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %result = func.call @rescale_predictably(%x, %multiplier, %exponent, %smallest, %largest) : (i32, i32, i32, i64, i64) -> i32
}

func.func private @rescale_predictably(
    %x: i32, %multiplier: i32, %exponent: i32, %smallest: i64, %largest: i64) -> i32 {
  %shift = arith.subi 31, %exponent : i64
  %places = arith.subi %shift, 1 : i64
  %not_negative = arith.maxsi %places, 0 : i64
  %limit = arith.shli 1, %not_negative : i64
  %negated = arith.subi 0, %limit : i64
  %not_low = arith.cmpi sge, %smallest, %negated : i64
  %not_high = arith.cmpi slt, %largest, %limit : i64
  %predictable = arith.andi %not_low, %not_high : i1
  cf.assert %predictable, "values to rescale may reach 2^(shift - 1), which TOSA calls unpredictable"
  %int_min = arith.constant -2147483648 : i64
  %int_max = arith.constant 2147483647 : i64
  %fits_low = arith.cmpi sge, %smallest, %int_min : i64
  %fits_high = arith.cmpi sle, %largest, %int_max : i64
  %fits = arith.andi %fits_low, %fits_high : i1
  cf.assert %fits, "the 32-bit accumulator may overflow, which TOSA calls unpredictable"
  %result = func.call @apply_scale_32(%x, %multiplier, %shift, @rounds_twice) : (i32, i32, i64, i1) -> i32
}

// The converter writes a 1x1 convolution.
func.func private @contraction(%accumulator: i32, %accumulator_min: i64) -> i32
    serves conv2d, depthwise_conv2d, linear, matmul {
  %real = func.call @convolution_scale(false) : (i1) -> f64
  %scaled = func.call @rescale(%accumulator, %real, %accumulator_min, %accumulator_max) : (i32, f64, i64, i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// ---------------------------------------------------------------- pooling, mean

// operators/AVG_POOL2D.tosac and scale_helpers.tosac, reciprocal_scale: the zero point is
// subtracted, and the division is a RESCALE in mode SINGLE_ROUND by a multiplier that is a
// little more than 1/count, so that ties go away from zero.
func.func @avg_pool2d(
    %accumulator: i32, %input_zero_point: i32, %output_zero_point: i32, %count: i32) -> i32 {
  %same = arith.cmpf oeq, %input_scale, %output_scale : f32
  cf.assert %same, "input and output of an average differ in scale, which AVG_POOL2D doesn't provide for"
  %result = func.call @average(%accumulator, %input_zero_point, %output_zero_point, %count) : (i32, i32, i32, i32) -> i32
}

func.func private @average(
    %accumulator: i32, %input_zero_point: i32, %output_zero_point: i32, %count: i32) -> i32 {
  %count_less_1 = arith.subi %count, 1 : i32
  %leading = math.ctlz %count_less_1 : i32
  %k = arith.subi 32, %leading : i32
  %above_two_to_30 = arith.constant 1073741825 : i64
  %numerator = arith.shli %above_two_to_30, %k : i64
  %multiplier64 = arith.divui %numerator, %count : i64
  %multiplier = arith.trunci %multiplier64 : i64 to i32
  %shift = arith.addi 30, %k : i64
  %scaled = func.call @apply_scale_32(@centred_sum, %multiplier, %shift, false) : (i32, i32, i64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// REDUCE_SUM, then one RESCALE by the ratio of the scales over the count.
func.func @mean(%accumulator: i32) -> i32 {
  %multiplier, %exponent = func.call @mean_multiplier(@wide_ratio) : (f64) -> (i32, i32)
  %largest = arith.muli %count, 255 : i64
  %smallest = arith.subi 0, %largest : i64
  %scaled = func.call @rescale_predictably(@centred_sum, %multiplier, %exponent, %smallest, %largest) : (i32, i32, i32, i64, i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// ---------------------------------------------------------------- elementwise

// Each operand is rescaled to int32 with 20 more bits, and the sum to the output.
func.func private @add_operand(%centred: i32, %scale: f32, %twice: f64) -> i32 {
  %real = arith.divf %scale, %twice : f64
  %shifted = arith.shli %centred, 20 : i32
  // 255 * 2^20
  %largest = arith.constant 267386880 : i64
  %smallest = arith.constant -267386880 : i64
  %result = func.call @rescale(%shifted, %real, %smallest, %largest) : (i32, f64, i64, i64) -> i32
}

func.func private @rescale_sum(%sum: i32, %twice: f64) -> i32 {
  %shifted_scale = arith.mulf %output_scale, 1048576.0 : f64
  %real = arith.divf %twice, %shifted_scale : f64
  // two operands of at most 255 * 2^19 each
  %largest = arith.constant 267386880 : i64
  %smallest = arith.constant -267386880 : i64
  %scaled = func.call @rescale(%sum, %real, %smallest, %largest) : (i32, f64, i64, i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %twice = func.call @twice_the_larger() : () -> f64
  %lhs_centred = arith.subi %lhs, %lhs_zero_point : i32
  %a = func.call @add_operand(%lhs_centred, %lhs_scale, %twice) : (i32, f32, f64) -> i32
  %rhs_centred = arith.subi %rhs, %rhs_zero_point : i32
  %b = func.call @add_operand(%rhs_centred, %rhs_scale, %twice) : (i32, f32, f64) -> i32
  %sum = arith.addi %a, %b : i32
  %result = func.call @rescale_sum(%sum, %twice) : (i32, f64) -> i32
}

func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %twice = func.call @twice_the_larger() : () -> f64
  %lhs_centred = arith.subi %lhs, %lhs_zero_point : i32
  %a = func.call @add_operand(%lhs_centred, %lhs_scale, %twice) : (i32, f32, f64) -> i32
  %rhs_centred = arith.subi %rhs, %rhs_zero_point : i32
  %b = func.call @add_operand(%rhs_centred, %rhs_scale, %twice) : (i32, f32, f64) -> i32
  %sum = arith.subi %a, %b : i32
  %result = func.call @rescale_sum(%sum, %twice) : (i32, f64) -> i32
}

// The scales combine in float32, as in TFLite's kernel.
func.func @mul(%lhs: i32, %lhs_scale: f32, %rhs: i32, %rhs_scale: f32) -> i32 {
  %ratio = func.call @product_ratio(%lhs_scale, %rhs_scale) : (f32, f32) -> f32
  // 255 * 255
  %scaled = func.call @rescale(@centred_product, %ratio, -65025, 65025) : (i32, f64, i64, i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

func.func private @rescale_stored(%input: i32, %output_min: i32, %output_max: i32) -> i32
    serves requantize {
  %scaled = func.call @rescale(@centred_input, @wide_ratio, -255, 255) : (i32, f64, i64, i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func @clamp(%input: i32) -> i32 {
  %max = func.call @lone_bound(%activation_max) : (f32) -> i32
  %result = func.call @rescale_stored(%input, @lone_bound, %max) : (i32, i32, i32) -> i32
}

// CLAMP after a fused activation: float64, the zero point inside a rounding half away from zero.
func.func @bound(%real: f32, %output_zero_point: i32) -> i32 {
  %steps = func.call @wide_ratio(%real) : (f32) -> f64
  %moved = arith.addf %steps, %output_zero_point : f64
  %result = fixed.convert %moved {rounding = half_away} : f64 to i32
}

// Of an activation on its own: the zero point outside. An infinite bound is none.
func.func private @lone_bound(%activation_min: f32) -> i32 {
  %steps = func.call @wide_ratio(%activation_min) : (f32) -> f64
  %rounded = fixed.convert %steps {rounding = half_away} : f64 to i32
  %result = func.call @clamp_and_offset(%rounded, %storage_min, %storage_max) : (i32, i32, i32) -> i32
}

// The converter writes MUL by the float32 reciprocal and CAST (half to even). CAST from f32
// saturates; but with a zero point it goes to int32 first, and the CAST after the ADD
// wraps around where a value is out of range, as in the reference model. CAST of NaN is 0.
func.func @quantize(%input: f32) -> i32 {
  %reciprocal = arith.divf 1.0, %output_scale : f32
  %product = arith.mulf %input, %reciprocal : f32
  %is_number = arith.cmpf ord, %product, %product : f32
  %number = arith.select %is_number, %product, 0.0 : f32
  %rounded = fixed.convert %number {rounding = half_even} : f32 to i32
  %moved = arith.addi %rounded, %output_zero_point : i32
  %byte = arith.trunci %moved : i32 to i8
  %as_signed = arith.extsi %byte : i8 to i32
  %as_unsigned = arith.extui %byte : i8 to i32
  %wrapped = arith.select %output_unsigned, %as_unsigned, %as_signed : i32
  %clamped = func.call @clamp_code(%rounded) : (i32) -> i32
  %symmetric = arith.cmpi eq, %output_zero_point, 0 : i32
  %result = arith.select %symmetric, %clamped, %wrapped : i32
}

// ---------------------------------------------------------------- activations, resizing

// One RESCALE for each sign. RESCALE has no negative multipliers.
func.func @leaky_relu(%input: i32) -> i32 {
  %legal = arith.cmpf oge, %alpha, 0.0 : f32
  cf.assert %legal, "leaky_relu: alpha is negative, but TOSA's RESCALE has no negative multiplier"
  %identity_real, %alpha_real = func.call @leaky_ratios(%alpha) : (f32) -> (f64, f64)
  %x = arith.subi %input, %input_zero_point : i32
  %identity = func.call @rescale(%x, %identity_real, -255, 255, false) : (i32, f64, i64, i64, i1) -> i32
  %sloped = func.call @rescale(%x, %alpha_real, -255, 255, false) : (i32, f64, i64, i64, i1) -> i32
  %scaled = func.call @by_sign(%x, %identity, %sloped) : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func private @leaky_ratios(%alpha: f32) -> (f64, f64) replaces {
  %identity = func.call @convolution_scale(false, 1.0) : (i1, f32) -> f64
  %sloped = func.call @convolution_scale(false, %alpha) : (i1, f32) -> f64
  return %identity, %sloped : f64, f64
}

// TABLEs of the converter: the function in float64, cut to float32, then as TFLite.
func.func private @table_input_64(%input: i32) -> f64 {
  %centred = arith.subi %input, %input_zero_point : i32
  %result = arith.mulf %input_scale, %centred : f64
}

func.func @sigmoid(%input: i32) -> i32 {
  %real = func.call @logistic(@table_input_64) : (f64) -> f64
  %narrow = arith.truncf %real : f64 to f32
  %result = func.call @table_output(%narrow) : (f32) -> i32
}

func.func @tanh(%input: i32) -> i32 {
  %real = math.tanh @table_input_64 : f64
  %narrow = arith.truncf %real : f64 to f32
  %result = func.call @table_output(%narrow) : (f32) -> i32
}

// operators/RESIZE.tosac in mode NEAREST_NEIGHBOR: the position is a fraction, exact, and goes
// up from a half on, as the converter sets scale and offset.
func.func @resize_nearest_position() -> i32 {
  %numerator32, %denominator32, %last = func.call @resizing_steps() : () -> (i32, i32, i32)
  %numerator = arith.extui %numerator32 : i32 to i64
  %denominator = arith.extui %denominator32 : i32 to i64
  %index64 = arith.extui %output_index : i32 to i64
  // twice the position, plus the half that rounds: of a half-pixel centre it is in the position
  %scaled = arith.muli %index64, %numerator : i64
  %twice = arith.shli %scaled, 1 : i64
  %rounding = arith.select %half_pixel_centers, %numerator, %denominator : i64
  %moved = arith.addi %twice, %rounding : i64
  %twice_denominator = arith.shli %denominator, 1 : i64
  %nearest64 = arith.divui %moved, %twice_denominator : i64
  %nearest = arith.trunci %nearest64 : i64 to i32
  %result = arith.minsi %nearest, %last : i32
}

// RESIZE has weights with a denominator of its own for each model: not described here.
func.func @resize_bilinear(%top_left: i32) -> i32 {
  cf.assert false, "bilinear resizing is not described by this contract"
  return %top_left : i32
}

// Each input is rescaled to steps of 2^-20, and REDUCE_SUM of int32 to the output.
func.func @sum_addend(%input: i32) -> i32 {
  %real = arith.mulf %input_scale, 1048576.0 : f64
  %result = func.call @rescale(@centred_input, %real, -255, 255) : (i32, f64, i64, i64) -> i32
}

func.func @sum(%sum: i32) -> i32 {
  %input_real = arith.mulf %input_scale, 1048576.0 : f64
  %addend = func.call @rescale(255, %input_real, -255, 255) : (i32, f64, i64, i64) -> i32
  %largest = arith.muli %count, %addend : i64
  %smallest = arith.subi 0, %largest : i64
  %output_steps = arith.mulf %output_scale, 1048576.0 : f64
  %real = arith.divf 1.0, %output_steps : f64
  %scaled = func.call @rescale(%sum, %real, %smallest, %largest) : (i32, f64, i64, i64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

}
