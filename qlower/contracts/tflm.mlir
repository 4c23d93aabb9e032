// The arithmetic of TensorFlow Lite for Microcontrollers with its portable kernels
// (tflite-micro of October 2026), and of CMSIS-NN, which gives the same bits: fixed point with
// two roundings everywhere. It shares LiteRT's reference code, so what isn't here is as in
// `tflite`.
//
// # Formula
// D is that of `tflite`: a first rounding half up to 31 bits, a second half away from zero.
// - linear, matmul: `y = clamp(D(acc, s_x s_w / s_y) + z)`, where LiteRT has float64
// - mul: the same of (a - z_a)(b - z_b)
// - sigmoid, tanh: gemmlowp's fixed-point exponential and reciprocal (Q4.27 in, Q0.31 out), no
//   table, rounded half away to 8 bits
//
// # Ties
// Half away from zero after a first rounding half up, as in `tflite`. The zero point is added
// after both.
//
// # Operands
// float64 ratios of float32 scales, also in mul, leaky_relu and RELU, where LiteRT combines
// them in float32.
//
// # Quirks
// - RELU6 on its own clamps the input's codes, from the input's zero point to its code of 6,
//   and doesn't rescale: the output's scale and zero point don't matter.
// - RELU_N1_TO_1 and RELU_0_TO_1 on their own are refused: TFLite Micro doesn't have them.
// - The output of sigmoid is taken to be 1/256 a step from -128, that of tanh 1/128 a step
//   about 0, whatever the model says.
// - lstm is refused: its gates are rounded otherwise than LiteRT's, which isn't reproduced.
// - sigmoid, tanh and lone activations are refused for uint8, which TFLite Micro doesn't have.
//
// # Checked against
// tflite-micro of October 2026. Live, in the long run: over five million outputs
// of random and tie-seeking layers, and of layers at the edges. Recorded: 57,152 outputs of convolutions and
// linear layers with exact ties; CMSIS-NN's arm_nn_requantize, 64,000 rescalings and 39,200 of
// 31-bit multipliers. No mismatch. That CMSIS-NN's kernels use that function for the rest is from
// source.
//
// # Sources
// Files of tensorflow/tflite-micro, below tensorflow/lite:
// - micro/kernels/fully_connected_common.cc, batch_matmul_common.cc, mul_common.cc
// - micro/kernels/logistic_common.cc, tanh.cc; kernels/internal/reference/integer_ops
// - google/gemmlowp, fixedpoint/fixedpoint.h

module attributes {
  contract.summary = "TFLite Micro and CMSIS-NN: double rounding everywhere",
  contract.base = "tflite",
  contract.words
} {

// A product, or sum of products, times the ratio of the scales: all in float64.
// micro/kernels/fully_connected_common.cc: fixed point, where LiteRT multiplies in float64.
// The scales combine in float64 whatever their number.
func.func private @scale_product(%accumulator: i32) -> i32
    attributes {contract.rules = ["linear", "matmul"]} {
  %wide = arith.constant false
  %real = func.call @convolution_scale(%wide) : (i1) -> f64
  %scaled = func.call @multiply_by_real(%accumulator, %real) : (i32, f64) -> i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
  return %result : i32
}

// micro/kernels/mul_common.cc: LiteRT combines the scales in float32.
func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %product = func.call @centred_product(%lhs, %rhs) : (i32, i32) -> i32
  %result = func.call @scale_product(%product) : (i32) -> i32
  return %result : i32
}

// micro/kernels/activations_common.cc: RELU rescales by a ratio in float64. RELU6 clamps the
// input's codes at the input's zero point and 6, and takes them for the output's.
func.func @clamp(
    %input: i32, %input_scale: f32, %input_zero_point: i32, %output_scale: f32, %storage_max: i32,
    %activation_min: f32, %activation_max: f32) -> i32 {
  func.call @refuse_unsigned() : () -> ()
  %none = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %infinity = arith.constant 0x7F800000 : f32
  %from_0 = arith.cmpf oeq, %activation_min, %none : f32
  %to_6 = arith.cmpf oeq, %activation_max, %six : f32
  %to_infinity = arith.cmpf oeq, %activation_max, %infinity : f32
  %has_end = arith.ori %to_6, %to_infinity : i1
  %legal = arith.andi %from_0, %has_end : i1
  cf.assert %legal, "of activations on their own TFLite Micro has RELU and RELU6 only"

  %last = func.call @bound(%six, %input_scale, %input_zero_point) : (f32, f32, i32) -> i32
  %last_code = arith.minsi %last, %storage_max : i32
  %clamped = func.call @clamp_code(%input, %input_zero_point, %last_code) : (i32, i32, i32) -> i32
  // a ratio that isn't used is no reason to refuse
  %used_scale = arith.select %to_6, %output_scale, %input_scale : f32
  %rescaled = func.call @requantize(%input, %used_scale) : (i32, f32) -> i32
  %result = arith.select %to_6, %clamped, %rescaled : i32
  return %result : i32
}

