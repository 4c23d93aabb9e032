// The arithmetic of PyTorch with the quantized engine "fbgemm" on an x86 CPU with AVX-512
// VNNI (PyTorch 2.13): convolutions and linear layers of FBGEMM, the other operations of
// ATen's own AVX-512 kernels. Tensors are channels_last and one thread runs, which matters
// to ATen: its vector bodies and scalar tails differ.
// # Formula
// F(...) is one float32 rounding, rne rounds half to even, s = F(s_x s_w), m = F(s / s_y).
// - conv2d, depthwise_conv2d, linear with one weight scale: `y = rne(F(fma(b, F(1 / s), acc) m)) + z`
// - with a scale for each channel: `y = rne(F(F(acc + F(b / s)) m)) + z`
// - add: `y = rne(F(F(fma(a, s_a, -F(z_a s_a)) + fma(b, s_b, -F(z_b s_b))) F(1 / s_y))) + z`; the last elements, fewer than 64: `rne(F(F(F((a - z_a) s_a) + F((b - z_b) s_b)) F(1 / s_y)) + z)`
// - mul: `y = rne(F((a - z_a)(b - z_b) F(F(s_a s_b) F(1 / s_y)))) + z`
// - avg_pool2d, D = sum(x - z): `y = rne(F(D F(1 / n))) + z`; the last channels, fewer than 16: `rne(F(F(D F(1 / n)) + z))`
// - adaptive_avg_pool2d, mean over rows and columns: `y = rne(fma(D, F(1 / n), z))`; the last channels, fewer than 8: `rne(F(F(D F(1 / n)) + z))`
// - quantize: `y = rne(fma(x, F(1 / s_y), z))`; a bound r of an activation: `rne(F(F(r F(1 / s_y)) + z))`
// - tanh, hard_swish, elu, leaky_relu: f of `fma(s_x, x, -F(z_x s_x))`, sigmoid: of `F((x - z_x) s_x)`,
//   then `y = rne(F(f F(1 / s_y))) + z`
// - hybrid_linear, whose input is quantized by its range to 7 bits: `x = rne(fma(x, F(1 / s_x), z_x))`,
//   `y = fma(acc, F(s_x s_w), b)`
// - prelu: `y = rne(F(acc F(F(s_x s_w) F(1 / s_y)))) + z`, acc of integers, one of which is the slope 1
// - concat of differing scales: `y = rne(fma(F((x - z_x) s_x), F(1 / s_y), z))`
// - real_average_pool: `F(sum / n)`, one element after the other; real_global_average: cascades of sums
//   of 16, of rows in eight lanes, of columns alone
// - real_linear: chains of FMAs from 0, of up to 384 products, are added to the bias
// - real_group_norm: `fma(x, f, fma(-f, m, bias))`, f = F(r scale)
// - real_softmax, of rows: `F(e F(1 / sum))`, e = exp(F(x - max)) by SLEEF, sums in sixteen lanes, of
//   fewer elements in turn
// - real_layer_norm: `F(F(F(F(x r) + F(-m r)) scale) + bias)`, r = F(1 / d)
// # Ties
// Half to even. The zero point is added after the rounding in convolutions, linear layers,
// mul and the bodies of add and avg_pool2d, inside it elsewhere: there the parity of the zero
// point decides where a tie goes.
// # Operands
// Scales combine in float32. The bias stays a real number and is never quantized: one
// weight scale multiplies it by the reciprocal of s in an FMA (as GCC contracts it), many
// divide by it. An int32 bias of a model is taken as `F(b s)`.
// # Quirks
// - Depthwise convolutions of 8 * k channels, a square kernel of 3 or 5, symmetric padding of
//   half of it, strides of 1 or 2, equal or not, and no dilation run an AVX2 kernel even where there is VNNI: sums
//   of two products saturate at 16 bits. The same weights without padding don't, nor do
//   transposed convolutions.
// - hard_swish, elu and leaky_relu of 2^31 output steps and more: the vectors take 2147483520, and
//   adding the zero point wraps.
// - int8 activations, which FBGEMM doesn't take, run as the uint8 codes 128 above.
// - A sum or product of 2^31 output steps and more would become -2^31 in `cvtps2dq`, so the smallest
//   code. Layers that can reach that are refused: by the largest accumulator of a channel, its bias
//   counted; add where the scales together are 2^23 times the output's, mul where their product is 2^15
//   times. So are layers whose ratio s_x s_w / s_y isn't in [2^-126, 2^8).
// # Not matched
// - torch.mean, which PyTorch takes in float32, in an order of its own: a mean is AdaptiveAvgPool2d(1)
//   here, as ONNX's GlobalAveragePool is; those over other dimensions than rows and columns, and
//   softmax, are refused.
// - A softmax of real numbers along another dimension than the last: `F(e / sum)` in PyTorch, with
//   exponentials of the C library where columns fill no vector.
// - The last elements of sigmoid, tanh, hard_swish, elu and leaky_relu, fewer than 64, which are
//   rounded with the zero point inside: exact ties can differ by 1. A table doesn't know places.
// - 3x3 convolutions, padded by 1, of groups of 4 input and 4 output channels, more than 4 groups
//   and no multiple of 4: there FBGEMM writes beyond its buffers. Here they are computed.
// - An add that broadcasts, or that several threads share: bodies and tails are elsewhere.
// # Checked against
// PyTorch 2.13.0: 57,152 recorded outputs of layers and 24,000 of other operations, all equal;
// live, over a million outputs of random layers of each operation, all equal; 12,941 of softmax.
// # Sources
// - pytorch/FBGEMM, include/fbgemm/OutputProcessing-inl.h, ReQuantizeOutput; src/QuantUtilsAvx2.cc, requantizeOutputProcessingAvx2
// - pytorch/FBGEMM, src/FbgemmConv.cc, takeDepthWiseFastPath
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/qconv.cpp, qlinear.cpp
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp

