// The arithmetic of XNNPACK on ARM where it isn't that on x86: convolutions, linear layers and
// products of uint8, and mul of both signednesses, multiply by the 24-bit mantissa of the
// float32 scale and round once, half up. int8 convolutions are float32 there too. What isn't
// here is as in `tflite-xnnpack`, with the built-in kernels of x86 for what the delegate
// doesn't take.
// # Formula
// - conv2d, depthwise_conv2d, linear, matmul of uint8, and mul: `y = clamp(sat32((acc * m +
//   2^(k - 1)) >> k) + z)` in 64 bits, where m * 2^-k is exactly the float32 ratio F(F(s_x
//   s_w) / s_y)
// # Ties
// Half up, before the zero point is added.
// # Operands
// The scales combine in float32; the multiplier is the 24-bit mantissa of the ratio, which
// loses nothing. Ratios outside [2^-32, 256) are refused, as XNNPACK does.
// # Quirks
// - One XNNPACK has two arithmetics on one chip: uint8 layers round half up, int8 ones to
//   even.
// - Unlike float32 there is no rounding of the product: -925 * 0.1 gives -93, fp32 gives -92.
// # Checked against
// XNNPACK's requantization function, compiled (scalar, SSE4.1, NEON under emulation) and
// recorded: 60,000 rescalings, no mismatch. Which kernel takes it is from source: nothing here
// ran on ARM hardware.
// # Sources
// Files of google/XNNPACK:
// - src/xnnpack/requantization.h, xnn_qu8_requantize_rndnu
// - src/configs/gemm-config.c (rndnu for qu8, fp32 for qs8), binary-elementwise-config.c

module attributes {contract.base = "tflite-xnnpack",
    contract.summary = "XNNPACK on ARM for uint8: 24-bit multiplier, one rounding half up"} {

// src/xnnpack/requantization.h, xnn_qu8_requantize_rndnu: scale = mantissa * 2^-shift.
// The product is exact in 64 bits. NEON kernels saturate what doesn't fit 32 bits.
func.func private @requantize_rndnu(%x: i32, %scale: f32) -> i32 {
  %bits = arith.bitcast %scale : f32 to i32
  %fraction_mask = arith.constant 8388607 : i32
  %fraction = arith.andi %bits, %fraction_mask : i32
  %hidden_bit = arith.constant 8388608 : i32
  %mantissa = arith.ori %fraction, %hidden_bit : i32
  %biased = arith.shrui %bits, 23 : i32
  %shift = arith.subi 150, %biased : i32
  %not_small = arith.cmpi sge, %shift, 16 : i32
  %not_large = arith.cmpi sle, %shift, 55 : i32
  %legal = arith.andi %not_small, %not_large : i1
  cf.assert %legal, "the ratio of the scales is not in [2^-32, 256), which XNNPACK refuses"
  %product = arith.muli %x, %mantissa : i64
  %rounded = fixed.shift_right %product, %shift {rounding = half_up} : i64
  %scaled = fixed.saturate %rounded : i64 to i32
  %result = func.call @clamp_and_offset(%scaled) : (i32) -> i32
}

// src/configs/gemm-config.c: rndnu for qu8, fp32 for qs8.
func.func private @contraction_on_arm(%accumulator: i32) -> i32 serves depthwise_conv2d {
  // a ratio that isn't used is no reason to refuse
  %used_scale = arith.select %input_unsigned, @product_ratio, 1.0 : f32
  %unsigned_result = func.call @requantize_rndnu(%accumulator, %used_scale) : (i32, f32) -> i32
  %result = arith.select %input_unsigned, %unsigned_result, @contraction : i32
}

func.func @conv2d(%accumulator: i32) -> i32 {
  %otherwise = func.call @"tflite-xnnpack.conv2d"(%accumulator) : (i32) -> i32
  %result = arith.select %transposed, %otherwise, @contraction_on_arm : i32
}

func.func @linear(%accumulator: i32) -> i32 {
  %signed_result = func.call @"tflite-xnnpack.linear"(%accumulator) : (i32) -> i32
  %result = arith.select %input_unsigned, @contraction_on_arm, %signed_result : i32
}

// src/configs/binary-elementwise-config.c: rndnu for qs8 and qu8.
// Of smaller ratios than 2^-16, which the delegate declines, the result isn't used.
func.func private @requantize_product(%product: i32, %scale: f32) -> i32 replaces {
  %least = arith.constant 1.52587890625e-05 : f32
  %used_scale = arith.maximumf %scale, %least : f32
  %result = func.call @requantize_rndnu(%product, %used_scale) : (i32, f32) -> i32
}

}
