// Functions of float32 by MLAS, ONNX Runtime's library: polynomials with FMAs; and by ONNX
// Runtime's own kernels, which round each step.
// onnxruntime/core/mlas/lib: tanh.cpp, erf.cpp and compute.cpp have the numbers, the kernels of
// x86_64 for FMA and AVX-512 the order. It defines no rule.

module attributes {contract.base = "_glibc"} {

// tanh.cpp, of an argument in [-9, 9]: x times one polynomial of x^2 by another.
func.func private @tanh(%x: f32) -> f32 {
  %not_low = arith.maximumf %x, -9.0 : f32
  %bounded = arith.minimumf %not_low, 9.0 : f32
  %square = arith.mulf %bounded, %bounded : f32
  %a5 = math.fma -2.76076847742355e-16, %square, 2.00018790482477e-13 : f32
  %a4 = math.fma %a5, %square, -8.60467152213735e-11 : f32
  %a3 = math.fma %a4, %square, 5.12229709037114e-08 : f32
  %a2 = math.fma %a3, %square, 1.48572235717979e-05 : f32
  %a1 = math.fma %a2, %square, 0.000637261928875436 : f32
  %above = math.fma %a1, %square, 0.00489352455891786 : f32
  %numerator = arith.mulf %above, %bounded : f32
  %b2 = math.fma 1.19825839466702e-06, %square, 0.000118534705686654 : f32
  %b1 = math.fma %b2, %square, 0.002268434632439 : f32
  %denominator = math.fma %b1, %square, 0.00489352518554385 : f32
  %result = arith.divf %numerator, %denominator : f32
}

// erf.cpp: x + x p(x^2) up to 0.921875, above it 1 - exp(-(x + x p(x))).
func.func private @erf(%x: f32) -> f32 {
  %any_size = math.absf %x : f32
  %size = arith.minimumf %any_size, 3.925 : f32
  %square = arith.mulf %size, %size : f32
  %s4 = math.fma -0.000599104969, %square, 0.00499339588 : f32
  %s3 = math.fma %s4, %square, -0.0267667342 : f32
  %s2 = math.fma %s3, %square, 0.112818025 : f32
  %s1 = math.fma %s2, %square, -0.376124859 : f32
  %of_square = math.fma %s1, %square, 0.128379151 : f32
  %small = math.fma %of_square, %size, %size : f32
  %l5 = math.fma 1.7294893e-05, %size, -0.00038320868 : f32
  %l4 = math.fma %l5, %size, 0.00388393435 : f32
  %l3 = math.fma %l4, %size, -0.0242545605 : f32
  %l2 = math.fma %l3, %size, 0.106777847 : f32
  %l1 = math.fma %l2, %size, 0.634846687 : f32
  %of_size = math.fma %l1, %size, 0.128717512 : f32
  %power = math.fma %of_size, %size, %size : f32
  %opposite = arith.subf 0.0, %power : f32
  %k = func.call @multiple_of_ln2(%opposite) : (f32) -> f32
  %r = func.call @without_ln2(%opposite, %k) : (f32, f32) -> f32
  %e5 = math.fma 0.00138319808, %r, 0.00837550033 : f32
  %e4 = math.fma %e5, %r, 0.0416689515 : f32
  %e3 = math.fma %e4, %r, 0.166664466 : f32
  %e2 = math.fma %e3, %r, 0.499999851 : f32
  %e1 = math.fma %e2, %r, 1.0 : f32
  %y = math.fma %e1, %r, 1.0 : f32
  %tail = func.call @scaled_by_power(%y, %k) : (f32, f32) -> f32
  %large = arith.subf 1.0, %tail : f32
  %is_large = arith.cmpf ogt, %size, 0.921875 : f32
  %magnitude = arith.select %is_large, %large, %small : f32
  %result = math.copysign %magnitude, %x : f32
}

// compute.cpp: 2^k p(x - k ln(2)). Beyond the bounds the result is 0 or infinite.
func.func private @exp(%x: f32) -> f32 {
  %not_low = arith.maximumf %x, -103.9720840454 : f32
  %bounded = arith.minimumf %not_low, 100.0 : f32
  %k = func.call @multiple_of_ln2(%bounded) : (f32) -> f32
  %r = func.call @without_ln2(%bounded, %k) : (f32, f32) -> f32
  %e5 = math.fma 0.0013780594, %r, 0.0083731245 : f32
  %e4 = math.fma %e5, %r, 0.041669536 : f32
  %e3 = math.fma %e4, %r, 0.16666472 : f32
  %e2 = math.fma %e3, %r, 0.49999985 : f32
  %e1 = math.fma %e2, %r, 1.0 : f32
  %y = math.fma %e1, %r, 1.0 : f32
  %result = func.call @scaled_by_power(%y, %k) : (f32, f32) -> f32
}

// x / ln(2), rounded to a whole number: 1.5 * 2^23 is added, and taken away again.
func.func private @multiple_of_ln2(%x: f32) -> f32 {
  %shifted = math.fma %x, 1.4426950408889634, 12582912.0 : f32
  %result = arith.subf %shifted, 12582912.0 : f32
}

// x - k ln(2), of ln(2) in two parts
func.func private @without_ln2(%x: f32, %k: f32) -> f32 {
  %less = math.fma %k, -0.693145752, %x : f32
  %result = math.fma %k, -1.42860677e-06, %less : f32
}

// y 2^k
func.func private @scaled_by_power(%y: f32, %k: f32) -> f32 {
  %exponent = fixed.convert %k {rounding = toward_zero} : f32 to i32
  %result = func.call @times_power_of_two(%y, %exponent) : (f32, i32) -> f32
}

func.func private @logistic(%real: f32) -> f32 replaces {
  %not_negative = func.call @near_logistic(%real) : (f32) -> f32
  %result = arith.minimumf %not_negative, 1.0 : f32
}

// x times the logistic function of alpha x, which isn't brought below 1: Swish and QuickGelu
func.func private @swish(%x: f32, %alpha: f32) -> f32 {
  %scaled = arith.mulf %x, %alpha : f32
  %share = func.call @near_logistic(%scaled) : (f32) -> f32
  %result = arith.mulf %x, %share : f32
}

// MlasLogisticKernel with FMA3: 1/2 and an odd polynomial over an even one, at least 0.
func.func private @near_logistic(%real: f32) -> f32 {
  %above = arith.maximumf %real, -18.0 : f32
  %x = arith.minimumf %above, 18.0 : f32
  %square = arith.mulf %x, %x : f32
  %p_7 = math.fma %square, 4.37031012579801e-11, 1.15627324459942e-07 : f32
  %p_5 = math.fma %square, %p_7, 6.08574864600143e-05 : f32
  %p_3 = math.fma %square, %p_5, 8.51377133304701e-03 : f32
  %p_1 = math.fma %square, %p_3, 2.48287947061529e-01 : f32
  %q_8 = math.fma %square, 6.10247389755681e-13, 5.76102136993427e-09 : f32
  %q_6 = math.fma %square, %q_8, 6.29106785017040e-06 : f32
  %q_4 = math.fma %square, %q_6, 1.70198817374094e-03 : f32
  %q_2 = math.fma %square, %q_4, 1.16817656904453e-01 : f32
  %q = math.fma %square, %q_2, 9.93151921023180e-01 : f32
  %p = arith.mulf %p_1, %x : f32
  %quotient = arith.divf %p, %q : f32
  %moved = arith.addf %quotient, 0.5 : f32
  %result = arith.maximumf %moved, 0.0 : f32
}

// ---------------------------------------------------------------- dynamic quantization

// quantization.h, GetQuantizationParameter: of a range around 0; 1 where that is all
func.func private @dynamic_scale(%low: f32, %high: f32) -> f32 {
  %distance = arith.subf %high, %low : f32
  %step = arith.divf %distance, 255.0 : f32
  %is_flat = arith.cmpf oeq, %high, %low : f32
  %result = arith.select %is_flat, 1.0, %step : f32
}

// rne(clamp(F(0 - F(min / s)))), 255 of NaN
func.func private @dynamic_zero_point(%low: f32, %scale: f32) -> i32 {
  %steps = arith.divf %low, %scale : f32
  %below = arith.subf 0.0, %steps : f32
  %is_low = arith.cmpf olt, %below, 255.0 : f32
  %not_high = arith.select %is_low, %below, 255.0 : f32
  %is_positive = arith.cmpf ogt, %not_high, 0.0 : f32
  %within = arith.select %is_positive, %not_high, 0.0 : f32
  %result = fixed.convert %within {rounding = half_even} : f32 to i32
}

// MlasQuantizeLinear: rne(clamp(F(x / s))) + z, 0 of NaN
func.func private @dynamic_code(%x: f32, %scale: f32, %zero: i32) -> i32 {
  %result = func.call @code_between(%x, %scale, %zero, 0, 255) : (f32, f32, i32, i32, i32) -> i32
}

func.func private @code_between(%x: f32, %scale: f32, %zero: i32, %least: i32, %most: i32) -> i32 {
  %steps = arith.divf %x, %scale : f32
  %result = func.call @stored_between(%steps, %zero, %least, %most) : (f32, i32, i32, i32) -> i32
}

func.func private @stored_between(%steps: f32, %zero: i32, %least: i32, %most: i32) -> i32 {
  %offset = arith.sitofp %zero : i32 to f32
  %first = arith.sitofp %least : i32 to f32
  %last = arith.sitofp %most : i32 to f32
  %low = arith.subf %first, %offset : f32
  %high = arith.subf %last, %offset : f32
  %is_above = arith.cmpf ogt, %steps, %low : f32
  %not_low = arith.select %is_above, %steps, %low : f32
  %is_below = arith.cmpf olt, %not_low, %high : f32
  %within = arith.select %is_below, %not_low, %high : f32
  %whole = fixed.convert %within {rounding = half_even} : f32 to i32
  %result = arith.addi %whole, %zero : i32
}

// MlasRequantizeOutput, by the scales of two operands and the result
func.func private @requantized(%sum: i32, %one: f32, %other: f32, %output: f32, %zero: i32,
    %least: i32, %most: i32) -> i32 {
  %real = arith.sitofp %sum : i32 to f32
  %product = arith.mulf %one, %other : f32
  %factor = arith.divf %product, %output : f32
  %steps = arith.mulf %real, %factor : f32
  %result = func.call @stored_between(%steps, %zero, %least, %most) : (f32, i32, i32, i32) -> i32
}

// ---------------------------------------------------------------- functions of these

// gelu.cc: (x / 2) (1 + erf(x / sqrt(2)))
func.func private @gelu(%x: f32) -> f32 {
  %argument = arith.mulf %x, 0.7071067811865476 : f32
  %erf = func.call @erf(%argument) : (f32) -> f32
  %factor = arith.addf 1.0, %erf : f32
  %half = arith.mulf %x, 0.5 : f32
  %result = arith.mulf %half, %factor : f32
}

// gelu.cc and bert/fast_gelu.cc: (x / 2) (1 + tanh(x (c x x + b)))
func.func private @gelu_by_tanh(%x: f32) -> f32 {
  %once = arith.mulf 0.035677408136300125, %x : f32
  %twice = arith.mulf %once, %x : f32
  %curve = arith.addf %twice, 0.7978845608028654 : f32
  %argument = arith.mulf %x, %curve : f32
  %tanh = func.call @tanh(%argument) : (f32) -> f32
  %factor = arith.addf %tanh, 1.0 : f32
  %half = arith.mulf %x, 0.5 : f32
  %result = arith.mulf %half, %factor : f32
}

// ---------------------------------------------------------------- products, attention

// sgemm.cpp: alpha x + beta c, where the term is rounded first
func.func private @scaled_sum(%sum: f32, %term: f32, %alpha: f32, %beta: f32) -> f32 {
  %scaled = arith.mulf %term, %beta : f32
  %result = math.fma %sum, %alpha, %scaled : f32
}

// contrib_ops/cpu/bert/attention_helper.h, PrepareMask: a term of scores where a mask is not above 0,
// or from a length on
func.func private @mask_term(%mask: i32, %filter: f32) -> f32 {
  %is_seen = arith.cmpi sgt, %mask, 0 : i32
  %result = arith.select %is_seen, 0.0, %filter : f32
}

func.func private @mask_term_of_length(%length: i32, %place: i32, %filter: f32) -> f32 {
  %is_seen = arith.cmpi slt, %place, %length : i32
  %result = arith.select %is_seen, 0.0, %filter : f32
}

func.func private @causal_term(%term: f32, %is_later: i1, %lowest: f32) -> f32 {
  %result = arith.select %is_later, %lowest, %term : f32
}

// ---------------------------------------------------------------- images

// core/providers/cpu/tensor/grid_sample.cc: the place in an image of that many pixels which a
// number in [-1, 1] means; with corners aligned, of the last pixel's index
func.func private @grid_place(%n: f32, %length: f32) -> f32 {
  %from_end = arith.addf %n, 1.0 : f32
  %scaled = arith.mulf %from_end, %length : f32
  %moved = arith.subf %scaled, 1.0 : f32
  %result = arith.divf %moved, 2.0 : f32
}

func.func private @grid_place_of_corners(%n: f32, %last: f32) -> f32 {
  %from_end = arith.addf %n, 1.0 : f32
  %share = arith.divf %from_end, 2.0 : f32
  %result = arith.mulf %share, %last : f32
}

// GsReflect
func.func private @reflected(%x: f32, %low: f32, %high: f32) -> f32 {
  %from_low = func.call @turned(%x, %low, %high) : (f32, f32, f32) -> f32
  %from_high = func.call @turned(%x, %high, %low) : (f32, f32, f32) -> f32
  %is_below = arith.cmpf olt, %x, %low : f32
  %is_above = arith.cmpf ogt, %x, %high : f32
  %not_below = arith.select %is_above, %from_high, %x : f32
  %result = arith.select %is_below, %from_low, %not_below : f32
}

// What a number beyond one end of a range becomes, after it turned at the ends.
func.func private @turned(%x: f32, %near: f32, %far: f32) -> f32 {
  %out = arith.subf %near, %x : f32
  %distance = math.absf %out : f32
  %extent = arith.subf %far, %near : f32
  %range = math.absf %extent : f32
  %quotient = arith.divf %distance, %range : f32
  %turns = fixed.convert %quotient {rounding = toward_zero} : f32 to i32
  %whole = arith.sitofp %turns : i32 to f32
  %passed = arith.mulf %whole, %range : f32
  %rest = arith.subf %distance, %passed : f32
  %inward = math.copysign %rest, %extent : f32
  %from_near = arith.addf %near, %inward : f32
  %from_far = arith.subf %far, %inward : f32
  %odd = arith.andi %turns, 1 : i32
  %is_odd = arith.cmpi eq, %odd, 1 : i32
  %result = arith.select %is_odd, %from_far, %from_near : f32
}

// Between four pixels, two of each row, at these distances from the first and to the second ones.
func.func private @between_pixels(
    %a: f32, %b: f32, %c: f32, %d: f32, %below: f32, %behind: f32, %above: f32, %before: f32) -> f32 {
  %first = func.call @two_products(%before, %a, %behind, %b) : (f32, f32, f32, f32) -> f32
  %second = func.call @two_products(%before, %c, %behind, %d) : (f32, f32, f32, f32) -> f32
  %result = func.call @two_products(%above, %first, %below, %second) : (f32, f32, f32, f32) -> f32
}

func.func private @two_products(%a: f32, %x: f32, %b: f32, %y: f32) -> f32 {
  %one = arith.mulf %a, %x : f32
  %other = arith.mulf %b, %y : f32
  %result = arith.addf %one, %other : f32
}

func.func private @between_pixels_by_shares(
    %a: f32, %b: f32, %c: f32, %d: f32, %below: f32, %behind: f32, %above: f32, %before: f32) -> f32 {
  %share_a = arith.mulf %above, %before : f32
  %share_b = arith.mulf %above, %behind : f32
  %share_c = arith.mulf %below, %before : f32
  %share_d = arith.mulf %below, %behind : f32
  %first = func.call @two_products(%share_a, %a, %share_b, %b) : (f32, f32, f32, f32) -> f32
  %third = arith.mulf %share_c, %c : f32
  %three = arith.addf %first, %third : f32
  %fourth = arith.mulf %share_d, %d : f32
  %result = arith.addf %three, %fourth : f32
}

// upsample.cc, GetCubicCoeffs: the share of a pixel at a distance of at most 1, or of at most 2
func.func private @cubic_near(%d: f32, %a: f32) -> f32 {
  %first = arith.addf %a, 2.0 : f32
  %second = arith.addf %a, 3.0 : f32
  %line = func.call @line_less(%first, %d, %second) : (f32, f32, f32) -> f32
  %once = arith.mulf %line, %d : f32
  %twice = arith.mulf %once, %d : f32
  %result = arith.addf %twice, 1.0 : f32
}

func.func private @cubic_far(%d: f32, %a: f32) -> f32 {
  %five = arith.mulf %a, 5.0 : f32
  %eight = arith.mulf %a, 8.0 : f32
  %four = arith.mulf %a, 4.0 : f32
  %line = func.call @line_less(%a, %d, %five) : (f32, f32, f32) -> f32
  %once = func.call @next_term(%d, %line, %eight) : (f32, f32, f32) -> f32
  %result = func.call @line_less(%once, %d, %four) : (f32, f32, f32) -> f32
}

func.func private @line_less(%factor: f32, %x: f32, %offset: f32) -> f32 {
  %product = arith.mulf %factor, %x : f32
  %result = arith.subf %product, %offset : f32
}

// ---------------------------------------------------------------- recurrent layers

// core/providers/cpu/rnn/rnn_helpers.cc. A gate of an LSTM: a sum, what a peephole adds, a bias.
func.func private @lstm_cell(%input: f32, %forget: f32, %update: f32, %before: f32) -> f32 {
  %i = func.call @logistic(%input) : (f32) -> f32
  %f = func.call @logistic(%forget) : (f32) -> f32
  %c = func.call @tanh(%update) : (f32) -> f32
  %kept = arith.mulf %before, %f : f32
  %new = arith.mulf %i, %c : f32
  %result = arith.addf %kept, %new : f32
}

func.func private @lstm_state(%output: f32, %cell: f32) -> f32 {
  %o = func.call @logistic(%output) : (f32) -> f32
  %bent = func.call @tanh(%cell) : (f32) -> f32
  %result = arith.mulf %bent, %o : f32
}

// gru_reset_gate_sigmoid, of what the gate lets through
func.func private @gru_reset(%gate: f32, %passed: f32) -> f32 {
  %not_low = arith.maximumf %gate, -20.0 : f32
  %bounded = arith.minimumf %not_low, 20.0 : f32
  %half = arith.mulf 0.5, %bounded : f32
  %tanh = func.call @plain_tanh(%half) : (f32) -> f32
  %more = arith.addf 1.0, %tanh : f32
  %share = arith.mulf 0.5, %more : f32
  %result = arith.mulf %passed, %share : f32
}

// gru_output_gate_tanh
func.func private @gru_state(%update: f32, %hidden: f32, %before: f32) -> f32 {
  %z = func.call @logistic(%update) : (f32) -> f32
  %not_low = arith.maximumf %hidden, -10.0 : f32
  %bounded = arith.minimumf %not_low, 10.0 : f32
  %h = func.call @plain_tanh(%bounded) : (f32) -> f32
  %rest = arith.subf 1.0, %z : f32
  %new = arith.mulf %rest, %h : f32
  %kept = arith.mulf %z, %before : f32
  %result = arith.addf %new, %kept : f32
}

// The quotient of `tanh`, whose products and sums are rounded each.
func.func private @plain_tanh(%x: f32) -> f32 {
  %square = arith.mulf %x, %x : f32
  %p6 = func.call @next_term(%square, -2.76076847742355e-16, 2.00018790482477e-13) : (f32, f32, f32) -> f32
  %p5 = func.call @next_term(%square, %p6, -8.60467152213735e-11) : (f32, f32, f32) -> f32
  %p4 = func.call @next_term(%square, %p5, 5.12229709037114e-08) : (f32, f32, f32) -> f32
  %p3 = func.call @next_term(%square, %p4, 1.48572235717979e-05) : (f32, f32, f32) -> f32
  %p2 = func.call @next_term(%square, %p3, 0.000637261928875436) : (f32, f32, f32) -> f32
  %p1 = func.call @next_term(%square, %p2, 0.00489352455891786) : (f32, f32, f32) -> f32
  %p = arith.mulf %x, %p1 : f32
  %q3 = func.call @next_term(%square, 1.19825839466702e-06, 0.000118534705686654) : (f32, f32, f32) -> f32
  %q2 = func.call @next_term(%square, %q3, 0.002268434632439) : (f32, f32, f32) -> f32
  %q = func.call @next_term(%square, %q2, 0.00489352518554385) : (f32, f32, f32) -> f32
  %result = arith.divf %p, %q : f32
}

func.func private @next_term(%x: f32, %above: f32, %term: f32) -> f32 {
  %product = arith.mulf %x, %above : f32
  %result = arith.addf %product, %term : f32
}

}
