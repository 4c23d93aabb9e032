// The arithmetic of OpenVINO's CPU plug-in on x86 with AVX-512 VNNI (OpenVINO 2026.4.1), for
// models with FakeQuantize (TFLite files, NNCF) and for ONNX files in QDQ form.
// # Formula
// Scales are kept as ranges: lo = F((low - z) s), hi = F((high - z) s) for the codes' ends; d =
// F(F(hi - lo) / 255), i = F(255 / F(hi - lo)), h = F(F(-lo 255) / F(hi - lo)), of the input x or
// the output y; w = F(s_w d_x). Codes are uint8 here; a is ReLU, or nothing.
// - conv2d, depthwise_conv2d: `y = rne(fma(a(F(F(acc w) + b)), i_y, h_y))`, but with
//   F(1 / F(1 / i_y)) for i_y where h_y is 0 and a has no bound below the last code
// - conv2d_add: `y` as above of a(F(v + r)), v in steps of r and clamped (`between` below)
// - linear: n = F(sum(q w) - t), t the sum of F(h_x w) in float32, one weight after the other; of
//   a zero point 0 or 128 n = F(acc). With ReLU, or more than two dimensions, as conv2d of n. Else
//   `y = rne(F(F(n F(w i_y)) + F(F(b i_y) + h_y)))`, but F(F(n w) i_y) with t and one scale; in a
//   sequence `y = rne(F(F(a(F(F(n w) + b)) i_y) - F(lo_y i_y)))`
// - avg_pool2d: il = F(F(lo_y / d_x) + h_x), ih likewise; `y = rne(fma(F(sum F(1 / n)),
//   F(255 / F(ih - il)), F(F(-il 255) / F(ih - il))))`; mean: F(sum / n), else so
// - quantize: `y = rne(F(F(x i_y) + F(-lo i_y)))`; dequantize: `F(F(q d) + lo)`
// QDQ form states steps and zero points: s for d and z for h of all inputs and what is between,
// while the output keeps its range; dequantize is F((q - z) s). int8 codes are int8 there.
// # Ties
// Half to even, with the zero point inside: its parity decides where a tie goes.
// # Operands
// float32 as written. int8 codes run as the uint8 codes 128 above, so with the same parity.
// # Quirks
// - One kernel computes two to seven linear layers so that follow each other, each read by the
//   next alone, of 8 rows, 256 inputs and 256 outputs at most, and quantizes the linear layer's or
//   mean's result before them. That holds for one thread; two leave one row or three out, as sizes
//   that a file leaves open do (`model.reshape` fixes them). Models are read so.
// - An addition is computed by the convolution before it, of two by the first, if what is added
//   has no later reader. Models are read so. Other additions, multiplications, functions and
//   softmax are computed in float32, in ways that differ from graph to graph: they have no rule.
// # Not matched
// - Files of TFLite with depthwise convolutions, which run in float32 there.
// - Linear layers whose biases differ by less than 5e-5 steps, or that have scales of weights
//   whose products with d_x are the same.
// - In QDQ form outputs whose zero point is one constant of two DequantizeLinear, the other's result
//   not only multiplied: fma(q, d, lo), the last bit of real numbers. A warning names them.
// - Kernels for AMX have faults; `ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI` avoids them.
// - Pools that leave padding out, files with QLinearConv, several threads: not tried.
// # Checked against
// OpenVINO live, `tests/contracts/test_phone_systems_live.py`, `test_openvino_sequences_live.py`:
// 29 million outputs, 18 million of them ties or near ties, and networks: no mismatch
// ([more](../../docs/pages/contracts-measured.md#openvino)).
// # Sources
// - openvinotoolkit/openvino: fake_quantize.cpp, dnnl_postops_composer.cpp, graph_optimizer.cpp,
//   dnnl_postops_composer_legacy.cpp, add.cpp, mlp_seq_tokenization.cpp, fq_decomposition.cpp

