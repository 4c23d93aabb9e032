// The arithmetic of the *Interpreter*, the reference back end of Glow (pytorch/glow, commit
// 05dd99b of May 2024), for int8 tensors: exact int32 sums, then float32 on every element,
// without contraction to fused multiply-adds. It is what Glow's own tests compare its other
// back ends with; `glow-cpu` is the one that runs on a CPU.
// # Formula
// F(...) is one float32 rounding, away(...) to the nearest integer with ties away from zero,
// even(...) with ties to even; m = F(input scale * weight scale).
// - conv2d, depthwise_conv2d, linear with a scale a channel:
//   y = clamp(away(F(F(float(acc) * F(m / output scale)) + z)))
// - linear with one scale, mul: y = clamp(away(F(float(acc) * k)) + z), z *outside*
// - matmul: as conv2d, with F(m / output scale) of the two operands' scales
// - add: L = away(F(float(l - zl) * F(sl / 2^-15))), R alike,
//   y = clamp(away(F(F(float(L + R) * F(2^-15 / s)) + z)))
// - sub: l = F(F(sl / s) * float(l - zl)), r alike, y = clamp(away(F(F(l - r) + z)))
// - avg_pool2d, mean, adaptive_avg_pool2d to 1x1:
//   y = clamp(away(F(F(float(sum) * F(F(si / s) / n)) + z)))
// - adaptive_avg_pool2d to more: F(F(F(si / s) / width) / height) in its place
// - quantize: y = clamp(even(F(F(x / s) + z))); dequantize: F(s * float(q - z))
// - requantize, concat, clamp: quantize(dequantize(q))
// - sigmoid, tanh: requantize to a grid of [-6, 6] or [-3, 3], look up, requantize
// - resize_bilinear: three interpolations in float32, then truncated toward zero
// # Ties
// Away from zero, after adding the zero point: half a step becomes 1 with zero point 0, but
// with zero point -1 it is -0.5, which is stored as -1 and means 0. In linear and mul before
// adding it. Quantizing rounds half to even, after adding it.
// # Operands
// float32 throughout, by divisions. A bias is int32 in steps of m; it is converted to float32
// and back, so beyond 2^24 it loses bits. A real bias is even(F(b / m)).
// # Quirks
// - linear and conv2d disagree on ties: z is outside in one and inside in the other.
// - The grid of an addition is 2^-15, whatever the scales are: fine scales lose bits.
// - The tables of sigmoid and tanh are constants in the source. All but their ends are
//   255 * sigmoid - 128 and 127 * tanh, rounded; the ends are -128 (and -127) and 127.
// - Bilinear resizing truncates: its mean error is half a step toward stored 0.
// - uint8 is loaded as int8 that is 128 lower, which moves the ties; so it is here.
// # Not matched
// - A value that doesn't fit int32 before clamping saturates; C++ leaves it undefined.
//   It takes a ratio of scales of more than 1 and an accumulator of more than 2^30. Ratios that
//   float32 can't hold are refused.
// - Glow's graph optimizer may fold a rescale into the operation before it: compare with the
//   types of the optimized graph.
// - softmax: Glow computes it in float32 between a dequantize and a quantize; so does this,
//   but its terms come from the difference of two codes, not from that of two float32. A
//   result near a tie may differ by one step, as it does between libraries of e^x.
// - elu, hard_swish, leaky_relu: Glow composes them of others, they are refused; so are means
//   over other axes than rows and columns.
// # Checked against
// The interpreter's functions, extracted and compiled by g++ 12, recorded: two convolutions
// (2,144 outputs), two additions over all pairs of codes (131,072), three poolings (1,936).
// The formulas of conv2d, linear, add, pools and quantize were compared with 4 million more.
// Glow isn't installable: matmul, sub, mul, rescaling, tables and resizing are from source.
// # Sources
// - lib/Backends/Interpreter/InterpreterNodes.cpp, the function fwd<Instruction>Inst of each
// - include/glow/Quantization/Base/Base.h, quantize, dequantize, clip
// - lib/Quantization/Quantization.cpp, replaceQuantizedSigmoidWithLookupTable; the tables:
//   lib/Graph/Graph.cpp, createIntSigmoid, createIntTanh
// - lib/Optimizer/Lower/Lower.cpp, lowerAdaptiveAvgPoolNode, lowerReluNode

