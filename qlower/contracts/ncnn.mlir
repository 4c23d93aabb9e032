// The arithmetic of ncnn's int8 layers on x86 CPUs with AVX and FMA (ncnn 1.0.20261020), with
// the option `use_packing_layout` off.
// # Formula
// ncnn's scales multiply: t = F(1 / s) for each scale s here, u = F(1 / F(t_x t_w)); a is the
// activation, of real numbers. r1(v) = trunc(F(v +- 0.5)), r2(v) is v rounded half away.
// - conv2d: `y = r1(F(a(fma(acc, u, b)) t_y))`; r2 at the last pixels of a channel, after whole
//   fours
// - depthwise_conv2d: `y = r2(F(a(F(F(acc u) + b)) t_y))`; with a kernel of 3x3, no dilation and
//   equal strides of 1 or 2 an FMA, as in conv2d, but for activations other than ReLU
// - linear: real numbers, `a(F(F(acc u) + b))`, and their quantization by the next layer
// - quantize: `y = r1(F(x t_y))`, r2 after whole fours as in conv2d
// - averages of real numbers: `F(sum / n)`, or `F(sum F(1 / n))` where padding or all is counted
// # Ties
// Half away from zero. r1 makes 1 of 0.49999997, the only number where it isn't r2.
// # Operands
// float32 as written; there are no zero points, and -128 never occurs. A scale of ncnn's that is
// no F(1 / s), as one in six, can't be said in types; models read from ncnn's own files have it.
// # Quirks
// - A real number of 2^31 steps or more gives -127.
// - int8 chains are those of convolutions alone: ncnn adds, pools and concatenates real numbers.
// # Not matched
// - With `use_packing_layout`, which is on by default, a depthwise convolution of 8n channels
//   multiplies by `rcpps`, the processor's approximate reciprocal, which AMD and Intel compute
//   differently: 0.03 to 0.2 % of its outputs differ. Others differ only in where r2 is for r1.
// # Checked against
// ncnn live, `tests/contracts/test_phone_systems_live.py`: 8.8 million outputs, half of them ties or
// near ties, and ResNet8: no mismatch ([more](../../docs/pages/contracts-measured.md#ncnn)).
// # Sources
// Tencent/ncnn at a4d2ea1d, src/layer/x86:
// - requantize_x86.cpp, convolution_x86.cpp, innerproduct_x86.cpp, quantize_x86.cpp
// - convolutiondepthwise_x86.cpp, convolutiondepthwise_3x3_int8.h, x86_usability.h (float2int8)

