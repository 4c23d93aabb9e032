// The arithmetic of LiteRT with its default delegate XNNPACK on x86 (LiteRT 2.3,
// OpResolverType.BUILTIN, one thread), which is what an application gets that asks for
// nothing.
//
// The delegate takes an operation or leaves it to the optimized built-in kernels, whose rules
// (`tflite-ruy`) are inherited: transposed convolution, average pooling, softmax, hard-swish,
// lone RELUs, and whatever has scales outside the range that the delegate supports.
// # Formula
// F(...) is one float32 rounding, rne rounds half to even.
// - conv2d, depthwise_conv2d, linear, matmul with a symmetric right-hand side: `y =
//   clamp(rne(F(float(acc) * m)) + z)` with m = F(F(s_x s_w) / s_y)
// - mul: the same with acc = (a - z_a)(b - z_b)
// - add, sub: `y = clamp(((k + a * k_a ± b * k_b) >> n) + z)`, integer multipliers of about 20
//   bits, k_a = rne(2^n s_a / s_y), half up
// - mean: `y = clamp(rne(F(F(sum * m) + F(z - F(n z_x m)))))`, m = F(F(s_x / s_y) / n);
//   sum: the same with m = F(s_x / s_y)
// - requantize, leaky_relu: `y = clamp(((x - z_x) * rne(256 s_x / s_y) + 128 >> 8) + z)`
// - real_conv2d, real_depthwise_conv2d, real_linear, real_matmul: a chain of FMAs that starts from
//   the bias; depthwise layers of up to 25 taps and one filter a channel go through a kernel column
//   by column
// - hybrid_conv2d, hybrid_linear: each row (image) by its own range, `q = rne(F(x f)) + z` with
//   `f = F(255 / F(max - min))`, never symmetric; `y = fma(F(acc F(1 / f)), s_w, b)`
// - quantize: `y = clamp(rne(F(x * F(1 / s))) + z)`; dequantize: F((q - z) s)
// - sigmoid, tanh, elu: as the built-in tables, but `y = clamp(rne(F(F(r * F(1 / s)) + z)))`;
//   sigmoid in float64, cut to float32
// - resize_bilinear: weights of 11 bits in each direction, one rounding half up of 22 bits
// # Ties
// Half to even before the zero point is added, in what is float32; half up in what is integer.
// In mean and sum the zero point is inside the rounding, and is not a whole number there; in tables
// and in the bounds of fused activations, `rne(F(F(r / s) + z))`, it is inside, too.
// # Operands
// Scales combine in float32: a product, then a division. Quantizing multiplies by the float32
// reciprocal. The bias is int32.
// # Quirks
// - float(acc) is rounded beyond 2^24.
// - Rescaling from int8 to int8 has a multiplier of 8 fractional bits: a ratio of 0.0123
//   becomes 3/256.
// - int8 weights of a linear layer that have a zero point are declined by the delegate, and the
//   layer is that of `tflite-ruy`.
// - quantize saturates, unlike the other kernels of LiteRT; NaN gives the largest code.
// - Two rescalings by nearly the same ratio may be done by XNNPACK and by the built-in
//   kernels, if the ratio is at the edge of what the delegate takes.
// # Not matched
// - uint8 depthwise convolutions whose file gives the weights a quantized dimension other than
//   0: the delegate declines them, LiteRT runs the built-in kernel. They have one scale, so
//   that the model here doesn't say it; they are taken as if XNNPACK ran them.
// - add that broadcasts and that the delegate leaves alone: as in `tflite-ruy`.
// - Other layers in float (pools, means, softmax, LSTMs), which are the reference kernels' by any
//   contract.
// # Checked against
// LiteRT 2.3. Live, in the long run: over a million outputs of random and tie-seeking layers, over
// ten million of layers at the edges of the arithmetic, int8 and uint8; and a model of each operator
// that is read. Recorded: 57,152 outputs of convolutions and linear layers with exact ties (the same on an
// emulated Haswell), 18,455 of other operations, 60,000 rescalings of XNNPACK's own function, the outputs of 13 real models. No
// mismatch but for the above.
// Sums of real numbers: live, nine layers (convolutions, products of matrices, linear layers) with
// three draws each of numbers that cancel and differ by up to 2^24; all bits the same.
// Layers on real numbers with stored weights: live, ten layers with four draws each; all bits the
// same.
// # Sources
// Files of google/XNNPACK:
// - src/xnnpack/requantization.h, xnn_qs8_requantize_fp32; src/operators/convolution-nhwc.c
// - src/microparams-init.c; src/qs8-vadd, src/qs8-vmul, src/operators/reduce-nd.c
// - src/f32-qs8-vcvt, src/operators/lut-elementwise-nc.c, src/s8-ibilinear, src/indirection.c
// - google-ai-edge/LiteRT, tflite/delegates/xnnpack/xnnpack_delegate.cc: what it takes

