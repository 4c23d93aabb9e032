// The answer with no hardware in it: what the real numbers that the stored integers stand for
// give, rounded once. It is what other contracts approximate, and what a difference of theirs
// can be judged by.
// # Formula
// y = clamp(rne(r) + z) for the real result r over the output scale.
// - conv2d, depthwise_conv2d, linear, matmul, add, sub, mul, avg_pool2d, mean, requantize,
//   leaky_relu, resize_bilinear: r is a rational number and exactly rounded; the proofs are
//   with the helpers
// - sigmoid, tanh, elu, hard_swish, softmax: r in float64
// # Ties
// Half to even, before the zero point is added.
// # Operands
// The float32 scales of the model, exactly: 24-bit integers times powers of two.
// # Quirks
// - Where float64 could round to the wrong side of a tie, 64-bit integers decide.
// - Refused, as their proof wouldn't hold: sums of operands whose scales differ by more than
//   4096, means of more than 65,536 values, images of more than 16,383 rows or columns.
// # Not matched
// - sigmoid, tanh, elu, hard_swish and softmax differ from the exact answer only where that is
//   within 2^-40 of a tie.
// # Checked against
// Python's rational numbers (Fraction): 120 ratios in every executor, most of their
// accumulators at or beside a tie, and add, sub, mul, requantize, mean, avg_pool2d and
// leaky_relu on 1,000 drawn values each. No mismatch. resize_bilinear is by its proof.
// # Sources
// - arithmetic; IEEE 754 for float64