module attributes {contract.family = "Glow", contract.base = "_steps",
    contract.summary = "Glow's interpreter: float32, ties away from zero, zero point inside"} {

// ---------------------------------------------------------------- storing

// By how much uint8 is lowered to be int8.
func.func private @lowering(%output_unsigned: i1) -> i32 {
  %result = arith.select %output_unsigned, 128, 0 : i32
}

// A real number of steps with the zero point of the int8 that Glow has.
func.func private @add_zero_point(%steps: f32) -> f32 {
  %offset = arith.subi %output_zero_point, @lowering : i32
  %z = arith.sitofp %offset : i32 to f32
  %result = arith.addf %steps, %z : f32
}

// Clamps before the lowering is undone: the rounded value may be any int32.
func.func private @store(%rounded: i32, %output_min: i32) -> i32 {
  %result = func.call @clamp_and_offset(%rounded, %output_min, %output_max, @lowering) : (i32, i32, i32, i32) -> i32
}

// away(F(steps + z))
func.func private @store_inside(%steps: f32) -> i32 {
  %moved = func.call @add_zero_point(%steps) : (f32) -> f32
  %rounded = fixed.convert %moved {rounding = half_away} : f32 to i32
  %result = func.call @store(%rounded) : (i32) -> i32
}

// away(steps) + z
func.func private @store_outside(%steps: f32) -> i32 {
  %result = func.call @store_half_away(%steps) : (f32) -> i32
}

func.func private @to_steps(%x: i32, %ratio: f32) -> f32 {
  func.call @require_finite_ratio(%ratio) : (f32) -> ()
  %real = arith.sitofp %x : i32 to f32
  %result = arith.mulf %real, %ratio : f32
}

// ---------------------------------------------------------------- convolution, matmul

// The bias's scale is that of the product, so that it is multiplied by 1; what rounds is its
// conversion to float32.
func.func private @add_bias(%accumulator: i32, %bias: i32) -> i32 {
  %real = arith.sitofp %bias : i32 to f32
  %rounded = fixed.convert %real {rounding = half_away} : f32 to i32
  %result = arith.addi %accumulator, %rounded : i32
}

// fwdConvolutionInstQuantizedImpl, fwdChannelwiseQuantizedConv2DInstImpl
// A convolution of as many groups as channels.
func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d {
  %sum = func.call @add_bias(%accumulator, %bias) : (i32, i32) -> i32
  %steps = func.call @to_steps(%sum, @product_ratio) : (i32, f32) -> f32
  %result = func.call @store_inside(%steps) : (f32) -> i32
}

// fwdFullyConnectedInstQuantizedImpl; with a scale a channel
// fwdRowwiseQuantizedFullyConnectedInstImpl.
func.func @linear(%accumulator: i32) -> i32 {
  %sum = func.call @add_bias(%accumulator, %bias) : (i32, i32) -> i32
  %steps = func.call @to_steps(%sum, @product_ratio) : (i32, f32) -> f32
  %inside = func.call @store_inside(%steps) : (f32) -> i32
  %outside = func.call @store_outside(%steps) : (f32) -> i32
  %result = arith.select %per_channel, %inside, %outside : i32
}

// fwdMatMulInstQuantizedImpl
func.func @matmul(%accumulator: i32) -> i32 {
  %steps = func.call @to_steps(%accumulator, @product_ratio) : (i32, f32) -> f32
  %result = func.call @store_inside(%steps) : (f32) -> i32
}

// Base.h, quantize<int32_t>, with the product's scale and no zero point.
func.func @quantize_bias() -> i32 {
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.divf %real_bias, %scale : f32
  %result = fixed.convert %steps {rounding = half_even} : f32 to i32
}

// ---------------------------------------------------------------- pooling, mean

// A window without a value in it gives the zero point.
func.func private @mean_ratio(%count: i32) -> f32 {
  %some = arith.maxsi %count, 1 : i32
  %n = arith.sitofp %some : i32 to f32
  %ratio = arith.divf %input_scale, %output_scale : f32
  %result = arith.divf %ratio, %n : f32
}

// fwdAvgPoolInstI8Impl
func.func @avg_pool2d(
    %accumulator: i32, %count: i32, %window_size: i32, %count_include_pad: i1) -> i32 {
  %divisor = arith.select %count_include_pad, %window_size, %count : i32
  %ratio = func.call @mean_ratio(%divisor) : (i32) -> f32
  %steps = func.call @to_steps(@centred_sum, %ratio) : (i32, f32) -> f32
  %result = func.call @store_inside(%steps) : (f32) -> i32
}

// fwdAdaptiveAvgPoolInstI8Impl; to 1x1 it is lowered to an average pool.
func.func @adaptive_avg_pool2d(%accumulator: i32) -> i32 {
  %global = arith.cmpi eq, %output_size, 1 : i32
  %row_ratio = func.call @mean_ratio(%kernel_width) : (i32) -> f32
  %height = arith.sitofp %kernel_height : i32 to f32
  %window_ratio = arith.divf %row_ratio, %height : f32
  %ratio = arith.select %global, @mean_ratio, %window_ratio : f32
  %steps = func.call @to_steps(@centred_sum, %ratio) : (i32, f32) -> f32
  %result = func.call @store_inside(%steps) : (f32) -> i32
}

// The loaders turn a mean over rows and columns into an average pool.
func.func @mean(%accumulator: i32) -> i32 {
  cf.assert %over_image, "mean: Glow has an int8 kernel for rows and columns of an image only"
  %steps = func.call @to_steps(@centred_sum, @mean_ratio) : (i32, f32) -> f32
  %result = func.call @store_inside(%steps) : (f32) -> i32
}

// ---------------------------------------------------------------- elementwise

// An operand of an addition in steps of 2^-15.
func.func private @to_large_scale(%stored: i32, %zero_point: i32, %scale: f32) -> i32 {
  %centred = arith.subi %stored, %zero_point : i32
  %large = arith.constant 3.0517578125e-05 : f32
  %ratio = arith.divf %scale, %large : f32
  %steps = func.call @to_steps(%centred, %ratio) : (i32, f32) -> f32
  %result = fixed.convert %steps {rounding = half_away} : f32 to i32
}

// fwdElementAddInstI8Impl
func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @to_large_scale(%lhs, %lhs_zero_point, %lhs_scale) : (i32, i32, f32) -> i32
  %b = func.call @to_large_scale(%rhs, %rhs_zero_point, %rhs_scale) : (i32, i32, f32) -> i32
  %sum = arith.addi %a, %b : i32
  %large = arith.constant 3.0517578125e-05 : f32
  %ratio = arith.divf %large, %output_scale : f32
  %steps = func.call @to_steps(%sum, %ratio) : (i32, f32) -> f32
  %result = func.call @store_inside(%steps) : (f32) -> i32
}