module attributes {contract.family = "OpenVINO", contract.base = "_reals",
    contract.summary = "OpenVINO (VNNI): scales as ranges, one FMA with the zero point inside"} {

// FakeQuantize's inputScale and inputShift, and the step, of a range.
func.func private @scale(%low: f32, %high: f32) -> f32 { %result = 255.0 / (%high - %low) }
func.func private @shift(%low: f32, %high: f32) -> f32 { %result = -%low * 255.0 / (%high - %low) }
func.func private @step(%low: f32, %high: f32) -> f32 { %result = (%high - %low) / 255.0 }

// The ends of the range of codes with scale s and zero point z.
func.func private @low(%s: f32, %z: i32, %unsigned: i1) -> f32 {
  %result = f32((0 if %unsigned else -128) - %z) * %s
}
func.func private @high(%s: f32, %z: i32, %unsigned: i1) -> f32 {
  %result = f32((255 if %unsigned else 127) - %z) * %s
}

// Their step and zero point: of the range, or in QDQ form as the model states them.
func.func private @step_of(%s: f32, %z: i32, %unsigned: i1) -> f32 {
  %result = %s if %in_qdq else @step(@low(%s, %z, %unsigned), @high(%s, %z, %unsigned))
}
func.func private @zero_of(%s: f32, %z: i32, %unsigned: i1) -> f32 {
  %result = f32(%z) if %in_qdq else @shift(@low(%s, %z, %unsigned), @high(%s, %z, %unsigned))
}
func.func private @input_step() -> f32 {
  %result = @step_of(%input_scale, %input_zero_point, %input_unsigned)
}
func.func private @input_zero() -> f32 {
  %result = @zero_of(%input_scale, %input_zero_point, %input_unsigned)
}
func.func private @output_low() -> f32 {
  %result = @low(%output_scale, %output_zero_point, %output_unsigned)
}
func.func private @output_high() -> f32 {
  %result = @high(%output_scale, %output_zero_point, %output_unsigned)
}

// A code as one of uint8.
func.func private @stored(%code: i32, %unsigned: i1) -> i32 {
  %result = %code if %unsigned else %code + 128
}

// rne of steps, as a code of uint8 that is `above` that of the type.
func.func private @store(%steps: f32, %above: i32) -> i32 {
  %low = %storage_min + %above
  %code = func.call @store_with_zero_point_inside(%steps, %low, %storage_max + %above) : (f32, i32, i32) -> i32
  %result = %code - %above
}

// How far that is, and what of it is in the shift: behind weights int8 codes of QDQ form are int8.
func.func private @above() -> i32 { %result = 0 if %output_unsigned else 128 : i32 }
func.func private @in_shift() -> i32 { %result = @above if %in_qdq else 0 }

func.func private @store_shifted(%steps: f32) -> i32 {
  %result = @store(%steps, @above - @in_shift)
}

// FakeQuantize as a kernel of several layers, and one of nothing else, compute it.
func.func private @store_in_turn(%real: f32, %low: f32, %high: f32) -> i32 {
  %scale = @scale(%low, %high)
  %result = @store(%real * %scale - %low * %scale, @above)
}

func.func private @unless_negligible(%shift: f32, %low: f32, %high: f32) -> f32 {
  %result = 0.0 if abs(%shift) < (%high - %low) * 1.0e-5 else %shift
}

// A scale without a shift, or bound below the last code, is passed on as its inverse, which is
// inverted again.
func.func private @store_in_range(%real: f32, %low: f32, %high: f32) -> i32 {
  %scale = @scale(%low, %high)
  %shift = @unless_negligible(@shift(%low, %high) - f32(@in_shift), 0.0, 255.0)
  %is_open = roundeven(%activation_max * %scale) >= f32(255 - @in_shift)
  %used = 1.0 / (1.0 / %scale) if %is_open and %shift == 0.0 else %scale
  %result = @store_shifted(fma(%real, %used, %shift))
}

// ---------------------------------------------------------------- convolutions and additions

func.func private @weight_step() -> f32 { %result = %weight_scale * @input_step }

func.func private @real(%sum: f32) -> f32 {
  cf.assert %weights_symmetric, "weights with a zero point, which OpenVINO computes in other ways"
  %result = %sum * @weight_step + %real_bias
}

func.func private @fused(%sum: f32) -> i32 {
  %active = min(max(@real(%sum), %activation_min), %activation_max)
  %result = @store_in_range(%active, @output_low, @output_high)
}

// A ReLU whose output has no codes below 0 is left out.
func.func private @without_relu() -> i1 {
  %is_lowest = @stored(%output_zero_point, %output_unsigned) == 0
  %result = %activation_min == 0xFF800000 or %is_lowest and %activation_max == 0x7F800000
}

// Scales become part of the output's range if no bias or ReLU is between, biases that are all
// the same, too; without biases a ReLU comes before them. Of several scales the first channel's
// shift is that of all.
func.func private @in_sums(%real: f32, %step: f32) -> f32 {
  %result = (%real - %real_bias) / %step
}
func.func private @unless_in_range(%sum: f32, %otherwise: i32) -> i32 {
  cf.assert %activation_max == 0x7F800000 or not %one_bias, "biases that are all the same before an activation other than ReLU"
  %active = %sum if @without_relu else max(%sum, 0.0)
  %low = @in_sums(@output_low, @weight_step)
  %high = @in_sums(@output_high, @weight_step)
  %first = %first_weight_scale * @input_step
  %shift = @shift(@in_sums(@output_low, %first), @in_sums(@output_high, %first))
  %several = @store_shifted(%active * @scale(%low, %high) + (%shift - f32(@in_shift)))
  %ranged = @store_in_range(%active, %low, %high) if %one_weight_scale else %several
  %result = %ranged if %one_bias and (@without_relu or %real_bias == 0.0) else %otherwise
}

func.func private @require_known_storage() {
  %is_off = not @stored(%output_zero_point, %output_unsigned) == 128
  cf.assert %is_off or %in_qdq, "an output whose zero point is the middle of its codes: OpenVINO rounds it in one of two ways, by what follows"
}

// A pooling takes steps of 1x1 convolutions, but not of depthwise ones.
func.func private @require_known_kernel() {
  %alone = %groups > 1 and %groups == %input_channels
  %dense = %kernel_height * %kernel_width > 1 or %stride_height * %stride_width == 1
  cf.assert %alone or %dense or not %in_qdq, "a 1x1 convolution with steps in QDQ form: around it OpenVINO computes in float32"
  func.call @require_known_storage() : () -> ()
  cf.assert %input_unsigned or not %in_qdq, "a convolution of int8 codes in QDQ form: how OpenVINO rounds it depends on the processor"
}

func.func private @convolved(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d {
  func.call @require_known_kernel() : () -> ()
  %sum = f32(%accumulator)
  %result = @unless_in_range(%sum, @fused(%sum))
}

// Codes whose zero point is the middle one are stored as int8, unless QDQ form says it.
func.func private @is_signed(%z: i32, %unsigned: i1) -> i1 {
  %result = not %unsigned if %in_qdq else @stored(%z, %unsigned) == 128
}
func.func private @term_zero(%s: f32, %z: i32, %unsigned: i1) -> f32 {
  %none = @is_signed(%z, %unsigned) and not %in_qdq
  %result = 0.0 if %none else @zero_of(%s, %z, %unsigned)
}
func.func private @addend_step() -> f32 {
  %result = @step_of(%addend_scale, %addend_zero_point, %addend_unsigned)
}

// What the convolution gives, clamped to the range of the quantization between, but not rounded,
// in steps of the addend, whose zero point is taken from it: codes are added as they are.
func.func private @between(%real: f32, %s: f32, %z: i32, %unsigned: i1) -> f32 {
  %ratio = @step_of(%s, %z, %unsigned) / @addend_step
  %addend = @term_zero(%addend_scale, %addend_zero_point, %addend_unsigned) * @addend_step
  %point = @term_zero(%s, %z, %unsigned) + %addend / @step_of(%s, %z, %unsigned)
  %least = -128.0 if @is_signed(%z, %unsigned) else 0.0 : f32
  %first = (%least - %point) * %ratio
  %unit = @step(%first, (%least + 255.0 - %point) * %ratio)
  %last = %unit * 255.0 + %first
  %low = @low(%s, %z, %unsigned)
  %high = @high(%s, %z, %unsigned)
  %shift = @unless_negligible(@shift(%low, %high) * %unit + %first, %first, %last)
  %result = min(max(fma(%real, @scale(%low, %high) * %unit, %shift), %first), %last)
}

func.func private @added(%accumulator: i32, %addend: i32) -> i32 serves conv2d_add, depthwise_conv2d_add {
  func.call @require_relu(%activation_max) : (f32) -> ()
  func.call @require_known_kernel() : () -> ()
  cf.assert not %one_bias, "an addition behind a convolution whose biases are all the same: OpenVINO makes them part of the range of its quantization"
  %own = @between(@real(f32(%accumulator)), %summand_scale, %summand_zero_point, %summand_unsigned)
  %middle = 128 if @is_signed(%addend_zero_point, %addend_unsigned) else 0 : i32
  %active = max(%own + f32(@stored(%addend, %addend_unsigned) - %middle), %activation_min)
  %result = @store_in_range(%active, @output_low / @addend_step, @output_high / @addend_step)
}

// ---------------------------------------------------------------- matrix products and averages

// A product of stored codes, from which F(h_x w) of each weight is subtracted.
func.func @weight_addend(%weight: i32) -> f32 { %result = f32(%weight) * @input_zero }

// A combined scale of 1 doesn't replace the one that a single scale had set before; nor is a
// single scale combined after a subtraction.
func.func private @in_steps(%sum: f32, %shifts: i1) -> i32 {
  %scale = @scale(@output_low, @output_high)
  %combined = @weight_step * %scale
  %used = @weight_step if %combined == 1.0 and %one_weight_scale else %combined
  %twice = %shifts and %one_weight_scale
  %product = %sum * @weight_step * %scale if %twice else %sum * %used
  %shift = %real_bias * %scale + @shift(@output_low, @output_high) - f32(@in_shift)
  %result = @store_shifted(%product + %shift)
}

func.func private @is_in_sequence() -> i1 { return %in_sequence : i1 }
func.func @dequantize_bias() -> f32 { %result = @bias_in_float32 : f32 }

// A layer without ReLU multiplies and adds in the output's steps.
func.func @linear(%accumulator: i32) -> i32 {
  func.call @require_relu(%activation_max) : (f32) -> ()
  func.call @require_known_storage() : () -> ()
  %point = %input_zero_point if %in_qdq else @stored(%input_zero_point, %input_unsigned)
  %shifts = not %point == 0 and (%in_qdq or not %point == 128)
  cf.assert not (%one_bias and %shifts), "biases that are all the same, or one output: OpenVINO makes them part of the range of its quantization"
  %shifted = f32(%accumulator + %point * %weight_sum) - %weight_total
  %sum = %shifted if %shifts else f32(%accumulator)
  %in_turn = @store_in_turn(max(@real(%sum), %activation_min), @output_low, @output_high)
  %is_flat = %input_rank <= 2
  %is_plain = %is_flat and @without_relu
  %apart = @in_steps(%sum, %shifts) if %is_plain else @fused(%sum)
  %alone = @unless_in_range(%sum, %apart) if %is_flat else %apart
  %result = %in_turn if @is_in_sequence else %alone
}

func.func private @sum_of(%accumulator: i32, %count: i32) -> f32 {
  %offset = 0 if %input_unsigned or %in_qdq else 128 : i32
  %result = f32(%accumulator + %offset * %count)
}

// An end of the output's range in steps of the input; some are taken as whole numbers.
func.func private @in_input_steps(%end: f32) -> f32 {
  %steps = %end / @input_step + (0.0 if %in_qdq else @input_zero)
  %distance = abs(%steps - roundeven(%steps))
  cf.assert %distance == 0.0 or %distance >= 1.0e-6 or %in_qdq, "an output whose range ends within 1e-6 of a whole number of steps of the input, which OpenVINO may take as that number"
  return %steps : f32
}

// A stated zero point becomes a part of the shift.
func.func private @store_mean(%mean: f32, %low: f32, %high: f32) -> i32 {
  %moved = (f32(%input_zero_point) if %in_qdq else 0.0) * @scale(%low, %high)
  %result = @store(fma(%mean, @scale(%low, %high), @shift(%low, %high) - %moved), @above)
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  %mean = @sum_of(%accumulator, %count) * (1.0 / f32(%count))
  %result = @store_mean(%mean, @in_input_steps(@output_low), @in_input_steps(@output_high))
}

func.func @mean(%accumulator: i32, %count: i32) -> i32 {
  %mean = @sum_of(%accumulator, %count) / f32(%count)
  %low = @in_input_steps(@output_low)
  %high = @in_input_steps(@output_high)
  %alone = @store_mean(%mean, %low, %high)
  %result = @store_in_turn(%mean, %low, %high) if @is_in_sequence else %alone
}

func.func @quantize(%input: f32) -> i32 { %result = @store_in_turn(%input, @output_low, @output_high) }

func.func @dequantize(%input: i32) -> f32 {
  %low = @low(%input_scale, %input_zero_point, %input_unsigned)
  %ranged = f32(@stored(%input, %input_unsigned)) * @input_step + %low
  %result = @dequantize_exactly(%input) if %in_qdq else %ranged
}

}
