// The arithmetic of PyTorch with the quantized engine "fbgemm" on an x86 CPU with AVX2 and
// without VNNI (PyTorch 2.13): as `pytorch-fbgemm`, but every sum of two products saturates at
// 16 bits, as `vpmaddubsw` has it.
// # Formula
// acc = sum over pairs of sat16(x_2i w_2i + x_2i+1 w_2i+1), minus z_x sum(w - z_w), minus
// z_w sum(x); x the stored uint8, w the stored int8. Then as `pytorch-fbgemm`.
// # Ties
// As `pytorch-fbgemm`.
// # Operands
// As `pytorch-fbgemm`. Weights must be constants.
// # Quirks
// - Pairs are neighbours in the order (kernel row, kernel column, channel) of what a window
//   sees: where the channels are odd, a pair lies across two pixels. Padding holds the zero point.
// - Weights that have a zero point, as a plain `MinMaxObserver` gives them, saturate as they are
//   stored: the zero point is taken off afterwards.
// - Pairs are safe if activations stay below 128 (`reduce_range=True`, the default of the
//   qconfigs "fbgemm" and "x86"): 2 * 127 * 127 is less than 2^15.
// - The vector body of avg_pool2d has blocks of 8 channels.
// # Checked against
// PyTorch 2.13.0 on an emulated Haswell and with FBGEMM_ENABLE_INSTRUCTIONS=AVX2 (recorded), and
// the latter with ATEN_CPU_CAPABILITY=avx2 live: over a million outputs, all equal. Grouped 3x3
// convolutions of 4, 8 or 16 channels a group, which use VNNI in spite of the first variable,
// from source only.
// # Sources
// - pytorch/FBGEMM, src/GenerateKernelU8S8S32ACC32.cc; src/GenerateI8Depthwise.cc

module attributes {contract.family = "PyTorch", contract.base = "pytorch-fbgemm",
    contract.summary = "PyTorch, engine fbgemm on AVX2: pairs of products saturate"} {

func.func @conv2d_product() -> i32 serves conv2d_product, depthwise_conv2d_product, linear_product {
  %result = arith.constant 1 : i32
}

// The channels of a block of qavg_pool2d_nhwc_kernel: the float32 lanes of AVX2.
func.func private @pool_lanes() -> i32 replaces { %result = arith.constant 8 : i32 }

}
