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
// point is inside.
// # Operands
// float32 as written.
// # Quirks
// - The range of a type is that of its codes: MNN's own tools write -127 to 127.
// - An average is rounded down, to the unsigned code.
// - A ReLU in add, sub and mul cuts codes at 0, not at the zero point (a fault of MNN).
// # Not matched
// - uint8 activations, weights with zero points and activations other than ReLU are refused.
// - Pools that count padding: MNN leaves it out of int8's averages, whatever the model says.
// # Checked against
// MNN live, `tests/contracts/test_phone_systems_live.py`: 8.8 million outputs, 5.2 million of them
// ties or near ties, ResNet8 and MobileNetV2: no mismatch
// ([more](../../docs/pages/contracts-measured.md#mnn)).
// # Sources
// alibaba/MNN at 4d40bdbd, source/backend/cpu:
// - CPUConvolution.cpp, updateInputOutputScale; compute/Int8FunctionsOpt.cpp, MNNBinaryAddInt8
// - x86_x64/avx512/GemmInt8.cpp, GemmInt8_VNNI.cpp; CPUPoolInt8.cpp

module attributes {contract.family = "MNN", contract.base = "_real_operands",
    contract.summary = "MNN (x86): codes 128 above, which float32 takes out again"} {

// A ReLU bounds codes at the one given, if there is one.
func.func private @least_code(%bound: i32) -> i32 {
  func.call @require_signed() : () -> ()
  func.call @require_relu() : () -> ()
  %bounded = arith.cmpf oeq, %activation_min, 0.0 : f32
  %result = arith.select %bounded, %bound, %storage_min : i32
}

func.func private @least() -> i32 {
  cf.assert %weights_symmetric, "weights with a zero point, which MNN computes in other ways"
  %result = func.call @least_code(%output_zero_point) : (i32) -> i32
}

func.func private @clamp_and_round(%steps: f32, %least: i32, %most: i32) -> i32 {
  %low = arith.sitofp %least : i32 to f32
  %high = arith.sitofp %most : i32 to f32
  %above = arith.maximumf %steps, %low : f32
  %clamped = arith.minimumf %above, %high : f32
  %result = func.call @round_by_adding_half(%clamped) : (f32) -> i32
}

// What 128 and the zero point add to each weight.
func.func private @shift() -> i32 { %result = arith.addi %input_zero_point, 128 : i32 }

func.func private @float_bias() -> f32 {
  %weights = arith.sitofp %weight_sum : i32 to f32
  %sum = arith.mulf %weights, %weight_scale : f32
  %moved = arith.sitofp @shift : i32 to f32
  %shifted = arith.mulf %sum, %moved : f32
  %real = arith.mulf %shifted, %input_scale : f32
  %rest = arith.subf %real_bias, %real : f32
  %steps = arith.divf %rest, %output_scale : f32
  %result = func.call @plus_zero_point(%steps) : (f32) -> f32
}

func.func private @ratio() -> f32 { %result = arith.divf %input_scale, %output_scale : f32 }

func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, linear {
  %zeros = arith.muli @shift, %weight_sum : i32
  %stored = arith.addi %accumulator, %zeros : i32
  %sum = arith.sitofp %stored : i32 to f32
  %scaled = arith.mulf %sum, %weight_scale : f32
  %steps = arith.mulf %scaled, @ratio : f32
  %biased = arith.addf %steps, @float_bias : f32
  %result = func.call @clamp_and_round(%biased, @least, %storage_max) : (f32, i32, i32) -> i32
}

func.func private @truncated_quotient(%n: f32, %d: f32) -> i32 {
  %quotient = arith.divf %n, %d : f32
  %result = fixed.convert %quotient {rounding = toward_zero} : f32 to i32
}

func.func @depthwise_conv2d(%accumulator: i32) -> i32 {
  %multiplier = arith.mulf %weight_scale, @ratio : f32
  %step = arith.mulf %input_scale, %weight_scale : f32
  %point = arith.sitofp %output_zero_point : i32 to f32
  %biased = arith.addi %accumulator, @truncated_quotient(%real_bias, %step) : i32
  %total = arith.addi %biased, @truncated_quotient(%point, %multiplier) : i32
  %sum = arith.sitofp %total : i32 to f32
  %steps = arith.mulf %sum, %multiplier : f32
  %rounded = func.call @round_by_adding_half(%steps) : (f32) -> i32
  %result = func.call @clamp_code(%rounded, @least, %storage_max) : (i32, i32, i32) -> i32
}

func.func @dequantize_bias() -> f32 { %result = func.call @bias_in_float32() : () -> f32 }

// Of sums, differences and products, whose ReLU is that of the stored code, whatever it means.
func.func private @quantized(%real: f32) -> i32 replaces {
  %steps = func.call @steps_by_inverse(%real) : (f32) -> f32
  %low = func.call @least_code(0) : (i32) -> i32
  %result = func.call @store_half_away(%steps, %low, %storage_max) : (f32, i32, i32) -> i32
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  %offsets = arith.muli %count, 128 : i32
  %sum = arith.addi %accumulator, %offsets : i32
  %one = arith.constant 16777216 : i32
  %factor = arith.divsi %one, %count : i32
  %product = arith.muli %sum, %factor : i64
  %mean = arith.shrui %product, 24 : i64
  %code = arith.trunci %mean : i64 to i32
  %result = arith.subi %code, 128 : i32
}

func.func @quantize(%input: f32) -> i32 {
  func.call @require_signed() : () -> ()
  %steps = func.call @plus_zero_point(@steps_by_inverse(%input)) : (f32) -> f32
  %result = func.call @clamp_and_round(%steps, %output_min, %output_max) : (f32, i32, i32) -> i32
}

}
