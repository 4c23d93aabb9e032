// The arithmetic of Sophgo's TPU-MLIR for the BM1684X family (tpu_mlir 1.30.2): an integer
// multiplier and one shift, half up.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(((acc M + 2^(n - 1)) >> n) + z)`
// - quantize: `y = clamp(round(F(x F(1 / s))) + z)`, half away
// # Ties
// Half up in layers, half away at the border.
// # Operands
// M and n are attributes of the lowered model: here they are the ratio of the scales, which is
// M 2^-n exactly.
// # Not matched
// - CV18xx, which multiplies in float32 or rounds twice; other operations than these.
// # Checked against
// Live, once: tpu_mlir 1.30.2, 195,840 outputs of its interpreter and 1,440 of the BM1684X's own
// model by this formula, all equal, no exact tie among them. No test repeats it.
// # Sources
// - sophgo/tpu-mlir at 00058f6d, lib/Support/MathUtils.cpp; lib/Dialect/Tpu/Interfaces/Conv2D.cpp

module attributes {contract.family = "Sophgo", contract.base = "requant-shift",
    contract.summary = "TPU-MLIR (BM1684X): integer multiplier and shift of the model, half up"} {

func.func @quantize(%input: f32) -> i32 {
  %inverse = arith.divf 1.0, %output_scale : f32
  %steps = arith.mulf %input, %inverse : f32
  %rounded = fixed.convert %steps {rounding = half_away} : f32 to i32
  %result = func.call @clamp_and_offset(%rounded) : (i32) -> i32
}

}
