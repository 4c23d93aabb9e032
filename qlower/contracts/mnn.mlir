// The arithmetic of MNN's int8 layers on x86 CPUs with AVX2, AVX-512 or VNNI (MNN 3.6.1): sums are
// exact on each.
// # Formula
// MNN multiplies codes that are 128 above, acc' = sum((q + 128) w), and takes that out again in
// float32. r(v) = trunc(F(v +- 0.5)); low is z_y with ReLU, else the type's least code.
// - conv2d, linear: f = F(F(F(b - F(F(F(sum(w) s_w) (z_x + 128)) s_x)) / s_y) + z_y);
//   `y = r(clamp(F(F(F(acc' s_w) F(s_x / s_y)) + f)))`
// - depthwise_conv2d: M = F(s_w F(s_x / s_y)); `y = clamp(r(F(F(acc + trunc(F(b / F(s_x s_w))) +
//   trunc(F(z_y / M))) M)))`: integers are added before the product
// - add, sub, mul: `y = clamp(round(F(F(F((a - z_a) s_a) op F((b - z_b) s_b)) F(1 / s_y))) + z_y)`
// - avg_pool2d: `y = (sum(q + 128) floor(2^24 / n)) >> 24, - 128`
// - quantize: `y = r(clamp(F(F(x F(1 / s_y)) + z_y)))`; dequantize: `F((q - z) s)`
// # Ties
// Half away from zero; r makes 1 of 0.49999997. In contractions but depthwise ones the zero
// point is inside. An average is rounded down.
// # Operands
// float32 as written.
// # Quirks
// - The range of a type is that of its codes: MNN's own tools write -127 to 127.
// - A ReLU in add, sub and mul cuts codes at 0, not at the zero point (a fault of MNN).
// # Not matched
// - Pools that count padding: MNN leaves it out of int8's averages, whatever the model says.
// # Checked against
// MNN live, `tests/contracts/test_phone_systems_live.py`: 8.8 million outputs, 5.2 million of them
// ties or near ties, ResNet8 and MobileNetV2: no mismatch
// ([more](../../docs/pages/contracts-measured.md#mnn)).
// # Sources
// - alibaba/MNN at 4d40bdbd, source/backend/cpu: CPUConvolution.cpp, CPUPoolInt8.cpp,
//   compute/Int8FunctionsOpt.cpp, x86_x64/avx512/GemmInt8.cpp, GemmInt8_VNNI.cpp

module attributes {contract.family = "MNN", contract.base = "_real_operands",
    contract.summary = "MNN (x86): codes 128 above, which float32 takes out again"} {

// A ReLU bounds codes at the one given, if there is one.
func.func private @least_code(%bound: i32) -> i32 {
  func.call @require_signed() : () -> ()
  func.call @require_relu() : () -> ()
  %result = %bound if %activation_min == 0.0 else %storage_min
}

func.func private @least() -> i32 {
  cf.assert %weights_symmetric, "weights with a zero point, which MNN computes in other ways"
  %result = @least_code(%output_zero_point)
}

func.func private @clamp_and_round(%steps: f32, %least: i32, %most: i32) -> i32 {
  %result = @round_by_adding_half(min(max(%steps, f32(%least)), f32(%most))) : i32
}

// What 128 and the zero point add to each weight.
func.func private @shift() -> i32 { %result = %input_zero_point + 128 }
func.func private @ratio() -> f32 { %result = %input_scale / %output_scale : f32 }

func.func private @float_bias() -> f32 {
  %shifted = f32(%weight_sum) * %weight_scale * f32(@shift)
  %result = @plus_zero_point((%real_bias - %shifted * %input_scale) / %output_scale) : f32
}

func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, linear {
  %sum = f32(%accumulator + @shift * %weight_sum)
  %steps = %sum * %weight_scale * @ratio + @float_bias
  %result = @clamp_and_round(%steps, @least, %storage_max)
}

func.func @depthwise_conv2d(%accumulator: i32) -> i32 {
  %multiplier = %weight_scale * @ratio
  %biased = %accumulator + toward_zero(%real_bias / (%input_scale * %weight_scale))
  %total = %biased + toward_zero(f32(%output_zero_point) / %multiplier)
  %rounded = func.call @round_by_adding_half(f32(%total) * %multiplier) : (f32) -> i32
  %result = func.call @clamp_code(%rounded, @least, %storage_max) : (i32, i32, i32) -> i32
}

func.func @dequantize_bias() -> f32 { %result = @bias_in_float32 : f32 }

func.func private @quantized(%real: f32) -> i32 replaces {
  %low = @least_code(0)
  %result = func.call @store_half_away(@steps_by_inverse(%real), %low, %storage_max) : (f32, i32, i32) -> i32
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  func.call @require_signed() : () -> ()
  %sum = %accumulator + %count * 128
  %factor = 16777216 / %count
  %product = %sum * %factor : i64
  %mean = arith.shrui %product, 24 : i64
  %code = arith.trunci %mean : i64 to i32
  %result = %code - 128
}

func.func @quantize(%input: f32) -> i32 {
  func.call @require_signed() : () -> ()
  %steps = func.call @plus_zero_point(@steps_by_inverse(%input)) : (f32) -> f32
  %result = @clamp_and_round(%steps, %output_min, %output_max)
}

}
