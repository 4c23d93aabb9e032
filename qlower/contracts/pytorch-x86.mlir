// The arithmetic of PyTorch with its default quantized engine "x86" on a CPU with AVX-512 VNNI
// (PyTorch 2.13), which dispatches: convolutions to oneDNN if they have at most 100 groups and
// symmetric weights, else to FBGEMM; linear layers always to FBGEMM; the rest to ATen.
// # Formula
// - conv2d, depthwise_conv2d: `pytorch-onednn` or, with over 100 groups or asymmetric weights,
//   `pytorch-fbgemm`
// - linear, add, mul, pools, quantize, concat: `pytorch-fbgemm`
// # Ties
// Half to even; the zero point inside the rounding in oneDNN's convolutions, after it in
// linear layers: one model has both.
// # Operands
// As the two contracts have them.
// # Quirks
// - Depthwise layers of more than 100 channels whose number 8 divides, with a kernel of 3 or 5 and
//   symmetric padding, saturate sums of two products at 16 bits on this very CPU; those of
//   fewer channels don't.
// # Not matched
// - As `pytorch-fbgemm`.
// # Checked against
// PyTorch 2.13.0: 57,152 recorded outputs of layers and those of other operations, all equal;
// live, over a million outputs of random layers, all equal.
// # Sources
// - pytorch/pytorch, aten/src/ATen/native/quantized/cpu/OnednnUtils.h, should_use_onednn_quant; qlinear_prepack.cpp

module attributes {contract.family = "PyTorch", contract.base = "pytorch-onednn",
    contract.summary = "PyTorch, engine x86 (VNNI): onednn or fbgemm, layer by layer"} {

// OnednnUtils.h, should_use_onednn_quant.
func.func private @uses_onednn() -> i1 {
  %few = arith.cmpi sle, %groups, 100 : i32
  %result = arith.andi %few, %weights_symmetric : i1
}

func.func @conv2d(%accumulator: i32) -> i32 serves conv2d, depthwise_conv2d
    attributes {contract.product = ["exact", "saturating_pairs_flat"]} {
  %fbgemm = func.call @contraction(%accumulator, %real_bias) : (i32, f32) -> i32
  %onednn = func.call @store_contraction(%accumulator, %real_bias) : (i32, f32) -> i32
  %result = arith.select @uses_onednn, %onednn, %fbgemm : i32
}

func.func @linear(%accumulator: i32) -> i32 {
  %result = func.call @contraction(%accumulator, %real_bias) : (i32, f32) -> i32
}

// qlinear_prepack.cpp: layers that quantize their input as they run are FBGEMM's.
func.func @hybrid_linear(%accumulator: i32, %input_scale: f32) -> f32
    attributes {contract.product = "tensor_range"} {
  %result = func.call @scale_dynamic(%accumulator) : (i32) -> f32
}

func.func @conv2d_product() -> i32 {
  %depthwise = arith.cmpi eq, %groups, %input_channels : i32
  %fast_depthwise = arith.andi %depthwise, @is_fast_depthwise : i1
  %saturates = arith.select @uses_onednn, false, %fast_depthwise : i1
  %result = arith.extui %saturates : i1 to i32
}

}
