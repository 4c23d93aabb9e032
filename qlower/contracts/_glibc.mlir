// Functions of the GNU C library (up to 2.40) on float32, and one on float64, for contracts and
// front ends whose system calls that library. It defines no rule. Each function takes the
// library's steps in its order; where that is in float64, so is the text. Infinities, NaN and
// zeros give what C says. Here are hyperbolic functions, erf and fmod; the other files are bases.

module attributes {contract.base = "_glibc_waves"} {

// ---------------------------------------------------------------- hyperbolic tangent

// sysdeps/ieee754/flt-32/s_tanhf.c: with t = expm1(-2|x|) it is -t / (t + 2) below 1, with
// t = expm1(2|x|) from there on 1 - 2 / (t + 2), from 22 on 1, and below 2^-55 x (1 + x).
func.func private @tanhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_small = arith.cmpf olt, %size, 1.0 : f32
  %is_inside = arith.cmpf olt, %size, 22.0 : f32
  %bounded = arith.select %is_inside, %size, 1.0 : f32
  %doubled = arith.mulf 2.0, %bounded : f32
  %opposite = arith.negf %doubled : f32
  %power = arith.select %is_small, %opposite, %doubled : f32
  %t = func.call @expm1f_within(%power, %is_small) : (f32, i1) -> f32
  %total = arith.addf %t, 2.0 : f32
  %t_opposite = arith.negf %t : f32
  %small = arith.divf %t_opposite, %total : f32
  %quotient = arith.divf 2.0, %total : f32
  %other = arith.subf 1.0, %quotient : f32
  %inside = arith.select %is_small, %small, %other : f32
  %magnitude = arith.select %is_inside, %inside, 1.0 : f32
  %signed = math.copysign %magnitude, %x : f32
  %is_tiny = arith.cmpf olt, %size, 2.7755575615628914e-17 : f32
  %more = arith.addf 1.0, %x : f32
  %linear = arith.mulf %x, %more : f32
  %tanh = arith.select %is_tiny, %linear, %signed : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %tanh, %x : f32
}

