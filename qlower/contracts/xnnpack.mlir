// The arithmetic of ExecuTorch 1.5 with its delegate XNNPACK on x86, for models that XNNPACKQuantizer
// quantized: int8 activations, weights in [-127, 127].
// # Formula
// F(...) is one float32 rounding, rne rounds half to even.
// - conv2d, depthwise_conv2d, linear: `y = clamp(rne(F(float(acc) * m)) + z)`, m = F(F(s_x s_w) / s_y),
//   with the bias rne(b / s), s = F(s_x s_w); transposed convolutions, too
// - add, mul, mean, quantize, dequantize: as in `tflite-xnnpack`
// - requantize, concat: dequantize, then quantize
// # Ties
// Half to even before the zero point is added, but for add: half up, in integers.
// # Operands
// As in `tflite-xnnpack`. The bias, a real number in the model, becomes an int32 when ExecuTorch
// lowers the model.
// # Quirks
// - A bias of many accumulator steps loses what is below one step.
// # Not matched
// - What the delegate runs in float32: average pools, hard-swish, sigmoid and other functions, by its
//   own polynomials. They are in float32 here too, in operations of the C library.
// - Means of anything but images whose dimensions stay, with size 1: the delegate leaves them to
//   ExecuTorch, which adds float32 in turn. Files are read so.
// # Checked against
// executorch 1.5.1: recorded convolutions and linear layers (33,792 outputs), all equal; networks of
// torchvision, whose outputs the documentation compares. executorch 1.4.1, by a script: five
// transposed convolutions (1,944,756 outputs), all equal.
// # Sources
// - google/XNNPACK, as `tflite-xnnpack`
// - pytorch/executorch, backends/xnnpack/operators/node_visitor.py; backends/xnnpack/quantizer/xnnpack_quantizer.py

module attributes {
  contract.summary = "ExecuTorch with the delegate XNNPACK: float32, half to even, bias in steps",
  contract.family = "PyTorch",
  contract.base = "tflite-xnnpack"
} {

// What the delegate gets as an int32 bias.
func.func @quantize_bias() -> i32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.divf %real_bias, %step : f32
  %result = fixed.convert %steps {rounding = half_even} : f32 to i32
}

// ExecuTorch delegates transposed convolutions, too.
func.func @conv2d(%accumulator: i32) -> i32 {
  %result = func.call @contraction(%accumulator) : (i32) -> i32
}

// A dequantization and a quantization, in float32.
func.func @requantize(%input: i32, %output_scale: f32) -> i32 serves requantize, concat {
  %inverse = arith.divf 1.0, %output_scale : f32
  %steps = arith.mulf @dequantize_exactly, %inverse : f32
  %result = func.call @store_half_even(%steps) : (f32) -> i32
}

}
