// The arithmetic of TVM's NEON path with the repair that was proposed for it and not taken
// (apache/tvm pull request 11155): sqdmulh before a shift to the right.
// # Formula
// requantize: `y = clamp(srshl(sqdmulh(x, m), s) + z)` for s < 0, where
// `sqdmulh(a, b) = sat32(a * b >> 31)`; the rest is as in tvm-neon.
// # Ties
// Half up, once: a floor and then a rounding half up of fewer bits are one rounding.
// # Operands
// As in the contract tvm: `m * 2^(s-31)` is the float64 quotient of float32 scales.
// # Quirks
// - Equal to the contract tvm for ratios of scales below 1, but that a power of two does
//   not wrap around near 2^31. For larger ratios the left shift wraps around at 32 bits.
// - Multipliers of channels are as in the contract tvm.
// # Checked against
// 53,655 recorded results of this rule, compiled by TVM 0.16 and run under emulation of
// aarch64.
// # Sources
// apache/tvm ec12b2417e: `python/tvm/topi/arm_cpu/tensor_intrin.py`.

module attributes {
  contract.summary = "TVM's NEON path as its repair proposes: sqdmulh, then srshl, one rounding",
  contract.base = "tvm-neon"
} {

// The instruction sqdmulh: the high half of 2ab, rounded down, saturated. srshl's rounding
// half up is then the only one.
func.func private @high_before_shift(%a: i32, %b: i32) -> i32 replaces {
  %product = arith.muli %a, %b : i64
  %high = fixed.shift_right %product, 31 {rounding = floor} : i64
  %result = fixed.saturate %high : i64 to i32
}

}