func.func private @operand_steps(%stored: i32, %zero_point: i32, %scale: f32) -> f32 {
  %centred = arith.subi %stored, %zero_point : i32
  %ratio = arith.divf %scale, %output_scale : f32
  %result = func.call @to_steps(%centred, %ratio) : (i32, f32) -> f32
}

// fwdElementSubInst
func.func @sub(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @operand_steps(%lhs, %lhs_zero_point, %lhs_scale) : (i32, i32, f32) -> f32
  %b = func.call @operand_steps(%rhs, %rhs_zero_point, %rhs_scale) : (i32, i32, f32) -> f32
  %difference = arith.subf %a, %b : f32
  %result = func.call @store_inside(%difference) : (f32) -> i32
}

// fwdElementMulInst
func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %steps = func.call @to_steps(@centred_product, @product_ratio) : (i32, f32) -> f32
  %result = func.call @store_outside(%steps) : (f32) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

// Base.h, quantize: even(F(F(real / scale) + z)). What isn't a number is outside int32.
func.func private @quantize_real(%real: f32, %output_unsigned: i1) -> i32 {
  %steps = arith.divf %real, %output_scale : f32
  %moved = func.call @add_zero_point(%steps) : (f32) -> f32
  %result = fixed.convert %moved {rounding = half_even} : f32 to i32
}

// NaN gives the smallest code, as x86 converts it.
func.func @quantize(%input: f32) -> i32 {
  %infinity = arith.constant 0xFF800000 : f32
  %above = arith.cmpf ogt, %input, %infinity : f32
  %number = arith.select %above, %input, %infinity : f32
  %rounded = func.call @quantize_real(%number) : (f32) -> i32
  %result = func.call @store(%rounded) : (i32) -> i32
}