// micro/kernels/leaky_relu_common.cc: as LiteRT's, but the scales combine in float64.
func.func private @leaky_ratios(%alpha: f32) -> (f64, f64) {
  %one = arith.constant 1.0 : f32
  %wide = arith.constant false
  %identity = func.call @convolution_scale(%wide, %one) : (i1, f32) -> f64
  %sloped = func.call @convolution_scale(%wide, %alpha) : (i1, f32) -> f64
  return %identity, %sloped : f64, f64
}

// micro/kernels/logistic_common.cc and tanh.cc: the input in Q4.27, and the radius from which
// on the function is saturated: floor(15 * 2^27 / 2^left).
func.func private @activation_input(
    %input: i32, %input_scale: f32, %input_zero_point: i32) -> (i32, i1, i1) {
  %wide = arith.extf %input_scale : f32 to f64
  %two_to_27 = arith.constant 134217728.0 : f64
  %real = arith.mulf %wide, %two_to_27 : f64
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %x = arith.subi %input, %input_zero_point : i32
  %fixed_point = func.call @multiply_by_quantized_multiplier(%x, %multiplier, %exponent) : (i32, i32, i32) -> i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = arith.maxsi %exponent, %zero : i32
  %input_range = arith.constant 2013265920 : i32
  %radius = arith.shrui %input_range, %left : i32
  %negated = arith.subi %zero, %radius : i32
  %low = arith.cmpi sle, %x, %negated : i32
  %high = arith.cmpi sge, %x, %radius : i32
  return %fixed_point, %low, %high : i32, i1, i1
}

// The minimum or maximum of int8 where the function is saturated.
func.func private @activation_output(%value: i32, %low: i1, %high: i1) -> i32 {
  %min = arith.constant -128 : i32
  %max = arith.constant 127 : i32
  %clamped = func.call @clamp_code(%value, %min, %max) : (i32, i32, i32) -> i32
  %capped = arith.select %high, %max, %clamped : i32
  %result = arith.select %low, %min, %capped : i32
  return %result : i32
}

// kernels/internal/reference/integer_ops/logistic.h; gemmlowp fixedpoint.h, logistic. The output
// is 1/256 a step from -128, whatever its quantization says.
func.func @sigmoid(%input: i32) -> i32 {
  func.call @refuse_unsigned() : () -> ()
  %x, %low, %high = func.call @activation_input(%input) : (i32) -> (i32, i1, i1)
  %zero = arith.constant 0 : i32
  %negated = arith.subi %zero, %x : i32
  %at_most_0 = arith.minsi %x, %negated : i32
  %integer_bits = arith.constant 4 : i32
  %exponential = func.call @exp_on_negative_values(%at_most_0, %integer_bits) : (i32, i32) -> i32
  %upper = func.call @one_over_one_plus_x(%exponential) : (i32) -> i32
  %one = arith.constant 2147483647 : i32
  %lower = arith.subi %one, %upper : i32
  %positive = arith.cmpi sgt, %x, %zero : i32
  %branch = arith.select %positive, %upper, %lower : i32
  %is_zero = arith.cmpi eq, %x, %zero : i32
  %half = arith.constant 1073741824 : i32
  %probability = arith.select %is_zero, %half, %branch : i32
  %c23 = arith.constant 23 : i32
  %steps = fixed.shift_right %probability, %c23 {rounding = half_away} : i32
  %offset = arith.constant -128 : i32
  %moved = arith.addi %steps, %offset : i32
  %result = func.call @activation_output(%moved, %low, %high) : (i32, i1, i1) -> i32
  return %result : i32
}

