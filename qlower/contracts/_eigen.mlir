// Functions of float32 as Eigen computes them, for contracts and front ends whose system calls
// Eigen. It defines no rule. Products and sums are rounded each; results are accurate to some
// units in the last place only. Eigen computes four elements together, in packets; those before
// the first packet, which begins at a multiple of 16 bytes, and behind the last one have the C
// library's expf for an exponential.

module attributes {contract.base = "_glibc"} {

// GenericPacketMathFunctions.h, ptanh_float: a quotient of polynomials, the same in packets and
// out of them.
func.func private @ptanh(%x: f32) -> f32 {
  %is_low = arith.cmpf olt, %x, -7.9073896408081055 : f32
  %not_low = arith.select %is_low, -7.9073896408081055, %x : f32
  %is_high = arith.cmpf ogt, %not_low, 7.9073896408081055 : f32
  %bounded = arith.select %is_high, 7.9073896408081055, %not_low : f32
  %square = arith.mulf %bounded, %bounded : f32
  %cube = arith.mulf %square, %bounded : f32
  %a_times_x2 = arith.mulf 1.394553628e-08, %square : f32
  %a2 = arith.addf %a_times_x2, 2.10273356e-05 : f32
  %a_times_x1 = arith.mulf %a2, %square : f32
  %a1 = arith.addf %a_times_x1, 0.003520756727 : f32
  %a_times_x0 = arith.mulf %a1, %square : f32
  %above = arith.addf %a_times_x0, 0.13402161 : f32
  %bent = arith.mulf %cube, %above : f32
  %numerator = arith.addf %bent, %bounded : f32
  %b_times_x3 = arith.mulf 8.015776984e-07, %square : f32
  %b3 = arith.addf %b_times_x3, 0.0003326951409 : f32
  %b_times_x2 = arith.mulf %b3, %square : f32
  %b2 = arith.addf %b_times_x2, 0.02597254514 : f32
  %b_times_x1 = arith.mulf %b2, %square : f32
  %b1 = arith.addf %b_times_x1, 0.467354834 : f32
  %b_times_x0 = arith.mulf %b1, %square : f32
  %denominator = arith.addf %b_times_x0, 1.0 : f32
  %result = arith.divf %numerator, %denominator : f32
}

// pexp_float, of x up to 0 in a packet. 2^k is multiplied in two steps, of which the second alone
// can leave the normal numbers.
func.func private @pexp(%x: f32) -> f32 {
  %is_low = arith.cmpf olt, %x, -105.0 : f32
  %bounded = arith.select %is_low, -105.0, %x : f32
  %k_real = func.call @multiple_of_ln2(%bounded) : (f32) -> f32
  %r = func.call @without_ln2(%bounded, %k_real) : (f32, f32) -> f32
  %square = arith.mulf %r, %r : f32
  %even_times_x1 = arith.mulf 0.001374496379867196, %square : f32
  %even1 = arith.addf %even_times_x1, 0.04166965186595917 : f32
  %even_times_x0 = arith.mulf %even1, %square : f32
  %even = arith.addf %even_times_x0, 0.49999988079071045 : f32
  %odd_times_x0 = arith.mulf 0.008368944749236107, %square : f32
  %odd = arith.addf %odd_times_x0, 0.166665181517601 : f32
  %y = func.call @joined(%r, %square, %even, %odd) : (f32, f32, f32, f32) -> f32
  %k = fixed.convert %k_real {rounding = toward_zero} : f32 to i32
  %part = arith.shrsi %k, 1 : i32
  %first = func.call @power_of_2(%part) : (i32) -> f32
  %once = arith.mulf %y, %first : f32
  %rest = arith.subi %k, %part : i32
  %second = func.call @power_of_2(%rest) : (i32) -> f32
  %twice = arith.mulf %once, %second : f32
  %is_zero = arith.cmpf olt, %x, -104.0 : f32
  %result = arith.select %is_zero, 0.0, %twice : f32
}

func.func private @multiple_of_ln2(%x: f32) -> f32 {
  %ratio = arith.mulf %x, 1.4426950408889634 : f32
  %nudged = arith.addf %ratio, 0.5 : f32
  %result = math.floor %nudged : f32
}

// x - k ln(2), of ln(2) in two parts
func.func private @without_ln2(%x: f32, %k: f32) -> f32 {
  %high = arith.mulf %k, -0.693359375 : f32
  %less = arith.addf %high, %x : f32
  %low = arith.mulf %k, 0.00021219444 : f32
  %result = arith.addf %low, %less : f32
}

// 1 + r + r^2 (even + r odd)
func.func private @joined(%r: f32, %square: f32, %even: f32, %odd: f32) -> f32 {
  %of_odd = arith.mulf %r, %odd : f32
  %both = arith.addf %of_odd, %even : f32
  %bent = arith.mulf %square, %both : f32
  %line = arith.addf %r, 1.0 : f32
  %result = arith.addf %bent, %line : f32
}

// 2 to an exponent of a normal number
func.func private @power_of_2(%exponent: i32) -> f32 {
  %biased = arith.addi %exponent, 127 : i32
  %bits = arith.shli %biased, 23 : i32
  %result = arith.bitcast %bits : i32 to f32
}

// UnaryFunctors.h, scalar_logistic_op<float>, in a packet: e^x / (1 + e^x), e^x being e^(x / 2)
// squared. From 16.6355 on the result is 1.
func.func private @plogistic(%x: f32) -> f32 {
  %is_high = arith.cmpf ogt, %x, 16.6355324 : f32
  %bounded = arith.select %is_high, 16.6355324, %x : f32
  %half = arith.mulf %bounded, 0.5 : f32
  %k_real = func.call @multiple_of_ln2(%half) : (f32) -> f32
  %r = func.call @without_ln2(%half, %k_real) : (f32, f32) -> f32
  %square = arith.mulf %r, %r : f32
  %even_times_x0 = arith.mulf 0.04189866781234741, %square : f32
  %even = arith.addf %even_times_x0, 0.49999141693115234 : f32
  %odd_times_x0 = arith.mulf 0.00833471305668354, %square : f32
  %odd = arith.addf %odd_times_x0, 0.16666877269744873 : f32
  %y = func.call @joined(%r, %square, %even, %odd) : (f32, f32, f32, f32) -> f32
  %k = fixed.convert %k_real {rounding = toward_zero} : f32 to i32
  %power = func.call @power_of_2(%k) : (i32) -> f32
  %root = arith.mulf %y, %power : f32
  %exponential = arith.mulf %root, %root : f32
  %share = func.call @share(%exponential) : (f32) -> f32
  %is_zero = arith.cmpf olt, %x, -104.0 : f32
  %result = arith.select %is_zero, 0.0, %share : f32
}

// The same of an element in no packet.
func.func private @logistic_alone(%x: f32) -> f32 {
  %is_high = arith.cmpf ogt, %x, 16.6355324 : f32
  %bounded = arith.select %is_high, 16.6355324, %x : f32
  %exponential = func.call @expf(%bounded) : (f32) -> f32
  %result = func.call @share(%exponential) : (f32) -> f32
}

func.func private @share(%x: f32) -> f32 {
  %total = arith.addf 1.0, %x : f32
  %result = arith.divf %x, %total : f32
}

// ---------------------------------------------------------------- GELU

// x / 2 * erfc(-x / sqrt(2)) in a packet
func.func private @pgelu(%x: f32) -> f32 {
  %argument = func.call @gelu_argument(%x) : (f32) -> f32
  %power = func.call @opposite_square(%argument) : (f32) -> f32
  %exponential = func.call @pexp(%power) : (f32) -> f32
  %result = func.call @gelu_of(%x, %argument, %exponential) : (f32, f32, f32) -> f32
}

// The same of an element in no packet.
func.func private @gelu_alone(%x: f32) -> f32 {
  %argument = func.call @gelu_argument(%x) : (f32) -> f32
  %power = func.call @opposite_square(%argument) : (f32) -> f32
  %exponential = func.call @expf(%power) : (f32) -> f32
  %result = func.call @gelu_of(%x, %argument, %exponential) : (f32, f32, f32) -> f32
}

func.func private @gelu_argument(%x: f32) -> f32 {
  %turned = arith.mulf %x, -0.7071067690849304 : f32
  %is_low = arith.cmpf olt, %turned, -11.0 : f32
  %not_low = arith.select %is_low, -11.0, %turned : f32
  %is_high = arith.cmpf ogt, %not_low, 11.0 : f32
  %result = arith.select %is_high, 11.0, %not_low : f32
}

func.func private @opposite_square(%x: f32) -> f32 {
  %square = arith.mulf %x, %x : f32
  %result = arith.negf %square : f32
}

func.func private @gelu_of(%x: f32, %argument: f32, %exponential: f32) -> f32 {
  %half = arith.mulf 0.5, %x : f32
  %erfc = func.call @erfc_from(%argument, %exponential) : (f32, f32) -> f32
  %result = arith.mulf %half, %erfc : f32
}

// SpecialFunctionsImpl.h, generic_fast_erfc, given e^(-x^2): 1 + x S(x^2) up to 1, from there on
// e^(-x^2) / x * P(1 / x^2), the power being corrected by what rounding took off x^2.
func.func private @erfc_from(%x: f32, %exponential: f32) -> f32 {
  %square = arith.mulf %x, %x : f32
  %s_times_x4 = arith.mulf 0.0005618022987619042, %square : f32
  %s4 = arith.addf %s_times_x4, -0.004913816694170237 : f32
  %s_times_x3 = arith.mulf %s4, %square : f32
  %s3 = arith.addf %s_times_x3, 0.026707515120506287 : f32
  %s_times_x2 = arith.mulf %s3, %square : f32
  %s2 = arith.addf %s_times_x2, -0.11280010640621185 : f32
  %s_times_x1 = arith.mulf %s2, %square : f32
  %s1 = arith.addf %s_times_x1, 0.37612295150756836 : f32
  %s_times_x0 = arith.mulf %s1, %square : f32
  %inner = arith.addf %s_times_x0, -1.1283791065216064 : f32
  %bent = arith.mulf %x, %inner : f32
  %near = arith.addf %bent, 1.0 : f32
  %lost = func.call @lost_of_product(%x, %x, %square) : (f32, f32, f32) -> f32
  %correction = arith.mulf %exponential, %lost : f32
  %power = arith.subf %exponential, %correction : f32
  %inverse = arith.divf 1.0, %square : f32
  %p_times_x2 = arith.mulf 0.10208116471767426, %inverse : f32
  %p2 = arith.addf %p_times_x2, 0.4292066693305969 : f32
  %p_times_x1 = arith.mulf %p2, %inverse : f32
  %p1 = arith.addf %p_times_x1, 0.3237907886505127 : f32
  %p_times_x0 = arith.mulf %p1, %inverse : f32
  %numerator = arith.addf %p_times_x0, 0.05397197604179382 : f32
  %q_times_x3 = arith.mulf 0.017251677811145782, %inverse : f32
  %q3 = arith.addf %q_times_x3, 0.39137163758277893 : f32
  %q_times_x2 = arith.mulf %q3, %inverse : f32
  %q2 = arith.addf %q_times_x2, 1.0 : f32
  %q_times_x1 = arith.mulf %q2, %inverse : f32
  %q1 = arith.addf %q_times_x1, 0.6217324137687683 : f32
  %q_times_x0 = arith.mulf %q1, %inverse : f32
  %below = arith.addf %q_times_x0, 0.09566286206245422 : f32
  %denominator = arith.mulf %x, %below : f32
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %mirrored = arith.select %is_negative, 2.0, 0.0 : f32
  %quotient = arith.divf %numerator, %denominator : f32
  %tail = arith.mulf %power, %quotient : f32
  %far = arith.addf %tail, %mirrored : f32
  %is_far = arith.cmpf olt, 1.0, %square : f32
  %result = arith.select %is_far, %far, %near : f32
}

// What rounding took off a product: exact, of halves after Veltkamp.
func.func private @lost_of_product(%x: f32, %y: f32, %product: f32) -> f32 {
  %x_high = func.call @high_half(%x) : (f32) -> f32
  %x_low = arith.subf %x, %x_high : f32
  %y_high = func.call @high_half(%y) : (f32) -> f32
  %y_low = arith.subf %y, %y_high : f32
  %high_product = arith.mulf %x_high, %y_high : f32
  %lost_of_high = arith.subf %high_product, %product : f32
  %first_cross = arith.mulf %x_high, %y_low : f32
  %with_first = arith.addf %first_cross, %lost_of_high : f32
  %second_cross = arith.mulf %x_low, %y_high : f32
  %with_second = arith.addf %second_cross, %with_first : f32
  %low_product = arith.mulf %x_low, %y_low : f32
  %result = arith.addf %low_product, %with_second : f32
}

func.func private @high_half(%x: f32) -> f32 replaces {
  %product = arith.mulf 4097.0, %x : f32  // 2^12 + 1
  %rest = arith.subf %x, %product : f32
  %result = arith.addf %rest, %product : f32
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
func.func private @gelu_by_tanh(%x: f32) -> f32 {
  %square = arith.mulf %x, %x : f32
  %cube = arith.mulf %square, %x : f32
  %cubic = arith.mulf 0.044715, %cube : f32
  %curve = arith.addf %x, %cubic : f32
  %argument = arith.mulf 0.7978845834732056, %curve : f32
  %tanh = func.call @ptanh(%argument) : (f32) -> f32
  %factor = arith.addf 1.0, %tanh : f32
  %half = arith.mulf 0.5, %x : f32
  %result = arith.mulf %half, %factor : f32
}

// ---------------------------------------------------------------- logarithm

// pfrexp: x = m 2^k with m from 1/2 to 1. A subnormal number is raised by 2^24 first.
func.func private @significand_below_1(%x: f32) -> (f32, f32) {
  %is_small = arith.cmpf olt, %x, 1.1754943508222875e-38 : f32
  %raised = arith.mulf %x, 16777216.0 : f32
  %normal = arith.select %is_small, %raised, %x : f32
  %bits = arith.bitcast %normal : f32 to i32
  %biased = arith.shrui %bits, 23 : i32
  %subtracted = arith.select %is_small, 150, 126 : i32
  %exponent = arith.subi %biased, %subtracted : i32
  %fraction = arith.andi %bits, 8388607 : i32
  %m_bits = arith.ori %fraction, 1056964608 : i32
  %m = arith.bitcast %m_bits : i32 to f32
  %k = arith.sitofp %exponent : i32 to f32
  func.return %m, %k : f32, f32
}

// GenericPacketMathFunctions.h, plog_impl_float: x = m 2^k with m from sqrt(1/2) on, and a quotient
// of polynomials of m - 1.
func.func private @plog(%x: f32) -> f32 {
  %m, %k_half = func.call @significand_below_1(%x) : (f32) -> (f32, f32)
  %is_low = arith.cmpf olt, %m, 0.707106769 : f32
  %again = arith.select %is_low, %m, 0.0 : f32
  %less_one = arith.subf %m, 1.0 : f32
  %r = arith.addf %less_one, %again : f32
  %step = arith.select %is_low, 1.0, 0.0 : f32
  %k = arith.subf %k_half, %step : f32
  %p_2 = arith.mulf 0.18256296349849254, %r : f32
  %p_1 = arith.addf %p_2, 1.0000000190281063 : f32
  %p_1r = arith.mulf %p_1, %r : f32
  %p_0 = arith.addf %p_1r, 1.0000000190281136 : f32
  %above = arith.mulf %r, %p_0 : f32
  %q_3 = arith.mulf 0.049616247954120038, %r : f32
  %q_2 = arith.addf %q_3, 0.5992324959082352 : f32
  %q_2r = arith.mulf %q_2, %r : f32
  %q_1 = arith.addf %q_2r, 1.4999999999999927 : f32
  %q_1r = arith.mulf %q_1, %r : f32
  %below = arith.addf %q_1r, 1.0 : f32
  %quotient = arith.divf %above, %below : f32
  %multiple = arith.mulf %k, 0.6931471805599453 : f32
  %log = arith.addf %multiple, %quotient : f32
  %is_finite = arith.cmpf olt, %x, 0x7F800000 : f32
  %of_all = arith.select %is_finite, %log, %x : f32
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %real = arith.select %is_negative, 0x7FC00000, %of_all : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %result = arith.select %is_zero, 0xFF800000, %real : f32
}

// generic_log1p, of a number from 0 on: log(1 + x), and what rounding 1 + x lost.
func.func private @plog1p(%x: f32) -> f32 {
  %sum = arith.addf %x, 1.0 : f32
  %log = func.call @plog(%sum) : (f32) -> f32
  %taken = arith.subf %sum, 1.0 : f32
  %slope = arith.divf %log, %taken : f32
  %large = arith.mulf %x, %slope : f32
  %is_lost = arith.cmpf oeq, %sum, 1.0 : f32
  %is_endless = arith.cmpf oeq, %sum, %log : f32
  %is_kept = arith.ori %is_lost, %is_endless : i1
  %result = arith.select %is_kept, %x, %large : f32
}

// ---------------------------------------------------------------- power

// generic_pow_impl: x^y = 2^(y log2(x)) of an exponent that isn't whole, with the logarithm in two
// numbers; and what handle_nonint_nonint_errors makes of numbers that aren't positive and finite.
func.func private @ppow(%x: f32, %y: f32) -> f32 {
  %m_half, %k_half = func.call @significand_below_1(%x) : (f32) -> (f32, f32)
  %is_low = arith.cmpf olt, %m_half, 0.707106769 : f32
  %m_twice = arith.mulf 2.0, %m_half : f32
  %m = arith.select %is_low, %m_twice, %m_half : f32
  %k_less = arith.subf %k_half, 1.0 : f32
  %k = arith.select %is_low, %k_less, %k_half : f32
  %log, %log_low = func.call @log2_in_two(%m) : (f32) -> (f32, f32)
  %whole, %whole_low = func.call @product_in_two(%k, 0.0, %y) : (f32, f32, f32) -> (f32, f32)
  %part, %part_low = func.call @product_in_two(%log, %log_low, %y) : (f32, f32, f32) -> (f32, f32)
  %sum, %sum_low = func.call @sum_of_pairs(%whole, %whole_low, %part, %part_low) : (f32, f32, f32, f32) -> (f32, f32)
  %n_first = math.round %sum : f32
  %near_rest = arith.subf %sum, %n_first : f32
  %far_rest = arith.addf %near_rest, %sum_low : f32
  %n_more = math.round %far_rest : f32
  %rest = arith.subf %far_rest, %n_more : f32
  %n_real = arith.addf %n_first, %n_more : f32

  // generic_exp2
  %exponent = arith.mulf 0.6931471805599453, %rest : f32
  %lost = func.call @lost_of_product(0.6931471805599453, %rest, %exponent) : (f32, f32, f32) -> f32
  %e = func.call @pexp(%exponent) : (f32) -> f32
  %correction = arith.addf 1.0, %lost : f32
  %e_whole = arith.mulf %e, %correction : f32

  %any_n = fixed.convert %n_real {rounding = toward_zero} : f32 to i32
  %n_low = arith.maxsi %any_n, -252 : i32
  %n = arith.minsi %n_low, 252 : i32
  %n_half = arith.shrsi %n, 1 : i32
  %first = func.call @power_of_2(%n_half) : (i32) -> f32
  %once = arith.mulf %e_whole, %first : f32
  %n_rest = arith.subi %n, %n_half : i32
  %second = func.call @power_of_2(%n_rest) : (i32) -> f32
  %power = arith.mulf %once, %second : f32

  %is_down = arith.cmpf olt, %y, 0.0 : f32
  %of_zero = arith.select %is_down, 0x7F800000, 0.0 : f32
  %of_infinity = arith.select %is_down, 0.0, 0x7F800000 : f32
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %of_positive = arith.select %is_positive, %power, 0x7FC00000 : f32
  %is_infinite = arith.cmpf oeq, %x, 0x7F800000 : f32
  %not_infinite = arith.select %is_infinite, %of_infinity, %of_positive : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %not_zero = arith.select %is_zero, %of_zero, %not_infinite : f32
  %is_one = arith.cmpf oeq, %x, 1.0 : f32
  %result = arith.select %is_one, 1.0, %not_zero : f32
}

// accurate_log2<float>: with r = z - 1 it is c0 r + c1 r^2 + r^3 p(r), c0 and c1 in two numbers.
func.func private @log2_in_two(%z: f32) -> (f32, f32) {
  %r = arith.subf %z, 1.0 : f32
  %p7 = func.call @next_power(%r, 9.7010828554630279541015625e-02, -1.68964862823486328125e-01) : (f32, f32, f32) -> f32
  %p6 = func.call @next_power(%r, %p7, 1.720083653926849365234375e-01) : (f32, f32, f32) -> f32
  %p5 = func.call @next_power(%r, %p6, -1.7892272770404815673828125e-01) : (f32, f32, f32) -> f32
  %p4 = func.call @next_power(%r, %p5, 2.0505344867706298828125e-01) : (f32, f32, f32) -> f32
  %p3 = func.call @next_power(%r, %p4, -2.40466773509979248046875e-01) : (f32, f32, f32) -> f32
  %p2 = func.call @next_power(%r, %p3, 2.8857553005218505859375e-01) : (f32, f32, f32) -> f32
  %p1 = func.call @next_power(%r, %p2, -3.6067414283752441406250e-01) : (f32, f32, f32) -> f32
  %p0 = func.call @next_power(%r, %p1, 4.8089790344238281250e-01) : (f32, f32, f32) -> f32
  %third = arith.mulf %r, %p0 : f32
  %third_low = func.call @lost_of_product(%r, %p0, %third) : (f32, f32, f32) -> f32
  %second, %second_low = func.call @sum_of_pairs(-0.7213475, -5.06802e-09, %third, %third_low) : (f32, f32, f32, f32) -> (f32, f32)
  %of_second, %of_second_low = func.call @product_in_two(%second, %second_low, %r) : (f32, f32, f32) -> (f32, f32)
  %first, %first_low = func.call @sum_of_pairs(1.442695, 2.0112777e-08, %of_second, %of_second_low) : (f32, f32, f32, f32) -> (f32, f32)
  %log, %log_low = func.call @product_in_two(%first, %first_low, %r) : (f32, f32, f32) -> (f32, f32)
  func.return %log, %log_low : f32, f32
}

// A number in two times y
func.func private @product_in_two(%x: f32, %x_low: f32, %y: f32) -> (f32, f32) {
  %product = arith.mulf %x, %y : f32
  %lost = func.call @lost_of_product(%x, %y, %product) : (f32, f32, f32) -> f32
  %low_product = arith.mulf %x_low, %y : f32
  %sum, %lost_of_sum = func.call @sum_in_two(%product, %low_product) : (f32, f32) -> (f32, f32)
  %low = arith.addf %lost_of_sum, %lost : f32
  %high, %rest = func.call @sum_in_two(%sum, %low) : (f32, f32) -> (f32, f32)
  func.return %high, %rest : f32, f32
}

// The sum of two numbers in two parts each; x is the larger
func.func private @sum_of_pairs(%x: f32, %x_low: f32, %y: f32, %y_low: f32) -> (f32, f32) {
  %sum, %lost = func.call @sum_in_two(%x, %y) : (f32, f32) -> (f32, f32)
  %with_y = arith.addf %y_low, %lost : f32
  %low = arith.addf %with_y, %x_low : f32
  %high, %rest = func.call @sum_in_two(%sum, %low) : (f32, f32) -> (f32, f32)
  func.return %high, %rest : f32, f32
}

// A sum, and what rounding took off it if x is the larger
func.func private @sum_in_two(%x: f32, %y: f32) -> (f32, f32) {
  %sum = arith.addf %x, %y : f32
  %added = arith.subf %sum, %x : f32
  %lost = arith.subf %y, %added : f32
  func.return %sum, %lost : f32, f32
}

// ---------------------------------------------------------------- ONNX Runtime's activations

// onnxruntime/core/providers/cpu/activation/activations.h and element_wise_ops.h, as packets have
// them; functions that end in _alone are those of single elements.

func.func private @exponential_linear(%x: f32, %alpha: f32) -> f32 {
  %below = arith.minimumf %x, 0.0 : f32
  %e = func.call @pexp(%below) : (f32) -> f32
  %result = func.call @elu_of(%x, %e, %alpha) : (f32, f32, f32) -> f32
}

func.func private @exponential_linear_alone(%x: f32, %alpha: f32) -> f32 {
  %below = arith.minimumf %x, 0.0 : f32
  %e = func.call @expf(%below) : (f32) -> f32
  %result = func.call @elu_of(%x, %e, %alpha) : (f32, f32, f32) -> f32
}

// x from 0 on, below it alpha (e - 1)
func.func private @elu_of(%x: f32, %e: f32, %alpha: f32) -> f32 {
  %less = arith.subf %e, 1.0 : f32
  %curve = arith.mulf %alpha, %less : f32
  %is_not_negative = arith.cmpf oge, %x, 0.0 : f32
  %result = arith.select %is_not_negative, %x, %curve : f32
}

func.func private @scaled_linear(%x: f32, %alpha: f32, %gamma: f32) -> f32 {
  %below = arith.minimumf %x, 0.0 : f32
  %e = func.call @pexp(%below) : (f32) -> f32
  %result = func.call @selu_of(%x, %e, %alpha, %gamma) : (f32, f32, f32, f32) -> f32
}

func.func private @scaled_linear_alone(%x: f32, %alpha: f32, %gamma: f32) -> f32 {
  %below = arith.minimumf %x, 0.0 : f32
  %e = func.call @expf(%below) : (f32) -> f32
  %result = func.call @selu_of(%x, %e, %alpha, %gamma) : (f32, f32, f32, f32) -> f32
}

// gamma x above 0, elsewhere (gamma alpha) (e - 1)
func.func private @selu_of(%x: f32, %e: f32, %alpha: f32, %gamma: f32) -> f32 {
  %factor = arith.mulf %gamma, %alpha : f32
  %less = arith.subf %e, 1.0 : f32
  %curve = arith.mulf %factor, %less : f32
  %line = arith.mulf %gamma, %x : f32
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %result = arith.select %is_positive, %line, %curve : f32
}

func.func private @continuous_linear(%x: f32, %alpha: f32) -> f32 {
  %ratio = arith.divf %x, %alpha : f32
  %below = arith.minimumf %ratio, 0.0 : f32
  %e = func.call @pexp(%below) : (f32) -> f32
  %result = func.call @celu_of(%x, %e, %alpha) : (f32, f32, f32) -> f32
}

func.func private @continuous_linear_alone(%x: f32, %alpha: f32) -> f32 {
  %ratio = arith.divf %x, %alpha : f32
  %below = arith.minimumf %ratio, 0.0 : f32
  %e = func.call @expf(%below) : (f32) -> f32
  %result = func.call @celu_of(%x, %e, %alpha) : (f32, f32, f32) -> f32
}

// max(0, x) + min(0, alpha (e - 1))
func.func private @celu_of(%x: f32, %e: f32, %alpha: f32) -> f32 {
  %less = arith.subf %e, 1.0 : f32
  %curve = arith.mulf %alpha, %less : f32
  %low = arith.minimumf %curve, 0.0 : f32
  %high = arith.maximumf %x, 0.0 : f32
  %result = arith.addf %high, %low : f32
}

// log1p(e^x), above 0 x + log1p(e^-x)
func.func private @softplus(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %opposite = arith.negf %size : f32
  %e = func.call @pexp(%opposite) : (f32) -> f32
  %curve = func.call @plog1p(%e) : (f32) -> f32
  %moved = arith.addf %x, %curve : f32
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %result = arith.select %is_positive, %moved, %curve : f32
}

// Elements that fill no packet
func.func private @softplus_alone(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %opposite = arith.negf %size : f32
  %e = func.call @expf(%opposite) : (f32) -> f32
  %curve = func.call @log1pf(%e) : (f32) -> f32
  %moved = arith.addf %x, %curve : f32
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %result = arith.select %is_positive, %moved, %curve : f32
}

// min(max(F(F(alpha x) + beta), 0), 1)
func.func private @hard_sigmoid(%x: f32, %alpha: f32, %beta: f32) -> f32 {
  %scaled = arith.mulf %x, %alpha : f32
  %moved = arith.addf %scaled, %beta : f32
  %above = arith.maximumf %moved, 0.0 : f32
  %result = arith.minimumf %above, 1.0 : f32
}

// x HardSigmoid(x) with 1/6 and 1/2, which ONNX defines it as
func.func private @hard_swish(%x: f32) -> f32 {
  %share = func.call @hard_sigmoid(%x, 0.16666666666666666, 0.5) : (f32, f32, f32) -> f32
  %result = arith.mulf %x, %share : f32
}

// F(alpha x) where x is negative
func.func private @leaky_relu(%x: f32, %alpha: f32) -> f32 {
  %leak = arith.mulf %x, %alpha : f32
  %is_positive = arith.cmpf oge, %x, 0.0 : f32
  %result = arith.select %is_positive, %x, %leak : f32
}

// x F(1 / F(1 + |x|))
func.func private @softsign(%x: f32) -> f32 {
  %opposite = arith.negf %x : f32
  %size = arith.maximumf %x, %opposite : f32
  %more = arith.addf 1.0, %size : f32
  %share = arith.divf 1.0, %more : f32
  %result = arith.mulf %x, %share : f32
}

func.func private @one_over(%x: f32) -> f32 {
  %result = arith.divf 1.0, %x : f32
}

// x above alpha, elsewhere 0
func.func private @thresholded_relu(%x: f32, %alpha: f32) -> f32 {
  %is_above = arith.cmpf ogt, %x, %alpha : f32
  %result = arith.select %is_above, %x, 0.0 : f32
}

// x + bias below -lambd, x - bias above lambd, elsewhere 0
func.func private @shrink(%x: f32, %bias: f32, %lambd: f32) -> f32 {
  %lowest = arith.negf %lambd : f32
  %is_low = arith.cmpf olt, %x, %lowest : f32
  %is_high = arith.cmpf ogt, %x, %lambd : f32
  %raised = arith.addf %x, %bias : f32
  %lowered = arith.subf %x, %bias : f32
  %high = arith.select %is_high, %lowered, 0.0 : f32
  %result = arith.select %is_low, %raised, %high : f32
}

// 1, 0 or -1; NaN is 0
func.func private @sign(%x: f32) -> f32 {
  %is_high = arith.cmpf ogt, %x, 0.0 : f32
  %is_low = arith.cmpf olt, %x, 0.0 : f32
  %below = arith.select %is_low, -1.0, 0.0 : f32
  %result = arith.select %is_high, 1.0, %below : f32
}

// A product that a sum from 0 begins with.
func.func private @product_from_zero(%x: f32, %y: f32) -> f32 {
  %product = arith.mulf %x, %y : f32
  %result = arith.addf 0.0, %product : f32
}

// ---------------------------------------------------------------- arc sine, cosine, tangent

// GenericPacketMathFunctions.h, pasin_float: a polynomial up to 1/2, above it pi/2 less twice that
// of sqrt(1/2 - |x| / 2). Beyond 1 it is NaN.
func.func private @pasin(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %half = arith.mulf 0.5, %size : f32
  %left = arith.subf 0.5, %half : f32
  %root = math.sqrt %left : f32
  %is_large = arith.cmpf olt, 0.5, %size : f32
  %r = arith.select %is_large, %root, %size : f32
  %square = arith.mulf %r, %r : f32
  %p3 = func.call @next_power(%square, 5.08838854730129241943359375e-2, 3.95139865577220916748046875e-2) : (f32, f32, f32) -> f32
  %p2 = func.call @next_power(%square, %p3, 7.550220191478729248046875e-2) : (f32, f32, f32) -> f32
  %p1 = func.call @next_power(%square, %p2, 0.16664917767047882080078125) : (f32, f32, f32) -> f32
  %p0 = func.call @next_power(%square, %p1, 1.00000011920928955078125) : (f32, f32, f32) -> f32
  %small = arith.mulf %p0, %r : f32
  %twice = arith.mulf 2.0, %small : f32
  %large = arith.subf 1.57079637050628662109375, %twice : f32
  %arc = arith.select %is_large, %large, %small : f32
  %signed = math.copysign %arc, %x : f32
  %is_inside = arith.cmpf ole, %size, 1.0 : f32
  %result = arith.select %is_inside, %signed, 0x7FC00000 : f32
}

// pacos_float: sqrt(1 - |x|) times a polynomial, whose even and odd terms are summed apart, and
// pi less that below 0.
func.func private @pacos(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %square = arith.mulf %x, %x : f32
  %even4 = func.call @next_power(%square, 2.36423197202384471893310546875e-3, 2.717843465507030487060546875e-2) : (f32, f32, f32) -> f32
  %even2 = func.call @next_power(%square, %even4, 8.8804088532924652099609375e-2) : (f32, f32, f32) -> f32
  %even = func.call @next_power(%square, %even2, 1.57079637050628662109375) : (f32, f32, f32) -> f32
  %odd3 = func.call @next_power(%square, -1.1368644423782825469970703125e-2, -4.8969544470310211181640625e-2) : (f32, f32, f32) -> f32
  %odd = func.call @next_power(%square, %odd3, -0.214591205120086669921875) : (f32, f32, f32) -> f32
  %p = func.call @next_power(%odd, %size, %even) : (f32, f32, f32) -> f32
  %left = arith.subf 1.0, %size : f32
  %root = math.sqrt %left : f32
  %arc = arith.mulf %root, %p : f32
  %opposite = arith.subf 3.1415927410125732421875, %arc : f32
  %bits = arith.bitcast %x : f32 to i32
  %is_negative = arith.cmpi slt, %bits, 0 : i32
  %result = arith.select %is_negative, %opposite, %arc : f32
}

// generic_atan: a quotient of polynomials up to 1, above it pi/2 less that of the reciprocal.
func.func private @patan(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %reciprocal = arith.divf 1.0, %size : f32
  %is_large = arith.cmpf olt, 1.0, %size : f32
  %r = arith.select %is_large, %reciprocal, %size : f32
  %square = arith.mulf %r, %r : f32
  %above1 = func.call @next_power(%square, 1.12026982009410858154296875e-01, 7.296695709228515625e-01) : (f32, f32, f32) -> f32
  %above = func.call @next_power(%square, %above1, 8.109951019287109375e-01) : (f32, f32, f32) -> f32
  %below2 = func.call @next_power(%square, 1.00917108356952667236328125e-02, 2.8318560123443603515625e-01) : (f32, f32, f32) -> f32
  %below1 = func.call @next_power(%square, %below2, 1.0) : (f32, f32, f32) -> f32
  %below = func.call @next_power(%square, %below1, 8.109951019287109375e-01) : (f32, f32, f32) -> f32
  %quotient = arith.divf %above, %below : f32
  %small = arith.mulf %r, %quotient : f32
  %large = arith.subf 1.57079637050628662109375, %small : f32
  %arc = arith.select %is_large, %large, %small : f32
  %result = math.copysign %arc, %x : f32
}

// ---------------------------------------------------------------- sine, cosine

// GenericPacketMathFunctions.h, psincos_float without FMA: x = n pi/2 + r, of pi/2 in four parts
// below `huge`; from there on r is the C library's, in 62 bits.
func.func private @psin(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %r, %n = func.call @quarter(%size, 25966.0) : (f32, f32) -> (f32, i32)
  %wave = func.call @wave_of(%r, %n, 0) : (f32, i32, i32) -> f32
  %opposite = arith.negf %wave : f32
  %bits = arith.bitcast %x : f32 to i32
  %is_negative = arith.cmpi slt, %bits, 0 : i32
  %result = arith.select %is_negative, %opposite, %wave : f32
}

func.func private @pcos(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %r, %n = func.call @quarter(%size, 18838.0) : (f32, f32) -> (f32, i32)
  %result = func.call @wave_of(%r, %n, 1) : (f32, i32, i32) -> f32
}

func.func private @quarter(%size: f32, %huge: f32) -> (f32, i32) {
  %is_far = arith.cmpf oge, %size, %huge : f32
  %far_r, %far_n = func.call @far_quarter(%size) : (f32) -> (f64, i32)
  %far = arith.truncf %far_r : f64 to f32
  %nearby = arith.select %is_far, 0.0, %size : f32
  %count = arith.mulf %nearby, 0.636619746685028076171875 : f32
  %shifted = arith.addf %count, 12582912.0 : f32
  %bits = arith.bitcast %shifted : f32 to i32
  %whole = arith.subf %shifted, 12582912.0 : f32
  %part1 = arith.mulf %whole, -1.5703125 : f32
  %r1 = arith.addf %part1, %nearby : f32
  %part2 = arith.mulf %whole, -0.000483989715576171875 : f32
  %r2 = arith.addf %part2, %r1 : f32
  %part3 = arith.mulf %whole, 1.62865035235881805419921875e-07 : f32
  %r3 = arith.addf %part3, %r2 : f32
  %part4 = arith.mulf %whole, 5.5644315544167710640977020375430583953857421875e-11 : f32
  %r4 = arith.addf %part4, %r3 : f32
  %r = arith.select %is_far, %far, %r4 : f32
  %n = arith.select %is_far, %far_n, %bits : i32
  func.return %r, %n : f32, i32
}

// A polynomial for the sine of r or its cosine, as n is even or odd, with a sign by n.
func.func private @wave_of(%r: f32, %own_n: i32, %quarters: i32) -> f32 {
  %square = arith.mulf %r, %r : f32
  %a3 = func.call @next_power(%square, 2.4372266125283204019069671630859375e-05, -0.00138865201734006404876708984375) : (f32, f32, f32) -> f32
  %a2 = func.call @next_power(%square, %a3, 0.041666619479656219482421875) : (f32, f32, f32) -> f32
  %a1 = func.call @next_power(%square, %a2, -0.5) : (f32, f32, f32) -> f32
  %cosine = func.call @next_power(%square, %a1, 1.0) : (f32, f32, f32) -> f32
  %b2 = func.call @next_power(%square, -0.0001959234114083702898469196984621021329476029425859451293945312, 0.00833268736556158516937947998712) : (f32, f32, f32) -> f32
  %b1 = func.call @next_power(%square, %b2, -0.166666620398298255503735) : (f32, f32, f32) -> f32
  %curve = arith.mulf %b1, %square : f32
  %sine = func.call @next_power(%curve, %r, %r) : (f32, f32, f32) -> f32
  %n = arith.addi %own_n, %quarters : i32
  %first_bit = arith.andi %n, 1 : i32
  %is_odd = arith.cmpi ne, %first_bit, 0 : i32
  %second_bit = arith.andi %n, 2 : i32
  %is_negative = arith.cmpi ne, %second_bit, 0 : i32
  %wave = arith.select %is_odd, %cosine, %sine : f32
  %opposite = arith.negf %wave : f32
  %result = arith.select %is_negative, %opposite, %wave : f32
}

func.func private @next_power(%x: f32, %above: f32, %term: f32) -> f32 {
  %product = arith.mulf %x, %above : f32
  %result = arith.addf %product, %term : f32
}

}
