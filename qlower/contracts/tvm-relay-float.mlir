// The arithmetic of models that TVM's pass relay.quantize made before October 2019 (up to
// v0.5) with calibrated scales, calibrate_mode="kl_divergence": requantization by a float32
// product.
// # Formula
// - requantize: `y = clamp(round(F(float(x) * F(s_in / s_out))))`.
// - add: the operand with the larger scale becomes `round(F(x * F(s / s_finer)))`, then the
//   int32 sum is requantized.
// - 8 bits are [-127, 127]. The rest is as in tvm-relay-shift.
// # Ties
// Half away from zero, before a zero point is added (models of the pass have none).
// # Operands
// All scales, their products and quotients are float32.
// # Quirks
// - Ratios that float32 can't hold are refused.
// # Not matched
// Between scales whose ratio happens to be a power of two the pass shifts, as
// tvm-relay-shift does; here they are multiplied too, which differs in negative ties.
// # Checked against
// 16,384 recorded results of this graph, written in Relay and run by TVM 0.16; the rest
// from source.
// # Sources
// apache/tvm before e8899285ea: `src/relay/pass/quantize/realize.cc`.

module attributes {contract.base = "tvm-relay-shift",
    contract.summary = "TVM's relay.quantize with calibrated scales in 2019: a float32 product"} {

func.func private @multiply_and_round(%x: i32, %input_scale: f32, %output_scale: f32) -> i32 {
  %factor = arith.divf %input_scale, %output_scale : f32
  func.call @require_finite_ratio(%factor) : (f32) -> ()
  %steps = arith.sitofp %x : i32 to f32
  %product = arith.mulf %steps, %factor : f32
  %result = fixed.convert %product {rounding = half_away} : f32 to i32
}

// relay/quantize/realize.cc of TVM 0.5, QuantizeRealize. TVM clips before it converts, so
// that nothing overflows.
func.func private @requantize_to_i32(%x: i32, %input_scale: f32, %per_channel: i1) -> i32 replaces {
  %rounded = func.call @multiply_and_round(%x) : (i32) -> i32
  %equal = arith.cmpf oeq, %input_scale, %output_scale : f32
  %scaled = arith.select %equal, %x, %rounded : i32
  %limited = func.call @limit(%scaled) : (i32) -> i32
  %result = arith.addi %limited, %output_zero_point : i32
}

// MulAndDiv: cast(round(x * factor))
func.func private @align(%stored: i32, %scale: f32, %zero_point: i32, %finer: f32) -> i32 replaces {
  %centred = arith.subi %stored, %zero_point : i32
  %result = func.call @multiply_and_round(%centred, %scale, %finer) : (i32, f32, f32) -> i32
}

}
