// The arithmetic of GreenWaves' NNTool for GAP8 and GAP9 (gap_sdk a2302650): multipliers of 8
// bits, half up.
// # Formula
// - conv2d, depthwise_conv2d, linear: M 2^-n nearest to the ratio of the scales, M of 8 bits and
//   odd; `y = clamp(((acc M + 2^(n - 1)) >> n) + z)`
// # Operands
// The ratio in float64; M is rounded half up, too.
// # Not matched
// - Products have 32 bits and wrap; NORM_ROUND undefined is a floor; other operations than these
//   have the arithmetic of `pow2-shift`.
// # Checked against
// Source read: nothing ran on a GAP.
// # Sources
// - GreenWaves-Technologies/gap_sdk at a2302650, nntool/utils/scale.py, at_norm.py

module attributes {contract.family = "GreenWaves", contract.base = "requant-shift",
    contract.summary = "GAP9 NNTool: multipliers of 8 bits, half up"} {

// floor(f 2^8 + 1/2) for the fraction f in [1/2, 1): its trailing zeros make no difference.
func.func private @multiplier_and_places(%ratio: f64) -> (i64, i64) replaces {
  %mantissa, %exponent = func.call @split_real(%ratio) : (f64) -> (i64, i64)
  %multiplier = fixed.shift_right %mantissa, 45 {rounding = half_up} : i64
  %places = 1030 - %exponent
  cf.assert %places >= 0 and %places <= 54, "the ratio of the scales is not in [2^-47, 2^8)"
  return %multiplier, %places : i64, i64
}

}