module attributes {contract.family = "no hardware", contract.base = "_steps",
    contract.summary = "rational arithmetic, one rounding half to even: no hardware in it"} {

// ---------------------------------------------------------------- rounding

// A float64 rounded to an integer.
func.func private @round_real(%real: f64) -> i32 {
  %result = fixed.convert %real {rounding = half_even} : f64 to i32
}

func.func private @store_real(%real: f64) -> i32 {
  %result = func.call @clamp_and_offset(@round_real) : (i32) -> i32
}

// A scale as an integer of 24 bits times a power of two. Widened to f64 every positive float32
// is normal.
func.func private @split_scale(%scale: f32) -> (i64, i64) {
  %bits = arith.bitcast %scale : f64 to i64
  %upper = arith.shrui %bits, 29 : i64
  %fraction_mask = arith.constant 8388607 : i64
  %fraction = arith.andi %upper, %fraction_mask : i64
  %hidden_bit = arith.constant 8388608 : i64
  %mantissa = arith.ori %fraction, %hidden_bit : i64
  %biased = arith.shrui %upper, 23 : i64
  %bias = arith.constant 1046 : i64
  %exponent = arith.subi %biased, %bias : i64
  return %mantissa, %exponent : i64, i64
}

// n * a * b / c rounded half to even, for an integer n and scales a, b, c.
//
// In float64 the quotient has two roundings: a * b is exact (48 bits), so `real` is off by
// 2^-53 of itself and `approximate` by 2^-52. Where it is below 2^20, which is all that
// matters to 8 bits, it is off by less than 2^-32; so it rounds to the right integer
// unless it is nearer than 2^-20 to a tie.
//
// There the sign of 2 * n * a * b - (2k + 1) * c decides, k + 1/2 being the tie. As integers
// both terms may need 81 bits, but their difference needs less: divided by 2c it is below
// 2^-20, and 2c is at most the first term over the odd number, 2^80; so the difference is below
// 2^61, and 64-bit arithmetic that wraps around gives it exactly.
func.func private @round_ratio(%n: i32, %weight_scale: f32) -> i32 {
  %ab = arith.mulf %input_scale, %weight_scale : f64
  %real = arith.divf %ab, %output_scale : f64
  %unclamped = arith.mulf %n, %real : f64
  %smallest = arith.constant -1048576.0 : f64
  %not_above = arith.minimumf %unclamped, 1048576.0 : f64
  %approximate = arith.maximumf %not_above, %smallest : f64
  %nearest = func.call @round_real(%approximate) : (f64) -> i32

  %k = fixed.convert %approximate {rounding = floor} : f64 to i32
  %tie = arith.addf %k, 0.5 : f64
  %from_tie = arith.subf %approximate, %tie : f64
  %distance = math.absf %from_tie : f64
  %close = arith.constant 0.00000095367431640625 : f64
  %is_near_tie = arith.cmpf olt, %distance, %close : f64

  // the integers: a * b / c = p / q
  %a_mantissa, %a_exponent = func.call @split_scale(%input_scale) : (f32) -> (i64, i64)
  %b_mantissa, %b_exponent = func.call @split_scale(%weight_scale) : (f32) -> (i64, i64)
  %c_mantissa, %c_exponent = func.call @split_scale(%output_scale) : (f32) -> (i64, i64)
  %mantissas = arith.muli %a_mantissa, %b_mantissa : i64
  %ab_exponent = arith.addi %a_exponent, %b_exponent : i64
  %exponent = arith.subi %ab_exponent, %c_exponent : i64
  // A larger shift than 63 has no value near a tie.
  %up = arith.maxsi %exponent, 0 : i64
  %p_shift = arith.minsi %up, 63 : i64
  %negated = arith.subi 0, %exponent : i64
  %down = arith.maxsi %negated, 0 : i64
  %q_shift = arith.minsi %down, 63 : i64
  %p = arith.shli %mantissas, %p_shift : i64
  %q = arith.shli %c_mantissa, %q_shift : i64

  %twice_p = arith.shli %p, 1 : i64
  %twice_np = arith.muli %n, %twice_p : i64
  %twice_k = arith.shli %k, 1 : i64
  %odd = arith.addi %twice_k, 1 : i64
  %odd_q = arith.muli %odd, %q : i64
  %difference = arith.subi %twice_np, %odd_q : i64
  %exact = func.call @round_at_tie(%k, %difference) : (i32, i64) -> i32
  %result = arith.select %is_near_tie, %exact, %nearest : i32
}

// k or k + 1, for a value whose difference from k + 1/2 has the given sign.
func.func private @round_at_tie(%k: i32, %difference: i64) -> i32 {
  %above = arith.cmpi sgt, %difference, 0 : i64
  %is_tie = arith.cmpi eq, %difference, 0 : i64
  %low_bit = arith.andi %k, 1 : i32
  %odd = arith.cmpi eq, %low_bit, 1 : i32
  %tie_up = arith.andi %is_tie, %odd : i1
  %up = arith.ori %above, %tie_up : i1
  %step = arith.extui %up : i1 to i32
  %result = arith.addi %k, %step : i32
}

// n / d where both are exact in float64 and have at most 50 bits between the lowest bits that
// are set in either and the highest: a quotient that isn't a tie is further from it, relative
// to itself, than the error of the division.
func.func private @store_quotient(%n: f64, %d: f64) -> i32 {
  %real = arith.divf %n, %d : f64
  %result = func.call @store_real(%real) : (f64) -> i32
}

// ---------------------------------------------------------------- convolution, matmul

func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d, linear, matmul {
  %rounded = func.call @round_ratio(%accumulator) : (i32) -> i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

// A bias in real numbers in steps of the accumulator: 24 bits over 48, exactly rounded.
func.func @quantize_bias() -> i32 {
  %step = arith.mulf %input_scale, %weight_scale : f64
  %steps = arith.divf %real_bias, %step : f64
  %result = func.call @round_real(%steps) : (f64) -> i32
}

func.func @dequantize_bias() -> f32 {
  %step = arith.mulf %input_scale, %weight_scale : f64
  %product = arith.mulf %bias, %step : f64
  %result = arith.truncf %product : f64 to f32
}

// (sum - count * zero point) * scale has 24 bits more than the sum, count * output scale 24 more
// than the count: exact for windows of up to 2^16.
func.func private @mean_of(%accumulator: i32, %count: i32) -> i32
    serves avg_pool2d, adaptive_avg_pool2d, mean {
  %legal = arith.cmpi sle, %count, 65536 : i32
  cf.assert %legal, "a mean of more than 65536 values is not exact in float64"
  %sum64 = arith.sitofp @centred_sum : i32 to f64
  %numerator = arith.mulf %sum64, %input_scale : f64
  %denominator = arith.mulf %count, %output_scale : f64
  %result = func.call @store_quotient(%numerator, %denominator) : (f64, f64) -> i32
}

// ---------------------------------------------------------------- elementwise

// An operand of a sum, in real numbers; the sum of two is exact if their scales are within
// 2^12 of each other.
func.func private @dequantize_widely(
    %stored: i32, %input_zero_point: i32, %input_scale: f32) -> f64 {
  %centred = arith.subi %stored, %input_zero_point : i32
  %result = arith.mulf %centred, %input_scale : f64
}

func.func private @require_similar_scales() {
  %larger = arith.maximumf %lhs_scale, %rhs_scale : f32
  %smaller = arith.minimumf %lhs_scale, %rhs_scale : f32
  %ratio = arith.divf %larger, %smaller : f32
  %legal = arith.cmpf ole, %ratio, 4096.0 : f32
  cf.assert %legal, "the scales of the operands differ by a factor of more than 4096: their sum is not exact in float64"
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  func.call @require_similar_scales() : () -> ()
  %a = func.call @dequantize_widely(%lhs, %lhs_zero_point, %lhs_scale) : (i32, i32, f32) -> f64
  %b = func.call @dequantize_widely(%rhs, %rhs_zero_point, %rhs_scale) : (i32, i32, f32) -> f64
  %sum = arith.addf %a, %b : f64
  %result = func.call @store_quotient(%sum, %output_scale) : (f64, f64) -> i32
}

func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  func.call @require_similar_scales() : () -> ()
  %a = func.call @dequantize_widely(%lhs, %lhs_zero_point, %lhs_scale) : (i32, i32, f32) -> f64
  %b = func.call @dequantize_widely(%rhs, %rhs_zero_point, %rhs_scale) : (i32, i32, f32) -> f64
  %sum = arith.subf %a, %b : f64
  %result = func.call @store_quotient(%sum, %output_scale) : (f64, f64) -> i32
}

func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %rounded = func.call @round_ratio(@centred_product) : (i32) -> i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

// 24 bits over 24: the float64 quotient rounds as the exact one.
func.func private @steps_of(%real: f32) -> i32 {
  %steps = func.call @wide_ratio(%real) : (f32) -> f64
  %result = func.call @round_real(%steps) : (f64) -> i32
}

func.func @bound(%real: f32) -> i32 {
  %steps = func.call @steps_of(%real) : (f32) -> i32
  // far outside of the storage range, but without overflow
  %result = func.call @clamp_and_offset(%steps, -65536, 65536) : (i32, i32, i32) -> i32
}

// NaN is taken for 0.
func.func @quantize(%input: f32) -> i32 serves quantize, quantize_i16 {
  %is_number = arith.cmpf ord, %input, %input : f32
  %number = arith.select %is_number, %input, 0.0 : f32
  %steps = func.call @steps_of(%number) : (f32) -> i32
  %result = func.call @clamp_and_offset(%steps) : (i32) -> i32
}

func.func @dequantize(%input: i32) -> f32 serves dequantize, dequantize_i16 {
  %real = func.call @dequantize_widely(%input) : (i32) -> f64
  %result = arith.truncf %real : f64 to f32
}

func.func private @rescale(%input: i32, %output_scale: f32) -> i32 serves requantize, clamp, concat
     {
  %real = func.call @dequantize_widely(%input) : (i32) -> f64
  %result = func.call @store_quotient(%real, %output_scale) : (f64, f64) -> i32
}

// ---------------------------------------------------------------- activations (tables)

// A real number in steps of the output, stored.
func.func private @store_function(%real: f64) -> i32 {
  %result = func.call @store_quotient(%real, %output_scale) : (f64, f64) -> i32
}

func.func @sigmoid(%input: i32) -> i32 {
  %x = func.call @dequantize_widely(%input) : (i32) -> f64
  %real = func.call @logistic(%x) : (f64) -> f64
  %result = func.call @store_function(%real) : (f64) -> i32
}

func.func @tanh(%input: i32) -> i32 {
  %x = func.call @dequantize_widely(%input) : (i32) -> f64
  %real = math.tanh %x : f64
  %result = func.call @store_function(%real) : (f64) -> i32
}

func.func @elu(%input: i32) -> i32 {
  %x = func.call @dequantize_widely(%input) : (i32) -> f64
  %negative = arith.cmpf olt, %x, 0.0 : f64
  %at_most_zero = arith.minimumf %x, 0.0 : f64
  %exponential = math.expm1 %at_most_zero : f64
  %real = arith.select %negative, %exponential, %x : f64
  %result = func.call @store_function(%real) : (f64) -> i32
}

func.func @hard_swish(%input: i32) -> i32 {
  %x = func.call @dequantize_widely(%input) : (i32) -> f64
  %moved = arith.addf %x, 3.0 : f64
  %positive = arith.maximumf %moved, 0.0 : f64
  %relu6 = arith.minimumf %positive, 6.0 : f64
  %product = arith.mulf %x, %relu6 : f64
  %real = arith.divf %product, 6.0 : f64
  %result = func.call @store_function(%real) : (f64) -> i32
}

func.func @leaky_relu(%input: i32) -> i32 {
  %x = arith.subi %input, %input_zero_point : i32
  %magnitude = math.absf %alpha : f32
  %falls = arith.cmpf olt, %alpha, 0.0 : f32
  %mirrored = arith.subi 0, %x : i32
  %sloped_x = arith.select %falls, %mirrored, %x : i32
  %identity = func.call @round_ratio(%x, 1.0) : (i32, f32) -> i32
  %steep = func.call @round_ratio(%sloped_x, %magnitude) : (i32, f32) -> i32
  %flat = arith.cmpf oeq, %alpha, 0.0 : f32
  %sloped = arith.select %flat, 0, %steep : i32
  %rounded = func.call @by_sign(%x, %identity, %sloped) : (i32, i32, i32) -> i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

// ---------------------------------------------------------------- softmax

func.func @softmax_term(%difference: i32) -> f64 {
  %scale = arith.mulf %input_scale, %beta : f64
  %real = arith.mulf %difference, %scale : f64
  %result = math.exp %real : f64
}

func.func @softmax_addend(%term: f64) -> f64 { return %term : f64 }

func.func @softmax_output(%term: f64, %sum: f64) -> i32 {
  %denominator = arith.mulf %sum, %output_scale : f64
  %result = func.call @store_quotient(%term, %denominator) : (f64, f64) -> i32
}

// ---------------------------------------------------------------- resizing

// The pixel that contains the position: floor((2i + 1) * input / (2 * output)) with half-pixel
// centres, floor(i * input / output) without; with aligned corners the nearest pixel, half up.
func.func @resize_nearest_position() -> i32 {
  %several = arith.cmpi sgt, %output_size, 1 : i32
  %aligned = arith.andi %align_corners, %several : i1
  %input_less_1 = arith.subi %input_size, 1 : i32
  %output_less_1 = arith.subi %output_size, 1 : i32
  %numerator = arith.select %aligned, %input_less_1, %input_size : i32
  %denominator = arith.select %aligned, %output_less_1, %output_size : i32
  %twice_index = arith.muli %output_index, 2 : i32
  %centre = arith.addi %twice_index, 1 : i32
  %twice_position = arith.select %half_pixel_centers, %centre, %twice_index : i32
  %scaled = arith.muli %twice_position, %numerator : i32
  // half a pixel more rounds to the nearest
  %nudged = arith.addi %scaled, %denominator : i32
  %sum = arith.select %aligned, %nudged, %scaled : i32
  %twice_denominator = arith.muli %denominator, 2 : i32
  %position = arith.divui %sum, %twice_denominator : i32
  %result = arith.minsi %position, %input_less_1 : i32
}

// Neighbours and weights of a rational position, clamped to the image. The weight is a fraction
// packed into 32 bits: its numerator above its denominator of 16 bits.
func.func @resize_bilinear_position() -> (i32, i32, i32) {
  %legal = arith.cmpi sle, %output_size, 16383 : i32
  cf.assert %legal, "resize: more than 16383 rows or columns"
  %numerator, %half_denominator, %input_less_1 = func.call @resizing_steps() : () -> (i32, i32, i32)
  %denominator = arith.muli %half_denominator, 2 : i32
  // position = sum / denominator: 2i * n, or (2i + 1) * n - d with half-pixel centres
  %twice_index = arith.muli %output_index, 2 : i32
  %corner = arith.muli %twice_index, %numerator : i32
  %centre_index = arith.addi %twice_index, 1 : i32
  %centre = arith.muli %centre_index, %numerator : i32
  %moved = arith.subi %centre, %half_denominator : i32
  %inside = arith.maxsi %moved, 0 : i32
  %sum = arith.select %half_pixel_centers, %inside, %corner : i32
  %floor = arith.divui %sum, %denominator : i32
  %rest = arith.remui %sum, %denominator : i32
  %is_last = arith.cmpi sge, %floor, %input_less_1 : i32
  %lower = arith.minsi %floor, %input_less_1 : i32
  %next = arith.addi %lower, 1 : i32
  %upper = arith.minsi %next, %input_less_1 : i32
  %fraction = arith.select %is_last, 0, %rest : i32
  %high_half = arith.shli %fraction, 16 : i32
  %weight = arith.ori %high_half, %denominator : i32
  return %lower, %upper, %weight : i32, i32, i32
}

func.func private @unpack_weight(%y_weight: i32) -> (i64, i64, i64) {
  %numerator = arith.shrui %y_weight, 16 : i32
  %denominator = arith.andi %y_weight, 65535 : i32
  %rest = arith.subi %denominator, %numerator : i32
  %upper = arith.extui %numerator : i32 to i64
  %lower = arith.extui %rest : i32 to i64
  %total = arith.extui %denominator : i32 to i64
  return %lower, %upper, %total : i64, i64, i64
}

// The sum has 40 bits, the product of the denominators 30.
func.func @resize_bilinear(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %top_weight, %bottom_weight, %height = func.call @unpack_weight() : () -> (i64, i64, i64)
  %left_weight, %right_weight, %width = func.call @unpack_weight(%x_weight) : (i32) -> (i64, i64, i64)
  %top = func.call @interpolate(%top_left, %top_right, %left_weight, %right_weight, %output_zero_point) : (i32, i32, i64, i64, i32) -> i64
  %bottom = func.call @interpolate(%bottom_left, %bottom_right, %left_weight, %right_weight, %output_zero_point) : (i32, i32, i64, i64, i32) -> i64
  %top_part = arith.muli %top, %top_weight : i64
  %bottom_part = arith.muli %bottom, %bottom_weight : i64
  %sum = arith.addi %top_part, %bottom_part : i64
  %area = arith.muli %height, %width : i64
  %numerator = arith.sitofp %sum : i64 to f64
  %denominator = arith.sitofp %area : i64 to f64
  %result = func.call @store_quotient(%numerator, %denominator) : (f64, f64) -> i32
}

func.func private @interpolate(
    %left: i32, %right: i32, %left_weight: i64, %right_weight: i64, %zero_point: i32) -> i64 {
  %left_centred = arith.subi %left, %zero_point : i32
  %right_centred = arith.subi %right, %zero_point : i32
  %left_part = arith.muli %left_centred, %left_weight : i64
  %right_part = arith.muli %right_centred, %right_weight : i64
  %result = arith.addi %left_part, %right_part : i64
}

}