// sysdeps/ieee754/flt-32/s_expm1f.c, of x in [-19, 0] where it is negative, else in [0, 88.72):
// multiples k of ln(2) are taken off, and a rational function has the rest.
func.func private @expm1f_within(%x: f32, %is_negative: i1) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf ole, %size, 0.3465736 : f32  // ln(2) / 2
  %nudge = arith.select %is_negative, -0.5, 0.5 : f32
  %multiple = arith.mulf 1.442695, %x : f32
  %nudged = arith.addf %multiple, %nudge : f32
  %far_k = fixed.convert %nudged {rounding = toward_zero} : f32 to i32
  %is_next = arith.cmpf olt, %size, 1.0397208 : f32  // 3 ln(2) / 2
  %one_multiple = arith.select %is_negative, -1, 1 : i32
  %next_k = arith.select %is_next, %one_multiple, %far_k : i32
  %k = arith.select %is_near, 0, %next_k : i32
  %count = arith.sitofp %k : i32 to f32
  %high_part = arith.mulf %count, 0.6931381 : f32
  %high = arith.subf %x, %high_part : f32
  %low = arith.mulf %count, 9.058001e-06 : f32
  %r = arith.subf %high, %low : f32
  %difference = arith.subf %high, %r : f32
  %lost = arith.subf %difference, %low : f32
  %half_r = arith.mulf 0.5, %r : f32
  %square = arith.mulf %r, %half_r : f32
  %c4_term = arith.mulf %square, -2.0109921195e-07 : f32
  %c4 = arith.addf 4.0082177293e-06, %c4_term : f32
  %c3_term = arith.mulf %square, %c4 : f32
  %c3 = arith.addf -7.936507609e-05, %c3_term : f32
  %c2_term = arith.mulf %square, %c3 : f32
  %c2 = arith.addf 0.0015873016091, %c2_term : f32
  %c1_term = arith.mulf %square, %c2 : f32
  %c1 = arith.addf -0.033333335072, %c1_term : f32
  %c0_term = arith.mulf %square, %c1 : f32
  %c0 = arith.addf 1.0, %c0_term : f32
  %of_half = arith.mulf %c0, %half_r : f32
  %t = arith.subf 3.0, %of_half : f32
  %above = arith.subf %c0, %t : f32
  %times = arith.mulf %r, %t : f32
  %below = arith.subf 6.0, %times : f32
  %quotient = arith.divf %above, %below : f32
  %first_error = arith.mulf %square, %quotient : f32

  // |x| up to ln(2) / 2: nothing was taken off
  %near_error = arith.mulf %r, %first_error : f32
  %near_bend = arith.subf %near_error, %square : f32
  %near = arith.subf %r, %near_bend : f32

  %error_less = arith.subf %first_error, %lost : f32
  %error_scaled = arith.mulf %r, %error_less : f32
  %error_whole = arith.subf %error_scaled, %lost : f32
  %error = arith.subf %error_whole, %square : f32
  %rest = arith.subf %error, %r : f32

  // k = -1
  %next_rest = arith.subf %r, %error : f32
  %next_half = arith.mulf 0.5, %next_rest : f32
  %next = arith.subf %next_half, 0.5 : f32

  // k = 1
  %first_half = arith.addf %r, 0.5 : f32
  %first_low_half = arith.subf %error, %first_half : f32
  %first_low = arith.mulf -2.0, %first_low_half : f32
  %first_twice = arith.mulf 2.0, %next_rest : f32
  %first_high = arith.addf 1.0, %first_twice : f32
  %is_first_low = arith.cmpf olt, %r, -0.25 : f32
  %first = arith.select %is_first_low, %first_low, %first_high : f32

  // k below -1 or above 56: 1 is nothing beside e^x, or nearly all of it
  %outer_factor = arith.subf 1.0, %rest : f32
  %outer_power = func.call @times_power(%outer_factor, %k) : (f32, i32) -> f32
  %outer = arith.subf %outer_power, 1.0 : f32

  // k from 2 to 22, and to 56
  %is_none = arith.cmpi sle, %k, 0 : i32
  %positive_k = arith.select %is_none, 1, %k : i32
  %negative_k = arith.subi 0, %positive_k : i32
  %power = func.call @times_power(1.0, %negative_k) : (f32, i32) -> f32
  %few_factor = arith.subf 1.0, %power : f32
  %few_sum = arith.subf %few_factor, %rest : f32
  %few = func.call @times_power(%few_sum, %k) : (f32, i32) -> f32
  %many_error = arith.addf %error, %power : f32
  %many_rest = arith.subf %r, %many_error : f32
  %many_sum = arith.addf %many_rest, 1.0 : f32
  %many = func.call @times_power(%many_sum, %k) : (f32, i32) -> f32

  %is_few = arith.cmpi sle, %k, 22 : i32
  %some = arith.select %is_few, %few, %many : f32
  %is_some = arith.cmpi sle, %k, 56 : i32
  %far = arith.select %is_some, %some, %outer : f32
  %is_first = arith.cmpi eq, %k, 1 : i32
  %positive = arith.select %is_first, %first, %far : f32
  %is_outer = arith.cmpi sle, %k, -2 : i32
  %negative = arith.select %is_outer, %outer, %next : f32
  %beyond = arith.select %is_negative, %negative, %positive : f32
  %result = arith.select %is_near, %near, %beyond : f32
}

// x 2^k, by its exponent
func.func private @times_power(%x: f32, %k: i32) -> f32 {
  %exponent = arith.shli %k, 23 : i32
  %bits = arith.bitcast %x : f32 to i32
  %moved = arith.addi %bits, %exponent : i32
  %result = arith.bitcast %moved : i32 to f32
}

// expm1f(x) below 0, else x, which -0 and NaN are. From -19 down it is -1.
func.func private @real_elu(%x: f32) -> f32 {
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %is_low = arith.cmpf olt, %x, -19.0 : f32
  %bounded = arith.select %is_low, -19.0, %x : f32
  %below = arith.select %is_negative, %bounded, 0.0 : f32
  %power = func.call @expm1f_within(%below, %is_negative) : (f32, i1) -> f32
  %result = arith.select %is_negative, %power, %x : f32
}

// ---------------------------------------------------------------- hyperbolic sine, cosine

