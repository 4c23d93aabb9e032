// The arithmetic of ncnn's int8 layers on x86 CPUs with AVX-512 (ncnn 1.0.20261020), with the
// option `use_packing_layout` off.
// # Formula
// ncnn's scales multiply: t = F(1 / s) for each scale s here, u = F(1 / F(t_x t_w)); a is the
// activation, of real numbers. r1(v) = trunc(F(v +- 0.5)), r2(v) is v rounded half away.
// - conv2d: `y = r1(F(a(fma(acc, u, b)) t_y))`; r2 at a channel's last pixels, after whole fours
// - depthwise_conv2d: `y = r2(F(a(F(F(acc u) + b)) t_y))`; with a kernel of 3x3, no dilation and
//   equal strides of 1 or 2 an FMA, as in conv2d, but for activations other than ReLU
// - linear: real numbers, `a(F(F(acc u) + b))`, and their quantization by the next layer
// - quantize: `y = r1(F(x t_y))`, r2 after whole fours as in conv2d
// - averages of real numbers: `F(sum / n)`, taps in raster order, but `F(sum F(1 / n))` where
//   padding is counted, or all of an image, in four lanes
// # Ties
// Half away from zero. r1 makes 1 of 0.49999997, the only number where it isn't r2.
// # Operands
// float32 as written; there are no zero points, and -128 never occurs. A scale of ncnn's that is
// no F(1 / s), as one in six, can't be said in types; models read from ncnn's own files have it.
// # Quirks
// - int8 chains are those of convolutions alone: ncnn adds, pools and concatenates real numbers.
// # Not matched
// - Before AVX-512 depthwise convolutions have no FMA: `ncnn-avx2`.
// - With `use_packing_layout`, which is on by default, a depthwise convolution of 8n channels
//   multiplies by `rcpps`, the processor's approximate reciprocal, which AMD and Intel compute
//   differently: 0.03 to 0.2 % of its outputs differ. Others differ only in where r2 is for r1.
// # Checked against
// ncnn live, `tests/contracts/test_phone_systems_live.py`: 8.8 million outputs, half of them ties or
// near ties, and ResNet8: no mismatch ([more](../../docs/pages/contracts-measured.md#ncnn)).
// # Sources
// - Tencent/ncnn at a4d2ea1d, src/layer/x86: requantize_x86.cpp, convolution_x86.cpp,
//   convolutiondepthwise_x86.cpp, innerproduct_x86.cpp, pooling.cpp, quantize_x86.cpp

module attributes {contract.family = "ncnn", contract.base = "_reals",
    contract.summary = "ncnn on x86: one FMA, half away from zero, no zero points, no -128"} {

// 1 / (bottom_scale * weight_scale), of ncnn's scales, which multiply
func.func private @step_of(%x: f32, %w: f32) -> f32 { %result = 1.0 / (%x * %w) }
func.func private @step() -> f32 { %result = @step_of(1.0 / %input_scale, 1.0 / %weight_scale) }

// float2int8, whose conversion makes -2^31 of what int32 can't hold.
func.func private @coded(%real: f32, %scale: f32, %exactly: i1) -> i32 {
  %steps = %real * %scale
  %rounded = half_away(%steps) if %exactly else @round_by_adding_half(%steps)
  %number = %rounded if %steps < 2147483648.0 else -127
  %result = func.call @clamp_code(%number, -127, 127) : (i32, i32, i32) -> i32
}

// Of a sum with its bias: activation, output scale.
func.func private @store(%real: f32, %exactly: i1) -> i32 {
  cf.assert %weights_symmetric, "zero points, which this system doesn't have"
  func.call @require_no_zero_points() : () -> ()
  func.call @require_signed() : () -> ()
  %result = func.call @coded(@active(%real), 1.0 / %output_scale, %exactly) : (f32, f32, i1) -> i32
}

// Of ncnn's own files, too, whose steps no scale here may have.
func.func private @real_fused(%accumulator: i32, %step: f32, %real_bias: f32) -> f32 {
  %result = fma(f32(%accumulator), %step, %real_bias)
}
func.func private @real_in_two_steps(%accumulator: i32, %step: f32, %real_bias: f32) -> f32 {
  %result = f32(%accumulator) * %step + %real_bias
}

// Whether an element of an image lies in its channel after whole vectors of 4.
func.func private @is_last(%element: i32) -> i1 {
  %pixels = %element_count / %channel_count
  %result = func.call @is_in_tail(%element / %channel_count, %pixels, 4) : (i32, i32, i32) -> i1
}

func.func @conv2d(%accumulator: i32, %element: i32) -> i32 {
  %result = @store(@real_fused(%accumulator, @step), @is_last(%element))
}

// convdw3x3s1_int8_requant_sse, convdw3x3s2_int8_requant_sse
func.func private @has_own_kernel() -> i1 {
  %is_three = %kernel_height == 3 and %kernel_width == 3
  %is_dense = %dilation_height * %dilation_width == 1
  %is_slow = %stride_height == %stride_width and %stride_height <= 2
  %result = %is_three and %is_dense and %is_slow and %activation_max == 0x7F800000
}

// Several outputs of a channel are convolutions of a channel each.
func.func @depthwise_conv2d(%accumulator: i32, %element: i32) -> i32 {
  %single = %channel_count == %input_channels
  %fuses = @has_own_kernel or not %single
  %real = @real_fused(%accumulator, @step) if %fuses else @real_in_two_steps(%accumulator, @step)
  %result = @store(%real, %single or @is_last(%element))
}

// The row is one vector; its last one to three elements are rounded one by one.
func.func @linear(%accumulator: i32) -> i32 {
  %last = func.call @is_in_tail(%channel, %channel_count, 4) : (i32, i32, i32) -> i1
  %result = @store(@real_in_two_steps(%accumulator, @step), %last)
}

func.func @dequantize_bias() -> f32 { %result = f32(%bias) * @step }

func.func @quantize(%input: f32, %element: i32) -> i32 {
  func.call @require_no_zero_points(0) : (i32) -> ()
  func.call @require_signed() : () -> ()
  %result = @coded(%input, 1.0 / %output_scale, @is_last(%element))
}

func.func @real_loop_average_pool() -> f32 { %result = @elements_in_turn / f32(%count) : f32 }
func.func @real_average_pool() -> f32 { %result = @elements_in_turn * (1.0 / f32(%count)) : f32 }
func.func @real_global_average() -> f32 { %result = @elements_in_lanes * (1.0 / f32(%count)) : f32 }
func.func @real_max_pool() -> f32 {
  %result = func.call @maximum(-3.4028234663852886e+38) : (f32) -> f32
}

}