module attributes {contract.base = "tflite-ruy",
    contract.summary = "LiteRT with the XNNPACK delegate on x86: float32, half to even"} {

// ---------------------------------------------------------------- steps

// src/xnnpack/requantization.h, xnn_qs8_requantize_fp32: one float32 product, half to
// even. The kernels clamp before they add the zero point.
func.func private @requantize_float32(%x: i32, %scale: f32) -> i32 {
  %float = arith.sitofp %x : i32 to f32
  %product = arith.mulf %float, %scale : f32
  %result = func.call @store_half_even(%product) : (f32) -> i32
}

// The delegate leaves a uint8 layer to the built-in kernel if the file gives the weights a
// quantized dimension other than 0, though they have one scale only. Such a layer is taken
// here as if the dimension were 0, as it is by default.
func.func private @contraction(%accumulator: i32) -> i32 serves depthwise_conv2d {
  %scale = func.call @product_ratio() : () -> f32
  %legal = arith.cmpf olt, %scale, 256.0 : f32
  cf.assert %legal, "the input scale times the weight scale is 256 times the output scale or more, which XNNPACK refuses"
  %result = func.call @requantize_float32(%accumulator, %scale) : (i32, f32) -> i32
}

// Whether the ratio of two scales lies in [low, high].
func.func private @is_supported_ratio(%scale: f32, %low: f32, %high: f32) -> i1 {
  %ratio = arith.divf %scale, %output_scale : f32
  %not_small = arith.cmpf oge, %ratio, %low : f32
  %not_large = arith.cmpf ole, %ratio, %high : f32
  %result = arith.andi %not_small, %not_large : i1
}

// ---------------------------------------------------------------- convolution, linear

// The delegate leaves transposed convolutions to the built-in kernel.
func.func @conv2d(%accumulator: i32) -> i32 {
  %builtin = func.call @"tflite-ruy.conv2d"(%accumulator) : (i32) -> i32
  %result = arith.select %transposed, %builtin, @contraction : i32
}

// The delegate leaves int8 weights that have a zero point to the built-in kernel.
func.func @linear(%accumulator: i32) -> i32 {
  %builtin_min, %builtin_max = func.call @activation_range() : () -> (i32, i32)
  %builtin = func.call @"tflite-ruy.linear"(%accumulator, %builtin_min, %builtin_max) : (i32, i32, i32) -> i32
  %taken = arith.ori %weights_symmetric, %weight_unsigned : i1
  %result = arith.select %taken, @contraction, %builtin : i32
}

// The delegate takes products whose right-hand side has zero point 0.
func.func @matmul(%accumulator: i32) -> i32 {
  %builtin = func.call @"tflite-ruy.matmul"(%accumulator) : (i32) -> i32
  %symmetric = arith.cmpi eq, %rhs_zero_point, 0 : i32
  %result = arith.select %symmetric, @contraction, %builtin : i32
}

func.func @mean(%accumulator: i32) -> i32 {
  %ratio = arith.divf %input_scale, %output_scale : f32
  %n = arith.sitofp %count : i32 to f32
  %scale = arith.divf %ratio, %n : f32
  %result = func.call @reduced(%accumulator, %scale) : (i32, f32) -> i32
}

func.func @sum(%accumulator: i32) -> i32 {
  %scale = arith.divf %input_scale, %output_scale : f32
  %result = func.call @reduced(%accumulator, %scale) : (i32, f32) -> i32
}

// src/operators/reduce-nd.c: the zero points become one float32 that needn't be whole.
func.func private @reduced(%accumulator: i32, %scale: f32) -> i32 {
  %zeros = arith.muli %count, %input_zero_point : i32
  %zeros_f = arith.sitofp %zeros : i32 to f32
  %zeros_scaled = arith.mulf %zeros_f, %scale : f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %offset = arith.subf %z, %zeros_scaled : f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %scale : f32
  %moved = arith.addf %scaled, %offset : f32
  %rounded = fixed.convert %moved {rounding = half_even} : f32 to i32
  %result = func.call @clamp_code(%rounded) : (i32) -> i32
}

// ---------------------------------------------------------------- sums of real numbers

// src/f32-gemm and f32-igemm, minmax kernels with FMA: every element of a tile is one chain that
// starts from the bias.
func.func @real_linear(%sum: f32) -> f32
    serves real_conv2d, real_linear attributes {contract.product = "fused"} {
  %result = func.call @clamp_sum(%sum) : (f32) -> f32
}

// src/f32-dwconv; src/indirection.c, xnn_indirection_init_dwconv2d, has a kernel's taps column by
// column.
func.func @real_depthwise_conv2d(%sum: f32) -> f32
    attributes {contract.product = ["fused", "fused_columns"]} {
  %result = func.call @clamp_sum(%sum) : (f32) -> f32
}

// src/operators/convolution-nhwc.c: up to 25 taps of one filter a channel are f32-dwconv's, others
// are grouped matrices.
func.func @real_depthwise_conv2d_product(
    %kernel_height: i32, %kernel_width: i32, %group_channels: i32) -> i32 {
  %taps = arith.muli %kernel_height, %kernel_width : i32
  %few = arith.cmpi sle, %taps, 25 : i32
  %single = arith.cmpi eq, %group_channels, 1 : i32
  %is_depthwise = arith.andi %few, %single : i1
  %result = arith.extui %is_depthwise : i1 to i32
}

// max and min, which keep NaN
func.func private @clamp_sum(%sum: f32, %activation_min: f32, %activation_max: f32) -> f32 {
  %below = arith.cmpf olt, %sum, %activation_min : f32
  %above_low = arith.select %below, %activation_min, %sum : f32
  %above = arith.cmpf ogt, %above_low, %activation_max : f32
  %result = arith.select %above, %activation_max, %above_low : f32
}

func.func @real_matmul(%sum: f32) -> f32 attributes {contract.product = "fused"} {
  return %sum : f32
}

// ---------------------------------------------------------------- real numbers, stored weights

// src/xnnpack/quantization.h, xnn_f32_qd8_asymmetric_quantization_params. Depthwise layers have no
// kernel here, and are LiteRT's.
func.func @dynamic_range(%lowest: f32, %highest: f32) -> (f32, f32, i32)
    serves hybrid_range, hybrid_symmetric_range {
  %builtin:3 = func.call @hybrid_range(%lowest, %highest) : (f32, f32) -> (f32, f32, i32)
  %is_zero = arith.cmpf oeq, %lowest, %highest : f32
  %distance = arith.subf %highest, %lowest : f32
  %quotient = arith.divf 255.0, %distance : f32
  %factor = arith.select %is_zero, 1.0, %quotient : f32
  %codes_below = arith.mulf %lowest, %factor : f32
  %codes_above = arith.mulf %highest, %factor : f32
  %error_lowest = arith.addf -128.0, %codes_below : f32
  %error_highest = arith.addf 127.0, %codes_above : f32
  %error = arith.addf %error_lowest, %error_highest : f32
  %is_lowest = arith.cmpf ogt, %error, 0.0 : f32
  %from_lowest = arith.subf -128.0, %codes_below : f32
  %from_highest = arith.subf 127.0, %codes_above : f32
  %real_point = arith.select %is_lowest, %from_lowest, %from_highest : f32
  %point = fixed.convert %real_point {rounding = half_even} : f32 to i8
  %nearest = arith.extsi %point : i8 to i32
  %inverse = arith.divf 1.0, %factor : f32
  %scale = arith.select %is_depthwise, %builtin#0, %inverse : f32
  %codes = arith.select %is_depthwise, %builtin#1, %factor : f32
  %zero_point = arith.select %is_depthwise, %builtin#2, %nearest : i32
  return %scale, %codes, %zero_point : f32, f32, i32
}

// src/f32-qs8-vcvt
func.func @dynamic_code(%input: f32, %input_factor: f32, %input_zero_point: i32) -> i32
    serves hybrid_code {
  %builtin = func.call @hybrid_code(%input, %input_factor, %input_zero_point) : (f32, f32, i32) -> i32
  %steps = arith.mulf %input, %input_factor : f32
  %rounded = fixed.convert %steps {rounding = half_even} : f32 to i32
  %moved = arith.addi %rounded, %input_zero_point : i32
  %code = fixed.saturate %moved : i32 to i8
  %nearest = arith.extsi %code : i8 to i32
  %result = arith.select %is_depthwise, %builtin, %nearest : i32
}

// src/qd8-f32-qc8w-gemm, qd8-f32-qc8w-igemm
func.func @hybrid_linear(%accumulator: i32, %input_scale: f32, %weight_scale: f32, %real_bias: f32) -> f32
    serves hybrid_conv2d, hybrid_linear {
  %real = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %real, %input_scale : f32
  %y = math.fma %scaled, %weight_scale, %real_bias : f32
  %result = func.call @clamp_sum(%y) : (f32) -> f32
}

// ---------------------------------------------------------------- elementwise

// src/microparams-init.c, xnn_init_qs8_add_minmax_params: integer multipliers of about 20
// bits, one rounding half up. The delegate takes ratios in [2^-10, 2^8).
func.func private @weighted_sum(%lhs: i32, %rhs: i32, %rhs_sign: i32) -> i32 {
  %lhs_ratio = arith.divf %lhs_scale, %output_scale : f32
  %rhs_ratio = arith.divf %rhs_scale, %output_scale : f32
  %larger = arith.maximumf %lhs_ratio, %rhs_ratio : f32
  // shift = 20 - the exponent of the larger ratio
  %bits = arith.bitcast %larger : f32 to i32
  %biased = arith.shrui %bits, 23 : i32
  %places = arith.subi 147, %biased : i32
  %lhs_multiplier = func.call @to_fixed_point(%lhs_ratio, %places) : (f32, i32) -> i32
  %rhs_magnitude = func.call @to_fixed_point(%rhs_ratio, %places) : (f32, i32) -> i32
  %rhs_multiplier = arith.muli %rhs_magnitude, %rhs_sign : i32
  %lhs_offset = arith.muli %lhs_multiplier, %lhs_zero_point : i32
  %rhs_offset = arith.muli %rhs_multiplier, %rhs_zero_point : i32
  %offsets = arith.addi %lhs_offset, %rhs_offset : i32
  %lhs_product = arith.muli %lhs, %lhs_multiplier : i32
  %rhs_product = arith.muli %rhs, %rhs_multiplier : i32
  %products = arith.addi %lhs_product, %rhs_product : i32
  %sum = arith.subi %products, %offsets : i32
  %shift = func.call @clamp_code(%places, 1, 31) : (i32, i32, i32) -> i32
  %scaled = fixed.shift_right %sum, %shift {rounding = half_up} : i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}

func.func private @are_supported_terms() -> i1 {
  %low = arith.constant 0.0009765625 : f32
  // the largest float32 below 256
  %high = arith.constant 255.999985 : f32
  %lhs = func.call @is_supported_ratio(%lhs_scale, %low, %high) : (f32, f32, f32) -> i1
  %rhs = func.call @is_supported_ratio(%rhs_scale, %low, %high) : (f32, f32, f32) -> i1
  %result = arith.andi %lhs, %rhs : i1
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %delegated = func.call @weighted_sum(%lhs, %rhs, 1) : (i32, i32, i32) -> i32
  %builtin_min, %builtin_max = func.call @activation_range() : () -> (i32, i32)
  %builtin = func.call @"tflite-ruy.add"(%lhs, %rhs, %builtin_min, %builtin_max) : (i32, i32, i32, i32) -> i32
  %result = arith.select @are_supported_terms, %delegated, %builtin : i32
}

func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %delegated = func.call @weighted_sum(%lhs, %rhs, -1) : (i32, i32, i32) -> i32
  %builtin_min, %builtin_max = func.call @activation_range() : () -> (i32, i32)
  %builtin = func.call @"tflite-ruy.sub"(%lhs, %rhs, %builtin_min, %builtin_max) : (i32, i32, i32, i32) -> i32
  %result = arith.select @are_supported_terms, %delegated, %builtin : i32
}

