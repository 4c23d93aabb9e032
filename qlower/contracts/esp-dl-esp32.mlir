// The arithmetic of ESP-DL on the ESP32 (esp-dl 12c0616d): powers of two, shifts that round half
// up.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp((acc + 2^(n - 1)) >> n)`, n of the exponents
// - avg_pool2d, mean: `y = clamp(floor(F(F(sum F(2^e / count)) + 0.5)))`
// # Ties
// Half up.
// # Operands
// Exponents: a ratio of scales that isn't a power of two is refused, and so are zero points.
// # Quirks
// - The ESP32-P4 rounds to even instead: `esp-dl-p4`. The ESP32-S3 saturates: `esp-dl-s3`.
// # Not matched
// - Operations that aren't named here have the arithmetic of `pow2-shift`, read in no source.
// # Checked against
// Compiled source: `shift_and_round` without CONFIG_ROUND_HALF_EVEN_ENABLED, by
// `tests/contracts/test_makers_code.py`: 201,960 sums, 102,960 of them at or next to
// a tie, no mismatch. The rest from source. Nothing ran on a chip.
// # Sources
// - espressif/esp-dl at 12c0616d, esp-dl/dl/tool/src/dl_tool.cpp, dl_base_avg_pool2d.cpp

module attributes {contract.family = "Espressif", contract.base = "requant-shift",
    contract.summary = "ESP-DL on ESP32: powers of two, half up"} {

func.func private @require_multiplier(%multiplier: i64) replaces {
  // the mantissa of 1
  %power = arith.cmpi eq, %multiplier, 1073741824 : i64
  cf.assert %power, "the ratio of the scales is no power of two, which this device needs"
  %points = arith.ori %input_zero_point, %output_zero_point : i32
  %none = arith.cmpi eq, %points, 0 : i32
  cf.assert %none, "this device has no zero points"
}

// tool::round of a float
func.func private @round_mean(%steps: f32) -> i32 {
  %moved = arith.addf %steps, 0.5 : f32
  %result = fixed.convert %moved {rounding = floor} : f32 to i32
}

func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces
    serves avg_pool2d, adaptive_avg_pool2d, mean {
  %ratio = arith.divf %input_scale, %output_scale : f32
  %n = arith.sitofp %count : i32 to f32
  %scale = arith.divf %ratio, %n : f32
  %sum = arith.sitofp @centred_sum : i32 to f32
  %steps = arith.mulf %sum, %scale : f32
  %rounded = func.call @round_mean(%steps) : (f32) -> i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

}
