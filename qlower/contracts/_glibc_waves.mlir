// Sines, cosines, tangents and their inverses of the GNU C library (up to 2.40), as `_glibc.mlir`
// has its other functions.

module attributes {contract.base = "_glibc_exponentials"} {

// ---------------------------------------------------------------- sine, cosine

// sysdeps/ieee754/flt-32/s_sinf.c
func.func private @sinf(%x: f32) -> f32 {
  %wave = func.call @wave(%x, 0) : (f32, i32) -> f32
  %size = math.absf %x : f32
  %is_tiny = arith.cmpf olt, %size, 0.000244140625 : f32
  %result = arith.select %is_tiny, %x, %wave : f32
}

// sysdeps/ieee754/flt-32/s_cosf.c
func.func private @cosf(%x: f32) -> f32 {
  %result = func.call @wave(%x, 1) : (f32, i32) -> f32
}

// The sine, some quarters of its period further on: x = n pi/2 + r with n whole and |r| at most
// about pi/4, a polynomial of r for the sine or the cosine, as n is even or odd, with a sign by n.
func.func private @wave(%x: f32, %quarters: i32) -> f32 {
  %size = math.absf %x : f32
  %is_far = arith.cmpf oge, %size, 120.0 : f32
  %nearby = arith.select %is_far, 0.0, %x : f32
  %near_r, %near_n = func.call @near_quarter(%nearby) : (f32) -> (f64, i32)
  %far_r, %far_n = func.call @far_quarter(%x) : (f32) -> (f64, i32)
  %r = arith.select %is_far, %far_r, %near_r : f64
  %own_n = arith.select %is_far, %far_n, %near_n : i32
  %n = arith.addi %own_n, %quarters : i32
  %first_bit = arith.andi %n, 1 : i32
  %is_odd = arith.cmpi ne, %first_bit, 0 : i32
  %second_bit = arith.andi %n, 2 : i32
  %is_negative = arith.cmpi ne, %second_bit, 0 : i32
  %square = arith.mulf %r, %r : f64
  %even = func.call @cosine_polynomial(%square) : (f64) -> f64
  %odd = func.call @sine_polynomial(%r, %square) : (f64, f64) -> f64
  %wide = arith.select %is_odd, %even, %odd : f64
  %narrow = arith.truncf %wide : f64 to f32
  %opposite = arith.negf %narrow : f32
  %signed = arith.select %is_negative, %opposite, %narrow : f32
  %is_finite = arith.cmpf olt, %size, 0x7F800000 : f32
  %result = arith.select %is_finite, %signed, 0x7FC00000 : f32
}

// sysdeps/ieee754/flt-32/s_sincosf_data.c, sincosf.h
func.func private @sine_polynomial(%r: f64, %square: f64) -> f64 {
  %cube = arith.mulf %r, %square : f64
  %seventh = arith.mulf %square, -0.00019517298981385725 : f64
  %high = arith.addf 0.008332178146138854, %seventh : f64
  %third = arith.mulf %cube, -0.16666654943701084 : f64
  %low = arith.addf %r, %third : f64
  %fifth_power = arith.mulf %cube, %square : f64
  %curve = arith.mulf %fifth_power, %high : f64
  %result = arith.addf %low, %curve : f64
}

func.func private @cosine_polynomial(%square: f64) -> f64 {
  %fourth_power = arith.mulf %square, %square : f64
  %eighth = arith.mulf %square, 2.4390450703564542e-05 : f64
  %high = arith.addf -0.001388676379437604, %eighth : f64
  %second = arith.mulf %square, -0.49999999725108224 : f64
  %line = arith.addf 1.0, %second : f64
  %fourth = arith.mulf %fourth_power, 0.041666623324344516 : f64
  %low = arith.addf %line, %fourth : f64
  %sixth_power = arith.mulf %fourth_power, %square : f64
  %curve = arith.mulf %sixth_power, %high : f64
  %result = arith.addf %low, %curve : f64
}

// sincosf.h, reduce_fast, of numbers below 120: n is x 2/pi, rounded from 24 bits behind the
// point. pi/2 is taken off in two parts, whose products by up to 76 are exact: together they round
// once, as the library's FMA does.
func.func private @near_quarter(%x: f32) -> (f64, i32) {
  %n = func.call @quarters_below(%x) : (f32) -> i32
  %count = arith.sitofp %n : i32 to f64
  %high = arith.mulf %count, 1.5707963267923333 : f64
  %less = arith.subf %x, %high : f64
  %low = arith.mulf %count, 2.5632829192545614e-12 : f64
  %r = arith.subf %less, %low : f64
  func.return %r, %n : f64, i32
}

// The multiple of pi/2 that is nearest to a number below 120.
func.func private @quarters_below(%x: f32) -> i32 {
  %scaled = arith.mulf %x, 10680707.430881744 : f64  // 2^24 times 2/pi
  %whole = fixed.convert %scaled {rounding = toward_zero} : f64 to i32
  %nudged = arith.addi %whole, 8388608 : i32
  %result = arith.shrsi %nudged, 24 : i32
}

// sincosf.h, reduce_large, of numbers from 120 on: 24 bits times 96 of 2/pi, without what gives
// whole periods; 62 bits are behind the point.
func.func private @far_quarter(%x: f32) -> (f64, i32) {
  %bits = arith.bitcast %x : f32 to i32
  %fraction = arith.andi %bits, 8388607 : i32
  %significand = arith.addi %fraction, 8388608 : i32
  %exponent = arith.shrsi %bits, 23 : i32
  %places = arith.andi %exponent, 7 : i32
  %number = arith.shli %significand, %places : i32
  %byte_of_exponent = arith.shrsi %bits, 26 : i32
  %byte = arith.andi %byte_of_exponent, 15 : i32
  %second_byte = arith.addi %byte, 4 : i32
  %third_byte = arith.addi %byte, 8 : i32
  %high_word = func.call @two_over_pi_word(%byte) : (i32) -> i64
  %middle_word = func.call @two_over_pi_word(%second_byte) : (i32) -> i64
  %low_word = func.call @two_over_pi_word(%third_byte) : (i32) -> i64
  %high = arith.muli %number, %high_word : i64
  %middle = arith.muli %number, %middle_word : i64
  %low = arith.muli %number, %low_word : i64
  %high_moved = arith.shli %high, 32 : i64
  %low_moved = arith.shrsi %low, 32 : i64
  %ends = arith.addi %high_moved, %low_moved : i64
  %quotient = arith.addi %ends, %middle : i64
  %nudged = arith.addi %quotient, 2305843009213693952 : i64
  %n_wide = arith.shrsi %nudged, 62 : i64
  %n_moved = arith.shli %n_wide, 62 : i64
  %rest = arith.subi %quotient, %n_moved : i64
  %rest_real = arith.sitofp %rest : i64 to f64
  %r = arith.mulf %rest_real, 3.4061215800865545e-19 : f64  // pi/2 times 2^-62
  %n = arith.trunci %n_wide : i64 to i32
  %is_negative = arith.cmpi slt, %bits, 0 : i32
  %opposite_r = arith.negf %r : f64
  %opposite_n = arith.subi 0, %n : i32
  %signed_r = arith.select %is_negative, %opposite_r, %r : f64
  %signed_n = arith.select %is_negative, %opposite_n, %n : i32
  func.return %signed_r, %signed_n : f64, i32
}

// s_sincosf_data.c, __inv_pio4: 32 bits of 2/pi, the first `index` + 1 bytes behind its point last.
func.func private @two_over_pi_word(%index: i32) -> i64 attributes {contract.table = 24} {
  %entries = arith.constant dense<[
      162, 41721, 10680707, 2734261102, 4186140238, 2205044292,
      1850622997, 1313084713, 1142237692, 355073063, 704390999, 4230436817,
      660066805, 1473377588, 3522507997, 4113882560, 886948059, 3720403810,
      3235603093, 3680671129, 1653971260, 2509847619, 2570863504, 1011060801]> : tensor<24xi64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<24xi64>
}

// ---------------------------------------------------------------- tangent

// sysdeps/ieee754/flt-32/s_tanf.c, k_tanf.c: x = n pi/2 + y + z, z being what y lost. An odd n has
// -1 over the tangent of the rest.
func.func private @tanf(%x: f32) -> f32 {
  %y, %z, %n = func.call @rest_of_quarters(%x) : (f32) -> (f32, f32, i32)
  %low_bit = arith.andi %n, 1 : i32
  %is_odd = arith.cmpi eq, %low_bit, 1 : i32
  %size = math.absf %y : f32
  %is_large = arith.cmpf oge, %size, 0.6743355 : f32
  %one = math.copysign 1.0, %y : f32
  %kind = arith.select %is_odd, -1.0, 1.0 : f32

  // near pi/4 of what is left to it
  %left = arith.subf 0.7853981, %size : f32
  %z_signed = arith.mulf %z, %one : f32
  %left_low = arith.subf 3.7748947e-08, %z_signed : f32
  %left_whole = arith.addf %left, %left_low : f32
  %a = arith.select %is_large, %left_whole, %y : f32
  %b = arith.select %is_large, 0.0, %z : f32
  %sign = arith.mulf %one, %kind : f32

  %square = arith.mulf %a, %a : f32
  %fourth = arith.mulf %square, %square : f32
  %odd11 = arith.mulf %fourth, -1.8558637748e-05 : f32
  %odd9 = arith.addf 7.8179444245e-05, %odd11 : f32
  %odd9_term = arith.mulf %fourth, %odd9 : f32
  %odd7 = arith.addf 5.8804126456e-04, %odd9_term : f32
  %odd7_term = arith.mulf %fourth, %odd7 : f32
  %odd5 = arith.addf 3.5920790397e-03, %odd7_term : f32
  %odd5_term = arith.mulf %fourth, %odd5 : f32
  %odd3 = arith.addf 2.1869488060e-02, %odd5_term : f32
  %odd3_term = arith.mulf %fourth, %odd3 : f32
  %odd = arith.addf 1.3333334029e-01, %odd3_term : f32
  %even12 = arith.mulf %fourth, 2.5907305826e-05 : f32
  %even10 = arith.addf 7.1407252108e-05, %even12 : f32
  %even10_term = arith.mulf %fourth, %even10 : f32
  %even8 = arith.addf 2.4646313977e-04, %even10_term : f32
  %even8_term = arith.mulf %fourth, %even8 : f32
  %even6 = arith.addf 1.4562094584e-03, %even8_term : f32
  %even6_term = arith.mulf %fourth, %even6 : f32
  %even4 = arith.addf 8.8632395491e-03, %even6_term : f32
  %even4_term = arith.mulf %fourth, %even4 : f32
  %even2 = arith.addf 5.3968254477e-02, %even4_term : f32
  %even = arith.mulf %square, %even2 : f32
  %cube = arith.mulf %square, %a : f32
  %both = arith.addf %odd, %even : f32
  %of_cube = arith.mulf %cube, %both : f32
  %of_cube_low = arith.addf %of_cube, %b : f32
  %of_square = arith.mulf %square, %of_cube_low : f32
  %bend = arith.addf %b, %of_square : f32
  %third = arith.mulf 3.3333334327e-01, %cube : f32
  %r = arith.addf %bend, %third : f32
  %w = arith.addf %a, %r : f32

  %w_square = arith.mulf %w, %w : f32
  %w_kind = arith.addf %w, %kind : f32
  %w_share = arith.divf %w_square, %w_kind : f32
  %w_rest = arith.subf %w_share, %r : f32
  %a_rest = arith.subf %a, %w_rest : f32
  %a_twice = arith.mulf 2.0, %a_rest : f32
  %large_size = arith.subf %kind, %a_twice : f32
  %large = arith.mulf %one, %large_size : f32
  %a_size = math.absf %a : f32
  %is_tiny = arith.cmpf olt, %a_size, 0.0001220703125 : f32
  %kind_twice = arith.mulf 2.0, %kind : f32
  %a_scaled = arith.mulf %kind_twice, %a : f32
  %a_less = arith.subf 1.0, %a_scaled : f32
  %large_tiny = arith.mulf %sign, %a_less : f32
  %of_large = arith.select %is_tiny, %large_tiny, %large : f32

  // -1 / w, of w in two parts
  %w_high = func.call @high_half(%w) : (f32) -> f32
  %high_rest = arith.subf %w_high, %a : f32
  %w_low = arith.subf %r, %high_rest : f32
  %inverse = arith.divf -1.0, %w : f32
  %inverse_high = func.call @high_half(%inverse) : (f32) -> f32
  %product = arith.mulf %inverse_high, %w_high : f32
  %lost = arith.addf 1.0, %product : f32
  %low_product = arith.mulf %inverse_high, %w_low : f32
  %lost_whole = arith.addf %lost, %low_product : f32
  %correction = arith.mulf %inverse, %lost_whole : f32
  %corrected = arith.addf %inverse_high, %correction : f32
  %tiny_inverse = arith.divf -1.0, %a : f32
  %of_odd = arith.select %is_tiny, %tiny_inverse, %corrected : f32
  %of_even = arith.select %is_tiny, %a, %w : f32
  %of_small = arith.select %is_odd, %of_odd, %of_even : f32
  %result = arith.select %is_large, %of_large, %of_small : f32
}

// The 12 leading bits of a significand
func.func private @high_half(%x: f32) -> f32 {
  %bits = arith.bitcast %x : f32 to i32
  %high = arith.andi %bits, -4096 : i32
  %result = arith.bitcast %high : i32 to f32
}

// rem_pio2f of s_tanf.c since 2.34: the rest of multiples of pi/2 in float64, below 120 by a product
// that is rounded, as the sine's two parts; a float32 and what it lost.
func.func private @rest_of_quarters(%x: f32) -> (f32, f32, i32) {
  %size = math.absf %x : f32
  %is_near = arith.cmpf ole, %size, 0.7853981 : f32
  %is_below = arith.cmpf olt, %size, 120.0 : f32
  %below = arith.select %is_below, %x, 0.0 : f32
  %near_n = func.call @quarters_below(%below) : (f32) -> i32
  %count = arith.sitofp %near_n : i32 to f64
  %multiple = arith.mulf %count, 1.5707963267948966 : f64
  %near_r = arith.subf %below, %multiple : f64
  %far_r, %far_n = func.call @far_quarter(%x) : (f32) -> (f64, i32)
  %r = arith.select %is_below, %near_r, %far_r : f64
  %n = arith.select %is_below, %near_n, %far_n : i32
  %y = arith.truncf %r : f64 to f32
  %lost = arith.subf %r, %y : f64
  %z = arith.truncf %lost : f64 to f32
  %is_finite = arith.cmpf olt, %size, 0x7F800000 : f32
  %y_finite = arith.select %is_finite, %y, 0x7FC00000 : f32
  %y_result = arith.select %is_near, %x, %y_finite : f32
  %z_result = arith.select %is_near, 0.0, %z : f32
  %n_result = arith.select %is_near, 0, %n : i32
  func.return %y_result, %z_result, %n_result : f32, f32, i32
}

// ---------------------------------------------------------------- arc sine, cosine

// sysdeps/ieee754/flt-32/e_asinf.c: below 1/2 x + x w(x^2), from there on pi/2 less twice the arc
// sine of s = sqrt((1 - |x|) / 2), in two parts up to 0.975. Beyond 1 it is NaN.
func.func private @asinf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf olt, %size, 0.5 : f32
  %left = arith.subf 1.0, %size : f32
  %half_left = arith.mulf %left, 0.5 : f32
  %square = arith.mulf %x, %x : f32
  %t = arith.select %is_near, %square, %half_left : f32
  %times3 = arith.mulf %t, 0.04216630880 : f32
  %p3 = arith.addf 0.02417951451, %times3 : f32
  %times2 = arith.mulf %t, %p3 : f32
  %p2 = arith.addf 0.04547037598, %times2 : f32
  %times1 = arith.mulf %t, %p2 : f32
  %p1 = arith.addf 0.07495297643, %times1 : f32
  %times0 = arith.mulf %t, %p1 : f32
  %p0 = arith.addf 0.1666675248, %times0 : f32
  %w = arith.mulf %t, %p0 : f32
  %near_more = arith.mulf %x, %w : f32
  %near_sum = arith.addf %x, %near_more : f32
  %is_tiny = arith.cmpf olt, %size, 7.450580596923828e-09 : f32
  %near = arith.select %is_tiny, %x, %near_sum : f32