// sysdeps/ieee754/flt-32/e_sinhf.c: with t = expm1(|x|) half of 2t - t^2 / (t + 1) below 1, of
// t + t / (t + 1) below 22; from there on half of e^|x|.
func.func private @sinhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %half = math.copysign 0.5, %x : f32
  %is_inside = arith.cmpf olt, %size, 22.0 : f32
  %inside = arith.select %is_inside, %size, 0.0 : f32
  %is_negative = arith.cmpf olt, %inside, 0.0 : f32
  %t = func.call @expm1f_within(%inside, %is_negative) : (f32, i1) -> f32
  %e = arith.addf %t, 1.0 : f32
  %double = arith.mulf 2.0, %t : f32
  %square = arith.mulf %t, %t : f32
  %less = arith.divf %square, %e : f32
  %small_sum = arith.subf %double, %less : f32
  %share = arith.divf %t, %e : f32
  %other_sum = arith.addf %t, %share : f32
  %is_small = arith.cmpf olt, %size, 1.0 : f32
  %sum = arith.select %is_small, %small_sum, %other_sum : f32
  %near = arith.mulf %half, %sum : f32
  %is_tiny = arith.cmpf olt, %size, 3.725290298461914e-09 : f32
  %not_tiny = arith.select %is_tiny, %x, %near : f32
  %far = func.call @half_exponential(%size, %half) : (f32, f32) -> f32
  %finite = arith.select %is_inside, %not_tiny, %far : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %finite, %x : f32
}

// sysdeps/ieee754/flt-32/e_coshf.c: with t = expm1(|x|) and w = 1 + t it is 1 + t^2 / 2w below
// ln(2) / 2, below 22 the mean of e^|x| and its reciprocal.
func.func private @coshf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf olt, %size, 0.3465736 : f32
  %near_size = arith.select %is_near, %size, 0.0 : f32
  %is_negative = arith.cmpf olt, %near_size, 0.0 : f32
  %t = func.call @expm1f_within(%near_size, %is_negative) : (f32, i1) -> f32
  %w = arith.addf 1.0, %t : f32
  %square = arith.mulf %t, %t : f32
  %double = arith.addf %w, %w : f32
  %share = arith.divf %square, %double : f32
  %near = arith.addf 1.0, %share : f32
  %e = func.call @expf(%size) : (f32) -> f32
  %half = arith.mulf 0.5, %e : f32
  %reciprocal = arith.divf 0.5, %e : f32
  %middle = arith.addf %half, %reciprocal : f32
  %far = func.call @half_exponential(%size, 0.5) : (f32, f32) -> f32
  %is_inside = arith.cmpf olt, %size, 22.0 : f32
  %not_near = arith.select %is_inside, %middle, %far : f32
  %finite = arith.select %is_near, %near, %not_near : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %finite, %x : f32
}

// `half` times e^x of x from 22 on; where e^x would overflow, by the square of e^(x / 2).
func.func private @half_exponential(%x: f32, %half: f32) -> f32 {
  %whole = func.call @expf(%x) : (f32) -> f32
  %once = arith.mulf %half, %whole : f32
  %half_x = arith.mulf 0.5, %x : f32
  %root = func.call @expf(%half_x) : (f32) -> f32
  %first = arith.mulf %half, %root : f32
  %twice = arith.mulf %first, %root : f32
  %is_low = arith.cmpf olt, %x, 88.72168 : f32
  %finite = arith.select %is_low, %once, %twice : f32
  %is_beyond = arith.cmpf ogt, %x, 89.415985 : f32
  %infinite = math.copysign 0x7F800000, %half : f32
  %result = arith.select %is_beyond, %infinite, %finite : f32
}

// ---------------------------------------------------------------- area functions

// sysdeps/ieee754/flt-32/s_asinhf.c: three formulas, by the size of x
func.func private @asinhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %logarithm = func.call @logf(%size) : (f32) -> f32
  %large = arith.addf %logarithm, 0.69314718246 : f32
  %square = arith.mulf %size, %size : f32
  %more = arith.addf %square, 1.0 : f32
  %root = math.sqrt %more : f32
  %whole = arith.addf %root, %size : f32
  %share = arith.divf 1.0, %whole : f32
  %twice = arith.mulf 2.0, %size : f32
  %argument = arith.addf %twice, %share : f32
  %middle = func.call @logf(%argument) : (f32) -> f32
  %under = arith.addf 1.0, %root : f32
  %part = arith.divf %square, %under : f32
  %small_argument = arith.addf %size, %part : f32
  %small = func.call @log1pf(%small_argument) : (f32) -> f32
  %is_tiny = arith.cmpf olt, %size, 3.0517578125e-05 : f32
  %is_large = arith.cmpf ogt, %size, 32768.0 : f32
  %is_middle = arith.cmpf ogt, %size, 2.0 : f32
  %inner = arith.select %is_middle, %middle, %small : f32
  %number = arith.select %is_large, %large, %inner : f32
  %magnitude = arith.select %is_tiny, %size, %number : f32
  %result = math.copysign %magnitude, %x : f32
}