module attributes {contract.family = "PyTorch", contract.base = "_steps",
    contract.summary = "PyTorch, engine fbgemm (VNNI): float32, real bias, half to even"} {

// ---------------------------------------------------------------- steps

func.func private @reciprocal(%x: f32) -> f32 {
  %result = arith.divf 1.0, %x : f32
  %largest = arith.constant 3.40282347E+38 : f32
  %finite = arith.cmpf ole, %result, %largest : f32
  cf.assert %finite, "a scale is below 2^-128: its reciprocal is no float32 number"
  return %result : f32
}

// Vec256/Vec512 of quantized integers, dequantize: one FMA.
func.func private @dequantize_fused(
    %stored: i32, %input_scale: f32, %input_zero_point: i32) -> f32 {
  %negated = arith.subi 0, %input_zero_point : i32
  %offset = arith.sitofp %negated : i32 to f32
  %scaled_offset = arith.mulf %input_scale, %offset : f32
  %real = arith.sitofp %stored : i32 to f32
  %result = math.fma %input_scale, %real, %scaled_offset : f32
}

// fbgemm::QuantizeAvx2 and quantize_val, legacy order: the zero point inside an FMA.
func.func private @quantize_fused(%real: f32) -> i32 {
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = math.fma %real, %inverse, %z : f32
  %result = func.call @store_with_zero_point_inside(%moved) : (f32) -> i32
}

// The channels of a block of qavg_pool2d_nhwc_kernel: the float32 lanes of AVX-512.
func.func private @pool_lanes() -> i32 { %result = arith.constant 16 : i32 }

// Whether a position lies in the whole vectors at the beginning of `count` elements.
func.func private @is_in_body(%position: i32, %count: i32, %lanes: i32) -> i1 {
  %tail = arith.remsi %count, %lanes : i32
  %end = arith.subi %count, %tail : i32
  %result = arith.cmpi slt, %position, %end : i32
}

func.func private @require_equal_quantization() {
  cf.assert @is_same_quantization, "input and output differ in scale or zero point, PyTorch gives the output those of the input"
}

// ---------------------------------------------------------------- convolution, linear

// `cvtps2dq` makes -2^31 of a number that int32 can't hold. What the three float32 roundings
// before it may add is less than 1000.
func.func private @require_convertible(%largest: f64, %multiplier: f32) {
  %steps = arith.mulf %largest, %multiplier : f64
  %legal = arith.cmpf olt, %steps, 2147482648.0 : f64
  cf.assert %legal, "a sum may be 2^31 steps of the output or more, which PyTorch turns into the smallest code"
}

func.func private @largest_sum() -> f64 {
  %sum = arith.sitofp %accumulator_max : i64 to f64
  %step = arith.mulf %input_scale, %weight_scale : f32
  %bias_steps = arith.divf %real_bias, %step : f64
  %result = arith.addf %sum, %bias_steps : f64
}

// ReQuantizeOutput with a float bias.
func.func private @contraction(%accumulator: i32, %real_bias: f32) -> i32
    serves conv2d, depthwise_conv2d, linear attributes {contract.product = ["exact", "saturating_pairs_flat"]} {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %multiplier = arith.divf %step, %output_scale : f32
  func.call @require_ratio(%multiplier) : (f32) -> ()
  func.call @require_convertible(@largest_sum, %multiplier) : (f64, f32) -> ()
  %sum = arith.sitofp %accumulator : i32 to f32
  %inverse = func.call @reciprocal(%step) : (f32) -> f32
  %fused = math.fma %real_bias, %inverse, %sum : f32
  %bias_steps = arith.divf %real_bias, %step : f32
  %divided = arith.addf %sum, %bias_steps : f32
  %biased = arith.select %per_channel, %divided, %fused : f32
  %scaled = arith.mulf %biased, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

// What a bias of integers means as a real number.
func.func @dequantize_bias() -> f32 { %result = func.call @bias_in_float32() : () -> f32 }

// src/FbgemmConv.cc, takeDepthWiseFastPath.
func.func private @is_fast_depthwise() -> i1 {
  %twice = arith.muli %input_channels, 2 : i32
  %once = arith.cmpi eq, %channel_count, %input_channels : i32
  %doubled = arith.cmpi eq, %channel_count, %twice : i32
  %multiplier = arith.ori %once, %doubled : i1
  %tail = arith.remsi %input_channels, 8 : i32
  %whole = arith.cmpi eq, %tail, 0 : i32
  %square = arith.cmpi eq, %kernel_height, %kernel_width : i32
  %three = arith.cmpi eq, %kernel_height, 3 : i32
  %five = arith.cmpi eq, %kernel_height, 5 : i32
  %size = arith.ori %three, %five : i1
  %small_stride_height = arith.cmpi sle, %stride_height, 2 : i32
  %small_stride_width = arith.cmpi sle, %stride_width, 2 : i32
  %dense_height = arith.cmpi eq, %dilation_height, 1 : i32
  %dense_width = arith.cmpi eq, %dilation_width, 1 : i32
  %half = arith.divsi %kernel_height, 2 : i32
  %top = arith.cmpi eq, %pad_top, %half : i32
  %bottom = arith.cmpi eq, %pad_bottom, %half : i32
  %left = arith.cmpi eq, %pad_left, %half : i32
  %right = arith.cmpi eq, %pad_right, %half : i32
  %a = arith.andi %multiplier, %whole : i1
  %b = arith.andi %a, %square : i1
  %c = arith.andi %b, %size : i1
  %d = arith.andi %c, %small_stride_height : i1
  %e = arith.andi %d, %small_stride_width : i1
  %f = arith.andi %e, %dense_height : i1
  %g = arith.andi %f, %dense_width : i1
  %h = arith.andi %g, %top : i1
  %i = arith.andi %h, %bottom : i1
  %j = arith.andi %i, %left : i1
  %k = arith.andi %j, %right : i1
  %straight = arith.xori %transposed, true : i1
  %result = arith.andi %k, %straight : i1
}

// Grouped convolutions of one channel a group are depthwise.
func.func @conv2d_product() -> i32 serves conv2d_product, depthwise_conv2d_product {
  %depthwise = arith.cmpi eq, %groups, %input_channels : i32
  %saturates = arith.andi %depthwise, @is_fast_depthwise : i1
  %result = arith.extui %saturates : i1 to i32
}

// With VNNI the products of a linear layer are exact.
func.func @linear_product() -> i32 { %result = arith.constant 0 : i32 }

// ---------------------------------------------------------------- dynamic quantization

// quant_utils.h, ChooseQuantizationParams, of 7 bits (reduce_range): codes of uint8 less 128.
// Scales below 6.1e-5 become that, with ends in proportion; those without a reciprocal 0.1.
func.func @hybrid_range(%lowest: f32, %highest: f32) -> (f32, f32, i32) {
  %last = arith.constant 127.0 : f64
  %found:3 = func.call @range_of_codes(%lowest, %highest, %last) : (f32, f32, f64) -> (f32, f32, i32)
  return %found#0, %found#1, %found#2 : f32, f32, i32
}

func.func private @range_of_codes(%lowest: f32, %highest: f32, %last: f64) -> (f32, f32, i32) {
  %distance = arith.subf %highest, %lowest : f64
  %step = arith.divf %distance, %last : f64
  %step_f32 = arith.truncf %step : f64 to f32
  %step_inverse = arith.divf 1.0, %step_f32 : f32
  %has_inverse = arith.cmpf ole, %step_inverse, 3.40282347E+38 : f32
  %tenth = arith.constant 0.1 : f64
  %usable = arith.select %has_inverse, %step, %tenth : f64
  %usable_f32 = arith.truncf %usable : f64 to f32
  %least_f32 = arith.constant 6.1e-5 : f32
  %least = arith.extf %least_f32 : f32 to f64
  %is_small = arith.cmpf olt, %usable, %least : f64
  %wide = arith.select %is_small, %least, %usable : f64
  %last_f32 = arith.truncf %last : f64 to f32
  %end = arith.mulf %least_f32, %last_f32 : f32
  %amplifier = arith.divf %least_f32, %usable_f32 : f32
  %far_above = arith.mulf %highest, %amplifier : f32
  %far_below = arith.mulf %lowest, %amplifier : f32
  %negated_end = arith.negf %end : f32
  %none_below = arith.cmpf oeq, %lowest, 0.0 : f32
  %none_above = arith.cmpf oeq, %highest, 0.0 : f32
  %above_some = arith.select %none_below, %end, %far_above : f32
  %above_or_none = arith.select %none_above, %highest, %above_some : f32
  %below_some = arith.select %none_above, %negated_end, %far_below : f32
  %below_or_none = arith.select %none_below, %lowest, %below_some : f32
  %above = arith.select %is_small, %above_or_none, %highest : f32
  %below = arith.select %is_small, %below_or_none, %lowest : f32
  %codes_below = arith.divf %below, %wide : f64
  %codes_above = arith.divf %above, %wide : f64
  %from_below = arith.subf 0.0, %codes_below : f64
  %from_above = arith.subf %last, %codes_above : f64
  %size_below = math.absf %codes_below : f64
  %size_above = math.absf %codes_above : f64
  %error_below = arith.subf 0.0, %size_below : f64
  %error_above = arith.subf %last, %size_above : f64
  %is_from_below = arith.cmpf olt, %error_below, %error_above : f64
  %real_point = arith.select %is_from_below, %from_below, %from_above : f64
  %at_least = arith.maximumf %real_point, 0.0 : f64
  %within = arith.minimumf %at_least, %last : f64
  %unsigned = fixed.convert %within {rounding = half_even} : f64 to i32
  %zero_point = arith.subi %unsigned, 128 : i32
  %scale = arith.truncf %wide : f64 to f32
  %factor = arith.divf 1.0, %scale : f32
  return %scale, %factor, %zero_point : f32, f32, i32
}

// fbgemm::QuantizeAvx2: the zero point inside an FMA.
func.func @hybrid_code(%input: f32, %input_factor: f32, %input_zero_point: i32) -> i32 {
  %unsigned_point = arith.addi %input_zero_point, 128 : i32
  %point = arith.sitofp %unsigned_point : i32 to f32
  %moved = math.fma %input, %input_factor, %point : f32
  %code = fixed.convert %moved {rounding = half_even} : f32 to i32
  %at_least = arith.maxsi %code, 0 : i32
  %within = arith.minsi %at_least, 255 : i32
  %result = arith.subi %within, 128 : i32
}

// fbgemm::ReQuantizeForFloat: the whole input by one range. Of 7 bits no pair of products saturates.
func.func private @scale_dynamic(%accumulator: i32, %input_scale: f32, %real_bias: f32) -> f32
    serves hybrid_linear attributes {contract.product = "tensor_range"} {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %real = math.fma %sum, %step, %real_bias : f32
  %result = func.call @bounded(%real) : (f32) -> f32
}

// A RELU of the layer.
func.func private @bounded(%real: f32, %activation_min: f32) -> f32 {
  %result = arith.maximumf %real, %activation_min : f32
}

// ---------------------------------------------------------------- pooling

// qavg_pool2d_nhwc_kernel: blocks of channels, then one by one. PyTorch gives the output the
// input's scale and zero point.
func.func @avg_pool2d(
    %accumulator: i32, %count: i32, %window_size: i32, %count_include_pad: i1) -> i32 {
  func.call @require_equal_quantization() : () -> ()
  %divisor = arith.select %count_include_pad, %window_size, %count : i32
  %mean = func.call @mean_of(%accumulator, %divisor) : (i32, i32) -> f32
  %body = func.call @store_half_even(%mean) : (f32) -> i32
  %tail = func.call @store_sum(%mean) : (f32) -> i32
  %in_body = func.call @is_in_body(%channel, %channel_count, @pool_lanes) : (i32, i32, i32) -> i1
  %result = arith.select %in_body, %body, %tail : i32
}

// qadaptive_avg_pool2d_nhwc_kernel: blocks of 8 channels in an FMA, then one by one.
func.func private @adaptive_mean(%accumulator: i32) -> i32 {
  func.call @require_equal_quantization() : () -> ()
  %sum = func.call @real_sum(%accumulator) : (i32) -> f32
  %n = arith.sitofp %count : i32 to f32
  %inverse = func.call @reciprocal(%n) : (f32) -> f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = math.fma %sum, %inverse, %z : f32
  %body = func.call @store_with_zero_point_inside(%moved) : (f32) -> i32
  %mean = arith.mulf %sum, %inverse : f32
  %tail = func.call @store_sum(%mean) : (f32) -> i32
  %in_body = func.call @is_in_body(%channel, %channel_count, 8) : (i32, i32, i32) -> i1
  %result = arith.select %in_body, %body, %tail : i32
}

func.func @adaptive_avg_pool2d(%accumulator: i32) -> i32 {
  %result = func.call @adaptive_mean(%accumulator) : (i32) -> i32
}

func.func private @require_image() {
  cf.assert %over_image, "PyTorch takes the mean over other dimensions than rows and columns in float32, in an order of its own"
}

// AdaptiveAvgPool2d(1), which ONNX has as GlobalAveragePool: torch.mean takes float32.
func.func @mean(%accumulator: i32) -> i32 {
  func.call @require_image() : () -> ()
  %result = func.call @adaptive_mean(%accumulator) : (i32) -> i32
}

func.func private @real_sum(%accumulator: i32) -> f32 {
  %result = arith.sitofp @centred_sum : i32 to f32
}

func.func private @mean_of(%accumulator: i32, %divisor: i32) -> f32 {
  %n = arith.sitofp %divisor : i32 to f32
  %inverse = func.call @reciprocal(%n) : (f32) -> f32
  %result = arith.mulf @real_sum, %inverse : f32
}

func.func private @store_sum(%real: f32, %output_zero_point: i32) -> i32 {
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = arith.addf %real, %z : f32
  %result = func.call @store_with_zero_point_inside(%moved) : (f32) -> i32
}

// ---------------------------------------------------------------- rows of real numbers

// MKL's sgemm with one thread, of 16 rows or more, as measured: chains of FMAs from 0 are added to the
// bias. One has up to 384 products, two are of one size. Of more than 768, MKL halves what is left
// when less than 769 are; here all but the last have 384.
func.func @real_linear(%sum: f32) -> f32 attributes {contract.product = "fused_blocks"} {
  %raised = arith.maximumf %sum, %activation_min : f32
  %result = arith.minimumf %raised, %activation_max : f32
}

func.func @real_linear_block(%depth: i32) -> i32 {
  %more = arith.addi %depth, 1 : i32
  %half = arith.shrsi %more, 1 : i32
  %is_double = arith.cmpi sle, %depth, 768 : i32
  %block = arith.select %is_double, %half, 384 : i32
  %is_single = arith.cmpi sle, %depth, 384 : i32
  %result = arith.select %is_single, %depth, %block : i32
}

// ATen/native/cpu/AvgPoolKernel.cpp, channels last: taps in raster order
func.func @real_average_pool() -> f32
    serves real_average_pool, real_loop_average_pool, real_volume_average_pool {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf @elements_in_turn, %n : f32
}

// ATen/native/cpu/SumKernel.cpp, of which there is no form for AVX-512: cascades of rows, whose
// elements lie together, or of columns.
func.func @real_mean() -> f32 serves real_global_average, real_mean {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf @cascade, %n : f32
}

func.func @sum_of_elements() -> f32 serves real_sum {
  %result = func.call @cascade() : () -> f32
}

func.func @real_max_pool() -> f32 {
  %result = func.call @maximum(-3.4028234663852886e+38) : (f32) -> f32
}

// ATen/native/cpu/SoftMaxKernel.cpp, along the last dimension, with AVX-512. With AVX2 alone there
// are eight lanes.
func.func @real_softmax(%input: f32) -> f32 {
  %e = func.call @exponential(%input) : (f32) -> f32
  %result = arith.mulf %e, @share_of_exponentials : f32
}

func.func private @largest() -> f32 {
  %result = func.call @maximum(-3.4028234663852886e+38) : (f32) -> f32
}

func.func private @exponential(%input: f32) -> f32 attributes {contract.rows = "each"} {
  %below = arith.subf %input, @largest : f32
  %result = func.call @expf_u10(%below) : (f32) -> f32
}

func.func private @exponentials(%input: f32) -> f32 attributes {contract.rows = "vectors"} {
  %result = func.call @exponential(%input) : (f32) -> f32
}

func.func private @share_of_exponentials() -> f32 attributes {contract.rows = "row"} {
  %result = arith.divf 1.0, @exponentials : f32
}

// ATen/native/cpu/layer_norm_kernel.cpp: r = F(1 / root). Its sums aren't known, and are taken one
// number after the other.
func.func @real_layer_norm(%input: f32, %scale: f32, %bias: f32) -> f32
    serves real_layer_norm, real_loop_layer_norm {
  %scaled = arith.mulf %input, @inverse_deviation : f32
  %normal = arith.addf %scaled, @opposite_of_mean : f32
  %product = arith.mulf %normal, %scale : f32
  %result = arith.addf %product, %bias : f32
}

// ATen/native/cpu/group_norm_kernel.cpp: r = F(1 / root), sums as above.
func.func @real_group_norm(%input: f32, %scale: f32, %bias: f32) -> f32 {
  %factor = arith.mulf @inverse_deviation, %scale : f32
  %opposite = arith.negf %factor : f32
  %offset = math.fma %opposite, @mean_of_row, %bias : f32
  %result = math.fma %input, %factor, %offset : f32
}

func.func private @mean_of_row() -> f32 attributes {contract.rows = "row"} {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf @elements_in_turn, %n : f32
}

func.func private @squared_distances(%input: f32) -> f32 attributes {contract.rows = "sequential"} {
  %d = arith.subf %input, @mean_of_row : f32
  %result = arith.mulf %d, %d : f32
}

func.func private @inverse_deviation() -> f32 attributes {contract.rows = "row"} {
  %n = arith.sitofp %count : i32 to f32
  %variance = arith.divf @squared_distances, %n : f32
  %moved = arith.addf %variance, %epsilon : f32
  %root = math.sqrt %moved : f32
  %result = arith.divf 1.0, %root : f32
}

func.func private @opposite_of_mean() -> f32 attributes {contract.rows = "row"} {
  %moved = arith.mulf @mean_of_row, @inverse_deviation : f32
  %result = arith.negf %moved : f32
}

func.func private @cascade(%input: f32) -> f32 attributes {
    contract.rows = ["cascaded_rows", "cascaded_columns"], contract.choice = @cascade_order} {
  return %input : f32
}

func.func private @cascade_order() -> i32 {
  %is_column = arith.cmpi sgt, %column_count, 1 : i32
  %result = arith.select %is_column, 1, 0 : i32
}

// ---------------------------------------------------------------- elementwise

// qadd_kernel: two vectors of AVX2 or one of AVX-512 at a time.
func.func @add(%lhs: i32, %rhs: i32, %element: i32) -> i32 {
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %scales = arith.addf %lhs_scale, %rhs_scale : f32
  %steps = arith.mulf %scales, %inverse : f32
  %legal = arith.cmpf olt, %steps, 8388608.0 : f32
  cf.assert %legal, "the scales of the operands together are 2^23 times the output's or more: PyTorch's conversion to int32 overflows"
  %a = func.call @dequantize_fused(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> f32
  %b = func.call @dequantize_fused(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> f32
  %sum = arith.addf %a, %b : f32
  %scaled = arith.mulf %sum, %inverse : f32
  %body = func.call @store_half_even(%scaled) : (f32) -> i32
  %tail_a = func.call @dequantize_exactly(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> f32
  %tail_b = func.call @dequantize_exactly(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> f32
  %tail_sum = arith.addf %tail_a, %tail_b : f32
  %tail_scaled = arith.mulf %tail_sum, %inverse : f32
  %tail = func.call @store_sum(%tail_scaled) : (f32) -> i32
  %in_body = func.call @is_in_body(%element, %element_count, 64) : (i32, i32, i32) -> i1
  %result = arith.select %in_body, %body, %tail : i32
}

// qmul_kernel.
func.func @mul(%lhs: i32, %lhs_scale: f32, %rhs: i32, %rhs_scale: f32) -> i32 {
  %scales = arith.mulf %lhs_scale, %rhs_scale : f32
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %multiplier = arith.mulf %scales, %inverse : f32
  %legal = arith.cmpf olt, %multiplier, 32768.0 : f32
  cf.assert %legal, "the product of the operands' scales is 2^15 times the output's or more: PyTorch's conversion to int32 overflows"
  %real = arith.sitofp @centred_product : i32 to f32
  %scaled = arith.mulf %real, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

// The stored integer of a bound, by quantize_val of one element: the zero point inside the
// rounding.
func.func @bound(%real: f32, %output_scale: f32, %output_zero_point: i32) -> i32 {
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %steps = arith.mulf %real, %inverse : f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = arith.addf %steps, %z : f32
  %result = fixed.convert %moved {rounding = half_even} : f32 to i32
}

// qrelu_kernel, qclamp_kernel: of the stored integers.
func.func @clamp(%input: i32) -> i32 {
  func.call @require_equal_quantization() : () -> ()
  %result = func.call @clamp_code(%input) : (i32) -> i32
}

// ---------------------------------------------------------------- activations (tables)

// Vectorized::quantize: by the reciprocal of the scale, no more than the last float32 number
// before 2^31, the zero point after the rounding, which wraps.
func.func private @quantize_table(%real: f32) -> i32 {
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %steps = arith.mulf %real, %inverse : f32
  %last = arith.constant 2147483520.0 : f32
  %number = arith.minimumf %steps, %last : f32
  %rounded = fixed.convert %number {rounding = half_even} : f32 to i32
  %moved = arith.addi %rounded, %output_zero_point : i32
  %result = func.call @clamp_code(%moved) : (i32) -> i32
}

// For tanh and hard_swish, which QNNPACK tabulates without an FMA.
func.func private @dequantize_lookup(%stored: i32) -> f32 {
  %result = func.call @dequantize_fused(%stored) : (i32) -> f32
}

// For hard_swish, which QNNPACK stores in a way of its own.
func.func private @quantize_lookup(%real: f32) -> i32 {
  %result = func.call @quantize_table(%real) : (f32) -> i32
}

// qsigmoid_kernel: 1 / (1 + exp(-x)), without an FMA in x, so that the zero point is 0 at any
// scale; torch.sigmoid has an output scale of 1/256.
func.func @sigmoid(%input: i32) -> i32 {
  %wide = arith.extf @dequantize_exactly : f32 to f64
  %real = func.call @logistic(%wide) : (f64) -> f64
  %y = arith.truncf %real : f64 to f32
  %result = func.call @quantize_table(%y) : (f32) -> i32
}

// qtanh_kernel; torch.tanh has an output scale of 1/128.
func.func @tanh(%input: i32) -> i32 {
  %x = func.call @dequantize_lookup(%input) : (i32) -> f32
  %real = math.tanh %x : f64
  %y = arith.truncf %real : f64 to f32
  %result = func.call @quantize_table(%y) : (f32) -> i32
}

// qhardswish_kernel: x * min(max(x + 3, 0), 6) / 6.
func.func @hard_swish(%input: i32) -> i32 {
  %x = func.call @dequantize_lookup(%input) : (i32) -> f32
  %moved = arith.addf %x, 3.0 : f32
  %above = arith.maximumf %moved, 0.0 : f32
  %gate = arith.minimumf %above, 6.0 : f32
  %y = func.call @product_ratio(%x, %gate, 6.0) : (f32, f32, f32) -> f32
  %result = func.call @quantize_lookup(%y) : (f32) -> i32
}

// qelu_kernel.
func.func @elu(%input: i32) -> i32 {
  %x = func.call @dequantize_fused(%input) : (i32) -> f32
  %real = math.expm1 %x : f64
  %negative = arith.truncf %real : f64 to f32
  %not_negative = arith.cmpf oge, %x, 0.0 : f32
  %y = arith.select %not_negative, %x, %negative : f32
  %result = func.call @quantize_table(%y) : (f32) -> i32
}

// leaky_qrelu_out_kernel.
func.func @leaky_relu(%input: i32) -> i32 {
  %x = func.call @dequantize_fused(%input) : (i32) -> f32
  %leak = arith.mulf %x, %alpha : f32
  %positive = arith.cmpf ogt, %x, 0.0 : f32
  %y = arith.select %positive, %x, %leak : f32
  %result = func.call @quantize_table(%y) : (f32) -> i32
}

// qprelu_out_kernel: one of the slope's codes stands for 1.
func.func @prelu(%lhs: i32, %rhs: i32) -> i32 {
  %one_real = arith.divf 1.0, %rhs_scale : f32
  %slope_zero = arith.sitofp %rhs_zero_point : i32 to f32
  %one_moved = arith.addf %one_real, %slope_zero : f32
  %one_code = fixed.convert %one_moved {rounding = half_even} : f32 to i32
  %one_bounded = func.call @clamp_code(%one_code, 0, 255) : (i32, i32, i32) -> i32
  %one = arith.subi %one_bounded, %rhs_zero_point : i32
  %x = arith.subi %lhs, %lhs_zero_point : i32
  %slope = arith.subi %rhs, %rhs_zero_point : i32
  %above = arith.maxsi %x, 0 : i32
  %below = arith.minsi %x, 0 : i32
  %line = arith.muli %above, %one : i32
  %leak = arith.muli %below, %slope : i32
  %sum = arith.addi %line, %leak : i32
  %scales = arith.mulf %lhs_scale, %rhs_scale : f32
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %multiplier = arith.mulf %scales, %inverse : f32
  %legal = arith.cmpf olt, %multiplier, 32768.0 : f32
  cf.assert %legal, "the product of the operands' scales is 2^15 times the output's or more: PyTorch's conversion to int32 overflows"
  %real = arith.sitofp %sum : i32 to f32
  %scaled = arith.mulf %real, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

// ---------------------------------------------------------------- norms of stored rows

// quantized_normalize_kernel: of the exact sums of a row's codes and their squares the mean, less the
// zero point, and what a code is multiplied by.
func.func private @row_statistics(
    %sum: i64, %squares: i64, %count: f32, %input_zero_point: f32, %input_scale: f32, %epsilon: f64)
    -> (f32, f32) {
  %total = arith.sitofp %sum : i64 to f32
  %mean = arith.divf %total, %count : f32
  %total_square = arith.sitofp %squares : i64 to f32
  %mean_square = arith.divf %total_square, %count : f32
  %opposite = arith.negf %mean : f32
  %variance = math.fma %opposite, %mean, %mean_square : f32
  %not_negative = arith.maximumf %variance, 0.0 : f32
  %once = arith.mulf %not_negative, %input_scale : f32
  %twice = arith.mulf %once, %input_scale : f32
  %moved = arith.addf %twice, %epsilon : f64
  %root = math.sqrt %moved : f64
  %factor = arith.divf %input_scale, %root : f64
  %centred = arith.subf %mean, %input_zero_point : f32
  %result = arith.truncf %factor : f64 to f32
  return %centred, %result : f32, f32
}

// Of an element with a weight of its own
func.func private @normal_of_row(
    %code: i32, %input_zero_point: i32, %mean: f32, %factor: f32, %weight: f32, %bias: f32) -> f32 {
  %centred = arith.subi %code, %input_zero_point : i32
  %real = arith.sitofp %centred : i32 to f32
  %distance = arith.subf %real, %mean : f32
  %normal = arith.mulf %distance, %factor : f32
  %result = math.fma %normal, %weight, %bias : f32
}

// Of an element whose weight is its channel's
func.func private @normal_of_channel(
    %code: i32, %input_zero_point: i32, %mean: f32, %factor: f32, %weight: f32, %bias: f32) -> f32 {
  %centred = arith.subi %code, %input_zero_point : i32
  %real = arith.sitofp %centred : i32 to f32
  %distance = arith.subf %real, %mean : f32
  %share = arith.mulf %factor, %weight : f32
  %result = math.fma %distance, %share, %bias : f32
}

// qbatch_norm.cpp, compute_fused_params: in steps of the result
func.func private @line_of_channel(
    %weight: f32, %bias: f32, %mean: f32, %variance: f32, %epsilon: f32, %input_scale: f64,
    %output_scale: f64) -> (f32, f32) {
  %moved = arith.addf %variance, %epsilon : f32
  %root = math.sqrt %moved : f32
  %inverse = arith.divf 1.0, %root : f32
  %factor = arith.mulf %inverse, %weight : f32
  %ratio = arith.divf %input_scale, %output_scale : f64
  %steps = arith.mulf %factor, %ratio : f64
  %result = arith.truncf %steps : f64 to f32
  %share = arith.mulf %mean, %inverse : f32
  %opposite = arith.negf %share : f32
  %offset = math.fma %opposite, %weight, %bias : f32
  %offset_steps = arith.divf %offset, %output_scale : f64
  %result_offset = arith.truncf %offset_steps : f64 to f32
  return %result, %result_offset : f32, f32
}

// q_batch_norm_kernel
func.func private @on_line(
    %code: i32, %input_zero_point: i32, %factor: f32, %offset: f32, %output_zero_point: i32,
    %output_min: i32, %output_max: i32) -> i32 {
  %centred = arith.subi %code, %input_zero_point : i32
  %real = arith.sitofp %centred : i32 to f32
  %steps = math.fma %factor, %real, %offset : f32
  %result = func.call @store_half_even(%steps) : (f32) -> i32
}

// Vectors of 64 codes, then quantize_val
func.func private @store_normal(
    %real: f32, %position: i32, %row: i32, %output_scale: f32, %output_zero_point: i32,
    %output_min: i32, %output_max: i32) -> i32 {
  %body = func.call @quantize_table(%real) : (f32) -> i32
  %tail = func.call @quantize_fused(%real) : (f32) -> i32
  %in_body = func.call @is_in_body(%position, %row, 64) : (i32, i32, i32) -> i1
  %result = arith.select %in_body, %body, %tail : i32
}

// ---------------------------------------------------------------- borders, rescaling

// dequantize_val: of one element.
func.func @dequantize(%input: i32) -> f32 {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

// quantize_per_tensor.
// NaN gives the largest code.
func.func @quantize(%input: f32) -> i32 {
  %infinity = arith.constant 0x7F800000 : f32
  %below = arith.cmpf olt, %input, %infinity : f32
  %number = arith.select %below, %input, %infinity : f32
  %result = func.call @quantize_fused(%number) : (f32) -> i32
}

// PyTorch has no such operation: what `dequantize` and `quantize_per_tensor` give.
func.func @requantize(%input: i32) -> i32 {
  %result = func.call @quantize_fused(@dequantize_exactly) : (f32) -> i32
}

// qcat: an input whose scale and zero point are the output's is copied.
func.func @concat(%input: i32) -> i32 {
  %rescaled = func.call @quantize_fused(@dequantize_exactly) : (f32) -> i32
  %result = arith.select @is_same_quantization, %input, %rescaled : i32
}

}