  %s = math.sqrt %half_left : f32
  %of_s = arith.mulf %s, %w : f32
  %arc = arith.addf %s, %of_s : f32
  %twice = arith.mulf 2.0, %arc : f32
  %twice_low = arith.subf %twice, -4.37113900018624283e-08 : f32
  %far = arith.subf 1.57079637050628662109375, %twice_low : f32

  %high = func.call @high_half(%s) : (f32) -> f32
  %c = func.call @rest_of_root(%half_left, %s, %high) : (f32, f32, f32) -> f32
  %s_twice = arith.mulf 2.0, %s : f32
  %product = arith.mulf %s_twice, %w : f32
  %c_twice = arith.mulf 2.0, %c : f32
  %c_low = arith.subf -4.37113900018624283e-08, %c_twice : f32
  %p = arith.subf %product, %c_low : f32
  %high_twice = arith.mulf 2.0, %high : f32
  %q = arith.subf 0.785398185253143310546875, %high_twice : f32
  %less = arith.subf %p, %q : f32
  %middle = arith.subf 0.785398185253143310546875, %less : f32

  %is_far = arith.cmpf oge, %size, 0.975 : f32
  %magnitude = arith.select %is_far, %far, %middle : f32
  %signed = math.copysign %magnitude, %x : f32
  %inside = arith.select %is_near, %near, %signed : f32
  %is_inside = arith.cmpf ole, %size, 1.0 : f32
  %result = arith.select %is_inside, %inside, 0x7FC00000 : f32
}