// src/qs8-vmul: float32. The delegate takes scale products in [2^-16, 2^8) of the output's.
func.func @mul(%lhs: i32, %lhs_scale: f32, %rhs: i32, %rhs_scale: f32) -> i32 {
  %scale = func.call @product_ratio(%lhs_scale, %rhs_scale) : (f32, f32) -> f32
  %delegated = func.call @requantize_product(@centred_product, %scale) : (i32, f32) -> i32
  %builtin_min, %builtin_max = func.call @activation_range() : () -> (i32, i32)
  %builtin = func.call @tflite.mul(%lhs, %rhs, %builtin_min, %builtin_max) : (i32, i32, i32, i32) -> i32
  %scales = arith.mulf %lhs_scale, %rhs_scale : f32
  %low = arith.constant 1.52587890625e-05 : f32
  // the largest float32 below 256
  %high = arith.constant 255.999985 : f32
  %supported = func.call @is_supported_ratio(%scales, %low, %high) : (f32, f32, f32) -> i1
  %legal = arith.cmpf ole, %scale, %high : f32
  cf.assert %legal, "the product of the scales is 256 times that of the result or more: the delegate declines that, and vectors of 16 bits in the built-in kernel can't hold the result"
  %result = arith.select %supported, %delegated, %builtin : i32
}

