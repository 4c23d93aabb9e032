// The arithmetic of ONNX Runtime's CPU execution provider on x86 without VNNI (ONNX Runtime
// 1.31, MLAS on AVX2 or plain AVX-512): as `onnxruntime`, but uint8 activations with int8
// weights multiply in pairs that saturate at 16 bits.
// # Formula
// acc = sum over pairs of sat16(x_2i w_2i + x_2i+1 w_2i+1), minus z_x sum(w - z_w), minus
// z_w sum(x); x the stored uint8, w the stored int8. Then as `onnxruntime`.
// # Ties
// As `onnxruntime`.
// # Operands
// As `onnxruntime`. Weights must be constants: matrices of uint8 times computed ones of int8
// saturate, too, and are refused, as are products by scales that only run time knows. Without
// scales (MatMulInteger) such sums are exact here, and the model's remarks say so. That weights
// with a zero point saturate as they are stored is known from source only.
// # Quirks
// - Pairs are neighbours in the order (kernel row, kernel column, channel) of what a window
//   sees: where the channels are odd, a pair lies across two pixels. Padding holds the zero point.
// - Depthwise convolutions of one output per channel, int8 activations and uint8 weights are exact.
// - ConvInteger multiplies filters by pixels, in this order: int8 filters are exact, and those of
//   uint8 saturate with pixels of int8 in pairs of other neighbours, which is refused.
// - Weights of 7 bits (`reduce_range=True`) can't saturate; the session option
//   session.x64quantprecision=1 makes uint8 weights of them, which are exact.
// # Checked against
// ONNX Runtime 1.31.1 on an emulated Haswell: 114,304 recorded outputs of layers, all equal; live
// where a processor has no VNNI: 121 models, one for each operator and form, all equal.
// # Sources
// - microsoft/onnxruntime, onnxruntime/core/mlas/lib/x86_64/QgemmU8S8KernelAvx2.asm
// - onnxruntime/core/providers/cpu/quantization/qlinearconv.cc

module attributes {contract.family = "ONNX Runtime", contract.base = "onnxruntime",
    contract.summary = "ONNX Runtime before VNNI: uint8 times int8 saturates in pairs"} {

// One channel a group goes to a kernel of its own, MlasConvDepthwise; sums of integers never do.
func.func @conv2d_product() -> i32 {
  func.call @require_exact_filters() : () -> ()
  %one_input = arith.cmpi eq, %input_channels, %groups : i32
  %one_output = arith.cmpi eq, %channel_count, %groups : i32
  %depthwise = arith.andi %one_input, %one_output : i1
  %is_exact = arith.ori %depthwise, %gives_sums : i1
  %exact = arith.constant 0 : i32
  %result = arith.select %is_exact, %exact, @linear_product : i32
}

func.func private @require_exact_filters() {
  %input_signed = arith.xori %input_unsigned, true : i1
  %mixed = arith.andi %weight_unsigned, %input_signed : i1
  %saturates = arith.andi %mixed, %gives_sums : i1
  %legal = arith.xori %saturates, true : i1
  cf.assert %legal, "ConvInteger multiplies uint8 filters by int8 pixels in pairs that saturate"
}

func.func @linear_product() -> i32 {
  %result = arith.extui @is_mixed : i1 to i32
}

func.func private @is_mixed() -> i1 {
  %weight_signed = arith.xori %weight_unsigned, true : i1
  %result = arith.andi %input_unsigned, %weight_signed : i1
}

// The sums are made without this contract, as exact ones.
func.func @matmul(%accumulator: i32) -> i32 {
  %legal = arith.xori @is_mixed, true : i1
  cf.assert %legal, "products of uint8 and int8 saturate in pairs, here their sums are exact"
  %result = func.call @requantize_output(%accumulator) : (i32) -> i32
}

func.func @product_with(%accumulator: i32) -> i32 serves conv2d_with, matmul_with {
  cf.assert false, "products by scales that only run time knows saturate in pairs, here their sums are exact"
  %result = arith.addi %accumulator, 0 : i32
}

// MatMulIntegerToFloat. Rows become uint8, and the weights of such layers are int8; ConvInteger
// is exact with these.
func.func @hybrid_rows(%accumulator: i32) -> f32
    serves hybrid_linear attributes {contract.product = "tensor_range"} {
  cf.assert false, "products of uint8 and int8 saturate in pairs, here their sums are exact"
  %result = arith.sitofp %accumulator : i32 to f32
}

}
