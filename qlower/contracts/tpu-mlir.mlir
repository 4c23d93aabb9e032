// The arithmetic of Sophgo's TPU-MLIR for the BM1684X family (tpu_mlir 1.30.2): an integer
// multiplier and one shift, half up.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(((acc M + 2^(n - 1)) >> n) + z)`
// - quantize: `y = clamp(round(F(x F(1 / s))) + z)`, half away
// - of models in the `tpu` dialect also: Add, each operand times its own M and shifted, then their
//   sum; MulShift; the mean of a window, `(sum M + 2^(n - 1)) >> n`; all without zero points
// # Ties
// Half up in layers, half away at the border.
// # Operands
// M and n are the lowered model's where TPU-MLIR's own text is read; else they are the ratio of the
// scales, which is M 2^-n exactly. F(1 / s) is that of the text's scale, in double precision.
// # Quirks
// - MatMul says `round_mode HalfAwayFromZero` and rounds half up, as does Conv2D whatever it says.
// - TPU-MLIR's interpreter holds sums in float32: beyond 2^24 they are rounded.
// # Not matched
// - CV18xx, which multiplies in float32 or rounds twice; other operations than these.
// # Checked against
// tpu_mlir live, `tests/frontends/test_tpu.py` (needs Python 3.10): 23,540 codes of ten networks, no
// mismatch ([more](../../docs/pages/contracts-measured.md#tpu-mlir)).
// # Sources
// - sophgo/tpu-mlir at 00058f6d, lib/Support/MathUtils.cpp
// - lib/Dialect/Tpu/Interfaces/Common: Conv2D.cpp (00b7154c), MatMul.cpp, Add.cpp, Pool2D.cpp

module attributes {contract.family = "Sophgo", contract.base = "requant-shift",
    contract.summary = "TPU-MLIR (BM1684X): integer multiplier and shift of the model, half up"} {

func.func @quantize(%input: f32) -> i32 {
  %result = func.call @store_half_away(@steps_by_inverse(%input)) : (f32) -> i32
}

func.func private @coded(%real: f32, %inverse: f32, %least: i32, %most: i32) -> i32 {
  %result = func.call @clamp_code(half_away(%real * %inverse), %least, %most) : (i32, i32, i32) -> i32
}

func.func private @rescaled(%x: i32, %multiplier: i64, %places: i64) -> i64 {
  %product = arith.muli %x, %multiplier : i64
  %result = func.call @round_shift(%product, %places) : (i64, i64) -> i64
}

func.func private @clamped(%x: i64, %least: i32, %most: i32) -> i32 {
  %number = fixed.saturate %x : i64 to i32
  %result = func.call @clamp_code(%number, %least, %most) : (i32, i32, i32) -> i32
}

func.func private @requantized(
    %sum: i32, %multiplier: i64, %places: i64, %least: i32, %most: i32) -> i32 {
  %result = @clamped(@rescaled(%sum, %multiplier, %places), %least, %most)
}

func.func private @added(
    %a: i32, %multiplier_a: i64, %places_a: i64, %b: i32, %multiplier_b: i64, %places_b: i64,
    %least: i32, %most: i32) -> i32 {
  %sum = @rescaled(%a, %multiplier_a, %places_a) + @rescaled(%b, %multiplier_b, %places_b)
  %result = @clamped(%sum, %least, %most)
}

}
