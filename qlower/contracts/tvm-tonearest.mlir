// The arithmetic of TVM's quantized operators with `requantize_config(rounding="TONEAREST")`
// and compute_dtype int64 (v0.7 to v0.19).
// # Formula
// requantize: `y = clamp((p + (p >= 0 ? 2^(t-1) : 2^(t-1) - 1) >> t) + z)`,
// `p = (x << max(s, 0)) * m`, `t = 31 + max(-s, 0)`, in 64 bits. The rest is as in the
// contract tvm.
// # Ties
// Half away from zero, once, before the zero point is added.
// # Operands
// As in the contract tvm: `m * 2^(s-31)` is the float64 quotient of float32 scales.
// # Quirks
// - Powers of two have no special case.
// # Checked against
// 16,384 recorded results of qnn.requantize; TFLite models built and run by TVM 0.16
// for x86-64: none of 2,275,440 outputs of 235 layers (20 operators, random and
// tie-seeking) differ.
// # Sources
// apache/tvm v0.14: `src/relay/qnn/utils.cc`, FixedPointMultiplyToNearest.

module attributes {contract.base = "tvm",
    contract.summary = "TVM's QNN with rounding TONEAREST: one rounding, half away from zero"} {

// relay/qnn/utils.cc, FixedPointMultiplyToNearest: in 64 bits, without a special case.
func.func private @q_multiply_shift(
    %x: i32, %multiplier: i32, %shift: i32, %per_channel: i1) -> i32 replaces {
  func.call @require_shift(%shift) : (i32) -> ()
  %left, %right = func.call @left_and_right(%shift) : (i32) -> (i32, i32)
  %shifted = arith.shli %x, %left : i64
  %product = arith.muli %shifted, %multiplier : i64
  %places = arith.addi %right, 31 : i64
  %rounded = fixed.shift_right %product, %places {rounding = half_away} : i64
  %result = arith.trunci %rounded : i64 to i32
}

}