// sysdeps/ieee754/flt-32/e_acosf.c: with r = p(z) / q(z) of z = x^2 below 1/2 it is pi/2 less x + x r,
// with z = (1 - |x|) / 2 from there on twice s + s r, s being the root of z.
func.func private @acosf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf olt, %size, 0.5 : f32
  %left = arith.subf 1.0, %size : f32
  %half_left = arith.mulf %left, 0.5 : f32
  %square = arith.mulf %x, %x : f32
  %z = arith.select %is_near, %square, %half_left : f32
  %times5 = arith.mulf %z, 3.4793309169e-05 : f32
  %p4 = arith.addf 7.9153501429e-04, %times5 : f32
  %times4 = arith.mulf %z, %p4 : f32
  %p3 = arith.addf -4.0055535734e-02, %times4 : f32
  %times3 = arith.mulf %z, %p3 : f32
  %p2 = arith.addf 2.0121252537e-01, %times3 : f32
  %times2 = arith.mulf %z, %p2 : f32
  %p1 = arith.addf -3.2556581497e-01, %times2 : f32
  %times1 = arith.mulf %z, %p1 : f32
  %p0 = arith.addf 1.6666667163e-01, %times1 : f32
  %p = arith.mulf %z, %p0 : f32
  %by4 = arith.mulf %z, 7.7038154006e-02 : f32
  %q3 = arith.addf -6.8828397989e-01, %by4 : f32
  %by3 = arith.mulf %z, %q3 : f32
  %q2 = arith.addf 2.0209457874, %by3 : f32
  %by2 = arith.mulf %z, %q2 : f32
  %q1 = arith.addf -2.4033949375, %by2 : f32
  %by1 = arith.mulf %z, %q1 : f32
  %q = arith.addf 1.0, %by1 : f32
  %r = arith.divf %p, %q : f32

  %of_x = arith.mulf %x, %r : f32
  %near_low = arith.subf 7.5497894159e-08, %of_x : f32
  %near_arc = arith.subf %x, %near_low : f32
  %near = arith.subf 1.5707962513, %near_arc : f32

  %s = math.sqrt %half_left : f32
  %of_s = arith.mulf %r, %s : f32
  %below_low = arith.subf %of_s, 7.5497894159e-08 : f32
  %below_arc = arith.addf %s, %below_low : f32
  %below_twice = arith.mulf 2.0, %below_arc : f32
  %below = arith.subf 3.1415925026, %below_twice : f32

  %high = func.call @high_half(%s) : (f32) -> f32
  %c = func.call @rest_of_root(%half_left, %s, %high) : (f32, f32, f32) -> f32
  %above_low = arith.addf %of_s, %c : f32
  %above_arc = arith.addf %high, %above_low : f32
  %above_twice = arith.mulf 2.0, %above_arc : f32
  %is_one = arith.cmpf oeq, %size, 1.0 : f32
  %above = arith.select %is_one, 0.0, %above_twice : f32

  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %far = arith.select %is_negative, %below, %above : f32
  %inside = arith.select %is_near, %near, %far : f32
  %is_inside = arith.cmpf ole, %size, 1.0 : f32
  %result = arith.select %is_inside, %inside, 0x7FC00000 : f32
}

