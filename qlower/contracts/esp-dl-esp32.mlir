// The arithmetic of ESP-DL on the ESP32 (esp-dl 12c0616d): powers of two, shifts that round half
// up. The ESP32-P4 rounds to even: `esp-dl-p4`. The ESP32-S3 saturates: `esp-dl-s3`.
// # Formula
// - conv2d, depthwise_conv2d, linear, matmul: `y = clamp((acc + 2^(n - 1)) >> n)`, n of the
//   exponents; of int16 too, with weights of 16 bits, whose sums have 64 bits
// - add of int16: `y = clamp(a + b)`
// - avg_pool2d, mean: `y = clamp(floor(F(F(sum F(2^e / count)) + 0.5)))`
// # Ties
// Half up.
// # Operands
// Exponents: a ratio of scales that isn't a power of two is refused, and so are zero points, and
// one of 2^16 or more for int16. Additions of int16 have one exponent.
// # Not matched
// - Other operations: as `pow2-shift`, read in no source; of int16 they are refused.
// # Checked against
// Compiled source, `shift_and_round`, as `requant-shift` says, and 200,000 sums of 64 bits for
// int16: no mismatch. The rest from source; nothing ran on a chip. esp-ppq's simulator sums int16
// in float32, which differs next to ties (`tests/frontends/test_espdl.py`).
// # Sources
// - espressif/esp-dl at 12c0616d, esp-dl/dl/tool/src/dl_tool.cpp, dl_base_avg_pool2d.cpp,
//   dl_base_add.cpp, dl_base_conv2d.cpp

module attributes {contract.family = "Espressif", contract.base = "requant-shift", contract.words,
    contract.summary = "ESP-DL on ESP32: powers of two, half up"} {

func.func private @require_multiplier(%multiplier: i64) replaces {
  // the mantissa of 1
  cf.assert %multiplier == 1073741824, "the ratio of the scales is no power of two, which this device needs"
  func.call @require_no_zero_points() : () -> ()
}

func.func private @shift_word(%x: i64, %exponent: i64) -> i64 {
  %left = max(%exponent, 0)
  %moved = arith.shli %x, %left : i64
  %result = func.call @round_shift(%moved, %left - %exponent) : (i64, i64) -> i64
}

// Sums of int16, which are too long to be multiplied: the shift alone.
func.func private @words(%accumulator: i64) -> i32
    serves conv2d_i16, depthwise_conv2d_i16, linear_i16, matmul_i16 {
  %multiplier, %down = func.call @multiplier_and_places(@ratio_of_scales) : (f64) -> (i64, i64)
  func.call @require_multiplier(%multiplier) : (i64) -> ()
  %exponent = 30 - %down
  cf.assert %exponent <= 15, "the ratio of the scales is 2^16 or more"
  %rounded = fixed.saturate @shift_word(%accumulator, %exponent) : i64 to i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

func.func private @bound_of_words(%real: f32) -> i32 serves bound_i16 { %result = @bound(%real) : i32 }

func.func private @add_words(%lhs: i32, %rhs: i32, %lhs_scale: f32, %rhs_scale: f32) -> i32
    serves add_i16 {
  %same = %lhs_scale == %output_scale and %rhs_scale == %output_scale
  cf.assert %same, "an addition of int16 with different exponents"
  %result = func.call @clamp_and_offset(%lhs + %rhs) : (i32) -> i32
}

// Of devices with vector units: whether a channel is one of the last, which fill no vector.
func.func private @is_alone(%lanes: i32) -> i1 {
  %result = @is_in_tail(%channel, %channel_count, %lanes) and %groups == 1
}

// A lane or register of 40 bits.
func.func private @in_40_bits(%accumulator: i64) -> i64 {
  %result = min(max(%accumulator, -549755813888), 549755813887)
}

// The sum of int16 of a channel alone: 8 products of a pixel at a time, or what is left of it.
func.func private @word_alone(
    %accumulator: i64, %input_channel: i32, %input_channels: i32) -> i64 {
  %next = %input_channel + 1
  %cuts = %next / 8 * 8 == %next or %next == %input_channels
  %result = @in_40_bits(%accumulator) if %cuts else %accumulator
}

// tool::round of a float
func.func private @round_mean(%steps: f32) -> i32 { %result = floor(%steps + 0.5) }

func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces
    serves avg_pool2d, adaptive_avg_pool2d, mean, avg_pool2d_i16, mean_i16 {
  %scale = %input_scale / %output_scale / f32(%count) : f32
  %sum = arith.sitofp @centred_sum : i32 to f32
  %result = func.call @clamp_and_offset(@round_mean(%sum * %scale)) : (i32) -> i32
}

}
