// The arithmetic of TensorFlow Lite for Microcontrollers with its portable kernels
// (tflite-micro of October 2026), and of CMSIS-NN, which gives the same bits: fixed point with
// two roundings everywhere. It shares LiteRT's reference code, so what isn't here is as in
// `tflite`.
// # Formula
// D is that of `tflite`: a first rounding half up to 31 bits, a second half away from zero.
// - linear, matmul: `y = clamp(D(acc, s_x s_w / s_y) + z)`, where LiteRT has float64
// - mul: the same of (a - z_a)(b - z_b)
// - sigmoid, tanh: gemmlowp's fixed-point exponential and reciprocal (Q4.27 in, Q0.31 out), no
//   table, rounded half away to 8 bits
// - lstm: each gate `sat16(sat16(D(sum_h, s_h s_w 2^12)) + sat16(D(sum_x, s_x s_w 2^12)))`, by the
//   table of LOGISTIC and TANH of int16; cell `sat16(sat16(D(f c, 2^-15)) +
//   sat16(D(i g, 2^-30 / s_c)))`; state `clamp(D(tanh(c) o, 2^-30 / s_h) + z_h)`
// # Ties
// Half away from zero after a first rounding half up, as in `tflite`. The zero point is added
// after both.
// # Operands
// float64 ratios of float32 scales, also in mul, leaky_relu and RELU, where LiteRT combines
// them in float32.
// # Quirks
// - RELU6 on its own clamps the input's codes, from the input's zero point to its code of 6,
//   and doesn't rescale: the output's scale and zero point don't matter.
// - RELU_N1_TO_1 and RELU_0_TO_1 on their own are refused: TFLite Micro doesn't have them.
// - The output of sigmoid is taken to be 1/256 a step from -128, that of tanh 1/128 a step
//   about 0, whatever the model says.
// - lstm: the scale of the intermediate tensor, by which LiteRT stores states, is not looked at. A
//   cell_clip of less than one step makes every cell 0. Of int16, which LiteRT has no kernel for,
//   sums have 64 bits and D is the one rounding of such convolutions.
// - Layers of uint8 are refused, as by TFLite Micro (40 kinds were tried live): but DEQUANTIZE,
//   RESHAPE, SQUEEZE, and QUANTIZE from int8 to uint8 or back. A movement of codes that no
//   operation of a contract does, as GATHER, runs.
// # Checked against
// tflite-micro of October 2026. Live, in the long run: over five million outputs
// of random and tie-seeking layers, and of layers at the edges. Recorded: 57,152 outputs of convolutions and
// linear layers with exact ties; CMSIS-NN's arm_nn_requantize, 64,000 rescalings and 39,200 of
// 31-bit multipliers; 200 random LSTMs of int8, 100 of int16, nine to 13 calls each with their state. No mismatch.
// CMSIS-NN's own unit tests (99f736a6), in the long run, by interpreter, on this machine and on an
// emulated Cortex-M4: 202 of 210 sets of integers, two DS-CNNs among them. The others have states of
// 8 bits (2), cells in steps that are no power of two (4), or offsets that no zero point is (2). Of
// the 491 folders 133 end in f16 and 132 in f32; 16 of the other 226 are of float kernels too
// (avgpooling_f16_1, add_f32_spill and such).
// # Sources
// Files of tensorflow/tflite-micro, below tensorflow/lite:
// - micro/kernels/fully_connected_common.cc, batch_matmul_common.cc, mul_common.cc
// - micro/kernels/logistic_common.cc, tanh.cc, lstm_eval.h, lstm_eval.cc, lstm_eval_common.cc; kernels/internal/reference/integer_ops
// - google/gemmlowp, fixedpoint/fixedpoint.h