// sysdeps/ieee754/flt-32/e_acoshf.c: of x below 1 it is NaN
func.func private @acoshf(%x: f32) -> f32 {
  %logarithm = func.call @logf(%x) : (f32) -> f32
  %large = arith.addf %logarithm, 0.69314718246 : f32
  %square = arith.mulf %x, %x : f32
  %less = arith.subf %square, 1.0 : f32
  %root = math.sqrt %less : f32
  %whole = arith.addf %x, %root : f32
  %share = arith.divf 1.0, %whole : f32
  %twice = arith.mulf 2.0, %x : f32
  %argument = arith.subf %twice, %share : f32
  %middle = func.call @logf(%argument) : (f32) -> f32
  %over = arith.subf %x, 1.0 : f32
  %double = arith.mulf 2.0, %over : f32
  %over_square = arith.mulf %over, %over : f32
  %both = arith.addf %double, %over_square : f32
  %small_root = math.sqrt %both : f32
  %small_argument = arith.addf %over, %small_root : f32
  %small = func.call @log1pf(%small_argument) : (f32) -> f32
  %is_large = arith.cmpf oge, %x, 268435456.0 : f32
  %is_middle = arith.cmpf ogt, %x, 2.0 : f32
  %inner = arith.select %is_middle, %middle, %small : f32
  %number = arith.select %is_large, %large, %inner : f32
  %is_right = arith.cmpf oge, %x, 1.0 : f32
  %result = arith.select %is_right, %number, 0x7FC00000 : f32
}

// sysdeps/ieee754/flt-32/e_atanhf.c: half of a logarithm of 1 + x
func.func private @atanhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %twice = arith.addf %size, %size : f32
  %under = arith.subf 1.0, %size : f32
  %product = arith.mulf %twice, %size : f32
  %share = arith.divf %product, %under : f32
  %near = arith.addf %twice, %share : f32
  %far = arith.divf %twice, %under : f32
  %is_near = arith.cmpf olt, %size, 0.5 : f32
  %argument = arith.select %is_near, %near, %far : f32
  %logarithm = func.call @log1pf(%argument) : (f32) -> f32
  %half = arith.mulf 0.5, %logarithm : f32
  %is_tiny = arith.cmpf olt, %size, 3.725290298461914e-09 : f32
  %inside = arith.select %is_tiny, %size, %half : f32
  %is_one = arith.cmpf oeq, %size, 1.0 : f32
  %ended = arith.select %is_one, 0x7F800000, %inside : f32
  %is_right = arith.cmpf ole, %size, 1.0 : f32
  %magnitude = arith.select %is_right, %ended, 0x7FC00000 : f32
  %result = math.copysign %magnitude, %x : f32
}

// ---------------------------------------------------------------- error function

