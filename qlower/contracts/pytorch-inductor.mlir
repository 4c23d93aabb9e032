// The arithmetic of PyTorch 2.13 on a model that is quantized by PT2E and lowered for x86, on a CPU
// with AVX-512 VNNI: what Inductor and `lower_pt2e_quantized_to_x86` make of it.
//
// Convolutions and linear layers are `onednn.qconv_pointwise` and `qlinear_pointwise`; everything
// else is what the exported graph says, float32 between `quantize_per_tensor` and
// `dequantize_per_tensor` of quantized_decomposed.
// # Formula
// F(...) is one float32 rounding, rne rounds half to even.
// - conv2d, depthwise_conv2d, linear: `y = rne(F(F(F(F(F(acc s_x) s_w) + b) F(1 / s_y)) + z))`
// - a convolution to which a quantized value q is added before it is stored (a residual):
//   `y = rne(F(F(fma(q - z_q, s_q, F(F(F(acc s_x) s_w) + b)) F(1 / s_y)) + z))`
// - quantize: `y = rne(F(r F(1 / s_y))) + z`; dequantize: `F((q - z) s)`
// - hybrid_linear, torchao's layers of int8 whose rows are quantized by their own range:
//   `s = max(F(max|x| / 127.5), 2^-23)`, `q = rne(F(x F(1 / s)))`, `y = F(F(F(acc s) s_w) + b)`;
//   with zero points `s = F(F(max - min) / 255)`, `z = -128 - rne(F(min / s))`
// - requantize, concat, add, sub, mul, clamp: dequantize, one operation of float32, quantize
// # Ties
// Half to even; the zero point inside the rounding in convolutions and linear layers, after it in
// quantize.
// # Operands
// Scales multiply one after the other, as they are: the engine onednn passes them through
// reciprocals, which this path doesn't. The bias is real and added after scaling.
// # Quirks
// - A convolution whose result passes a hard-swish, a SiLU or a bound at 6 before it is quantized
//   gives float32: then the zero point is added after the rounding. The front end for `.pt2` files
//   has such layers in float32.
// - Weights that have a zero point are refused.
// # Not matched
// - CPUs with AMX, as in `pytorch-onednn`.
// - Average pools of float32 numbers: PyTorch adds them in an order that depends on memory format
//   and vectors, here it is that of the image. Near ties can differ by 1. Means are in ATen's order
//   with one thread (SumKernel.cpp).
// - Exponentials: in sigmoid, SiLU and softmax along the last dimension of `.pt2` files they are ATen's
//   on CPUs with AVX-512; attention takes another one, which differs in the last place.
// # Checked against
// PyTorch 2.13.0 with torchao 0.18.0: recorded near ties of convolutions and linear layers
// (345,600 outputs) and live ones of residuals (230,400), all equal. Six networks of torchvision in
// the form of `lower_pt2e_quantized_to_x86`: 4.0 million values between layers, all equal, and 3.0
// million of three of them with calibrated norms.
// # Sources
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/qconv.cpp, run_pointwise of QConvoneDNN; qlinear.cpp
// - pytorch/pytorch, torch/ao/quantization/fx/_decomposed.py
// - pytorch/ao, torchao/quantization/pt2e/lowering.py; torchao/quantization/quant_primitives.py