// The difference between the root of z and a rounded one, whose leading bits are `high`.
func.func private @rest_of_root(%z: f32, %root: f32, %high: f32) -> f32 {
  %high_square = arith.mulf %high, %high : f32
  %left = arith.subf %z, %high_square : f32
  %sum = arith.addf %root, %high : f32
  %result = arith.divf %left, %sum : f32
}

// sysdeps/ieee754/flt-32/s_atanf.c
func.func private @atanf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %arc = func.call @atanf_of_positive(%size) : (f32) -> f32
  %signed = math.copysign %arc, %x : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %signed, %x : f32
}

// ---------------------------------------------------------------- arc tangent

// sysdeps/ieee754/flt-32/e_atan2f.c: the arc tangent of |y / x|, moved to the quadrant of x and
// y. Where their exponents are more than 60 apart, one is nothing beside the other.
func.func private @atan2f(%y: f32, %x: f32) -> f32 {
  %pi = arith.constant 3.1415927 : f32
  %pi_excess = arith.constant -8.742278e-08 : f32  // what pi is too large by, as it is added
  %right_angle = arith.constant 1.5707964 : f32
  %size = math.absf %y : f32
  %width = math.absf %x : f32
  %size_bits = arith.bitcast %size : f32 to i32
  %width_bits = arith.bitcast %width : f32 to i32
  %bits_apart = arith.subi %size_bits, %width_bits : i32
  %distance = arith.shrsi %bits_apart, 23 : i32
  %x_bits = arith.bitcast %x : f32 to i32
  %is_left = arith.cmpi slt, %x_bits, 0 : i32
  %is_steep = arith.cmpi sgt, %distance, 60 : i32
  %may_be_flat = arith.cmpi slt, %distance, -60 : i32
  %is_flat = arith.andi %may_be_flat, %is_left : i1
  %quotient = arith.divf %y, %x : f32
  %tangent = math.absf %quotient : f32
  %arc = func.call @atanf_of_positive(%tangent) : (f32) -> f32
  %steep = arith.select %is_steep, %right_angle, %arc : f32
  %of_quotient = arith.select %is_flat, 0.0, %steep : f32
  %mirrored_excess = arith.subf %of_quotient, %pi_excess : f32
  %mirrored = arith.subf %pi, %mirrored_excess : f32
  %of_half = arith.select %is_left, %mirrored, %of_quotient : f32
  %x_is_zero = arith.cmpf oeq, %width, 0.0 : f32
  %upright = arith.select %x_is_zero, %right_angle, %of_half : f32
  %along = arith.select %is_left, %pi, 0.0 : f32
  %y_is_zero = arith.cmpf oeq, %size, 0.0 : f32
  %level = arith.select %y_is_zero, %along, %upright : f32
  %x_is_infinite = arith.cmpf oeq, %width, 0x7F800000 : f32
  %endless = arith.select %x_is_infinite, %along, %level : f32
  %eighth = arith.constant 0.7853982 : f32
  %three_eighths = arith.mulf 3.0, %eighth : f32
  %diagonal = arith.select %is_left, %three_eighths, %eighth : f32
  %to_infinity = arith.select %x_is_infinite, %diagonal, %right_angle : f32
  %y_is_infinite = arith.cmpf oeq, %size, 0x7F800000 : f32
  %magnitude = arith.select %y_is_infinite, %to_infinity, %endless : f32
  %angle = math.copysign %magnitude, %y : f32
  %sum = arith.addf %x, %y : f32
  %x_is_nan = arith.cmpf une, %x, %x : f32
  %y_is_nan = arith.cmpf une, %y, %y : f32
  %is_nan = arith.ori %x_is_nan, %y_is_nan : i1
  %result = arith.select %is_nan, %sum, %angle : f32
}