// sysdeps/ieee754/flt-32/s_erff.c: quotients of polynomials, below 0.84375 of x^2, below 1.25 of
// |x| - 1, and up to 6 of 1 / x^2, times exponentials of two parts of -x^2.
func.func private @erff(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %square = arith.mulf %x, %x : f32
  %above = func.call @erff_near_above(%square) : (f32) -> f32
  %below = func.call @erff_near_below(%square) : (f32) -> f32
  %quotient = arith.divf %above, %below : f32
  %bend = arith.mulf %x, %quotient : f32
  %near = arith.addf %x, %bend : f32
  %part = arith.mulf 0.128379166, %x : f32
  %two_terms = arith.addf %x, %part : f32
  %sixteen = arith.mulf 16.0, %x : f32
  %part_of_sixteen = arith.mulf 2.05406666, %x : f32
  %of_sixteen = arith.addf %sixteen, %part_of_sixteen : f32
  %least = arith.mulf 0.0625, %of_sixteen : f32

  %over = arith.subf %size, 1.0 : f32
  %middle_above = func.call @erff_middle_above(%over) : (f32) -> f32
  %middle_below = func.call @erff_middle_below(%over) : (f32) -> f32
  %middle_quotient = arith.divf %middle_above, %middle_below : f32
  %middle = arith.addf 0.845062912, %middle_quotient : f32

  %size_square = arith.mulf %size, %size : f32
  %inverse = arith.divf 1.0, %size_square : f32
  %far_above = func.call @erff_far_above(%inverse) : (f32) -> f32
  %far_below = func.call @erff_far_below(%inverse) : (f32) -> f32
  %last_above = func.call @erff_last_above(%inverse) : (f32) -> f32
  %last_below = func.call @erff_last_below(%inverse) : (f32) -> f32
  %is_far = arith.cmpf olt, %size, 2.85714293 : f32
  %outer_above = arith.select %is_far, %far_above, %last_above : f32
  %outer_below = arith.select %is_far, %far_below, %last_below : f32
  %outer = arith.divf %outer_above, %outer_below : f32
  %bits = arith.bitcast %size : f32 to i32
  %high_bits = arith.andi %bits, -4096 : i32
  %high = arith.bitcast %high_bits : i32 to f32
  %opposite = arith.negf %high : f32
  %high_square = arith.mulf %opposite, %high : f32
  %first = arith.subf %high_square, 0.5625 : f32
  %difference = arith.subf %high, %size : f32
  %sum = arith.addf %high, %size : f32
  %low_square = arith.mulf %difference, %sum : f32
  %second = arith.addf %low_square, %outer : f32
  %power = func.call @expf(%first) : (f32) -> f32
  %other_power = func.call @expf(%second) : (f32) -> f32
  %product = arith.mulf %power, %other_power : f32
  %share = arith.divf %product, %size : f32
  %far = arith.subf 1.0, %share : f32

  %is_below_six = arith.cmpf olt, %size, 6.0 : f32
  %beyond = arith.select %is_below_six, %far, 1.0 : f32
  %is_middle = arith.cmpf olt, %size, 1.25 : f32
  %magnitude = arith.select %is_middle, %middle, %beyond : f32
  %signed = math.copysign %magnitude, %x : f32
  %is_near = arith.cmpf olt, %size, 0.84375 : f32
  %usual = arith.select %is_near, %near, %signed : f32
  %is_small = arith.cmpf olt, %size, 3.7252903e-09 : f32
  %not_least = arith.select %is_small, %two_terms, %usual : f32
  %is_least = arith.cmpf olt, %size, 1.50463277e-36 : f32
  %number = arith.select %is_least, %least, %not_least : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %number, %x : f32
}

func.func private @erff_near_above(%z: f32) -> f32 {
  %p3 = arith.mulf %z, -2.37630175e-05 : f32
  %c3 = arith.addf -0.00577027025, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -0.0284817498, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf -0.325042099, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 0.128379166, %p0 : f32
}

