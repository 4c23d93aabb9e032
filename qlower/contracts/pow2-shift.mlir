// Rescaling for integer hardware that has a shifter and no multiplier: the ratio of the scales
// is replaced by a power of two, and one right shift rounds. Where all scales are powers of
// two nothing is lost. No product is reproduced; it is the cheapest arithmetic that one can
// build, to see what it costs.
// # Formula
// - rescaling by M: `y = clamp(((x + 2^(k - 1)) >> k) + z)` with 2^-k nearest to M; a left
//   shift, for k < 0, saturates
// - add, sub: operands shifted left to the finer one's grid, added, shifted once
// - mean, avg_pool2d: divide by the count exactly, rounded once
// - borders and tables: as in `exact`, but half up
// # Ties
// Half up, before the zero point is added.
// # Operands
// k is nearest in the logarithm: the exponent of M, and one more where its mantissa, in [1,
// 2), is above the square root of 2. So M is off by at most a factor of the square root of 2.
// Ratios outside [2^-24, 2^24] are refused, and so is leaky_relu with an alpha that isn't
// positive.
// # Quirks
// - A model whose scales weren't chosen as powers of two loses up to half a bit in every
//   layer.
// # Checked against
// Python's rational numbers (Fraction): 120 ratios in every executor, most of their
// accumulators at or beside a tie; sums and means by hand. No mismatch. There is no system to
// compare with.
// # Sources
// - arithmetic

module attributes {contract.base = "exact",
    contract.summary = "shift-only rescaling: ratios as powers of two, one rounding half up"} {

func.func private @round_real(%real: f64) -> i32 replaces {
  %result = fixed.convert %real {rounding = half_up} : f64 to i32
}

// The exponent of the power of two nearest to a positive number: that of the number, and one more
// if its mantissa, in [1, 2), is more than the square root of 2.
func.func private @nearest_exponent(%real: f64) -> i64 {
  %bits = arith.bitcast %real : f64 to i64
  %biased = arith.shrui %bits, 52 : i64
  %bias = arith.constant 1023 : i64
  %exponent = arith.subi %biased, %bias : i64
  %fraction_mask = arith.constant 4503599627370495 : i64
  %fraction = arith.andi %bits, %fraction_mask : i64
  %one_bits = arith.constant 4607182418800017408 : i64
  %mantissa_bits = arith.ori %fraction, %one_bits : i64
  %mantissa = arith.bitcast %mantissa_bits : i64 to f64
  %square = arith.mulf %mantissa, %mantissa : f64
  %above = arith.cmpf ogt, %square, 2.0 : f64
  %step = arith.extui %above : i1 to i64
  %result = arith.addi %exponent, %step : i64
}

func.func private @ratio_exponent(%b: f32, %input_scale: f32) -> i64 {
  %product = arith.mulf %input_scale, %b : f64
  %real = arith.divf %product, %output_scale : f64
  %result = func.call @nearest_exponent(%real) : (f64) -> i64
}

// A shift count in [0, 31]: 32-bit values are 0 or saturated beyond.
func.func private @shift_count(%places: i64) -> i64 {
  %not_negative = arith.maxsi %places, 0 : i64
  %result = arith.minsi %not_negative, 31 : i64
}

// x * 2^exponent: a right shift rounds half up, a left shift saturates.
func.func private @shift(%x: i32, %exponent: i64) -> i32 {
  %negated = arith.subi 0, %exponent : i64
  %left = func.call @shift_count(%exponent) : (i64) -> i64
  %down = arith.maxsi %negated, 0 : i64
  %right = arith.minsi %down, 33 : i64
  %up = arith.shli %x, %left : i64
  %shifted = func.call @round_shift(%up, %right) : (i64, i64) -> i64
  %result = fixed.saturate %shifted : i64 to i32
}

func.func private @round_shift(%x: i64, %places: i64) -> i64 {
  %result = fixed.shift_right %x, %places {rounding = half_up} : i64
}

func.func @conv2d(%accumulator: i32) -> i32 {
  %exponent = func.call @ratio_exponent(%weight_scale) : (f32) -> i64
  %shifted = func.call @shift(%accumulator, %exponent) : (i32, i64) -> i32
  %result = func.call @clamp_and_offset(%shifted) : (i32) -> i32
}

// floor(sum * 2^exponent / count + 1/2), for exponents in [-24, 24]
func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces {
  %exponent = func.call @ratio_exponent(1.0) : (f32) -> i64
  func.call @require_similar(%exponent) : (i64) -> ()
  %negated = arith.subi 0, %exponent : i64
  %up = func.call @shift_count(%exponent) : (i64) -> i64
  %down = func.call @shift_count(%negated) : (i64) -> i64
  %sum64 = arith.extsi @centred_sum : i32 to i64
  %numerator = arith.shli %sum64, %up : i64
  %denominator = arith.shli %count, %down : i64
  %twice = arith.shli %numerator, 1 : i64
  %nudged = arith.addi %twice, %denominator : i64
  %divisor = arith.shli %denominator, 1 : i64
  // toward zero, then down where that was up
  %quotient = arith.divsi %nudged, %divisor : i64
  %rest = arith.remsi %nudged, %divisor : i64
  %below = arith.cmpi slt, %rest, 0 : i64
  %step = arith.extsi %below : i1 to i64
  %floor = arith.addi %quotient, %step : i64
  %mean = fixed.saturate %floor : i64 to i32
  %result = func.call @clamp_and_offset(%mean) : (i32) -> i32
}

func.func private @require_similar(%exponent: i64) {
  %magnitude = math.absi %exponent : i64
  %legal = arith.cmpi sle, %magnitude, 24 : i64
  cf.assert %legal, "the ratio of the scales is not in [2^-24, 2^24]"
}

// The exponents of both operands' ratios, and by how many places the finer grid is below the
// output's.
func.func private @sum_shifts() -> (i64, i64, i64) {
  %lhs = func.call @ratio_exponent(1.0, %lhs_scale) : (f32, f32) -> i64
  %rhs = func.call @ratio_exponent(1.0, %rhs_scale) : (f32, f32) -> i64
  func.call @require_similar(%lhs) : (i64) -> ()
  func.call @require_similar(%rhs) : (i64) -> ()
  %finer = arith.minsi %lhs, %rhs : i64
  %negated = arith.subi 0, %finer : i64
  %places = arith.maxsi %negated, 0 : i64
  %lhs_shift = arith.addi %lhs, %places : i64
  %rhs_shift = arith.addi %rhs, %places : i64
  return %lhs_shift, %rhs_shift, %places : i64, i64, i64
}

func.func private @align(%stored: i32, %zero_point: i32, %shift: i64) -> i64 {
  %centred = arith.subi %stored, %zero_point : i32
  %result = arith.shli %centred, %shift : i64
}

func.func private @store_sum(%sum: i64, %places: i64) -> i32 {
  %shifted = func.call @round_shift(%sum, %places) : (i64, i64) -> i64
  %narrow = fixed.saturate %shifted : i64 to i32
  %result = func.call @clamp_and_offset(%narrow) : (i32) -> i32
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %lhs_shift, %rhs_shift, %places = func.call @sum_shifts() : () -> (i64, i64, i64)
  %a = func.call @align(%lhs, %lhs_zero_point, %lhs_shift) : (i32, i32, i64) -> i64
  %b = func.call @align(%rhs, %rhs_zero_point, %rhs_shift) : (i32, i32, i64) -> i64
  %sum = arith.addi %a, %b : i64
  %result = func.call @store_sum(%sum, %places) : (i64, i64) -> i32
}

func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %lhs_shift, %rhs_shift, %places = func.call @sum_shifts() : () -> (i64, i64, i64)
  %a = func.call @align(%lhs, %lhs_zero_point, %lhs_shift) : (i32, i32, i64) -> i64
  %b = func.call @align(%rhs, %rhs_zero_point, %rhs_shift) : (i32, i32, i64) -> i64
  %sum = arith.subi %a, %b : i64
  %result = func.call @store_sum(%sum, %places) : (i64, i64) -> i32
}