// kernels/internal/reference/integer_ops/tanh.h; gemmlowp fixedpoint.h, tanh:
// (1 - e^2x) / (1 + e^2x) for x below 0. Doubling Q4.27 is reading it as Q5.26. The output is
// 1/128 a step about 0, whatever its quantization says.
func.func @tanh(%input: i32) -> i32 {
  func.call @refuse_unsigned() : () -> ()
  %x, %low, %high = func.call @activation_input(%input) : (i32) -> (i32, i1, i1)
  %zero = arith.constant 0 : i32
  %negated = arith.subi %zero, %x : i32
  %at_most_0 = arith.minsi %x, %negated : i32
  %integer_bits = arith.constant 5 : i32
  %exponential = func.call @exp_on_negative_values(%at_most_0, %integer_bits) : (i32, i32) -> i32
  %quotient = func.call @two_over_one_plus_x(%exponential) : (i32) -> i32
  %one = arith.constant 536870912 : i32
  %fraction = arith.subi %quotient, %one : i32
  %shift = arith.constant 2 : i64
  %magnitude = func.call @saturating_shift_left(%fraction, %shift) : (i32, i64) -> i32
  %mirrored = arith.subi %zero, %magnitude : i32
  %negative = arith.cmpi slt, %x, %zero : i32
  %branch = arith.select %negative, %mirrored, %magnitude : i32
  %is_zero = arith.cmpi eq, %x, %zero : i32
  %real = arith.select %is_zero, %zero, %branch : i32
  %c24 = arith.constant 24 : i32
  %steps = fixed.shift_right %real, %c24 {rounding = half_away} : i32
  %result = func.call @activation_output(%steps, %low, %high) : (i32, i1, i1) -> i32
  return %result : i32
}

func.func private @refuse_unsigned(%input_unsigned: i1) {
  %signed = func.call @not(%input_unsigned) : (i1) -> i1
  cf.assert %signed, "TFLite Micro has this operation for int8 only"
  return
}

// ---------------------------------------------------------------- 16-bit activations

// micro/kernels/fully_connected.cc: as a convolution.
func.func @linear_i16(%accumulator: i64) -> i32
    attributes {contract.rules = ["linear_i16", "matmul_i16"]} {
  %result = func.call @conv2d_i16(%accumulator) : (i64) -> i32
  return %result : i32
}

// micro/kernels/lstm_eval.h has the gates by the tables of LOGISTIC and TANH of int16.
func.func @lstm_gate(%input_sum: i32) -> i32 {
  %reproduced = arith.constant false
  cf.assert %reproduced, "lstm: TFLite Micro's arithmetic isn't reproduced, the contract tflite has LiteRT's"
  return %input_sum : i32
}

// kernels/internal/common.h, LUTPopulate: in float32, where LiteRT's is in float64.
// e^x from -10 to 0
func.func private @exponential_entry(%index: i32) -> i32
    attributes {contract.table = 513} {
  %scale = arith.constant 1.52590219E-04 : f32
  %first = arith.constant -65535.0 : f32
  %last = arith.constant 0.0 : f32
  %x, %half_x, %next_x = func.call @float_places(%index, %scale, %first, %last) : (i32, f32, f32, f32) -> (f32, f32, f32)
  %value = math.exp %x : f32
  %half_value = math.exp %half_x : f32
  %next_value = math.exp %next_x : f32
  %step = arith.constant 3.05180438E-05 : f32
  %entry = func.call @float_entry(%value, %half_value, %next_value, %step) : (f32, f32, f32, f32) -> i32
  %c512 = arith.constant 512 : i32
  %ends = arith.cmpi eq, %index, %c512 : i32
  %largest = arith.constant 32767 : i32
  %result = arith.select %ends, %largest, %entry : i32
  return %result : i32
}

// 1 / (1 + x) from 0 to 1
func.func private @reciprocal_entry(%index: i32) -> i32
    attributes {contract.table = 513} {
  %scale = arith.constant 1.52590219E-05 : f32
  %first = arith.constant 0.0 : f32
  %last = arith.constant 65535.0 : f32
  %x, %half_x, %next_x = func.call @float_places(%index, %scale, %first, %last) : (i32, f32, f32, f32) -> (f32, f32, f32)
  %one = arith.constant 1.0 : f32
  %sum = arith.addf %one, %x : f32
  %half_sum = arith.addf %one, %half_x : f32
  %next_sum = arith.addf %one, %next_x : f32
  %value = func.call @inverse(%sum) : (f32) -> f32
  %half_value = func.call @inverse(%half_sum) : (f32) -> f32
  %next_value = func.call @inverse(%next_sum) : (f32) -> f32
  %step = arith.constant 3.05180438E-05 : f32
  %entry = func.call @float_entry(%value, %half_value, %next_value, %step) : (f32, f32, f32, f32) -> i32
  %c512 = arith.constant 512 : i32
  %ends = arith.cmpi eq, %index, %c512 : i32
  %smallest = arith.constant 16384 : i32
  %result = arith.select %ends, %smallest, %entry : i32
  return %result : i32
}

}