module attributes {contract.base = "tflite", contract.words, contract.codes = "signed",
    contract.summary = "TFLite Micro and CMSIS-NN: double rounding everywhere"} {

// A product, or sum of products, times the ratio of the scales: all in float64.
// micro/kernels/fully_connected_common.cc: fixed point, where LiteRT multiplies in float64.
// The scales combine in float64 whatever their number.
func.func private @scale_product(%accumulator: i32) -> i32 serves linear, matmul {
  %real = func.call @convolution_scale(false) : (i1) -> f64
  %result = func.call @rescale_and_store(%accumulator, %real) : (i32, f64) -> i32
}

// micro/kernels/mul_common.cc: LiteRT combines the scales in float32.
func.func @mul(%lhs: i32, %rhs: i32) -> i32 {
  %result = func.call @scale_product(@centred_product) : (i32) -> i32
}

// micro/kernels/activations_common.cc: RELU rescales by a ratio in float64. RELU6 clamps the
// input's codes at the input's zero point and 6, and takes them for the output's.
func.func @clamp(%input: i32) -> i32 {
  func.call @refuse_unsigned() : () -> ()
  %infinity = arith.constant 0x7F800000 : f32
  %from_0 = arith.cmpf oeq, %activation_min, 0.0 : f32
  %to_6 = arith.cmpf oeq, %activation_max, 6.0 : f32
  %to_infinity = arith.cmpf oeq, %activation_max, %infinity : f32
  %has_end = arith.ori %to_6, %to_infinity : i1
  %legal = arith.andi %from_0, %has_end : i1
  cf.assert %legal, "of activations on their own TFLite Micro has RELU and RELU6 only"

  %last = func.call @bound(6.0, %input_scale, %input_zero_point) : (f32, f32, i32) -> i32
  %last_code = arith.minsi %last, %storage_max : i32
  %clamped = func.call @clamp_code(%input, %input_zero_point, %last_code) : (i32, i32, i32) -> i32
  // a ratio that isn't used is no reason to refuse
  %used_scale = arith.select %to_6, %output_scale, %input_scale : f32
  %rescaled = func.call @requantize(%input, %used_scale) : (i32, f32) -> i32
  %result = arith.select %to_6, %clamped, %rescaled : i32
}

// micro/kernels/leaky_relu_common.cc: as LiteRT's, but the scales combine in float64.
func.func private @leaky_ratios(%alpha: f32) -> (f64, f64) replaces {
  %identity = func.call @convolution_scale(false, 1.0) : (i1, f32) -> f64
  %sloped = func.call @convolution_scale(false, %alpha) : (i1, f32) -> f64
  return %identity, %sloped : f64, f64
}

// micro/kernels/logistic_common.cc and tanh.cc: the input in Q4.27, and the radius from which
// on the function is saturated: floor(15 * 2^27 / 2^left).
func.func private @activation_input(%input: i32) -> (i32, i1, i1) {
  %two_to_27 = arith.constant 134217728.0 : f64
  %real = arith.mulf %input_scale, %two_to_27 : f64
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %x = arith.subi %input, %input_zero_point : i32
  %fixed_point = func.call @multiply_by_quantized_multiplier(%x, %multiplier, %exponent) : (i32, i32, i32) -> i32
  %left = arith.maxsi %exponent, 0 : i32
  %input_range = arith.constant 2013265920 : i32
  %radius = arith.shrui %input_range, %left : i32
  %negated = arith.subi 0, %radius : i32
  %low = arith.cmpi sle, %x, %negated : i32
  %high = arith.cmpi sge, %x, %radius : i32
  return %fixed_point, %low, %high : i32, i1, i1
}

// The minimum or maximum of int8 where the function is saturated.
func.func private @activation_output(%value: i32, %low: i1, %high: i1) -> i32 {
  %clamped = func.call @clamp_code(%value, -128, 127) : (i32, i32, i32) -> i32
  %capped = arith.select %high, 127, %clamped : i32
  %result = arith.select %low, -128, %capped : i32
}

// kernels/internal/reference/integer_ops/logistic.h; gemmlowp fixedpoint.h, logistic. The output
// is 1/256 a step from -128, whatever its quantization says.
func.func @sigmoid(%input: i32) -> i32 {
  func.call @refuse_unsigned() : () -> ()
  %x, %low, %high = func.call @activation_input(%input) : (i32) -> (i32, i1, i1)
  %negated = arith.subi 0, %x : i32
  %at_most_0 = arith.minsi %x, %negated : i32
  %exponential = func.call @exp_on_negative_values(%at_most_0, 4) : (i32, i32) -> i32
  %upper = func.call @one_over_one_plus_x(%exponential) : (i32) -> i32
  %one = arith.constant 2147483647 : i32
  %lower = arith.subi %one, %upper : i32
  %positive = arith.cmpi sgt, %x, 0 : i32
  %branch = arith.select %positive, %upper, %lower : i32
  %is_zero = arith.cmpi eq, %x, 0 : i32
  %half = arith.constant 1073741824 : i32
  %probability = arith.select %is_zero, %half, %branch : i32
  %steps = fixed.shift_right %probability, 23 {rounding = half_away} : i32
  %moved = arith.addi %steps, -128 : i32
  %result = func.call @activation_output(%moved, %low, %high) : (i32, i1, i1) -> i32
}

// kernels/internal/reference/integer_ops/tanh.h; gemmlowp fixedpoint.h, tanh:
// (1 - e^2x) / (1 + e^2x) for x below 0. Doubling Q4.27 is reading it as Q5.26. The output is
// 1/128 a step about 0, whatever its quantization says.
func.func @tanh(%input: i32) -> i32 {
  func.call @refuse_unsigned() : () -> ()
  %x, %low, %high = func.call @activation_input(%input) : (i32) -> (i32, i1, i1)
  %negated = arith.subi 0, %x : i32
  %at_most_0 = arith.minsi %x, %negated : i32
  %exponential = func.call @exp_on_negative_values(%at_most_0, 5) : (i32, i32) -> i32
  %quotient = func.call @two_over_one_plus_x(%exponential) : (i32) -> i32
  %one = arith.constant 536870912 : i32
  %fraction = arith.subi %quotient, %one : i32
  %magnitude = func.call @saturating_shift_left(%fraction, 2) : (i32, i64) -> i32
  %mirrored = arith.subi 0, %magnitude : i32
  %negative = arith.cmpi slt, %x, 0 : i32
  %branch = arith.select %negative, %mirrored, %magnitude : i32
  %is_zero = arith.cmpi eq, %x, 0 : i32
  %real = arith.select %is_zero, 0, %branch : i32
  %steps = fixed.shift_right %real, 24 {rounding = half_away} : i32
  %result = func.call @activation_output(%steps, %low, %high) : (i32, i1, i1) -> i32
}

func.func private @refuse_unsigned() {
  %signed = arith.xori %input_unsigned, true : i1
  cf.assert %signed, "TFLite Micro has this operation for int8 only"
}

// ---------------------------------------------------------------- 16-bit activations

// micro/kernels/fully_connected.cc: as a convolution. batch_matmul.cc: as that without a bias.
func.func @linear_i16(%accumulator: i64) -> i32 {
  %result = func.call @conv2d_i16(%accumulator) : (i64) -> i32
}

func.func @matmul_i16(%accumulator: i64) -> i32 {
  %result = func.call @rescale_wide(%accumulator) : (i64) -> i32
}

// micro/kernels/lstm_eval.h, CalculateLstmGate: each sum becomes Q3.12 and is saturated, then both
// are added with saturation. lstm_eval.cc, Sigmoid and Tanh: by the table of LOGISTIC of int16.
func.func @lstm_gate(%input_sum: i32, %state_sum: i32) -> i32 serves lstm_gate_i16 {
  %of_input = func.call @lstm_addend(%input_sum, %input_weight_scale, %input_scale) : (i32, f32, f32) -> i32
  %of_state = func.call @lstm_addend(%state_sum, %state_weight_scale, %state_scale) : (i32, f32, f32) -> i32
  %result = func.call @lstm_gate_of(%of_input, %of_state) : (i32, i32) -> i32
}

// lstm_gate for int16, whose sums have 64 bits.
func.func @lstm_wide_gate(%input_sum: i64, %state_sum: i64) -> i32 serves lstm_wide_gate_i16 {
  %input_ratio = func.call @lstm_ratio(%input_weight_scale, %input_scale) : (f32, f32) -> f64
  %state_ratio = func.call @lstm_ratio(%state_weight_scale, %state_scale) : (f32, f32) -> f64
  %of_input = func.call @multiply_wide_by_real(%input_sum, %input_ratio) : (i64, f64) -> i32
  %of_state = func.call @multiply_wide_by_real(%state_sum, %state_ratio) : (i64, f64) -> i32
  %result = func.call @lstm_gate_of(%of_input, %of_state) : (i32, i32) -> i32
}

func.func private @lstm_gate_of(%of_input: i32, %of_state: i32) -> i32 {
  %first = func.call @saturate_16(%of_input) : (i32) -> i32
  %second = func.call @saturate_16(%of_state) : (i32) -> i32
  %sum = arith.addi %first, %second : i32
  %saturated = func.call @saturate_16(%sum) : (i32) -> i32
  %steps = arith.muli %saturated, 3 : i32
  %tanh = func.call @tanh_of_steps(%steps) : (i32) -> i32
  %sigmoid = func.call @sigmoid_of_steps(%steps) : (i32) -> i32
  %result = arith.select %is_update, %tanh, %sigmoid : i32
}

// lstm_eval_common.cc, CreateGateParams: as of a fully connected layer, to steps of 2^-12
func.func private @lstm_addend(%sum: i32, %weight_scale: f32, %scale: f32) -> i32 replaces {
  %real = func.call @lstm_ratio(%weight_scale, %scale) : (f32, f32) -> f64
  %result = func.call @multiply_by_real(%sum, %real) : (i32, f64) -> i32
}

func.func private @lstm_ratio(%weight_scale: f32, %scale: f32) -> f64 {
  %product = arith.mulf %scale, %weight_scale : f64
  %result = arith.mulf %product, 4096.0 : f64
}

// lstm_eval.h, UpdateLstmCell: products as of MUL, all ratios in float64 (lstm_eval_common.cc,
// CreateInterGateMulParams). A clip that is cut off to 0 steps makes all cells 0.
func.func @lstm_cell(%cell: i32, %input_gate: i32, %forget_gate: i32, %update_gate: i32) -> i32
    serves lstm_cell_i16 {
  %bits = func.call @lstm_cell_bits(%cell_scale) : (f32) -> i32
  %kept_product = arith.muli %forget_gate, %cell : i32
  %gate_step = arith.constant 3.0517578125E-05 : f64
  %kept_scaled = func.call @multiply_by_real(%kept_product, %gate_step) : (i32, f64) -> i32
  %kept = func.call @saturate_16(%kept_scaled) : (i32) -> i32
  %new_product = arith.muli %input_gate, %update_gate : i32
  %product_step = arith.mulf %gate_step, %gate_step : f64
  %ratio = arith.divf %product_step, %cell_scale : f64
  %new_scaled = func.call @multiply_by_real(%new_product, %ratio) : (i32, f64) -> i32
  %new = func.call @saturate_16(%new_scaled) : (i32) -> i32
  %sum = arith.addi %kept, %new : i32
  %saturated = func.call @saturate_16(%sum) : (i32) -> i32

  %steps = arith.divf %cell_clip, %cell_scale : f64
  %few = arith.minimumf %steps, 32767.0 : f64
  %clip = fixed.convert %few {rounding = toward_zero} : f64 to i32
  %clips = arith.cmpf ogt, %cell_clip, 0.0 : f64
  %negative_clip = arith.subi 0, %clip : i32
  %high = arith.select %clips, %clip, 32767 : i32
  %low = arith.select %clips, %negative_clip, -32768 : i32
  %result = func.call @clamp_code(%saturated, %low, %high) : (i32, i32, i32) -> i32
}

// lstm_eval.h, UpdateLstmHidden; lstm_eval.cc, Tanh, which has a cell of any power of two. What is
// computed is stored by the scale of the state, whatever that of the intermediate tensor is.
func.func @lstm_output(%cell: i32, %output_gate: i32) -> i32 serves lstm_output_i16 {
  %bits = func.call @lstm_cell_bits(%cell_scale) : (f32) -> i32
  %above = arith.subi %bits, 3 : i32
  %below = arith.subi 3, %bits : i32
  %left = arith.maxsi %above, 0 : i32
  %right = arith.maxsi %below, 0 : i32
  %multiplier = arith.shli 3, %left : i32
  %scaled_cell = arith.muli %cell, %multiplier : i32
  %steps = fixed.shift_right %scaled_cell, %right {rounding = half_up} : i32
  %tanh = func.call @tanh_of_steps(%steps) : (i32) -> i32
  %product = arith.muli %tanh, %output_gate : i32
  %product_step = arith.constant 9.31322574615478515625E-10 : f64
  %ratio = arith.divf %product_step, %state_scale : f64
  %scaled = func.call @multiply_by_real(%product, %ratio) : (i32, f64) -> i32
  %stored = arith.addi %scaled, %state_zero_point : i32
  %result = func.call @clamp_code(%stored, %storage_min, %storage_max) : (i32, i32, i32) -> i32
}

// kernels/internal/common.h, LUTPopulate: in float32, where LiteRT's is in float64.
// e^x from -10 to 0
func.func private @exponential_entry(%index: i32) -> i32 replaces
    attributes {contract.table = 513} {
  %scale = arith.constant 1.52590219E-04 : f32
  %x, %half_x, %next_x = func.call @float_places(%index, %scale, -65535.0, 0.0) : (i32, f32, f32, f32) -> (f32, f32, f32)
  %value = math.exp %x : f32
  %half_value = math.exp %half_x : f32
  %next_value = math.exp %next_x : f32
  %step = arith.constant 3.05180438E-05 : f32
  %entry = func.call @float_entry(%value, %half_value, %next_value, %step) : (f32, f32, f32, f32) -> i32
  %ends = arith.cmpi eq, %index, 512 : i32
  %result = arith.select %ends, 32767, %entry : i32
}

// 1 / (1 + x) from 0 to 1
func.func private @reciprocal_entry(%index: i32) -> i32 replaces attributes {contract.table = 513} {
  %scale = arith.constant 1.52590219E-05 : f32
  %x, %half_x, %next_x = func.call @float_places(%index, %scale, 0.0, 65535.0) : (i32, f32, f32, f32) -> (f32, f32, f32)
  %sum = arith.addf 1.0, %x : f32
  %half_sum = arith.addf 1.0, %half_x : f32
  %next_sum = arith.addf 1.0, %next_x : f32
  %value = arith.divf 1.0, %sum : f32
  %half_value = arith.divf 1.0, %half_sum : f32
  %next_value = arith.divf 1.0, %next_sum : f32
  %step = arith.constant 3.05180438E-05 : f32
  %entry = func.call @float_entry(%value, %half_value, %next_value, %step) : (f32, f32, f32, f32) -> i32
  %ends = arith.cmpi eq, %index, 512 : i32
  %result = arith.select %ends, 16384, %entry : i32
}

// Each type is read as what it is.
func.func @sum(%accumulator: i32) -> i32 {
  %result = func.call @sum_of_codes(%accumulator) : (i32) -> i32
}

}