// Base.h, dequantize
func.func @dequantize(%input: i32, %input_scale: f32, %input_zero_point: i32) -> f32 {
  %result = func.call @to_steps(@centred_input, %input_scale) : (i32, f32) -> f32
}

// The bounds of a clip are quantized as values are. Of a bound far outside nothing is left
// but its side: the caller narrows the storage range by it.
func.func @bound(%real: f32) -> i32 {
  %result = func.call @quantize_real(%real, false) : (f32, i1) -> i32
}

// fwdRescaleQuantizedInstImpl
// Relu and Clip become the larger and the smaller of two values: fwdElementMaxInstI8Impl
// brings both to the output's type first.
// Inputs of another type than the output's are rescaled before.
func.func private @rescale(
    %input: i32, %input_scale: f32, %input_zero_point: i32, %output_scale: f32,
    %output_zero_point: i32, %output_min: i32, %output_max: i32,
    %output_unsigned: i1) -> i32 serves requantize, clamp, concat {
  %rounded = func.call @quantize_real(@dequantize) : (f32) -> i32
  %result = func.call @store(%rounded) : (i32) -> i32
}

// ---------------------------------------------------------------- activations (tables)

// From a type to another of int8 with a full range, where the tables are.
func.func private @rescale_to_grid(%input: i32, %grid_scale: f32) -> i32 {
  %result = func.call @rescale(%input, %input_scale, %input_zero_point, %grid_scale, 0, -128, 127, false) : (i32, f32, i32, f32, i32, i32, i32, i1) -> i32
}

// The first and the last entries aren't those of the function.
func.func private @with_end(%entry: i32, %index: i32, %end: i32, %value: i32) -> i32 {
  %at_end = arith.cmpi eq, %index, %end : i32
  %result = arith.select %at_end, %value, %entry : i32
}

// createIntSigmoid: from [-6, 6] in steps of 12/255 to [0, 1] in steps of 1/255.
func.func @sigmoid(%input: i32) -> i32 {
  %grid_scale = arith.constant 0.047058823529411764 : f32
  %index = func.call @rescale_to_grid(%input, %grid_scale) : (i32, f32) -> i32
  %step = arith.constant 0.047058823529411764 : f64
  %x = arith.mulf %index, %step : f64
  %negated = arith.negf %x : f64
  %exponential = math.exp %negated : f64
  %denominator = arith.addf 1.0, %exponential : f64
  %steps = arith.divf 255.0, %denominator : f64
  %moved = arith.subf %steps, 128.0 : f64
  %rounded = fixed.convert %moved {rounding = half_away} : f64 to i32
  %with_first = func.call @with_end(%rounded, %index, -128, -128) : (i32, i32, i32, i32) -> i32
  %entry = func.call @with_end(%with_first, %index, 127, 127) : (i32, i32, i32, i32) -> i32
  %table_scale = arith.constant 0.00392156862745098 : f32
  %result = func.call @rescale(%entry, %table_scale, -128) : (i32, f32, i32) -> i32
}

// createIntTanh: from [-3, 3] in steps of 6/255, which the table has as 3/127, to [-1, 1] in
// steps of 2/255, which it has as 1/127.
func.func @tanh(%input: i32) -> i32 {
  %grid_scale = arith.constant 0.023529411764705882 : f32
  %index = func.call @rescale_to_grid(%input, %grid_scale) : (i32, f32) -> i32
  %three_i = arith.mulf %index, 3.0 : f64
  %x = arith.divf %three_i, 127.0 : f64
  %function = math.tanh %x : f64
  %steps = arith.mulf %function, 127.0 : f64
  %rounded = fixed.convert %steps {rounding = half_away} : f64 to i32
  %with_first = func.call @with_end(%rounded, %index, -128, -128) : (i32, i32, i32, i32) -> i32
  %with_second = func.call @with_end(%with_first, %index, -127, -127) : (i32, i32, i32, i32) -> i32
  %entry = func.call @with_end(%with_second, %index, 127, 127) : (i32, i32, i32, i32) -> i32
  %table_scale = arith.constant 0.00784313725490196 : f32
  %result = func.call @rescale(%entry, %table_scale, 0) : (i32, f32, i32) -> i32
}

