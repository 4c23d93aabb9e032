// The arithmetic of Glow's *CPU* back end (pytorch/glow, commit 05dd99b of May 2024), for int8
// tensors: ahead-of-time compiled code that has no float32 between the borders. Every ratio
// of scales becomes an integer of 8 or 9 bits and two shifts.
// # Formula
// S(x, r) = (((x >> pre) * scale) + (post > 0 ? 2^(post - 1) : 0)) >> post in int32 that
// wraps; >> is a floor; F(...) is one float32 rounding; m = F(input scale * weight scale).
// - conv2d, depthwise_conv2d, linear, matmul, mul: y = clamp(S(acc, F(m / output scale)) + z)
// - add, sub: y = clamp(S(l - zl, F(sl / s)) + S(r - zr, F(sr / s)) + z), - for sub
// - avg_pool2d that counts the padding, mean, adaptive_avg_pool2d to 1x1:
//   y = clamp(S(sum, F(F(si / s) / n)) + z)
// - avg_pool2d that doesn't: v = S(sum, F(si / s)), y = clamp(nearest(v / n) + z), ties away
//   from zero: two roundings
// - requantize, concat, clamp: y = clamp(S(q - zi, F(si / s)) + z)
// - leaky_relu: negative values by F(F(si * alpha) / s)
// - quantize, dequantize, resizing, tables: as in `glow-interpreter`, with S between a type
//   and a table's grid
// # Ties
// Half up, before the zero point is added. Where there is a first shift it has dropped bits
// without rounding, so that ties are lost: a ratio of 0.001 (pre 3, post 15, scale 262) takes
// 500 to 0, 1500 to 1 and 1504 to 2, but -499 to -1.
// # Operands
// quantizeScaleOffset32To8, all in float32, for a ratio r:
// - r = 2^e: scale 1 and post -e, or scale 2^e; exact
// - else r is doubled until it is at least 1/2, and until it is at least 256 or post = 15;
//   then, while it is below 255, at most post / 2 times more for pre; scale = nearest(r)
// So the scale has 8 or 9 significant bits, a relative error of at most 0.2 %, down to r = 2^-14,
// and at least 7 bits, 0.8 %, below.
// # Quirks
// - The floor of x >> pre pulls negative values down and loses ties of positive ones.
// - An addition rounds each operand to a step of the output before the sum: it differs from
//   the interpreter by one step for a fifth of all pairs of codes.
// - S wraps where x * r is 2^(31 - post) or more, 65,536 codes for most layers.
// # Not matched
// - A standalone clip (relu6, relu_n1_to_1) to a type other than the input's clips in steps of
//   the input, which this contract isn't told; it refuses it. relu is right.
// - Ratios below 2^-31, as channels without weights have them: Glow shifts by 32 places or
//   more, which C++ leaves undefined; here the result is 0, which the real one rounds to.
// - Quantizing a real number beyond 2^31 steps saturates; C++ leaves it undefined.
// - softmax: as in `glow-interpreter`.
// - elu, hard_swish, adaptive_avg_pool2d to more than 1x1: no int8 kernel, refused; so is
//   leaky_relu with a slope that isn't positive, for which Glow's derivation doesn't end.
// # Checked against
// libjit and quantizeScaleOffset32To8, compiled by g++ 12, recorded: 60,000 rescalings of 442
// scales, two convolutions (2,144 outputs), two additions over all pairs of codes (131,072),
// three poolings (1,936); the same formulas with 5 million more. Glow isn't installable:
// sub, mul, rescaling, leaky_relu, tables and resizing are from source.
// # Sources
// - lib/Quantization/Base/Base.cpp, quantizeScaleOffset32To8
// - lib/LLVMIRCodeGen/libjit/libjit_defs.h, libjit_scale, libjit_div_round_i32; libjit.cpp,
//   libjit_conv.cpp, libjit_matmul.cpp
// - lib/LLVMIRCodeGen/LLVMIRGen.cpp: the ratio of each instruction