module attributes {
  contract.summary = "PyTorch, PT2E lowered for x86 (Inductor): scales one by one, zero point inside",
  contract.family = "PyTorch",
  contract.base = "pytorch-onednn"
} {

// Scales are handed on as they are.
func.func private @through_reciprocal(%scale: f32) -> f32 replaces { return %scale : f32 }

// What a layer gives whose result stays real.
func.func private @real_contraction(
    %accumulator: i32, %input_scale: f32, %weight_scale: f32, %real_bias: f32) -> f32 {
  %sum = arith.sitofp %accumulator : i32 to f32
  %half_scaled = arith.mulf %sum, %input_scale : f32
  %scaled = arith.mulf %half_scaled, %weight_scale : f32
  %result = arith.addf %scaled, %real_bias : f32
}

// qconv2d_pointwise.binary, "sum": what a layer gives to which a quantized value is added before
// it is stored. `floor` is 0 with a RELU, else minus infinity.
func.func private @store_residual(
    %accumulator: i32, %other: i32, %input_scale: f32, %weight_scale: f32, %real_bias: f32,
    %other_scale: f32, %other_zero_point: i32, %floor: f32, %output_scale: f32,
    %output_zero_point: f32) -> i32 {
  %sum = arith.sitofp %accumulator : i32 to f32
  %half_scaled = arith.mulf %sum, %input_scale : f32
  %scaled = arith.mulf %half_scaled, %weight_scale : f32
  %real = arith.addf %scaled, %real_bias : f32
  %centred = arith.subi %other, %other_zero_point : i32
  %steps = arith.sitofp %centred : i32 to f32
  %added = math.fma %steps, %other_scale, %real : f32
  %bounded = arith.maximumf %added, %floor : f32
  %inverse = arith.divf 1.0, %output_scale : f32
  %stored = arith.mulf %bounded, %inverse : f32
  %moved = arith.addf %stored, %output_zero_point : f32
  %rounded = fixed.convert %moved {rounding = half_even} : f32 to i32
  %above = arith.maxsi %rounded, 0 : i32
  %result = arith.minsi %above, 255 : i32
}

// ---------------------------------------------------------------- rows by their own range

// torchao/quantization/quant_primitives.py, _choose_qparams_affine: ASYMMETRIC
func.func @hybrid_range(%lowest: f32, %highest: f32) -> (f32, f32, i32) {
  %distance = arith.subf %highest, %lowest : f32
  %step = arith.divf %distance, 255.0 : f32
  %scale = arith.maximumf %step, 1.1754943508222875e-38 : f32
  %factor = arith.divf 1.0, %scale : f32
  %codes_below = arith.divf %lowest, %scale : f32
  %below = fixed.convert %codes_below {rounding = half_even} : f32 to i32
  %point = arith.subi -128, %below : i32
  %at_least = arith.maxsi %point, -128 : i32
  %zero_point = arith.minsi %at_least, 127 : i32
  return %scale, %factor, %zero_point : f32, f32, i32
}

// SYMMETRIC: 127.5 steps each way
func.func @hybrid_symmetric_range(%lowest: f32, %highest: f32) -> (f32, f32, i32) {
  %below = arith.negf %lowest : f32
  %size = arith.maximumf %below, %highest : f32
  %step = arith.divf %size, 127.5 : f32
  %scale = arith.maximumf %step, 1.1920928955078125e-07 : f32
  %factor = arith.divf 1.0, %scale : f32
  %zero_point = arith.constant 0 : i32
  return %scale, %factor, %zero_point : f32, f32, i32
}

// _quantize_affine_no_dtype_cast
func.func @hybrid_code(%input: f32, %input_factor: f32, %input_zero_point: i32) -> i32 {
  %steps = arith.mulf %input, %input_factor : f32
  %rounded = fixed.convert %steps {rounding = half_even} : f32 to i32
  %moved = arith.addi %rounded, %input_zero_point : i32
  %at_least = arith.maxsi %moved, -128 : i32
  %result = arith.minsi %at_least, 127 : i32
}

// torchao/quantization/quantize_/workflows/int8/int8_tensor.py, linear
func.func @hybrid_linear(
    %accumulator: i32, %input_scale: f32, %weight_scale: f32, %real_bias: f32) -> f32 {
  %result = func.call @real_contraction(%accumulator) : (i32) -> f32
}

// _dequantize_affine_no_dtype_check
func.func private @real_code(%code: i32, %input_scale: f32, %input_zero_point: i32) -> f32 {
  %real = arith.sitofp %code : i32 to f32
  %point = arith.sitofp %input_zero_point : i32 to f32
  %centred = arith.subf %real, %point : f32
  %result = arith.mulf %centred, %input_scale : f32
}

// ---------------------------------------------------------------- as the graph says

// _decomposed.py, quantize_per_tensor.
func.func private @quantize_fused(
    %real: f32, %output_scale: f32, %output_zero_point: i32) -> i32 replaces {
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %steps = arith.mulf %real, %inverse : f32
  %result = func.call @store_half_even(%steps) : (f32) -> i32
}

func.func private @quantize_table(
    %real: f32, %output_scale: f32, %output_zero_point: i32) -> i32 replaces {
  %result = func.call @quantize_fused(%real) : (f32) -> i32
}

// _decomposed.py, dequantize_per_tensor.
func.func private @dequantize_fused(
    %stored: i32, %input_scale: f32, %input_zero_point: i32) -> f32 replaces {
  %result = func.call @dequantize_exactly(%stored) : (i32) -> f32
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %a = func.call @dequantize_exactly(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> f32
  %b = func.call @dequantize_exactly(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> f32
  %sum = arith.addf %a, %b : f32
  %result = func.call @quantize_fused(%sum) : (f32) -> i32
}

func.func @mul(%lhs: i32, %rhs: i32, %lhs_scale: f32, %lhs_zero_point: i32) -> i32 {
  %a = func.call @dequantize_exactly(%lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32) -> f32
  %b = func.call @dequantize_exactly(%rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32) -> f32
  %product = arith.mulf %a, %b : f32
  %result = func.call @quantize_fused(%product) : (f32) -> i32
}

func.func @clamp(%input: i32) -> i32 {
  %result = func.call @quantize_fused(@dequantize_exactly) : (f32) -> i32
}

// The sum of the integers is exact, that of PyTorch in float32.
func.func @avg_pool2d(
    %accumulator: i32, %count: i32, %window_size: i32, %count_include_pad: i1) -> i32 {
  %divisor = arith.select %count_include_pad, %window_size, %count : i32
  %result = func.call @mean_of_window(%accumulator, %divisor) : (i32, i32) -> i32
}

func.func private @mean_of_window(%accumulator: i32, %divisor: i32) -> i32 {
  %real = arith.mulf @real_sum, %input_scale : f32
  %n = arith.sitofp %divisor : i32 to f32
  %mean = arith.divf %real, %n : f32
  %result = func.call @quantize_fused(%mean) : (f32) -> i32
}

func.func @adaptive_avg_pool2d(%accumulator: i32) -> i32 serves adaptive_avg_pool2d, mean {
  %result = func.call @mean_of_window(%accumulator, %count) : (i32, i32) -> i32
}

}