func.func @mul(%lhs: i32, %rhs: i32, %weight_scale: f32) -> i32 {
  %exponent = func.call @ratio_exponent(%weight_scale) : (f32) -> i64
  %shifted = func.call @shift(@centred_product, %exponent) : (i32, i64) -> i32
  %result = func.call @clamp_and_offset(%shifted) : (i32) -> i32
}

func.func private @rescale(%input: i32, %input_zero_point: i32) -> i32 replaces {
  %exponent = func.call @ratio_exponent(1.0) : (f32) -> i64
  %shifted = func.call @shift(@centred_input, %exponent) : (i32, i64) -> i32
  %result = func.call @clamp_and_offset(%shifted) : (i32) -> i32
}

func.func @leaky_relu(%input: i32) -> i32 {
  %legal = arith.cmpf ogt, %alpha, 0.0 : f32
  cf.assert %legal, "leaky_relu: alpha is not positive, it has no nearest power of two"
  %x = arith.subi %input, %input_zero_point : i32
  %exponent = func.call @ratio_exponent(1.0) : (f32) -> i64
  %alpha_exponent = func.call @ratio_exponent(%alpha) : (f32) -> i64
  %identity = func.call @shift(%x, %exponent) : (i32, i64) -> i32
  %sloped = func.call @shift(%x, %alpha_exponent) : (i32, i64) -> i32
  %shifted = func.call @by_sign(%x, %identity, %sloped) : (i32, i32, i32) -> i32
  %result = func.call @clamp_and_offset(%shifted) : (i32) -> i32
}

}
