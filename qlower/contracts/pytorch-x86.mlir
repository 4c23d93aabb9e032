// The arithmetic of PyTorch with its default quantized engine "x86" on a CPU with AVX-512 VNNI
// (PyTorch 2.13), which dispatches: convolutions to oneDNN if they have at most 100 groups and
// symmetric weights, else to FBGEMM; linear layers always to FBGEMM; the rest to ATen.
//
// # Formula
// - conv2d, depthwise_conv2d: `pytorch-onednn` or, with over 100 groups or asymmetric weights,
//   `pytorch-fbgemm`
// - linear, add, mul, pools, quantize, concat: `pytorch-fbgemm`
//
// # Ties
// Half to even; the zero point inside the rounding in oneDNN's convolutions, after it in
// linear layers: one model has both.
//
// # Operands
// As the two contracts have them.
//
// # Quirks
// - Depthwise layers of more than 100 channels whose number 8 divides, with a kernel of 3 or 5 and
//   symmetric padding, saturate sums of two products at 16 bits on this very CPU; those of
//   fewer channels don't.
//
// # Not matched
// - As `pytorch-fbgemm`.
//
// # Checked against
// PyTorch 2.13.0: 57,152 recorded outputs of layers and those of other operations, all equal;
// live, over a million outputs of random layers, all equal.
//
// # Sources
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/OnednnUtils.h, should_use_onednn_quant; qlinear_prepack.cpp

module attributes {
  contract.summary = "PyTorch, engine x86 (VNNI): onednn or fbgemm, layer by layer",
  contract.family = "PyTorch",
  contract.base = "pytorch-onednn"
} {

// OnednnUtils.h, should_use_onednn_quant.
func.func private @uses_onednn(%groups: i32, %symmetric: i1) -> i1 {
  %limit = arith.constant 100 : i32
  %few = arith.cmpi sle, %groups, %limit : i32
  %result = arith.andi %few, %symmetric : i1
  return %result : i1
}

func.func @conv2d(
    %accumulator: i32, %real_bias: f32, %per_channel: i1, %weights_symmetric: i1, %groups: i32,
    %input_scale: f32, %weight_scale: f32, %output_scale: f32, %output_zero_point: i32,
    %output_min: i32, %output_max: i32, %output_unsigned: i1) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_flat"]} {
  %fbgemm = func.call @contraction(%accumulator, %real_bias, %per_channel, %input_scale, %weight_scale, %output_scale, %output_zero_point, %output_min, %output_max) : (i32, f32, i1, f32, f32, f32, i32, i32, i32) -> i32
  %onednn = func.call @store_contraction(%accumulator, %real_bias, %input_scale, %weight_scale, %output_scale, %output_zero_point, %output_min, %output_max, %output_unsigned) : (i32, f32, f32, f32, f32, i32, i32, i32, i1) -> i32
  %uses_onednn = func.call @uses_onednn(%groups, %weights_symmetric) : (i32, i1) -> i1
  %result = arith.select %uses_onednn, %onednn, %fbgemm : i32
  return %result : i32
}

func.func @depthwise_conv2d(
    %accumulator: i32, %real_bias: f32, %per_channel: i1, %weights_symmetric: i1,
    %input_channels: i32, %input_scale: f32, %weight_scale: f32, %output_scale: f32,
    %output_zero_point: i32, %output_min: i32, %output_max: i32, %output_unsigned: i1) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_flat"]} {
  %fbgemm = func.call @contraction(%accumulator, %real_bias, %per_channel, %input_scale, %weight_scale, %output_scale, %output_zero_point, %output_min, %output_max) : (i32, f32, i1, f32, f32, f32, i32, i32, i32) -> i32
  %onednn = func.call @store_contraction(%accumulator, %real_bias, %input_scale, %weight_scale, %output_scale, %output_zero_point, %output_min, %output_max, %output_unsigned) : (i32, f32, f32, f32, f32, i32, i32, i32, i1) -> i32
  %uses_onednn = func.call @uses_onednn(%input_channels, %weights_symmetric) : (i32, i1) -> i1
  %result = arith.select %uses_onednn, %onednn, %fbgemm : i32
  return %result : i32
}

func.func @linear(
    %accumulator: i32, %real_bias: f32, %per_channel: i1, %input_scale: f32, %weight_scale: f32,
    %output_scale: f32, %output_zero_point: i32, %output_min: i32, %output_max: i32) -> i32 {
  %result = func.call @contraction(%accumulator, %real_bias, %per_channel, %input_scale, %weight_scale, %output_scale, %output_zero_point, %output_min, %output_max) : (i32, f32, i1, f32, f32, f32, i32, i32, i32) -> i32
  return %result : i32
}

func.func @conv2d_product(
    %weights_symmetric: i1, %groups: i32, %input_channels: i32, %channel_count: i32,
    %kernel_height: i32, %kernel_width: i32, %stride_height: i32, %stride_width: i32,
    %dilation_height: i32, %dilation_width: i32, %pad_top: i32, %pad_bottom: i32, %pad_left: i32,
    %pad_right: i32) -> i32 {
  %fast = func.call @is_fast_depthwise(%input_channels, %channel_count, %kernel_height, %kernel_width, %stride_height, %stride_width, %dilation_height, %dilation_width, %pad_top, %pad_bottom, %pad_left, %pad_right) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> i1
  %depthwise = arith.cmpi eq, %groups, %input_channels : i32
  %fast_depthwise = arith.andi %depthwise, %fast : i1
  %uses_onednn = func.call @uses_onednn(%groups, %weights_symmetric) : (i32, i1) -> i1
  %false = arith.constant false
  %saturates = arith.select %uses_onednn, %false, %fast_depthwise : i1
  %result = arith.extui %saturates : i1 to i32
  return %result : i32
}

func.func @depthwise_conv2d_product(
    %weights_symmetric: i1, %input_channels: i32, %channel_count: i32, %kernel_height: i32,
    %kernel_width: i32, %stride_height: i32, %stride_width: i32, %dilation_height: i32,
    %dilation_width: i32, %pad_top: i32, %pad_bottom: i32, %pad_left: i32, %pad_right: i32) -> i32 {
  %fast = func.call @is_fast_depthwise(%input_channels, %channel_count, %kernel_height, %kernel_width, %stride_height, %stride_width, %dilation_height, %dilation_width, %pad_top, %pad_bottom, %pad_left, %pad_right) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> i1
  %uses_onednn = func.call @uses_onednn(%input_channels, %weights_symmetric) : (i32, i1) -> i1
  %false = arith.constant false
  %saturates = arith.select %uses_onednn, %false, %fast : i1
  %result = arith.extui %saturates : i1 to i32
  return %result : i32
}

}