module attributes {contract.family = "ncnn", contract.base = "_reals",
    contract.summary = "ncnn on x86: one FMA, half away from zero, no zero points, no -128"} {

func.func private @inverse(%scale: f32) -> f32 { %result = arith.divf 1.0, %scale : f32 }

func.func private @require_plain_codes(%input_zero_point: i32) {
  func.call @require_no_zero_points(%input_zero_point) : (i32) -> ()
  func.call @require_signed() : () -> ()
}

// 1 / (bottom_scale * weight_scale)
func.func private @step() -> f32 {
  %result = func.call @step_of(@inverse(%input_scale), @inverse(%weight_scale)) : (f32, f32) -> f32
}

// of ncnn's scales, which multiply
func.func private @step_of(%x: f32, %w: f32) -> f32 {
  %product = arith.mulf %x, %w : f32
  %result = func.call @inverse(%product) : (f32) -> f32
}

// float2int8, whose conversion makes -2^31 of what int32 can't hold.
func.func private @coded(%real: f32, %scale: f32, %exactly: i1) -> i32 {
  %steps = arith.mulf %real, %scale : f32
  %exact = fixed.convert %steps {rounding = half_away} : f32 to i32
  %rounded = arith.select %exactly, %exact, @round_by_adding_half(%steps) : i32
  %held = arith.cmpf olt, %steps, 2147483648.0 : f32
  %number = arith.select %held, %rounded, -127 : i32
  %result = func.call @clamp_code(%number, -127, 127) : (i32, i32, i32) -> i32
}

// Of a sum with its bias: activation, output scale.
func.func private @store(%real: f32, %exactly: i1) -> i32 {
  cf.assert %weights_symmetric, "zero points, which this system doesn't have"
  func.call @require_plain_codes(%input_zero_point) : (i32) -> ()
  %result = func.call @coded(@active(%real), @inverse(%output_scale), %exactly) : (f32, f32, i1) -> i32
}

func.func private @real_fused(%accumulator: i32, %step: f32, %bias: f32) -> f32 {
  %sum = arith.sitofp %accumulator : i32 to f32
  %result = math.fma %sum, %step, %bias : f32
}

func.func private @real_in_two_steps(%accumulator: i32, %step: f32, %bias: f32) -> f32 {
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %step : f32
  %result = arith.addf %scaled, %bias : f32
}

// Whether an element of an image lies in its channel after whole vectors of 4.
func.func private @is_last(%element: i32) -> i1 {
  %pixel = arith.divsi %element, %channel_count : i32
  %pixels = arith.divsi %element_count, %channel_count : i32
  %result = func.call @is_in_tail(%pixel, %pixels, 4) : (i32, i32, i32) -> i1
}

func.func @conv2d(%accumulator: i32, %element: i32) -> i32 {
  %real = func.call @real_fused(%accumulator, @step, %real_bias) : (i32, f32, f32) -> f32
  %result = func.call @store(%real, @is_last(%element)) : (f32, i1) -> i32
}

// convdw3x3s1_int8_requant_sse, convdw3x3s2_int8_requant_sse
func.func private @has_own_kernel() -> i1 {
  %three_high = arith.cmpi eq, %kernel_height, 3 : i32
  %three_wide = arith.cmpi eq, %kernel_width, 3 : i32
  %dilation = arith.muli %dilation_height, %dilation_width : i32
  %dense = arith.cmpi eq, %dilation, 1 : i32
  %even = arith.cmpi eq, %stride_height, %stride_width : i32
  %small = arith.cmpi sle, %stride_height, 2 : i32
  %open = arith.cmpf oeq, %activation_max, 0x7F800000 : f32
  %three = arith.andi %three_high, %three_wide : i1
  %dense_three = arith.andi %three, %dense : i1
  %slow = arith.andi %even, %small : i1
  %fits = arith.andi %dense_three, %slow : i1
  %result = arith.andi %fits, %open : i1
}

// Several outputs of a channel are convolutions of a channel each.
func.func @depthwise_conv2d(%accumulator: i32, %element: i32) -> i32 {
  %fused = func.call @real_fused(%accumulator, @step, %real_bias) : (i32, f32, f32) -> f32
  %plain = func.call @real_in_two_steps(%accumulator, @step, %real_bias) : (i32, f32, f32) -> f32
  %single = arith.cmpi eq, %channel_count, %input_channels : i32
  %several = arith.xori %single, true : i1
  %fuses = arith.ori @has_own_kernel, %several : i1
  %real = arith.select %fuses, %fused, %plain : f32
  %exactly = arith.ori %single, @is_last(%element) : i1
  %result = func.call @store(%real, %exactly) : (f32, i1) -> i32
}

// The row is one vector; its last one to three elements are rounded one by one.
func.func @linear(%accumulator: i32) -> i32 {
  %real = func.call @real_in_two_steps(%accumulator, @step, %real_bias) : (i32, f32, f32) -> f32
  %last = func.call @is_in_tail(%channel, %channel_count, 4) : (i32, i32, i32) -> i1
  %result = func.call @store(%real, %last) : (f32, i1) -> i32
}

func.func @dequantize_bias() -> f32 {
  %steps = arith.sitofp %bias : i32 to f32
  %result = arith.mulf %steps, @step : f32
}

func.func @quantize(%input: f32, %element: i32) -> i32 {
  func.call @require_plain_codes(0) : (i32) -> ()
  %result = func.call @coded(%input, @inverse(%output_scale), @is_last(%element)) : (f32, f32, i1) -> i32
}

// ---------------------------------------------------------------- pools of real numbers

// pooling.cpp as its compiler has it (-ffast-math): the taps of a window in raster order, over
// their count, or where padding counts (real_average_pool) times its reciprocal; all of an image in
// four lanes.
func.func @real_loop_average_pool() -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf @elements_in_turn, %n : f32
}

func.func @real_average_pool() -> f32 {
  %result = arith.mulf @elements_in_turn, @share : f32
}

func.func @real_global_average() -> f32 {
  %result = arith.mulf @elements_in_lanes, @share : f32
}

func.func private @share(%count: i32) -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %result = arith.divf 1.0, %n : f32
}

func.func @real_max_pool() -> f32 {
  %result = func.call @maximum(-3.4028234663852886e+38) : (f32) -> f32
}

}
