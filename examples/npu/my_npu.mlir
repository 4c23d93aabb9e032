// The arithmetic of a small NPU that doesn't exist: a 24-bit accumulator, a 16-bit multiplier,
// a shifter that drops bits, and an 8-bit adder that saturates. It stores int8 only. What it
// can't run, the host does, as in `exact`.
//
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(sat8(((acc * m) >> k) + z))`
// - add: `l = sat8((((a - z_a) * m_a) >> k_a) + z)`, `r = sat8(((b - z_b) * m_b) >> k_b)`,
//   `y = clamp(sat8(l + r))`
//
// >> drops the bits below: it rounds down. The product has 40 bits and is exact.
//
// # Ties
// There are none: every fraction is dropped, toward negative infinity.
//
// # Operands
// The driver computes the ratio of the scales in float32, M = F(F(s_x s_w) / s_y) or
// F(s_a / s_y), and keeps the upper 15 bits of its mantissa: m in [2^14, 2^15) and
// m * 2^-k <= M. k must be in [0, 31], so M in [2^-17, 2^15).
//
// # Quirks
// - Results are half a step too low on average, and a little more as m is cut.
// - The right-hand side of an addition saturates at 8 bits before the sum.
// - Layers whose accumulator might need more than 24 bits are refused.
//
// # Checked against
// Python's integers, in this example's test. There is no such device.
//
// # Sources
// - its data sheet, if it had one

module attributes {
  contract.summary = "an NPU with a 16-bit multiplier and a truncating shift",
  contract.base = "exact"
} {

// ---------------------------------------------------------------- steps

// The driver: a positive ratio as a multiplier of 15 bits and a shift. A float32 is its
// 24-bit mantissa times 2^(exponent - 150); 9 of the 24 bits are cut.
func.func private @multiplier_and_shift(%ratio: f32) -> (i32, i32) {
  %bits = arith.bitcast %ratio : f32 to i32
  %fraction_mask = arith.constant 8388607 : i32
  %fraction = arith.andi %bits, %fraction_mask : i32
  %hidden_bit = arith.constant 8388608 : i32
  %mantissa = arith.ori %fraction, %hidden_bit : i32
  %c9 = arith.constant 9 : i32
  %multiplier = arith.shrui %mantissa, %c9 : i32
  %c23 = arith.constant 23 : i32
  %exponent = arith.shrui %bits, %c23 : i32
  %c141 = arith.constant 141 : i32
  %shift = arith.subi %c141, %exponent : i32
  %zero = arith.constant 0 : i32
  %c31 = arith.constant 31 : i32
  %not_small = arith.cmpi sge, %shift, %zero : i32
  %not_large = arith.cmpi sle, %shift, %c31 : i32
  %legal = arith.andi %not_small, %not_large : i1
  cf.assert %legal, "the ratio of the scales is not in [2^-17, 2^15), which the shifter of this NPU can't do"
  return %multiplier, %shift : i32, i32
}

// The multiplier, the shifter, and the zero point, which waits in the shifter's adder.
func.func private @multiply_and_shift(%x: i32, %ratio: f32, %output_zero_point: i32) -> i32 {
  %multiplier, %shift = func.call @multiplier_and_shift(%ratio) : (f32) -> (i32, i32)
  %x64 = arith.extsi %x : i32 to i64
  %multiplier64 = arith.extsi %multiplier : i32 to i64
  %product = arith.muli %x64, %multiplier64 : i64
  %shift64 = arith.extsi %shift : i32 to i64
  %shifted = arith.shrsi %product, %shift64 : i64
  %z64 = arith.extsi %output_zero_point : i32 to i64
  %sum = arith.addi %shifted, %z64 : i64
  %byte = fixed.saturate %sum : i64 to i8
  %result = arith.extsi %byte : i8 to i32
  return %result : i32
}

func.func private @clamp_to(%x: i32, %output_min: i32, %output_max: i32) -> i32 {
  %low = arith.maxsi %x, %output_min : i32
  %result = arith.minsi %low, %output_max : i32
  return %result : i32
}

func.func private @only_int8(%output_unsigned: i1) {
  %true = arith.constant true
  %signed = arith.xori %output_unsigned, %true : i1
  cf.assert %signed, "this NPU stores int8, not uint8"
  return
}

// ---------------------------------------------------------------- sums of products

// One function is three rules. It refuses what may overflow 24 bits. The range is that over all inputs, with these weights.
func.func @sum_of_products(
    %accumulator: i32, %accumulator_min: i64, %accumulator_max: i64, %input_scale: f32,
    %weight_scale: f32, %output_scale: f32) -> i32
    attributes {contract.rules = ["conv2d", "depthwise_conv2d", "linear"]} {
  %lower = arith.constant -8388608 : i64
  %upper = arith.constant 8388607 : i64
  %not_below = arith.cmpi sge, %accumulator_min, %lower : i64
  %not_above = arith.cmpi sle, %accumulator_max, %upper : i64
  %fits = arith.andi %not_below, %not_above : i1
  cf.assert %fits, "the accumulator may need more than the 24 bits that this NPU has"
  func.call @only_int8() : () -> ()
  %product = arith.mulf %input_scale, %weight_scale : f32
  %ratio = arith.divf %product, %output_scale : f32
  %stored = func.call @multiply_and_shift(%accumulator, %ratio) : (i32, f32) -> i32
  %result = func.call @clamp_to(%stored) : (i32) -> i32
  return %result : i32
}

// ---------------------------------------------------------------- elementwise

// Both operands in steps of the output, the left one with the zero point; then one 8-bit
// addition that saturates.
func.func @add(
    %lhs: i32, %rhs: i32, %lhs_scale: f32, %lhs_zero_point: i32, %rhs_scale: f32,
    %rhs_zero_point: i32, %output_scale: f32) -> i32 {
  func.call @only_int8() : () -> ()
  %a = arith.subi %lhs, %lhs_zero_point : i32
  %b = arith.subi %rhs, %rhs_zero_point : i32
  %left_ratio = arith.divf %lhs_scale, %output_scale : f32
  %right_ratio = arith.divf %rhs_scale, %output_scale : f32
  %zero = arith.constant 0 : i32
  %left = func.call @multiply_and_shift(%a, %left_ratio) : (i32, f32) -> i32
  %right = func.call @multiply_and_shift(%b, %right_ratio, %zero) : (i32, f32, i32) -> i32
  %sum = arith.addi %left, %right : i32
  %byte = fixed.saturate %sum : i32 to i8
  %stored = arith.extsi %byte : i8 to i32
  %result = func.call @clamp_to(%stored) : (i32) -> i32
  return %result : i32
}

}