module attributes {contract.base = "glow-interpreter",
    contract.summary = "Glow's CPU back end: 8-bit integer scales between two shifts, half up"} {

// quantizeScaleOffset32To8, its loops in closed form: for r = f * 2^e, f in [1, 2), the first
// ends at post = max(-1 - e, min(8 - e, 15), 0); the second doubles what is then
// f * 2^(e + post) until it is 255 or more. Below 2^-31 the scale is 0.
func.func private @integer_scale(%ratio: f32) -> (i32, i32, i32) {
  %bits = arith.bitcast %ratio : f32 to i32
  %bias = arith.constant 127 : i32
  %biased = arith.shrui %bits, 23 : i32
  %true_exponent = arith.subi %biased, %bias : i32
  %legal = arith.cmpi sle, %true_exponent, 30 : i32
  cf.assert %legal, "the ratio of the scales is 2^31 or more: it has no integer scale"
  %is_tiny = arith.cmpi slt, %true_exponent, -31 : i32
  %e = arith.maxsi %true_exponent, -31 : i32
  %fraction_mask = arith.constant 8388607 : i32
  %fraction = arith.andi %bits, %fraction_mask : i32

  %to_half = arith.subi -1, %e : i32
  %to_256 = arith.subi 8, %e : i32
  %at_most_15 = arith.minsi %to_256, 15 : i32
  %needed = arith.maxsi %to_half, %at_most_15 : i32
  %post = arith.maxsi %needed, 0 : i32
  %exponent = arith.addi %e, %post : i32
  // 255 = 1.9921875 * 2^7
  %fraction_of_255 = arith.constant 8323072 : i32
  %is_large = arith.cmpi sge, %fraction, %fraction_of_255 : i32
  %target = arith.select %is_large, 7, 8 : i32
  %to_255 = arith.subi %target, %exponent : i32
  %half_of_post = arith.shrui %post, 1 : i32
  %at_most_half = arith.minsi %to_255, %half_of_post : i32
  %pre = arith.maxsi %at_most_half, 0 : i32
  %final = arith.addi %exponent, %pre : i32
  %final_biased = arith.addi %final, %bias : i32
  %final_exponent = arith.shli %final_biased, 23 : i32
  %final_bits = arith.ori %final_exponent, %fraction : i32
  %final_ratio = arith.bitcast %final_bits : i32 to f32
  %scale = fixed.convert %final_ratio {rounding = half_away} : f32 to i32

  %is_power = arith.cmpi eq, %fraction, 0 : i32
  %up, %power_post = func.call @left_and_right(%e) : (i32) -> (i32, i32)
  %power_scale = arith.shli 1, %up : i32
  %chosen_pre = arith.select %is_power, 0, %pre : i32
  %chosen_post = arith.select %is_power, %power_post, %post : i32
  %any_scale = arith.select %is_power, %power_scale, %scale : i32
  %chosen_scale = arith.select %is_tiny, 0, %any_scale : i32
  return %chosen_pre, %chosen_post, %chosen_scale : i32, i32, i32
}

// libjit_scale
func.func private @scale(%x: i32, %ratio: f32) -> i32 {
  %pre, %post, %scale = func.call @integer_scale(%ratio) : (f32) -> (i32, i32, i32)
  %power = arith.shli 1, %post : i32
  %half = arith.shrui %power, 1 : i32
  %high = arith.shrsi %x, %pre : i32
  %product = arith.muli %high, %scale : i32
  %nudged = arith.addi %product, %half : i32
  %result = arith.shrsi %nudged, %post : i32
}

func.func private @scale_and_store(%x: i32, %ratio: f32) -> i32 {
  %scaled = func.call @scale(%x, %ratio) : (i32, f32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// The bias has the scale of the product: its own S is that of 1, which changes nothing.
// libjit_conv.cpp
// libjit_matmul.cpp, libjit_fc_i8
func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d, linear, matmul {
  %result = func.call @scale_and_store(%accumulator, @product_ratio) : (i32, f32) -> i32
}

// libjit_div_round_i32, for a positive divisor
func.func private @divide_round(%x: i32, %divisor: i32) -> i32 {
  %half = arith.shrui %divisor, 1 : i32
  %positive = arith.cmpi sgt, %x, 0 : i32
  %above = arith.addi %x, %half : i32
  %below = arith.subi %x, %half : i32
  %nudged = arith.select %positive, %above, %below : i32
  %result = arith.divsi %nudged, %divisor : i32
}

// libjit.cpp, libjit_avg_pool_i8
func.func @avg_pool2d(
    %accumulator: i32, %count: i32, %window_size: i32, %count_include_pad: i1) -> i32 {
  %scale_divisor = arith.select %count_include_pad, %window_size, 1 : i32
  %ratio = func.call @mean_ratio(%scale_divisor) : (i32) -> f32
  %scaled = func.call @scale(@centred_sum, %ratio) : (i32, f32) -> i32
  %some = arith.maxsi %count, 1 : i32
  %divisor = arith.select %count_include_pad, 1, %some : i32
  %mean = func.call @divide_round(%scaled, %divisor) : (i32, i32) -> i32
  %result = func.call @offset_and_clamp(%mean) : (i32) -> i32
}

func.func private @global_mean(%accumulator: i32) -> i32 {
  %result = func.call @scale_and_store(@centred_sum, @mean_ratio) : (i32, f32) -> i32
}

func.func @adaptive_avg_pool2d(%accumulator: i32) -> i32 {
  %global = arith.cmpi eq, %output_size, 1 : i32
  cf.assert %global, "adaptive_avg_pool2d: Glow's CPU back end has no int8 kernel for more than 1x1"
  %result = func.call @global_mean(%accumulator) : (i32) -> i32
}

func.func @mean(%accumulator: i32) -> i32 {
  cf.assert %over_image, "mean: Glow has an int8 kernel for rows and columns of an image only"
  %result = func.call @global_mean(%accumulator) : (i32) -> i32
}

func.func private @scale_operand(
    %stored: i32, %zero_point: i32, %scale: f32, %output_scale: f32) -> i32 {
  %centred = arith.subi %stored, %zero_point : i32
  %ratio = arith.divf %scale, %output_scale : f32
  %result = func.call @scale(%centred, %ratio) : (i32, f32) -> i32
}

// libjit.cpp, libjit_element_add_kernel_i8
func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @scale_operand(%lhs, %lhs_zero_point, %lhs_scale) : (i32, i32, f32) -> i32
  %b = func.call @scale_operand(%rhs, %rhs_zero_point, %rhs_scale) : (i32, i32, f32) -> i32
  %sum = arith.addi %a, %b : i32
  %result = func.call @offset_and_clamp(%sum) : (i32) -> i32
}

// libjit.cpp, libjit_element_sub_kernel_i8
func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @scale_operand(%lhs, %lhs_zero_point, %lhs_scale) : (i32, i32, f32) -> i32
  %b = func.call @scale_operand(%rhs, %rhs_zero_point, %rhs_scale) : (i32, i32, f32) -> i32
  %difference = arith.subi %a, %b : i32
  %result = func.call @offset_and_clamp(%difference) : (i32) -> i32
}

// libjit.cpp, libjit_element_mul_kernel_i8
func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %result = func.call @scale_and_store(@centred_product, @product_ratio) : (i32, f32) -> i32
}

