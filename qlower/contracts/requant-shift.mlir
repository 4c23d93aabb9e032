// Rescaling by a multiplier and one right shift, `(x M) >> n`, as most integer accelerators do
// it: those of a name here change its arguments, which are the steps `round_shift` and
// `require_multiplier`.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(((x M) >> n) + z)`, where M 2^-n is the ratio of
//   the scales, x w / y, exactly
// - add, sub, mul, avg_pool2d, mean and the rest: as `pow2-shift`, with this rounding
// # Ties
// By `round_shift`: half up here, before the zero point is added.
// # Operands
// Multipliers and shifts that come with a model are said by its scales: those of input and
// output 1, and that of the weights M 2^-n.
// # Quirks
// - A ratio that isn't an integer of 31 bits times a power of two is refused, and so is one of
//   2^31 or more, or below 2^-32.
// - In ONNX files in QDQ form an activation clips the codes of the layer before it (`--qdq device`),
//   and layers that stay real are refused.
// # Checked against
// No system: it is what others are made of. Contracts on it that name a function as compiled source
// were compared with that in 201,960 sums, 102,960 of them at or next to a tie, by
// `tests/contracts/test_makers_code.py`.
// # Sources
// - arithmetic

module attributes {contract.base = "pow2-shift", contract.qdq = "device",
    contract.summary = "a multiplier and one rounding shift: the frame of integer accelerators"} {

func.func private @require_multiplier(%multiplier: i64) { func.return }

// The ratio as M 2^-places, both exactly, with M odd or as it comes.
func.func private @multiplier_and_places(%ratio: f64) -> (i64, i64) {
  %mantissa, %exponent = func.call @split_real(%ratio) : (f64) -> (i64, i64)
  // of 53 bits the last 22 are none
  %rest = arith.andi %mantissa, 4194303 : i64
  %exact = arith.cmpi eq, %rest, 0 : i64
  cf.assert %exact, "the ratio of the scales is no integer of 31 bits times a power of two"
  %multiplier = arith.shrui %mantissa, 22 : i64
  %places = arith.subi 1053, %exponent : i64
  %not_left = arith.cmpi sge, %places, 0 : i64
  %not_far = arith.cmpi sle, %places, 62 : i64
  %legal = arith.andi %not_left, %not_far : i1
  cf.assert %legal, "the ratio of the scales is not in [2^-32, 2^31)"
  return %multiplier, %places : i64, i64
}

func.func private @ratio_of_scales() -> f64 {
  %product = arith.mulf %input_scale, %weight_scale : f64
  %result = arith.divf %product, %output_scale : f64
}

func.func @conv2d(%accumulator: i32) -> i32 {
  %multiplier, %places = func.call @multiplier_and_places(@ratio_of_scales) : (f64) -> (i64, i64)
  func.call @require_multiplier(%multiplier) : (i64) -> ()
  %product = arith.muli %accumulator, %multiplier : i64
  %shifted = func.call @round_shift(%product, %places) : (i64, i64) -> i64
  %rounded = fixed.saturate %shifted : i64 to i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

}