func.func private @erff_near_below(%z: f32) -> f32 {
  %p4 = arith.mulf %z, -3.96022824e-06 : f32
  %c4 = arith.addf 0.000132494737, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 0.00508130621, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 0.0650222525, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 0.397917211, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

func.func private @erff_middle_above(%z: f32) -> f32 {
  %p5 = arith.mulf %z, -0.00216637552 : f32
  %c5 = arith.addf 0.0354783051, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf -0.110894695, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 0.31834662, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -0.37220788, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 0.414856106, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf -0.00236211857, %p0 : f32
}

func.func private @erff_middle_below(%z: f32) -> f32 {
  %p5 = arith.mulf %z, 0.0119845001 : f32
  %c5 = arith.addf 0.0136370836, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf 0.126171216, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 0.0718286559, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 0.540397942, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 0.106420882, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

func.func private @erff_far_above(%z: f32) -> f32 {
  %p6 = arith.mulf %z, -9.81432915 : f32
  %c6 = arith.addf -81.2874374, %p6 : f32
  %p5 = arith.mulf %z, %c6 : f32
  %c5 = arith.addf -184.605087, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf -162.396667, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf -62.3753319, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -10.5586262, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf -0.693858564, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf -0.00986494403, %p0 : f32
}

func.func private @erff_far_below(%z: f32) -> f32 {
  %p7 = arith.mulf %z, -0.0604244135 : f32
  %c7 = arith.addf 6.57024956, %p7 : f32
  %p6 = arith.mulf %z, %c7 : f32
  %c6 = arith.addf 108.635002, %p6 : f32
  %p5 = arith.mulf %z, %c6 : f32
  %c5 = arith.addf 429.008148, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf 645.387268, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 434.565887, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 137.657761, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 19.6512718, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

func.func private @erff_last_above(%z: f32) -> f32 {
  %p5 = arith.mulf %z, -483.519196 : f32
  %c5 = arith.addf -1025.09509, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf -637.566467, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf -160.636383, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -17.7579556, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf -0.799283266, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf -0.0098649431, %p0 : f32
}

func.func private @erff_last_below(%z: f32) -> f32 {
  %p6 = arith.mulf %z, -22.4409523 : f32
  %c6 = arith.addf 474.528534, %p6 : f32
  %p5 = arith.mulf %z, %c6 : f32
  %c5 = arith.addf 2553.05029, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf 3199.85815, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 1536.72961, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 325.792511, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 30.3380604, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

// ---------------------------------------------------------------- remainder

// sysdeps/ieee754/flt-32/e_fmodf.c, which is exact: with x = m 2^p and y = n 2^q, m and n below
// 2^24, it is (m 2^(p - q) mod n) 2^q. Of the up to 253 places that m is moved by, 39 are at a time.
func.func private @fmodf(%x: f32, %y: f32) -> f32 {
  %size = math.absf %x : f32
  %divisor = math.absf %y : f32
  %m, %p = func.call @significand(%size) : (f32) -> (i64, i64)
  %any_n, %q = func.call @significand(%divisor) : (f32) -> (i64, i64)
  %n = arith.maxsi %any_n, 1 : i64
  %distance = arith.subi %p, %q : i64
  %rest1 = func.call @remainder_step(%m, %n, %distance, 0) : (i64, i64, i64, i64) -> i64
  %rest2 = func.call @remainder_step(%rest1, %n, %distance, 39) : (i64, i64, i64, i64) -> i64
  %rest3 = func.call @remainder_step(%rest2, %n, %distance, 78) : (i64, i64, i64, i64) -> i64
  %rest4 = func.call @remainder_step(%rest3, %n, %distance, 117) : (i64, i64, i64, i64) -> i64
  %rest5 = func.call @remainder_step(%rest4, %n, %distance, 156) : (i64, i64, i64, i64) -> i64
  %rest6 = func.call @remainder_step(%rest5, %n, %distance, 195) : (i64, i64, i64, i64) -> i64
  %rest7 = func.call @remainder_step(%rest6, %n, %distance, 234) : (i64, i64, i64, i64) -> i64
  %magnitude = func.call @scaled_significand(%rest7, %q) : (i64, i64) -> f32
  %signed = math.copysign %magnitude, %x : f32
  %is_less = arith.cmpf olt, %size, %divisor : f32
  %rest = arith.select %is_less, %x, %signed : f32
  %is_finite = arith.cmpf olt, %size, 0x7F800000 : f32
  %is_positive = arith.cmpf ogt, %divisor, 0.0 : f32
  %is_defined = arith.andi %is_finite, %is_positive : i1
  %result = arith.select %is_defined, %rest, 0x7FC00000 : f32
}

func.func private @remainder_step(%m: i64, %n: i64, %distance: i64, %done: i64) -> i64 {
  %left = arith.subi %distance, %done : i64
  %at_most = arith.minsi %left, 39 : i64
  %places = arith.maxsi %at_most, 0 : i64
  %moved = arith.shli %m, %places : i64
  %result = arith.remsi %moved, %n : i64
}

// Significand and biased exponent of a number that isn't negative: a subnormal one has the
// exponent 1.
func.func private @significand(%magnitude: f32) -> (i64, i64) {
  %bits = arith.bitcast %magnitude : f32 to i32
  %stored = arith.shrsi %bits, 23 : i32
  %fraction = arith.andi %bits, 8388607 : i32
  %is_subnormal = arith.cmpi slt, %stored, 1 : i32
  %normal = arith.addi %fraction, 8388608 : i32
  %whole = arith.select %is_subnormal, %fraction, %normal : i32
  %exponent = arith.maxsi %stored, 1 : i32
  %whole_wide = arith.extsi %whole : i32 to i64
  %exponent_wide = arith.extsi %exponent : i32 to i64
  func.return %whole_wide, %exponent_wide : i64, i64
}

func.func private @scaled_significand(%whole: i64, %exponent: i64) -> f32 {
  %biased = arith.addi %exponent, 873 : i64
  %bits = arith.shli %biased, 52 : i64
  %power = arith.bitcast %bits : i64 to f64
  %real = arith.sitofp %whole : i64 to f64
  %wide = arith.mulf %real, %power : f64
  %result = arith.truncf %wide : f64 to f32
}

}
