// Steps that several systems take, for contracts that name this file as their base. It defines
// no rule. F(...) is one float32 rounding.

module {

// ---------------------------------------------------------------- storing

func.func private @clamp_code(%x: i32, %output_min: i32, %output_max: i32) -> i32 {
  %above = arith.maxsi %x, %output_min : i32
  %result = arith.minsi %above, %output_max : i32
}

// For a number to which the zero point can be added in 32 bits.
func.func private @offset_and_clamp(%x: i32, %output_zero_point: i32) -> i32 {
  %offset = arith.addi %x, %output_zero_point : i32
  %result = func.call @clamp_code(%offset) : (i32) -> i32
}

// For any number.
func.func private @clamp_and_offset(
    %x: i32, %output_min: i32, %output_max: i32, %output_zero_point: i32) -> i32 {
  %low = arith.subi %output_min, %output_zero_point : i32
  %high = arith.subi %output_max, %output_zero_point : i32
  %clamped = func.call @clamp_code(%x, %low, %high) : (i32, i32, i32) -> i32
  %result = arith.addi %clamped, %output_zero_point : i32
}

// y = rne(x) + z, clamped. Systems clamp before or after they round: that makes no difference.
func.func private @store_half_even(%real: f32) -> i32 {
  %rounded = fixed.convert %real {rounding = half_even} : f32 to i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

// y = rne(x) + z, clamped: what no int32 holds, and NaN, is the lowest of them, as processors
// convert, and the sum with a negative zero point wraps.
func.func private @store_or_lowest(%steps: f32) -> i32 {
  %rounded = fixed.convert %steps {rounding = half_even} : f32 to i32
  %beyond = arith.constant 2147483648.0 : f32
  %fits = arith.cmpf olt, %steps, %beyond : f32
  %integer = arith.select %fits, %rounded, -2147483648 : i32
  %result = func.call @offset_and_clamp(%integer) : (i32) -> i32
}

// y = rha(x) + z, clamped.
func.func private @store_half_away(%real: f32) -> i32 {
  %rounded = fixed.convert %real {rounding = half_away} : f32 to i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

// trunc(F(x +- 0.5)), which makes 1 of 0.49999997.
func.func private @round_by_adding_half(%real: f32) -> i32 {
  %negative = arith.cmpf olt, %real, 0.0 : f32
  %half = arith.select %negative, -0.5, 0.5 : f32
  %moved = arith.addf %real, %half : f32
  %result = fixed.convert %moved {rounding = toward_zero} : f32 to i32
}

// y = rne(x), clamped, where the zero point is in x.
func.func private @store_with_zero_point_inside(%real: f32) -> i32 {
  %rounded = fixed.convert %real {rounding = half_even} : f32 to i32
  %result = func.call @clamp_code(%rounded) : (i32) -> i32
}

// F(x F(1 / s))
func.func private @steps_by_inverse(%real: f32, %output_scale: f32) -> f32 {
  %inverse = arith.divf 1.0, %output_scale : f32
  %result = arith.mulf %real, %inverse : f32
}

// F(x + z)
func.func private @plus_zero_point(%steps: f32, %output_zero_point: i32) -> f32 {
  %point = arith.sitofp %output_zero_point : i32 to f32
  %result = arith.addf %steps, %point : f32
}

// ---------------------------------------------------------------- narrow floats

// The nearest number of a type that keeps all but the last `dropped` bits of a float32's fraction,
// ties to even. Below `normal` numbers are multiples of the last bit of `unit`. What is rounded to
// more than `most` becomes `beyond`.
func.func private @narrowed(
    %x: f32, %dropped: i32, %normal: f32, %unit: f32, %most: f32, %beyond: f32) -> f32 {
  %size = math.absf %x : f32
  %bits = arith.bitcast %size : f32 to i32
  %whole = arith.shrui %bits, %dropped : i32
  %odd = arith.andi %whole, 1 : i32
  %last = arith.shli 1, %dropped : i32
  %half_of_last = arith.shrui %last, 1 : i32
  %less = arith.subi %half_of_last, 1 : i32
  %addend = arith.addi %less, %odd : i32
  %moved = arith.addi %bits, %addend : i32
  %cut = arith.shrui %moved, %dropped : i32
  %kept = arith.shli %cut, %dropped : i32
  %large = arith.bitcast %kept : i32 to f32
  %sum = arith.addf %size, %unit : f32
  %small = arith.subf %sum, %unit : f32
  %is_small = arith.cmpf olt, %size, %normal : f32
  %nearest = arith.select %is_small, %small, %large : f32
  %is_beyond = arith.cmpf ogt, %nearest, %most : f32
  %bounded = arith.select %is_beyond, %beyond, %nearest : f32
  %signed = math.copysign %bounded, %x : f32
  %is_nan = arith.cmpf uno, %x, %x : f32
  %result = arith.select %is_nan, %x, %signed : f32
}

// float16
func.func private @half(%x: f32) -> f32 {
  %infinity = arith.constant 0x7F800000 : f32
  %result = func.call @narrowed(%x, 13, 6.103515625e-05, 0.5, 65504.0, %infinity)
      : (f32, i32, f32, f32, f32, f32) -> f32
}

// The code of a number of such a type, whose smallest exponent is that of a float32 times `factor`;
// `sign` is the code of -0.
func.func private @narrow_code(
    %x: f32, %dropped: i32, %factor: f32, %infinity: i32, %nan: i32, %sign: i32) -> i32 {
  %size = math.absf %x : f32
  %scaled = arith.mulf %size, %factor : f32
  %bits = arith.bitcast %scaled : f32 to i32
  %code = arith.shrui %bits, %dropped : i32
  %largest = arith.constant 0x7F7FFFFF : f32
  %is_infinite = arith.cmpf ogt, %size, %largest : f32
  %finite = arith.select %is_infinite, %infinity, %code : i32
  %is_nan = arith.cmpf uno, %x, %x : f32
  %magnitude = arith.select %is_nan, %nan, %finite : i32
  %all = arith.bitcast %x : f32 to i32
  %is_negative = arith.cmpi slt, %all, 0 : i32
  %offset = arith.select %is_negative, %sign, 0 : i32
  %result = arith.ori %magnitude, %offset : i32
}

// ---------------------------------------------------------------- operands

// F((q - z) s)
func.func private @dequantize_exactly(
    %input: i32, %input_scale: f32, %input_zero_point: i32) -> f32 {
  %centred = arith.subi %input, %input_zero_point : i32
  %integer = arith.sitofp %centred : i32 to f32
  %result = arith.mulf %integer, %input_scale : f32
}

func.func private @centred_input(%input: i32) -> i32 {
  %result = arith.subi %input, %input_zero_point : i32
}

func.func private @centred_product(%lhs: i32, %rhs: i32) -> i32 {
  %a = arith.subi %lhs, %lhs_zero_point : i32
  %b = arith.subi %rhs, %rhs_zero_point : i32
  %result = arith.muli %a, %b : i32
}

// A sum of stored integers without their zero points.
func.func private @centred_sum(%accumulator: i32) -> i32 {
  %zeros = arith.muli %count, %input_zero_point : i32
  %result = arith.subi %accumulator, %zeros : i32
}

func.func private @is_same_quantization() -> i1 {
  %same_scale = arith.cmpf oeq, %input_scale, %output_scale : f32
  %same_zero_point = arith.cmpi eq, %input_zero_point, %output_zero_point : i32
  %result = arith.andi %same_scale, %same_zero_point : i1
}

// F(F(s_x s_w) / s_y)
func.func private @product_ratio(%input_scale: f32, %weight_scale: f32, %output_scale: f32) -> f32 {
  %product = arith.mulf %input_scale, %weight_scale : f32
  %result = arith.divf %product, %output_scale : f32
}

// F(bias F(s_x s_w))
func.func private @bias_in_float32() -> f32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.sitofp %bias : i32 to f32
  %result = arith.mulf %steps, %step : f32
}

// s_x / s_y in float64
func.func private @wide_ratio(%input_scale: f32) -> f64 {
  %result = arith.divf %input_scale, %output_scale : f64
}

// A step of the accumulator is no more than all codes, and the ratio has all its bits.
func.func private @require_ratio(%ratio: f32) {
  %least = arith.constant 1.17549435E-38 : f32
  %normal = arith.cmpf oge, %ratio, %least : f32
  %small = arith.cmpf olt, %ratio, 256.0 : f32
  %legal = arith.andi %normal, %small : i1
  cf.assert %legal, "the ratio of the scales, input * weight / output, is not in [2^-126, 2^8)"
}

func.func private @require_signed(%output_unsigned: i1) {
  %signed = arith.xori %output_unsigned, true : i1
  cf.assert %signed, "unsigned codes, which this system doesn't have"
}

func.func private @require_no_zero_points(%input_zero_point: i32, %output_zero_point: i32) {
  %points = arith.ori %input_zero_point, %output_zero_point : i32
  %none = arith.cmpi eq, %points, 0 : i32
  cf.assert %none, "zero points, which this system doesn't have"
}

// Zero times an infinite ratio would be no number.
func.func private @require_finite_ratio(%ratio: f32) {
  %infinity = arith.constant 0x7F800000 : f32
  %finite = arith.cmpf olt, %ratio, %infinity : f32
  cf.assert %finite, "the ratio of the scales is 2^128 or more, no float32 number"
}

// ---------------------------------------------------------------- arithmetic

// gemmlowp fixedpoint.h; the instruction sqrdmulh: the high half of 2ab, rounded half up.
func.func private @saturating_rounding_doubling_high_mul(%a: i32, %b: i32) -> i32 {
  %product = arith.muli %a, %b : i64
  %high = fixed.shift_right %product, 31 {rounding = half_up} : i64
  %result = fixed.saturate %high : i64 to i32
}

// By how much 2^exponent shifts to the left and to the right.
func.func private @left_and_right(%exponent: i32) -> (i32, i32) {
  %left = arith.maxsi %exponent, 0 : i32
  %negated = arith.subi 0, %exponent : i32
  %right = arith.maxsi %negated, 0 : i32
  return %left, %right : i32, i32
}

// x where it was not negative, else the other.
func.func private @by_sign(%x: i32, %not_negative: i32, %negative: i32) -> i32 {
  %is_not_negative = arith.cmpi sge, %x, 0 : i32
  %result = arith.select %is_not_negative, %not_negative, %negative : i32
}

// The fraction of a positive float64 as an integer of 53 bits.
func.func private @mantissa_of(%bits: i64) -> i64 {
  %fraction_mask = arith.constant 4503599627370495 : i64
  %fraction = arith.andi %bits, %fraction_mask : i64
  %hidden_bit = arith.constant 4503599627370496 : i64
  %result = arith.ori %fraction, %hidden_bit : i64
}

// That, and the exponent as the bits have it.
func.func private @split_real(%real: f64) -> (i64, i64) {
  %bits = arith.bitcast %real : f64 to i64
  %exponent = arith.shrui %bits, 52 : i64
  return @mantissa_of(%bits), %exponent : i64, i64
}

// The fraction of a float64, by its bits, as an integer of 31 bits, rounded half away from zero;
// `exponent` is its own or, if it is rounded up to 2^31, one more.
func.func private @round_mantissa(%bits: i64, %exponent: i64) -> (i64, i64) {
  %rounded = fixed.shift_right @mantissa_of(%bits), 22 {rounding = half_away} : i64
  %two_to_31 = arith.constant 2147483648 : i64
  %overflow = arith.cmpi eq, %rounded, %two_to_31 : i64
  %halved = arith.shrui %rounded, 1 : i64
  %next = arith.addi %exponent, 1 : i64
  %multiplier = arith.select %overflow, %halved, %rounded : i64
  %final = arith.select %overflow, %next, %exponent : i64
  return %multiplier, %final : i64, i64
}

// lrintf(x * 2^places)
func.func private @to_fixed_point(%x: f32, %places: i32) -> i32 {
  %biased = arith.addi %places, 127 : i32
  %bits = arith.shli %biased, 23 : i32
  %power = arith.bitcast %bits : i32 to f32
  %scaled = arith.mulf %x, %power : f32
  %result = fixed.convert %scaled {rounding = half_even} : f32 to i32
}

// Whether an index lies after the last whole vector of `lanes`.
func.func private @is_in_tail(%index: i32, %count: i32, %lanes: i32) -> i1 {
  %rest = arith.remsi %count, %lanes : i32
  %whole = arith.subi %count, %rest : i32
  %result = arith.cmpi sge, %index, %whole : i32
}

// ---------------------------------------------------------------- sums of rows

func.func private @elements_in_turn(%input: f32) -> f32 attributes {contract.rows = "sequential"} {
  return %input : f32
}

func.func private @elements_in_lanes(%input: f32) -> f32 attributes {contract.rows = "lanes"} {
  return %input : f32
}

func.func private @maximum(%so_far: f32, %input: f32) -> f32 attributes {contract.rows = "fold"} {
  %result = arith.maximumf %so_far, %input : f32
}

// ---------------------------------------------------------------- functions

// In two steps; the second may give a denormal.
func.func private @times_power_of_two(%y: f32, %exponent: i32) -> f32 {
  %half = arith.shrsi %exponent, 1 : i32
  %first = func.call @single_power_of_two(%half) : (i32) -> f32
  %once = arith.mulf %y, %first : f32
  %rest = arith.subi %exponent, %half : i32
  %second = func.call @single_power_of_two(%rest) : (i32) -> f32
  %result = arith.mulf %once, %second : f32
}

func.func private @single_power_of_two(%exponent: i32) -> f32 {
  %biased = arith.addi %exponent, 127 : i32
  %bits = arith.shli %biased, 23 : i32
  %result = arith.bitcast %bits : i32 to f32
}

// Sleef_expf16_u10 of sleef/src/libm/sleefsimdsp.c: x = q ln(2) + s with q whole, a polynomial of s
// by FMAs, and two powers of 2. Beyond the bounds the result is 0 or infinite.
func.func private @expf_u10(%x: f32) -> f32 {
  %not_low = arith.maximumf %x, -104.0 : f32
  %bounded = arith.minimumf %not_low, 100.0 : f32
  %ratio = arith.mulf %bounded, 1.4426950408889634 : f32
  %q = fixed.convert %ratio {rounding = half_even} : f32 to i32
  %whole = arith.sitofp %q : i32 to f32
  %less = math.fma %whole, -0.693145751953125, %bounded : f32
  %s = math.fma %whole, -1.428606765330187e-06, %less : f32
  %square = arith.mulf %s, %s : f32
  %p4 = math.fma 0.00019852761761285365, %s, 0.0013930435525253415 : f32
  %p3 = math.fma %p4, %s, 0.008333360776305199 : f32
  %p2 = math.fma %p3, %s, 0.041666485369205475 : f32
  %p1 = math.fma %p2, %s, 0.1666666716337204 : f32
  %above = math.fma %p1, %s, 0.5 : f32
  %rest = math.fma %square, %above, %s : f32
  %y = arith.addf 1.0, %rest : f32
  %result = func.call @times_power_of_two(%y, %q) : (f32, i32) -> f32
}

// 1 / (1 + e^-x)
func.func private @logistic(%x: f64) -> f64 {
  %negated = arith.negf %x : f64
  %exponential = math.exp %negated : f64
  %denominator = arith.addf 1.0, %exponential : f64
  %result = arith.divf 1.0, %denominator : f64
}

// The sizes whose quotient is the step of a position in the input, and the last row or column:
// with aligned corners steps are between the centres of the outer pixels.
func.func private @resizing_steps() -> (i32, i32, i32) {
  %several = arith.cmpi sgt, %output_size, 1 : i32
  %aligned = arith.andi %align_corners, %several : i1
  %last = arith.subi %input_size, 1 : i32
  %output_last = arith.subi %output_size, 1 : i32
  %numerator = arith.select %aligned, %last, %input_size : i32
  %denominator = arith.select %aligned, %output_last, %output_size : i32
  return %numerator, %denominator, %last : i32, i32, i32
}

}