func.func private @requantize_product(%product: i32, %scale: f32) -> i32 {
  %result = func.call @requantize_float32(%product, %scale) : (i32, f32) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

// src/f32-qs8-vcvt: multiplies by the reciprocal, in float32. Results saturate, that of NaN at
// the largest code, as the minimum of x86 gives its second operand.
func.func @quantize(%input: f32) -> i32 {
  %reciprocal = arith.divf 1.0, %output_scale : f32
  %product = arith.mulf %input, %reciprocal : f32
  %number = func.call @few_steps(%product) : (f32) -> f32
  %result = func.call @store_half_even(%number) : (f32) -> i32
}

// src/qs8-f32-vcvt: the product of scale and centred integer rounds once, as in the
// reference.
func.func @dequantize(%input: i32) -> f32 {
  %result = func.call @tflite.dequantize(%input) : (i32) -> f32
}

// src/microparams-init.c, xnn_init_qs8_cvt_params: 8 fractional bits of the ratio, half up.
// The delegate takes ratios in [2^-8, 2^7] between tensors of one signedness.
func.func @requantize(%input: i32, %input_scale: f32) -> i32 {
  %ratio = arith.divf %input_scale, %output_scale : f32
  %multiplier = func.call @to_fixed_point(%ratio, 8) : (f32, i32) -> i32
  %product = arith.muli @centred_input, %multiplier : i32
  %scaled = fixed.shift_right %product, 8 {rounding = half_up} : i32
  %delegated = func.call @offset_and_clamp(%scaled) : (i32) -> i32
  %builtin = func.call @"tflite-ruy.requantize"(%input) : (i32) -> i32
  %low = arith.constant 0.00390625 : f32
  %in_range = func.call @is_supported_ratio(%input_scale, %low, 128.0) : (f32, f32, f32) -> i1
  %same_sign = arith.cmpi eq, %input_unsigned, %output_unsigned : i1
  %supported = arith.andi %in_range, %same_sign : i1
  %result = arith.select %supported, %delegated, %builtin : i32
}

// src/xnnpack/quantization.h, xnn_qs8_quantize: the bounds of activations that the delegate
// takes. The zero point is inside the rounding.
func.func @bound(%real: f32, %output_scale: f32) -> i32 {
  %quotient = arith.divf %real, %output_scale : f32
  %result = func.call @add_and_round(%quotient) : (f32) -> i32
}

func.func private @add_and_round(%steps: f32) -> i32 {
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = arith.addf %steps, %z : f32
  %result = fixed.convert %moved {rounding = half_even} : f32 to i32
}

// Averages and lone RELUs are built-in kernels', with their bounds.
func.func @avg_pool2d(%accumulator: i32) -> i32 {
  %min, %max = func.call @activation_range() : () -> (i32, i32)
  %result = func.call @"tflite-ruy.avg_pool2d"(%accumulator, %min, %max) : (i32, i32, i32) -> i32
}

func.func @clamp(%input: i32) -> i32 {
  %min, %max = func.call @activation_range() : () -> (i32, i32)
  %result = func.call @"tflite-ruy.clamp"(%input, %min, %max) : (i32, i32, i32) -> i32
}

// src/reference/unary-elementwise.cc: sigmoid, tanh and elu as the built-in tables, but the
// zero point is inside a rounding half to even.
func.func private @table_output(%real: f32) -> i32 replaces {
  %inverse = arith.divf 1.0, %output_scale : f32
  %scaled = arith.mulf %real, %inverse : f32
  %rounded = func.call @add_and_round(%scaled) : (f32) -> i32
  %result = func.call @clamp_code(%rounded) : (i32) -> i32
}

// src/reference/unary-elementwise.cc, SigmoidOp: in float64, cut to float32; 0 and 1 beyond
// -100 and 100.
func.func @sigmoid(%input: i32) -> i32 {
  %at_most = arith.minimumf @table_input, 100.0 : f32
  %inside = arith.maximumf %at_most, -100.0 : f32
  %exponential = math.exp %inside : f64
  %denominator = arith.addf 1.0, %exponential : f64
  %quotient = arith.divf %exponential, %denominator : f64
  %real = arith.truncf %quotient : f64 to f32
  %result = func.call @table_output(%real) : (f32) -> i32
}

// src/microparams-init.c, xnn_init_qs8_lrelu_params: as requantize, with a second
// multiplier for negative values. The delegate takes ratios whose magnitude is in
// [2^-8, 2^7].
func.func @leaky_relu(%input: i32) -> i32 {
  %x = arith.subi %input, %input_zero_point : i32
  %ratio = arith.divf %input_scale, %output_scale : f32
  %alpha_ratio = arith.mulf %ratio, %alpha : f32
  %multiplier = func.call @to_fixed_point(%ratio, 8) : (f32, i32) -> i32
  %alpha_multiplier = func.call @to_fixed_point(%alpha_ratio, 8) : (f32, i32) -> i32
  %factor = func.call @by_sign(%x, %multiplier, %alpha_multiplier) : (i32, i32, i32) -> i32
  %product = arith.muli %x, %factor : i32
  %scaled = fixed.shift_right %product, 8 {rounding = half_up} : i32
  %delegated = func.call @offset_and_clamp(%scaled) : (i32) -> i32
  %builtin = func.call @"tflite-ruy.leaky_relu"(%input, %alpha) : (i32, f32) -> i32
  %low = arith.constant 0.00390625 : f32
  %magnitude = math.absf %alpha : f32
  %alpha_scale = arith.mulf %input_scale, %magnitude : f32
  %rising = func.call @is_supported_ratio(%input_scale, %low, 128.0) : (f32, f32, f32) -> i1
  %sloped = func.call @is_supported_ratio(%alpha_scale, %low, 128.0) : (f32, f32, f32) -> i1
  %supported = arith.andi %rising, %sloped : i1
  %result = arith.select %supported, %delegated, %builtin : i32
}

// ---------------------------------------------------------------- resizing

// src/indirection.c, xnn_indirection_init_resize_bilinear2d_hwc_q11: positions in float32,
// weights with 11 fractional bits.
func.func @resize_bilinear_position() -> (i32, i32, i32) {
  %several = arith.cmpi ne, %output_size, 1 : i32
  %aligned = arith.andi %align_corners, %several : i1
  %input_less_1 = arith.subi %input_size, 1 : i32
  %output_less_1 = arith.subi %output_size, 1 : i32
  %numerator = arith.select %aligned, %input_less_1, %input_size : i32
  %denominator = arith.select %aligned, %output_less_1, %output_size : i32
  %numerator_f = arith.sitofp %numerator : i32 to f32
  %denominator_f = arith.sitofp %denominator : i32 to f32
  %scale = arith.divf %numerator_f, %denominator_f : f32
  %index_f = arith.sitofp %output_index : i32 to f32
  %corner = arith.mulf %index_f, %scale : f32
  %half_scale = arith.mulf 0.5, %scale : f32
  %offset = arith.subf %half_scale, 0.5 : f32
  %centre = arith.addf %corner, %offset : f32
  %not_below = arith.maximumf %centre, 0.0 : f32
  %last = arith.sitofp %input_less_1 : i32 to f32
  %inside = arith.minimumf %not_below, %last : f32
  %position = arith.select %half_pixel_centers, %inside, %corner : f32
  %lower = fixed.convert %position {rounding = toward_zero} : f32 to i32
  %next = arith.addi %lower, 1 : i32
  %upper = arith.minsi %next, %input_less_1 : i32
  %lower_f = arith.sitofp %lower : i32 to f32
  %fraction = arith.subf %position, %lower_f : f32
  %weight = func.call @to_fixed_point(%fraction, 11) : (f32, i32) -> i32
  return %lower, %upper, %weight : i32, i32, i32
}

// src/s8-ibilinear: rows, then columns; one rounding half up of 22 fractional bits.
func.func @resize_bilinear(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %top = func.call @interpolate(%top_left, %top_right, %x_weight) : (i32, i32, i32) -> i32
  %bottom = func.call @interpolate(%bottom_left, %bottom_right, %x_weight) : (i32, i32, i32) -> i32
  %sum = func.call @interpolate(%top, %bottom, %y_weight) : (i32, i32, i32) -> i32
  %result = fixed.shift_right %sum, 22 {rounding = half_up} : i32
}

func.func private @interpolate(%a: i32, %b: i32, %weight: i32) -> i32 replaces {
  %scaled = arith.shli %a, 11 : i32
  %difference = arith.subi %b, %a : i32
  %step = arith.muli %difference, %weight : i32
  %result = arith.addi %scaled, %step : i32
}

}