// ---------------------------------------------------------------- softmax

// fwdSoftMaxInstImpl, float32
func.func @softmax_term(%difference: i32) -> f32 {
  %legal = arith.cmpf oeq, %beta, 1.0 : f32
  cf.assert %legal, "softmax: Glow has no beta but 1"
  %real = func.call @to_steps(%difference, %input_scale) : (i32, f32) -> f32
  %result = math.exp %real : f32
}

func.func @softmax_addend(%term: f32) -> f32 { return %term : f32 }

func.func @softmax_output(%term: f32, %sum: f32) -> i32 {
  %probability = arith.divf %term, %sum : f32
  %rounded = func.call @quantize_real(%probability) : (f32) -> i32
  %result = func.call @store(%rounded) : (i32) -> i32
}

// ---------------------------------------------------------------- resizing

// An index over F(output size / input size), in float32; pixels are counted from corners.
func.func private @resize_position() -> f32 {
  %moved = arith.ori %align_corners, %half_pixel_centers : i1
  %legal = arith.xori %moved, true : i1
  cf.assert %legal, "resize: Glow has neither aligned corners nor half-pixel centres"
  %input = arith.sitofp %input_size : i32 to f32
  %output = arith.sitofp %output_size : i32 to f32
  %scale = arith.divf %output, %input : f32
  %i = arith.sitofp %output_index : i32 to f32
  %result = arith.divf %i, %scale : f32
}

// fwdResizeNearestInstImpl
func.func @resize_nearest_position() -> i32 {
  %floor = fixed.convert @resize_position {rounding = toward_zero} : f32 to i32
  %last = arith.subi %input_size, 1 : i32
  %result = arith.minsi %floor, %last : i32
}

// fwdResizeBilinearInstImpl; the weight of the upper neighbour as the bits of a float32.
func.func @resize_bilinear_position() -> (i32, i32, i32) {
  %position = func.call @resize_position() : () -> f32
  %floor = fixed.convert %position {rounding = toward_zero} : f32 to i32
  %last = arith.subi %input_size, 1 : i32
  %next = arith.addi %floor, 1 : i32
  %lower = arith.minsi %floor, %last : i32
  %upper = arith.minsi %next, %last : i32
  %whole = arith.sitofp %floor : i32 to f32
  %fraction = arith.subf %position, %whole : f32
  %weight = arith.bitcast %fraction : f32 to i32
  return %lower, %upper, %weight : i32, i32, i32
}

func.func private @interpolate(%a: f32, %b: f32, %weight: f32) -> f32 {
  %difference = arith.subf %b, %a : f32
  %part = arith.mulf %difference, %weight : f32
  %result = arith.addf %a, %part : f32
}

func.func private @pixel(%stored: i32, %unsigned: i1) -> f32 {
  %lowering = func.call @lowering(%unsigned) : (i1) -> i32
  %signed = arith.subi %stored, %lowering : i32
  %result = arith.sitofp %signed : i32 to f32
}

// Columns, then rows; the float32 becomes int8 by a conversion of C++, toward zero.
func.func @resize_bilinear(
    %top_left: i32, %top_right: i32, %bottom_left: i32, %bottom_right: i32) -> i32 {
  %y = arith.bitcast %y_weight : i32 to f32
  %x = arith.bitcast %x_weight : i32 to f32
  %v00 = func.call @pixel(%top_left, %output_unsigned) : (i32, i1) -> f32
  %v01 = func.call @pixel(%top_right, %output_unsigned) : (i32, i1) -> f32
  %v10 = func.call @pixel(%bottom_left, %output_unsigned) : (i32, i1) -> f32
  %v11 = func.call @pixel(%bottom_right, %output_unsigned) : (i32, i1) -> f32
  %left = func.call @interpolate(%v00, %v10, %y) : (f32, f32, f32) -> f32
  %right = func.call @interpolate(%v01, %v11, %y) : (f32, f32, f32) -> f32
  %real = func.call @interpolate(%left, %right, %x) : (f32, f32, f32) -> f32
  %whole = fixed.convert %real {rounding = toward_zero} : f32 to i32
  %result = arith.addi %whole, @lowering : i32
}

}