// sysdeps/ieee754/flt-32/s_atanf.c, of a number that isn't negative: near one of four angles a
// that of x is a plus the arc tangent of (x - tan a) / (1 + x tan a), which is a polynomial. The
// angles are those of 1/2, 1, 3/2 and an infinity, each with what it is too small by.
func.func private @atanf_of_positive(%x: f32) -> f32 {
  %twice = arith.mulf 2.0, %x : f32
  %above_half = arith.subf %twice, 1.0 : f32
  %below_half = arith.addf 2.0, %x : f32
  %above_one = arith.subf %x, 1.0 : f32
  %below_one = arith.addf %x, 1.0 : f32
  %above_middle = arith.subf %x, 1.5 : f32
  %times_middle = arith.mulf 1.5, %x : f32
  %below_middle = arith.addf 1.0, %times_middle : f32

  %is_half = arith.cmpf oge, %x, 0.4375 : f32
  %of_half = arith.divf %above_half, %below_half : f32
  %rest_half = arith.select %is_half, %of_half, %x : f32
  %high_half = arith.select %is_half, 0.4636476, 0.0 : f32
  %low_half = arith.select %is_half, 5.0121582e-09, 0.0 : f32

  %is_one = arith.cmpf oge, %x, 0.6875 : f32
  %of_one = arith.divf %above_one, %below_one : f32
  %rest_one = arith.select %is_one, %of_one, %rest_half : f32
  %high_one = arith.select %is_one, 0.7853981, %high_half : f32
  %low_one = arith.select %is_one, 3.7748947e-08, %low_half : f32

  %is_middle = arith.cmpf oge, %x, 1.1875 : f32
  %of_middle = arith.divf %above_middle, %below_middle : f32
  %rest_middle = arith.select %is_middle, %of_middle, %rest_one : f32
  %high_middle = arith.select %is_middle, 0.9827937, %high_one : f32
  %low_middle = arith.select %is_middle, 3.4473217e-08, %low_one : f32

  %is_beyond = arith.cmpf oge, %x, 2.4375 : f32
  %of_infinity = arith.divf -1.0, %x : f32
  %rest = arith.select %is_beyond, %of_infinity, %rest_middle : f32
  %high = arith.select %is_beyond, 1.5707963, %high_middle : f32
  %low = arith.select %is_beyond, 7.5497894e-08, %low_middle : f32

  %square = arith.mulf %rest, %rest : f32
  %fourth = arith.mulf %square, %square : f32
  %odd_times_x4 = arith.mulf 0.016285819933, %fourth : f32
  %odd4 = arith.addf %odd_times_x4, 0.049768779427 : f32
  %odd_times_x3 = arith.mulf %odd4, %fourth : f32
  %odd3 = arith.addf %odd_times_x3, 0.066610731184 : f32
  %odd_times_x2 = arith.mulf %odd3, %fourth : f32
  %odd2 = arith.addf %odd_times_x2, 0.090908870101 : f32
  %odd_times_x1 = arith.mulf %odd2, %fourth : f32
  %odd1 = arith.addf %odd_times_x1, 0.14285714924 : f32
  %odd_times_x0 = arith.mulf %odd1, %fourth : f32
  %odd = arith.addf %odd_times_x0, 0.33333334327 : f32
  %odd_part = arith.mulf %square, %odd : f32
  %even_times_x3 = arith.mulf -0.036531571299, %fourth : f32
  %even3 = arith.addf %even_times_x3, -0.058335702866 : f32
  %even_times_x2 = arith.mulf %even3, %fourth : f32
  %even2 = arith.addf %even_times_x2, -0.076918758452 : f32
  %even_times_x1 = arith.mulf %even2, %fourth : f32
  %even1 = arith.addf %even_times_x1, -0.11111110449 : f32
  %even_times_x0 = arith.mulf %even1, %fourth : f32
  %even = arith.addf %even_times_x0, -0.20000000298 : f32
  %even_part = arith.mulf %fourth, %even : f32
  %both = arith.addf %odd_part, %even_part : f32
  %product = arith.mulf %rest, %both : f32
  %less_low = arith.subf %product, %low : f32
  %less_rest = arith.subf %less_low, %rest : f32
  %far = arith.subf %high, %less_rest : f32
  %near = arith.subf %x, %product : f32
  %is_near = arith.cmpf olt, %x, 0.4375 : f32
  %arc = arith.select %is_near, %near, %far : f32
  %is_tiny = arith.cmpf olt, %x, 1.862645149230957e-09 : f32
  %not_tiny = arith.select %is_tiny, %x, %arc : f32
  %is_large = arith.cmpf oge, %x, 33554432.0 : f32
  %result = arith.select %is_large, 1.5707964, %not_tiny : f32
}

}
