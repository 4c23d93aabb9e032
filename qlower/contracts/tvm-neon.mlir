// The arithmetic of TVM's quantized operators where it multiplies with NEON instructions
// (v0.7 to v0.19, aarch64 with `-device=arm_cpu`): sqrdmulh, then srshl.
//
// TVM does so where its schedule has vectors of four int32: where a requantization's result
// is int32 (operands of qnn.add, all layers of the PyTorch front end) and the innermost
// extent is a multiple of four. Elsewhere it multiplies as the contract tvm does. This
// contract takes the path everywhere but for multipliers of channels, which never have it.
// # Formula
// requantize: `y = clamp(srshl(sqrdmulh(x, m), s) + z)` for s < 0, else
// `clamp(sqrdmulh(x << s, m) + z)`, where `sqrdmulh(a, b) = sat32(a * b + 2^30 >> 31)` and
// `srshl(x, -n) = x + 2^(n-1) >> n`. The rest is as in the contract tvm.
// # Ties
// Half up, twice: with m = 1607255613 and s = -1 the accumulator 1, 0.37 in real numbers,
// becomes 1, and -2, which is -0.75, becomes 0.
// # Operands
// As in the contract tvm: `m * 2^(s-31)` is the float64 quotient of float32 scales.
// # Quirks
// - TVM computes what would make the second rounding half away from zero, as TFLite has it,
//   and does not use it: the result is neither TFLite's nor that of TVM elsewhere.
// - It differs from the contract tvm in 24 % of all results with s = -1, and in half as
//   many with each further shift.
// - The left shift wraps around at 32 bits. There is no special case for powers of two.
// # Not matched
// Which layers take the path depends on schedules. Give other layers the contract tvm.
// # Checked against
// 53,655 recorded results of TVM 0.16's int32x4 code, under emulation of aarch64. The
// operators around it: see the contract tvm.
// # Sources
// apache/tvm v0.14: `python/tvm/topi/arm_cpu/tensor_intrin.py`, `_q_multiply_shift_arm`.

module attributes {contract.base = "tvm",
    contract.summary = "TVM's NEON path: sqrdmulh, then srshl, so two roundings half up"} {

// The high half by which shifts to the right begin.
func.func private @high_before_shift(%a: i32, %b: i32) -> i32 {
  %result = func.call @saturating_rounding_doubling_high_mul(%a, %b) : (i32, i32) -> i32
}

// topi/arm_cpu/tensor_intrin.py, _q_multiply_shift_arm: srshl by a negative count is a
// rounding shift to the right. The left shift wraps around at 32 bits. A multiplier for
// each channel has no such path.
func.func private @q_multiply_shift(
    %x: i32, %multiplier: i32, %shift: i32, %per_channel: i1) -> i32 replaces {
  func.call @require_shift(%shift) : (i32) -> ()
  %left, %right = func.call @left_and_right(%shift) : (i32) -> (i32, i32)
  %shifted = arith.shli %x, %left : i32
  %high = func.call @saturating_rounding_doubling_high_mul(%shifted, %multiplier) : (i32, i32) -> i32
  %before_shift = func.call @high_before_shift(%x, %multiplier) : (i32, i32) -> i32
  %rounded = fixed.shift_right %before_shift, %right {rounding = half_up} : i32
  %goes_right = arith.cmpi slt, %shift, 0 : i32
  %per_tensor = arith.select %goes_right, %rounded, %high : i32
  // where channels differ, the powers of two that TVM would not compile are not special
  %once = func.call @tvm.q_multiply_shift(%x, %multiplier, %shift, true) : (i32, i32, i32, i1) -> i32
  %result = arith.select %per_channel, %once, %per_tensor : i32
}

}
