// The arithmetic of models that TVM's pass relay.quantize made (v0.8 to v0.19) with scales
// that are powers of two: its defaults, calibrate_mode="global_scale", round_for_shift and
// rounding UPWARD. Requantization is an addition and a shift.
// # Formula
// - requantize to a scale 2^n times larger: `y = clamp(x + 2^(n-1) >> n)`, with a 32-bit
//   addition; 2^n times smaller: `clamp(x << n)`. For other ratios: as in the contract tvm,
//   with the float32 quotient of the scales.
// - add: the operand with the larger scale is multiplied onto the finer one's grid, then the
//   int32 sum is requantized.
// - 8 bits are [-127, 127].
// - The rest is as in the contract tvm, with this requantization.
// # Ties
// Half up. Averages round toward zero, what is quantized from float32 half away from zero.
// # Operands
// n is the float32 logarithm of the float32 quotient of the scales; the scale of an
// accumulator is the float32 product of two.
// # Quirks
// - The addition wraps around: the largest int32 becomes -127.
// - There are no zero points and no uint8. Where a model has a zero point it is added after
//   the rounding, and all of the storage range is used.
// - A ratio counts as a power of two if its float32 logarithm is an integer.
// # Not matched
// - v0.6 and v0.7 shift left by a negative count. What the pass leaves in float32 (global
//   pools, subtractions, softmax, tables) is as in the contract tvm.
// # Checked against
// 16,384 recorded results of the realized graph (add 64, shift by 7, clip); the rest from
// source.
// # Sources
// apache/tvm: `src/relay/quantize/realize.cc`, `python/tvm/relay/quantize/quantize.py`.

module attributes {contract.base = "tvm",
    contract.summary = "TVM's relay.quantize: add half and shift, no -128"} {

// relay/quantize/realize.cc, QuantizeRealize: between scales whose ratio's float32 logarithm
// is an integer a shift, after a 32-bit addition that wraps around; between others the
// multiplication of qnn.requantize, with a factor of 24 bits.
func.func private @requantize_to_i32(%x: i32, %input_scale: f32, %per_channel: i1) -> i32 replaces {
  %ratio = arith.divf %output_scale, %input_scale : f32
  %logarithm = math.log2 %ratio : f32
  %places = fixed.convert %logarithm {rounding = toward_zero} : f32 to i32
  %places_real = arith.sitofp %places : i32 to f32
  %shifts = arith.cmpf oeq, %places_real, %logarithm : f32
  %magnitude = math.absi %places : i32
  %fits = arith.cmpi sle, %magnitude, 31 : i32
  %multiplies = arith.xori %shifts, true : i1
  %legal = arith.ori %fits, %multiplies : i1
  cf.assert %legal, "the ratio of the scales is not in [2^-31, 2^31]: the shift would not fit 32 bits"

  %right = func.call @clamp_code(%places, 0, 31) : (i32, i32, i32) -> i32
  %negated = arith.subi 0, %places : i32
  %left = func.call @clamp_code(%negated, 0, 31) : (i32, i32, i32) -> i32
  %goes_right = arith.cmpi sgt, %places, 0 : i32
  %less_1 = arith.subi %right, 1 : i32
  %half_shift = arith.maxsi %less_1, 0 : i32
  %power = arith.shli 1, %half_shift : i32
  %half = arith.select %goes_right, %power, 0 : i32
  %nudged = arith.addi %x, %half : i32
  %shifted_right = arith.shrsi %nudged, %right : i32
  %shifted = arith.shli %shifted_right, %left : i32

  %multiplied = func.call @fixed_point_multiply(%x, %shifts) : (i32, i1) -> i32
  %scaled = arith.select %shifts, %shifted, %multiplied : i32
  %result = arith.addi %scaled, %output_zero_point : i32
}

// By the float32 quotient of two scales; 1 if it is not needed.
func.func private @fixed_point_multiply(
    %x: i32, %unneeded: i1, %input_scale: f32, %output_scale: f32) -> i32 {
  %factor = arith.divf %input_scale, %output_scale : f32
  %multiplier, %shift = func.call @multiplier_and_shift(%factor) : (f64) -> (i32, i32)
  %used_shift = arith.select %unneeded, 0, %shift : i32
  %result = func.call @q_multiply_shift(%x, %multiplier, %used_shift, true) : (i32, i32, i32, i1) -> i32
}

// quantize/quantize.py: int8 is [-127, 127]. There are no zero points; with one the whole
// storage range is used, as it is of uint8, which isn't there either.
func.func private @clip(%x: i32) -> i32 replaces {
  %symmetric = arith.cmpi eq, %output_zero_point, 0 : i32
  %raised = arith.maxsi %output_min, -127 : i32
  %low = arith.select %symmetric, %raised, %output_min : i32
  %result = func.call @clamp_code(%x, %low) : (i32, i32) -> i32
}

// relay/quantize/realize.cc, MulAndDiv: an operand on the finer grid. Its left shifts and
// integer factors are the multiplication's results too.
func.func private @align(%stored: i32, %scale: f32, %zero_point: i32, %finer: f32) -> i32 {
  %centred = arith.subi %stored, %zero_point : i32
  %same = arith.cmpf oeq, %scale, %finer : f32
  %multiplied = func.call @fixed_point_multiply(%centred, %same, %scale, %finer) : (i32, i1, f32, f32) -> i32
  %result = arith.select %same, %centred, %multiplied : i32
}

// AddRealize: int32 on the finer operand's grid, then one requantization.
func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %finer = arith.minimumf %lhs_scale, %rhs_scale : f32
  %a = func.call @align(%lhs, %lhs_scale, %lhs_zero_point, %finer) : (i32, f32, i32, f32) -> i32
  %b = func.call @align(%rhs, %rhs_scale, %rhs_zero_point, %finer) : (i32, f32, i32, f32) -> i32
  %sum = arith.addi %a, %b : i32
  %stored = func.call @requantize_to_i32(%sum, %finer, false) : (i32, f32, i1) -> i32
  %result = func.call @clip(%stored) : (i32) -> i32
}

}
