// The arithmetic of PyTorch with the quantized engine "qnnpack" on x86 (PyTorch 2.13, its fork
// of QNNPACK): convolutions, linear layers, add and pools of uint8 tensors; the rest, and int8
// tensors in add and pools, as `pytorch-fbgemm`.
// # Formula
// s = F(s_x s_w), m = F(s F(1 / s_y)).
// - conv2d, depthwise_conv2d, linear: `y = rne(F(float(acc) m)) + z`
// - add (uint8): integers of 22 bits, `y = shift((a - z_a) m_a + (b - z_b) m_b) + z`, half away
// - hybrid_linear: of 8 bits by the input's range, as `pytorch-fbgemm`; `y = F(F(acc F(s_x s_w)) + b)`
// - avg_pool2d, adaptive_avg_pool2d, mean (uint8), D = sum(x - z_x): `y = rne(F(D F(s_x / F(s_y n)))) + z`
//   where windows are of one size; others, and int8, as `pytorch-fbgemm`
// - tanh, hard_swish (uint8): f of `F((x - z_x) s_x)`; hard_swish: `y = rne(F(F(f F(1 / s_y)) + z))`
// # Ties
// Half to even, zero point after, but inside in hard_swish; add: half away from zero.
// # Operands
// The reciprocal of the output scale multiplies, it doesn't divide. A real bias becomes an
// integer, `rne(F(b F(1 / s)))`, and is part of the accumulator.
// # Quirks
// - avg_pool2d divides by the whole window whatever count_include_pad says; padding counts as zero.
// - avg_pool2d of one element is refused.
// - add refuses scales outside [2^-14, 2^8) of the output's.
// - int8 activations of convolutions, linear layers and means, which QNNPACK doesn't take, run
//   as the uint8 codes 128 above.
// - Sums that may be 2^31 output steps and more are refused, as in `pytorch-fbgemm`.
// # Not matched
// - relu6 and clamp of a uint8 image whose channels are last in memory: PyTorch mixes up its places.
// # Checked against
// PyTorch 2.13.0: 57,152 recorded outputs of layers and those of other operations, all equal;
// live, over a million outputs of random layers, all equal.
// # Sources
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/qnnpack/src/q8gemm/4x4c2-sse2.c
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/QnnpackUtils.h, generate_requantization_scales; qconv.cpp
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/qnnpack/src/qnnpack/requantization.h, pytorch_qnnp_compute_add_quantization_params

module attributes {contract.family = "PyTorch", contract.base = "pytorch-fbgemm",
    contract.summary = "PyTorch, engine qnnpack: float32, integer bias, half to even"} {

func.func private @requantize_float32(%accumulator: i32, %accumulator_max: i64) -> i32
    serves conv2d, depthwise_conv2d, linear {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %multiplier = arith.mulf %step, %inverse : f32
  func.call @require_ratio(%multiplier) : (f32) -> ()
  %largest = arith.sitofp %accumulator_max : i64 to f64
  func.call @require_convertible(%largest, %multiplier) : (f64, f32) -> ()
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

// QuantizeBias: by the reciprocal of the accumulator's step.
func.func @quantize_bias() -> i32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %inverse = func.call @reciprocal(%step) : (f32) -> f32
  %steps = arith.mulf %real_bias, %inverse : f32
  %result = fixed.convert %steps {rounding = half_even} : f32 to i32
}

// qlinear_dynamic.cpp: 8 bits, whatever reduce_range says.
func.func @hybrid_range(%lowest: f32, %highest: f32) -> (f32, f32, i32) {
  %last = arith.constant 255.0 : f64
  %found:3 = func.call @range_of_codes(%lowest, %highest, %last) : (f32, f32, f64) -> (f32, f32, i32)
  return %found#0, %found#1, %found#2 : f32, f32, i32
}

// pytorch_q8gemm_dq_ukernel
func.func @hybrid_linear(%accumulator: i32, %input_scale: f32, %real_bias: f32) -> f32
    attributes {contract.product = "tensor_range"} {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %step : f32
  %real = arith.addf %scaled, %real_bias : f32
  %result = func.call @bounded(%real) : (f32) -> f32
}

func.func private @is_supported_ratio(%ratio: f32) -> i1 {
  %low = arith.constant 0.00006103515625 : f32
  %not_small = arith.cmpf oge, %ratio, %low : f32
  %not_large = arith.cmpf olt, %ratio, 256.0 : f32
  %result = arith.andi %not_small, %not_large : i1
}

func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %lhs_ratio = arith.divf %lhs_scale, %output_scale : f32
  %rhs_ratio = arith.divf %rhs_scale, %output_scale : f32
  %lhs_supported = func.call @is_supported_ratio(%lhs_ratio) : (f32) -> i1
  %rhs_supported = func.call @is_supported_ratio(%rhs_ratio) : (f32) -> i1
  %supported = arith.andi %lhs_supported, %rhs_supported : i1
  %signed = arith.xori %output_unsigned, true : i1
  %legal = arith.ori %supported, %signed : i1
  cf.assert %legal, "the scale of an operand is not in [2^-14, 2^8) of the output's, which QNNPACK refuses"
  %larger = arith.maximumf %lhs_ratio, %rhs_ratio : f32
  // shift = 21 - the exponent of the larger ratio
  %bits = arith.bitcast %larger : f32 to i32
  %biased = arith.shrui %bits, 23 : i32
  %places = arith.subi 148, %biased : i32
  %lhs_multiplier = func.call @to_fixed_point(%lhs_ratio, %places) : (f32, i32) -> i32
  %rhs_multiplier = func.call @to_fixed_point(%rhs_ratio, %places) : (f32, i32) -> i32
  %a = arith.subi %lhs, %lhs_zero_point : i32
  %b = arith.subi %rhs, %rhs_zero_point : i32
  %a_scaled = arith.muli %a, %lhs_multiplier : i32
  %b_scaled = arith.muli %b, %rhs_multiplier : i32
  %sum = arith.addi %a_scaled, %b_scaled : i32
  %shift = func.call @clamp_code(%places, 1, 31) : (i32, i32, i32) -> i32
  %rounded = fixed.shift_right %sum, %shift {rounding = half_away} : i32
  %qnnpack = func.call @offset_and_clamp(%rounded) : (i32) -> i32
  %aten = func.call @"pytorch-fbgemm.add"(%lhs, %rhs) : (i32, i32) -> i32
  %result = arith.select %output_unsigned, %qnnpack, %aten : i32
}