// libjit.cpp, libjit_element_rescale_kernel_i8. Requantize, concat and the tables, which are
// inherited, rescale by it. A zero point of uint8 makes no difference here.
func.func private @rescale(
    %input: i32, %input_scale: f32, %input_zero_point: i32, %output_scale: f32,
    %output_zero_point: i32, %output_min: i32, %output_max: i32, %output_unsigned: i1)
    -> i32 replaces {
  %scaled = func.call @scale_operand(%input, %input_zero_point, %input_scale) : (i32, i32, f32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

// libjit.cpp, libjit_element_relu_i8 and libjit_element_clip_i8: they clip before they scale.
// For a bound at zero, or in one type, that is the same.
func.func @clamp(%input: i32) -> i32 {
  %storage_max = arith.addi 127, @lowering : i32
  %no_upper = arith.cmpi eq, %output_max, %storage_max : i32
  %from_zero = arith.cmpi eq, %output_min, %output_zero_point : i32
  %is_relu = arith.andi %no_upper, %from_zero : i1
  %legal = arith.ori @is_same_quantization, %is_relu : i1
  cf.assert %legal, "clamp: Glow's CPU back end clips in steps of the input, which this contract isn't told: give input and output the same type"
  %result = func.call @rescale(%input) : (i32) -> i32
}

// libjit.cpp, libjit_element_leaky_relu_i8
func.func @leaky_relu(%input: i32) -> i32 {
  %legal = arith.cmpf ogt, %alpha, 0.0 : f32
  cf.assert %legal, "leaky_relu: the slope isn't positive, it has no integer scale"
  %x = arith.subi %input, %input_zero_point : i32
  %ratio = arith.divf %input_scale, %output_scale : f32
  %slope_ratio = func.call @product_ratio(%input_scale, %alpha) : (f32, f32) -> f32
  %identity = func.call @scale(%x, %ratio) : (i32, f32) -> i32
  %sloped = func.call @scale(%x, %slope_ratio) : (i32, f32) -> i32
  %scaled = func.call @by_sign(%x, %identity, %sloped) : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

}
