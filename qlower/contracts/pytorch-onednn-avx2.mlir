// The arithmetic of PyTorch with the quantized engine "onednn" on an x86 CPU with AVX2 and
// without VNNI (PyTorch 2.13): as `pytorch-onednn`, with another order of scales and pairs of
// products that saturate at 16 bits.
// # Formula
// acc = sum over pairs of sat16(x_2i w_2i + x_2i+1 w_2i+1), minus z_x sum(w); x the stored
// uint8; then `y = rne(F(F(F(F(acc F(x w)) + b) v) + z))` in the notation of `pytorch-onednn`.
// # Ties
// As `pytorch-onednn`.
// # Operands
// As `pytorch-onednn`, but the scales of input and weights combine first.
// # Quirks
// - Pairs are neighbouring channels of one tap, the last of an odd number alone; padded taps are
//   skipped. Depthwise convolutions and those of one input channel are exact.
// - Several groups of channels that 4 doesn't divide go to oneDNN's reference: exact products,
//   `rne(F(F(F(F(F(acc x) w) + b) / F(1 / F(1 / s_y))) + z))`.
// - The default qconfig of this engine has `reduce_range=False`: pairs do saturate.
// - The vector body of avg_pool2d has blocks of 8 channels.
// # Checked against
// PyTorch 2.13.0 on an emulated Haswell and with ONEDNN_MAX_CPU_ISA=AVX2 (recorded), and the
// latter with ATEN_CPU_CAPABILITY=avx2 live: over a million outputs, all equal.
// # Sources
// - oneapi-src/oneDNN, src/cpu/x64/jit_uni_x8s8s32x_conv_kernel.cpp

module attributes {contract.family = "PyTorch", contract.base = "pytorch-onednn",
    contract.summary = "PyTorch, engine onednn on AVX2: pairs saturate, other scale order"} {

// The kernels for AVX2 combine the scales first.
func.func private @scale_accumulator(%accumulator: f32, %input_scale: f32) -> f32 replaces {
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %result = arith.mulf %accumulator, %scale : f32
}

// src/cpu/x64/jit_uni_x8s8s32x_conv_kernel.cpp, init_conf: channels of a group fill whole
// vectors of 8 or, in its SSE4.1 variant, 4, unless there is one group or one channel a group.
func.func private @has_kernel(%groups: i32) -> i1 {
  %inputs = arith.divsi %input_channels, %groups : i32
  %outputs = arith.divsi %channel_count, %groups : i32
  %input_tail = arith.remsi %inputs, 4 : i32
  %output_tail = arith.remsi %outputs, 4 : i32
  %tails = arith.ori %input_tail, %output_tail : i32
  %whole = arith.cmpi eq, %tails, 0 : i32
  %single = arith.cmpi eq, %groups, 1 : i32
  %one_input = arith.cmpi eq, %inputs, 1 : i32
  %one_output = arith.cmpi eq, %outputs, 1 : i32
  %depthwise = arith.andi %one_input, %one_output : i1
  %a = arith.ori %whole, %single : i1
  %result = arith.ori %a, %depthwise : i1
}

// src/cpu/ref_convolution_int8.cpp: one scale after the other, and a division.
func.func private @store_by_reference(%accumulator: i32, %bias: f32) -> i32 {
  %x = func.call @through_reciprocal(%input_scale) : (f32) -> f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %half_scaled = arith.mulf %sum, %x : f32
  %scaled = arith.mulf %half_scaled, %weight_scale : f32
  %biased = arith.addf %scaled, %bias : f32
  %output = func.call @through_reciprocal(%output_scale) : (f32) -> f32
  %real = arith.divf %biased, %output : f32
  %result = func.call @store_code(%real) : (f32) -> i32
}

func.func @conv2d(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_pixel"]} {
  func.call @require_symmetric_weights() : () -> ()
  %jit = func.call @store_contraction(%accumulator, %real_bias) : (i32, f32) -> i32
  %reference = func.call @store_by_reference(%accumulator, %real_bias) : (i32, f32) -> i32
  %result = arith.select @has_kernel, %jit, %reference : i32
}

func.func @depthwise_conv2d(%accumulator: i32) -> i32 attributes {contract.product = "exact"} {
  func.call @require_symmetric_weights() : () -> ()
  %jit = func.call @store_contraction(%accumulator, %real_bias) : (i32, f32) -> i32
  %reference = func.call @store_by_reference(%accumulator, %real_bias) : (i32, f32) -> i32
  %has_kernel = func.call @has_kernel(%input_channels) : (i32) -> i1
  %result = arith.select %has_kernel, %jit, %reference : i32
}

// Saturating pairs, but for the reference and one channel a group.
func.func @conv2d_product() -> i32 serves conv2d_product {
  %result = arith.extui @has_kernel : i1 to i32
}

func.func @linear_product() -> i32 { %result = arith.constant 1 : i32 }

// The channels of a block of qavg_pool2d_nhwc_kernel: the float32 lanes of AVX2.
func.func private @pool_lanes() -> i32 replaces { %result = arith.constant 8 : i32 }

}