// qnnpack/src/hardswish.c, tanh.c: a code is centred before it is scaled.
func.func private @dequantize_lookup(%stored: i32) -> f32 replaces {
  %qnnpack = func.call @dequantize_exactly(%stored) : (i32) -> f32
  %aten = func.call @dequantize_fused(%stored) : (i32) -> f32
  %result = arith.select %output_unsigned, %qnnpack, %aten : f32
}

// qnnpack/src/hardswish.c: the zero point inside the rounding.
func.func private @quantize_lookup(%real: f32) -> i32 replaces {
  %inverse = func.call @reciprocal(%output_scale) : (f32) -> f32
  %steps = arith.mulf %real, %inverse : f32
  %qnnpack = func.call @store_sum(%steps) : (f32) -> i32
  %result = arith.select %output_unsigned, %qnnpack, @quantize_table : i32
}

// pytorch_qnnp_compute_avgpool_quantization_params.
func.func private @pool(%accumulator: i32, %divisor: i32) -> i32 {
  %n = arith.sitofp %divisor : i32 to f32
  %total_scale = arith.mulf %output_scale, %n : f32
  %multiplier = arith.divf %input_scale, %total_scale : f32
  %scaled = arith.mulf @real_sum, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

func.func @avg_pool2d(%accumulator: i32, %window_size: i32, %output_unsigned: i1) -> i32 {
  %several = arith.cmpi sgt, %window_size, 1 : i32
  %signed = arith.xori %output_unsigned, true : i1
  %legal = arith.ori %several, %signed : i1
  cf.assert %legal, "a pool of one element, which QNNPACK refuses"
  %qnnpack = func.call @pool(%accumulator, %window_size) : (i32, i32) -> i32
  %aten = func.call @"pytorch-fbgemm.avg_pool2d"(%accumulator) : (i32) -> i32
  %result = arith.select %output_unsigned, %qnnpack, %aten : i32
}

func.func @adaptive_avg_pool2d(%accumulator: i32) -> i32 {
  %qnnpack = func.call @pool(%accumulator, %count) : (i32, i32) -> i32
  %aten = func.call @"pytorch-fbgemm.adaptive_avg_pool2d"(%accumulator) : (i32) -> i32
  %taken = arith.andi %output_unsigned, %even_windows : i1
  %result = arith.select %taken, %qnnpack, %aten : i32
}

// Over rows and columns: QNNPACK's global average pool.
func.func @mean(%accumulator: i32) -> i32 {
  func.call @require_image() : () -> ()
  %result = func.call @pool(%accumulator, %count) : (i32, i32) -> i32
}

}
