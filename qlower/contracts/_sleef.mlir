// Functions of float32 as ATen's kernels for x86 with AVX-512 compute them: in vectors by SLEEF,
// and, of the last elements, which fill no two vectors, by the C library (`_alone`). It defines no
// rule.

module attributes {contract.base = "_mlas"} {

// aten/src/ATen/native/cpu/UnaryOpsKernel.cpp, sigmoid_kernel
func.func private @sigmoid(%x: f32) -> f32 {
  %more = func.call @one_and_power(%x) : (f32) -> f32
  %result = arith.divf 1.0, %more : f32
}

func.func private @sigmoid_alone(%x: f32) -> f32 {
  %more = func.call @one_and_power_alone(%x) : (f32) -> f32
  %result = arith.divf 1.0, %more : f32
}

// aten/src/ATen/native/cpu/Activation.cpp, silu_kernel
func.func private @silu(%x: f32) -> f32 {
  %more = func.call @one_and_power(%x) : (f32) -> f32
  %result = arith.divf %x, %more : f32
}

func.func private @silu_alone(%x: f32) -> f32 {
  %more = func.call @one_and_power_alone(%x) : (f32) -> f32
  %result = arith.divf %x, %more : f32
}

func.func private @one_and_power(%x: f32) -> f32 {
  %opposite = arith.negf %x : f32
  %power = func.call @expf_u10(%opposite) : (f32) -> f32
  %result = arith.addf 1.0, %power : f32
}

func.func private @one_and_power_alone(%x: f32) -> f32 {
  %opposite = arith.negf %x : f32
  %power = func.call @expf(%opposite) : (f32) -> f32
  %result = arith.addf 1.0, %power : f32
}

// aten/src/ATen/cpu/vec/vec512/vec512_float.h, erf: formula 7.1.26 of Abramowitz and Stegun
func.func private @erf_of_vectors(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %below = math.fma 0.3275911, %size, 1.0 : f32
  %t = arith.divf 1.0, %below : f32
  %p4 = math.fma 1.061405429, %t, -1.453152027 : f32
  %p3 = math.fma %p4, %t, 1.421413741 : f32
  %p2 = math.fma %p3, %t, -0.284496736 : f32
  %p1 = math.fma %p2, %t, 0.254829592 : f32
  %square = arith.mulf %x, %x : f32
  %opposite = arith.negf %square : f32
  %power = func.call @expf_u10(%opposite) : (f32) -> f32
  %less = arith.negf %power : f32
  %factor = arith.mulf %less, %t : f32
  %positive = math.fma %factor, %p1, 1.0 : f32
  %result = math.copysign %positive, %x : f32
}

// aten/src/ATen/native/cpu/Gelu.h
func.func private @gelu_of_vectors(%x: f32) -> f32 {
  %argument = arith.mulf %x, 0.70710678118654752440 : f32
  %erf = func.call @erf_of_vectors(%argument) : (f32) -> f32
  %more = arith.addf 1.0, %erf : f32
  %half = arith.mulf %x, 0.5 : f32
  %result = arith.mulf %half, %more : f32
}

func.func private @gelu_by_tanh_of_vectors(%x: f32) -> f32 {
  %square = arith.mulf %x, %x : f32
  %cube = arith.mulf %square, %x : f32
  %moved = math.fma 0.044715, %cube, %x : f32
  %argument = arith.mulf 0.7978845608028653558798, %moved : f32
  %bent = func.call @tanhf_u10(%argument) : (f32) -> f32
  %more = arith.addf 1.0, %bent : f32
  %half = arith.mulf 0.5, %x : f32
  %result = arith.mulf %half, %more : f32
}

// aten/src/ATen/native/cpu/Activation.cpp, softplus_kernel
func.func private @softplus_of_vectors(%x: f32, %beta: f32, %threshold: f32) -> f32 {
  %scaled = arith.mulf %x, %beta : f32
  %power = func.call @expf_u10(%scaled) : (f32) -> f32
  %logarithm = func.call @log1pf_u10(%power) : (f32) -> f32
  %curve = arith.divf %logarithm, %beta : f32
  %is_far = arith.cmpf ogt, %scaled, %threshold : f32
  %result = arith.select %is_far, %x, %curve : f32
}

// mish_kernel
func.func private @mish(%x: f32) -> f32 {
  %power = func.call @expf_u10(%x) : (f32) -> f32
  %curve = func.call @log1pf_u10(%power) : (f32) -> f32
  %bent = func.call @tanhf_u10(%curve) : (f32) -> f32
  %result = arith.mulf %x, %bent : f32
}

// log_sigmoid_cpu_kernel
func.func private @log_sigmoid(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %opposite = arith.negf %size : f32
  %power = func.call @expf_u10(%opposite) : (f32) -> f32
  %logarithm = func.call @log1pf_u10(%power) : (f32) -> f32
  %below = arith.minimumf %x, 0.0 : f32
  %result = arith.subf %below, %logarithm : f32
}

// aten/src/ATen/native/cpu/Elu.h: `factor` of what is above 0, `below` of the curve, whose argument
// is multiplied by `inner`
func.func private @elu_of_vectors(%x: f32, %factor: f32, %below: f32, %inner: f32) -> f32 {
  %line = arith.mulf %x, %factor : f32
  %argument = arith.mulf %x, %inner : f32
  %power = func.call @expm1f_u10(%argument) : (f32) -> f32
  %curve = arith.mulf %power, %below : f32
  %is_line = arith.cmpf oge, %x, 0.0 : f32
  %result = arith.select %is_line, %line, %curve : f32
}

// aten/src/ATen/native/cpu/BinaryOpsKernel.cpp, UnaryOpsKernel.cpp
func.func private @hard_shrink(%x: f32, %bound: f32) -> f32 {
  %size = math.absf %x : f32
  %is_far = arith.cmpf ogt, %size, %bound : f32
  %result = arith.select %is_far, %x, 0.0 : f32
}

func.func private @tanh_shrink(%x: f32) -> f32 {
  %bent = func.call @tanhf_u10(%x) : (f32) -> f32
  %result = arith.subf %x, %bent : f32
}

// ---------------------------------------------------------------- SLEEF in two floats

// sleefsimdsp.c, xtanhf: of e = exp(|x|) the quotient (e - 1 / e) / (e + 1 / e)
func.func private @tanhf_u10(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %bounded = arith.minimumf %size, 9.0 : f32
  %e:2 = func.call @power_in_two(%bounded) : (f32) -> (f32, f32)
  %inverse = arith.divf 1.0, %e#0 : f32
  %missing = func.call @less_product(%e#0, %inverse, 1.0) : (f32, f32, f32) -> f32
  %still_missing = func.call @less_product(%e#1, %inverse, %missing) : (f32, f32, f32) -> f32
  %low = arith.mulf %inverse, %still_missing : f32
  %negated = arith.negf %inverse : f32
  %negated_low = arith.negf %low : f32
  %n:2 = func.call @sum_of_ordered(%e#0, %e#1, %negated, %negated_low) : (f32, f32, f32, f32) -> (f32, f32)
  %d:2 = func.call @sum_of_ordered(%e#0, %e#1, %inverse, %low) : (f32, f32, f32, f32) -> (f32, f32)
  %q:2 = func.call @quotient_in_two(%n#0, %n#1, %d#0, %d#1) : (f32, f32, f32, f32) -> (f32, f32)
  %sum = arith.addf %q#0, %q#1 : f32
  %is_far = arith.cmpf ogt, %size, 8.664339742 : f32
  %positive = arith.select %is_far, 1.0, %sum : f32
  %result = math.copysign %positive, %x : f32
}

// xexpm1f
func.func private @expm1f_u10(%x: f32) -> f32 {
  %not_low = arith.maximumf %x, -104.0 : f32
  %bounded = arith.minimumf %not_low, 100.0 : f32
  %e:2 = func.call @power_in_two(%bounded) : (f32) -> (f32, f32)
  %d:2 = func.call @sum_with(%e#0, %e#1, -1.0) : (f32, f32, f32) -> (f32, f32)
  %near = arith.addf %d#0, %d#1 : f32
  %is_high = arith.cmpf ogt, %x, 88.72283172607421875 : f32
  %not_high = arith.select %is_high, 0x7F800000, %near : f32
  %is_low = arith.cmpf olt, %x, -16.635532333438687 : f32
  %found = arith.select %is_low, -1.0, %not_high : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %result = arith.select %is_zero, %x, %found : f32
}

// xlog1pf, of numbers that are not negative; from 1e38 on the number itself, which only counts as
// large
func.func private @log1pf_u10(%x: f32) -> f32 {
  %bounded = arith.minimumf %x, 1.0e+38 : f32
  %more = arith.addf %bounded, 1.0 : f32
  %scaled = arith.mulf %more, 1.33333337306976318359375 : f32
  %bits = arith.bitcast %scaled : f32 to i32
  %biased = arith.shrsi %bits, 23 : i32
  %exponent = arith.subi %biased, 127 : i32
  %opposite = arith.subi 0, %exponent : i32
  %t = func.call @times_power_of_two(1.0, %opposite) : (f32, i32) -> f32
  %t_less = arith.subf %t, 1.0 : f32
  %m = math.fma %bounded, %t, %t_less : f32
  %e = arith.sitofp %exponent : i32 to f32
  %s:2 = func.call @multiple_in_two(0.69314718246459960938, -1.904654323148236017e-09, %e) : (f32, f32, f32) -> (f32, f32)
  %d = arith.addf 2.0, %m : f32
  %rest = arith.subf 2.0, %d : f32
  %d_low = arith.addf %rest, %m : f32
  %q:2 = func.call @quotient_in_two(%m, 0.0, %d, %d_low) : (f32, f32, f32, f32) -> (f32, f32)
  %square = arith.mulf %q#0, %q#0 : f32
  %p1 = math.fma 0.3027294874, %square, 0.3996108174 : f32
  %p = math.fma %p1, %square, 0.6666694880 : f32
  %twice = arith.mulf %q#0, 2.0 : f32
  %twice_low = arith.mulf %q#1, 2.0 : f32
  %sum:2 = func.call @sum_of_ordered(%s#0, %s#1, %twice, %twice_low) : (f32, f32, f32, f32) -> (f32, f32)
  %cube = arith.mulf %square, %q#0 : f32
  %above = arith.mulf %cube, %p : f32
  %total = arith.addf %sum#0, %above : f32
  %left = arith.subf %sum#0, %total : f32
  %left_more = arith.addf %left, %above : f32
  %low = arith.addf %left_more, %sum#1 : f32
  %near = arith.addf %total, %low : f32
  %is_large = arith.cmpf ogt, %x, 1.0e+38 : f32
  %found = arith.select %is_large, %x, %near : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %result = arith.select %is_zero, %x, %found : f32
}

// expk2f: the exponential of a number in [-104, 100]
func.func private @power_in_two(%x: f32) -> (f32, f32) {
  %ratio = arith.mulf %x, 1.4426950408889634 : f32
  %q = fixed.convert %ratio {rounding = half_even} : f32 to i32
  %whole = arith.sitofp %q : i32 to f32
  %large = arith.mulf %whole, -0.693145751953125 : f32
  %small = arith.mulf %whole, -1.428606765330187e-06 : f32
  %less:2 = func.call @sum_with(%x, 0.0, %large) : (f32, f32, f32) -> (f32, f32)
  %s:2 = func.call @sum_with(%less#0, %less#1, %small) : (f32, f32, f32) -> (f32, f32)
  %u3 = math.fma 0.0001980960224, %s#0, 0.001394256484 : f32
  %u2 = math.fma %u3, %s#0, 0.008333456703 : f32
  %u1 = math.fma %u2, %s#0, 0.04166637361 : f32
  %a:2 = func.call @multiple_in_two(%s#0, %s#1, %u1) : (f32, f32, f32) -> (f32, f32)
  %b:2 = func.call @sum_with(%a#0, %a#1, 0.16666665941423425) : (f32, f32, f32) -> (f32, f32)
  %c:2 = func.call @product_in_two(%s#0, %s#1, %b#0, %b#1) : (f32, f32, f32, f32) -> (f32, f32)
  %d:2 = func.call @sum_with(%c#0, %c#1, 0.5) : (f32, f32, f32) -> (f32, f32)
  %square = arith.mulf %s#0, %s#0 : f32
  %negated = arith.negf %square : f32
  %lost = math.fma %s#0, %s#0, %negated : f32
  %twice = arith.addf %s#0, %s#0 : f32
  %square_low = math.fma %twice, %s#1, %lost : f32
  %e:2 = func.call @product_in_two(%square, %square_low, %d#0, %d#1) : (f32, f32, f32, f32) -> (f32, f32)
  %f:2 = func.call @sum_in_two(%s#0, %s#1, %e#0, %e#1) : (f32, f32, f32, f32) -> (f32, f32)
  %high = arith.addf 1.0, %f#0 : f32
  %left = arith.subf 1.0, %high : f32
  %left_more = arith.addf %left, %f#0 : f32
  %low = arith.addf %left_more, %f#1 : f32
  %result = func.call @times_power_of_two(%high, %q) : (f32, i32) -> f32
  %result_low = func.call @times_power_of_two(%low, %q) : (f32, i32) -> f32
  return %result, %result_low : f32, f32
}

// src/common/df.h. A number is a float and what it lost; dfadd2_vf2_vf2_vf2
func.func private @sum_in_two(%x: f32, %x_low: f32, %y: f32, %y_low: f32) -> (f32, f32) {
  %sum = arith.addf %x, %y : f32
  %taken = arith.subf %sum, %x : f32
  %x_taken = arith.subf %sum, %taken : f32
  %x_lost = arith.subf %x, %x_taken : f32
  %y_lost = arith.subf %y, %taken : f32
  %lost = arith.addf %x_lost, %y_lost : f32
  %low = arith.addf %x_low, %y_low : f32
  %result = arith.addf %lost, %low : f32
  return %sum, %result : f32, f32
}

// dfadd2_vf2_vf2_vf
func.func private @sum_with(%x: f32, %x_low: f32, %y: f32) -> (f32, f32) {
  %result:2 = func.call @sum_in_two(%x, %x_low, %y, -0.0) : (f32, f32, f32, f32) -> (f32, f32)
  return %result#0, %result#1 : f32, f32
}

// dfadd_vf2_vf2_vf2, of a number that is at least as large as the other
func.func private @sum_of_ordered(%x: f32, %x_low: f32, %y: f32, %y_low: f32) -> (f32, f32) {
  %sum = arith.addf %x, %y : f32
  %left = arith.subf %x, %sum : f32
  %lost = arith.addf %left, %y : f32
  %lower = arith.addf %lost, %x_low : f32
  %result = arith.addf %lower, %y_low : f32
  return %sum, %result : f32, f32
}

// dfmul_vf2_vf2_vf2
func.func private @product_in_two(%x: f32, %x_low: f32, %y: f32, %y_low: f32) -> (f32, f32) {
  %multiple:2 = func.call @multiple_in_two(%x, %x_low, %y) : (f32, f32, f32) -> (f32, f32)
  %result = math.fma %x, %y_low, %multiple#1 : f32
  return %multiple#0, %result : f32, f32
}

// dfmul_vf2_vf2_vf
func.func private @multiple_in_two(%x: f32, %x_low: f32, %y: f32) -> (f32, f32) {
  %product = arith.mulf %x, %y : f32
  %negated = arith.negf %product : f32
  %lost = math.fma %x, %y, %negated : f32
  %result = math.fma %x_low, %y, %lost : f32
  return %product, %result : f32, f32
}

// dfdiv_vf2_vf2_vf2
func.func private @quotient_in_two(%n: f32, %n_low: f32, %d: f32, %d_low: f32) -> (f32, f32) {
  %inverse = arith.divf 1.0, %d : f32
  %quotient = arith.mulf %n, %inverse : f32
  %negated = arith.negf %quotient : f32
  %lost = math.fma %inverse, %n, %negated : f32
  %missing = func.call @less_product(%d, %inverse, 1.0) : (f32, f32, f32) -> f32
  %still_missing = func.call @less_product(%d_low, %inverse, %missing) : (f32, f32, f32) -> f32
  %low = math.fma %n_low, %inverse, %lost : f32
  %result = math.fma %quotient, %still_missing, %low : f32
  return %quotient, %result : f32, f32
}

// z - x y in one rounding
func.func private @less_product(%x: f32, %y: f32, %z: f32) -> f32 {
  %negated = arith.negf %x : f32
  %result = math.fma %negated, %y, %z : f32
}

// ---------------------------------------------------------------- recurrent layers

// aten/src/ATen/native/RNN.cpp, LSTMCell: what a cell keeps, and what it takes in
func.func private @kept_and_new(%input: f32, %forget: f32, %update: f32, %before: f32) -> f32 {
  %kept = arith.mulf %forget, %before : f32
  %new = arith.mulf %input, %update : f32
  %result = arith.addf %kept, %new : f32
}

// GRUCell
func.func private @between_states(%before: f32, %new: f32, %gate: f32) -> f32 {
  %distance = arith.subf %before, %new : f32
  %share = arith.mulf %distance, %gate : f32
  %result = arith.addf %share, %new : f32
}

// aten/src/ATen/native/cpu/UpSampleKernel.cpp: numbers between pixels p of two columns in two rows,
// by the shares of the rows and of the columns. `between_four_of_vectors` is of eight channels together,
// `between_four` of those that are left over, `between_rows` of an image whose channels lie first.
func.func private @between_two(%first: f32, %second: f32, %near: f32, %far: f32) -> f32 {
  %more = arith.mulf %second, %far : f32
  %result = math.fma %first, %near, %more : f32
}

func.func private @between_rows(%p00: f32, %p01: f32, %p10: f32, %p11: f32,
    %row0: f32, %row1: f32, %column0: f32, %column1: f32) -> f32 {
  %first = func.call @between_two(%p00, %p01, %column0, %column1) : (f32, f32, f32, f32) -> f32
  %second = func.call @between_two(%p10, %p11, %column0, %column1) : (f32, f32, f32, f32) -> f32
  %result = func.call @between_two(%first, %second, %row0, %row1) : (f32, f32, f32, f32) -> f32
}

func.func private @between_four_of_vectors(%p00: f32, %p01: f32, %p10: f32, %p11: f32,
    %row0: f32, %row1: f32, %column0: f32, %column1: f32) -> f32 {
  %s00 = arith.mulf %row0, %column0 : f32
  %s01 = arith.mulf %row0, %column1 : f32
  %s10 = arith.mulf %row1, %column0 : f32
  %s11 = arith.mulf %row1, %column1 : f32
  %one = arith.mulf %p10, %s10 : f32
  %two = math.fma %p11, %s11, %one : f32
  %three = math.fma %p01, %s01, %two : f32
  %result = math.fma %p00, %s00, %three : f32
}

func.func private @between_four(%p00: f32, %p01: f32, %p10: f32, %p11: f32,
    %row0: f32, %row1: f32, %column0: f32, %column1: f32) -> f32 {
  %s00 = arith.mulf %row0, %column0 : f32
  %s01 = arith.mulf %row0, %column1 : f32
  %s10 = arith.mulf %row1, %column0 : f32
  %s11 = arith.mulf %row1, %column1 : f32
  %one = arith.mulf %p01, %s01 : f32
  %two = math.fma %p00, %s00, %one : f32
  %three = math.fma %p10, %s10, %two : f32
  %result = math.fma %p11, %s11, %three : f32
}

// ---------------------------------------------------------------- normalization by constants

// aten/src/ATen/native/cpu/batch_norm_kernel.cpp: a channel's factor and offset
func.func private @line_of_channel(
    %weight: f32, %bias: f32, %mean: f32, %variance: f32, %epsilon: f32) -> (f32, f32) {
  %moved = arith.addf %variance, %epsilon : f32
  %deviation = math.sqrt %moved : f32
  %inverse = arith.divf 1.0, %deviation : f32
  %factor = arith.mulf %inverse, %weight : f32
  %opposite = arith.negf %mean : f32
  %offset = math.fma %opposite, %factor, %bias : f32
  return %factor, %offset : f32, f32
}

func.func private @on_line(%x: f32, %factor: f32, %offset: f32) -> f32 {
  %result = math.fma %x, %factor, %offset : f32
}

}
