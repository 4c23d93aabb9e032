// Functions of single numbers as LiteRT's reference kernels write them out: of float32, and of
// integers in 64 bits. It defines no rule.

module attributes {contract.base = "_glibc"} {

// ---------------------------------------------------------------- float32

// internal/reference/logistic.h: a straight line at either end
func.func private @logistic(%x: f32) -> f32 replaces {
  %opposite = arith.negf %x : f32
  %e = func.call @expf(%opposite) : (f32) -> f32
  %more = arith.addf 1.0, %e : f32
  %quotient = arith.divf 1.0, %more : f32
  %is_low = arith.cmpf olt, %x, -9.0 : f32
  %power = func.call @expf(%x) : (f32) -> f32
  %below = arith.select %is_low, %power, %quotient : f32
  %is_high = arith.cmpf ogt, %x, 16.619047164916992188 : f32
  %result = arith.select %is_high, 1.0, %below : f32
}

// RoundToNearest: half to even; what is rounded up to 0 is +0
func.func private @round_half_even(%x: f32) -> f32 {
  %floor = math.floor %x : f32
  %rest = arith.subf %x, %floor : f32
  %halved = arith.mulf %floor, 0.5 : f32
  %whole = math.floor %halved : f32
  %is_even = arith.cmpf oeq, %whole, %halved : f32
  %is_half = arith.cmpf oeq, %rest, 0.5 : f32
  %is_tie = arith.andi %is_half, %is_even : i1
  %is_less = arith.cmpf olt, %rest, 0.5 : f32
  %is_down = arith.ori %is_less, %is_tie : i1
  %above = arith.addf %floor, 1.0 : f32
  %result = arith.select %is_down, %floor, %above : f32
}

// internal/reference/resize_bilinear.h: between four pixels, two of each row, at these distances
// from the first ones. The rounding offset is 0, which makes -0 into 0.
func.func private @between_pixels(
    %a: f32, %b: f32, %c: f32, %d: f32, %below: f32, %behind: f32) -> f32 {
  %above = arith.subf 1.0, %below : f32
  %before = arith.subf 1.0, %behind : f32
  %first = func.call @share_of(%a, %above, %before) : (f32, f32, f32) -> f32
  %under = func.call @share_of(%c, %below, %before) : (f32, f32, f32) -> f32
  %right = func.call @share_of(%b, %above, %behind) : (f32, f32, f32) -> f32
  %last = func.call @share_of(%d, %below, %behind) : (f32, f32, f32) -> f32
  %column = arith.addf %first, %under : f32
  %three = arith.addf %column, %right : f32
  %sum = arith.addf %three, %last : f32
  %result = arith.addf %sum, 0.0 : f32
}

func.func private @share_of(%x: f32, %of_row: f32, %of_column: f32) -> f32 {
  %part = arith.mulf %x, %of_row : f32
  %result = arith.mulf %part, %of_column : f32
}

// x min(max(F(x + 3), 0), 6) / 6
func.func private @hard_swish(%x: f32) -> f32 {
  %moved = arith.addf %x, 3.0 : f32
  %is_low = arith.cmpf olt, %moved, 0.0 : f32
  %not_low = arith.select %is_low, 0.0, %moved : f32
  %is_high = arith.cmpf ogt, %not_low, 6.0 : f32
  %gate = arith.select %is_high, 6.0, %not_low : f32
  %product = arith.mulf %x, %gate : f32
  %result = arith.divf %product, 6.0 : f32
}

func.func private @inverse_root(%x: f32) -> f32 {
  %root = math.sqrt %x : f32
  %result = arith.divf 1.0, %root : f32
}

func.func private @leaky_relu(%x: f32, %alpha: f32) -> f32 {
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %below = arith.mulf %x, %alpha : f32
  %result = arith.select %is_positive, %x, %below : f32
}

func.func private @prelu(%x: f32, %alpha: f32) -> f32 {
  %is_kept = arith.cmpf oge, %x, 0.0 : f32
  %below = arith.mulf %x, %alpha : f32
  %result = arith.select %is_kept, %x, %below : f32
}

// internal/reference/fake_quant.h, FakeQuantizeArray: the nearest code, halves up
func.func private @fake_quantize(
    %x: f32, %lowest: f32, %highest: f32, %scale: f32, %inverse: f32) -> f32 {
  %is_above = arith.cmpf ogt, %x, %lowest : f32
  %not_low = arith.select %is_above, %x, %lowest : f32
  %is_below = arith.cmpf olt, %not_low, %highest : f32
  %within = arith.select %is_below, %not_low, %highest : f32
  %distance = arith.subf %within, %lowest : f32
  %codes = arith.mulf %distance, %inverse : f32
  %floor = math.floor %codes : f32
  %rest = arith.subf %codes, %floor : f32
  %is_up = arith.cmpf oge, %rest, 0.5 : f32
  %more = arith.addf %floor, 1.0 : f32
  %code = arith.select %is_up, %more, %floor : f32
  %real = arith.mulf %code, %scale : f32
  %result = arith.addf %real, %lowest : f32
}

func.func private @floor_quotient_f32(%x: f32, %y: f32) -> f32 {
  %quotient = arith.divf %x, %y : f32
  %result = math.floor %quotient : f32
}

func.func private @floor_rest_f32(%x: f32, %y: f32) -> f32 {
  %rest = func.call @fmodf(%x, %y) : (f32, f32) -> f32
  %left = arith.cmpf olt, %rest, 0.0 : f32
  %right = arith.cmpf olt, %y, 0.0 : f32
  %is_some = arith.cmpf une, %rest, 0.0 : f32
  %differs = arith.xori %left, %right : i1
  %is_cut_up = arith.andi %differs, %is_some : i1
  %raised = arith.addf %rest, %y : f32
  %result = arith.select %is_cut_up, %raised, %rest : f32
}

// ---------------------------------------------------------------- boxes

// The area of a box with the corners (y1, x1) and (y2, x2), the first one below
func.func private @box_area(%y1: f32, %x1: f32, %y2: f32, %x2: f32) -> f32 {
  %height = arith.subf %y2, %y1 : f32
  %width = arith.subf %x2, %x1 : f32
  %result = arith.mulf %height, %width : f32
}

// How long two ranges lie over each other: F(min(y2, v2) - max(y1, v1)), or 0
func.func private @common_length(%y1: f32, %y2: f32, %v1: f32, %v2: f32) -> f32 {
  %starts_later = arith.cmpf olt, %y1, %v1 : f32
  %start = arith.select %starts_later, %v1, %y1 : f32
  %ends_earlier = arith.cmpf olt, %v2, %y2 : f32
  %end = arith.select %ends_earlier, %v2, %y2 : f32
  %length = arith.subf %end, %start : f32
  %is_apart = arith.cmpf olt, %length, 0.0 : f32
  %result = arith.select %is_apart, 0.0, %length : f32
}

// detection_postprocess.cc, ComputeIntersectionOverUnion; a box without an area overlaps none
func.func private @overlap(
    %y1: f32, %x1: f32, %y2: f32, %x2: f32, %v1: f32, %u1: f32, %v2: f32, %u2: f32) -> f32 {
  %area = func.call @box_area(%y1, %x1, %y2, %x2) : (f32, f32, f32, f32) -> f32
  %other = func.call @box_area(%v1, %u1, %v2, %u2) : (f32, f32, f32, f32) -> f32
  %is_empty = arith.cmpf ole, %area, 0.0 : f32
  %other_is_empty = arith.cmpf ole, %other, 0.0 : f32
  %none = arith.ori %is_empty, %other_is_empty : i1
  %height = func.call @common_length(%y1, %y2, %v1, %v2) : (f32, f32, f32, f32) -> f32
  %width = func.call @common_length(%x1, %x2, %u1, %u2) : (f32, f32, f32, f32) -> f32
  %common = arith.mulf %height, %width : f32
  %both = arith.addf %area, %other : f32
  %union = arith.subf %both, %common : f32
  %ratio = arith.divf %common, %union : f32
  %result = arith.select %none, 0.0, %ratio : f32
}

// detection_postprocess.cc, DecodeCenterSizeBoxes: a coordinate of a box's center, in float64
func.func private @box_center(%x: f32, %scale: f32, %size: f32, %anchor: f32) -> f32 {
  %wide = arith.extf %x : f32 to f64
  %wide_scale = arith.extf %scale : f32 to f64
  %quotient = arith.divf %wide, %wide_scale : f64
  %wide_size = arith.extf %size : f32 to f64
  %moved = arith.mulf %quotient, %wide_size : f64
  %wide_anchor = arith.extf %anchor : f32 to f64
  %center = arith.addf %moved, %wide_anchor : f64
  %result = arith.truncf %center : f64 to f32
}

// Half of a box's size, of an anchor above 0: beyond e^700 or below e^-700 it is infinite or 0
func.func private @half_box(%x: f32, %scale: f32, %size: f32) -> f32 {
  %wide = arith.extf %x : f32 to f64
  %wide_scale = arith.extf %scale : f32 to f64
  %quotient = arith.divf %wide, %wide_scale : f64
  %is_low = arith.cmpf olt, %quotient, -700.0 : f64
  %not_low = arith.select %is_low, -700.0, %quotient : f64
  %is_high = arith.cmpf ogt, %not_low, 700.0 : f64
  %bounded = arith.select %is_high, 700.0, %not_low : f64
  %power = func.call @wide_exp(%bounded) : (f64) -> f64
  %half = arith.mulf 0.5, %power : f64
  %wide_size = arith.extf %size : f32 to f64
  %scaled = arith.mulf %half, %wide_size : f64
  %result = arith.truncf %scaled : f64 to f32
}

// ---------------------------------------------------------------- spectra

// rfft2d.cc and Ooura's fft2d (fftsg.c): a sum of two numbers that were rounded as products; a
// factor of 1 or -1 changes no number
func.func private @sum_of_products(%x: f64, %a: f64, %y: f64, %b: f64) -> f64 {
  %left = arith.mulf %a, %x : f64
  %right = arith.mulf %b, %y : f64
  %result = arith.addf %left, %right : f64
}

// A number of complex64 as 64 bits, the real part in the lower ones
func.func private @complex_of(%real: f64, %imaginary: f64) -> i64 {
  %low = arith.truncf %real : f64 to f32
  %high = arith.truncf %imaginary : f64 to f32
  %low_bits = arith.bitcast %low : f32 to i32
  %high_bits = arith.bitcast %high : f32 to i32
  %low_word = arith.extui %low_bits : i32 to i64
  %high_word = arith.extui %high_bits : i32 to i64
  %shifted = arith.shli %high_word, 32 : i64
  %result = arith.ori %shifted, %low_word : i64
}

func.func private @real_part(%number: i64) -> f32 {
  %bits = arith.trunci %number : i64 to i32
  %result = arith.bitcast %bits : i32 to f32
}

func.func private @imaginary_part(%number: i64) -> f32 {
  %shifted = arith.shrui %number, 32 : i64
  %bits = arith.trunci %shifted : i64 to i32
  %result = arith.bitcast %bits : i32 to f32
}

// complex_support.cc, std::abs: hypotf of glibc, whose squares are exact in float64; an infinite
// part makes it infinite, whatever the other is
func.func private @magnitude(%number: i64) -> f32 {
  %real = func.call @real_part(%number) : (i64) -> f32
  %imaginary = func.call @imaginary_part(%number) : (i64) -> f32
  %x = arith.extf %real : f32 to f64
  %y = arith.extf %imaginary : f32 to f64
  %square = arith.mulf %x, %x : f64
  %other = arith.mulf %y, %y : f64
  %sum = arith.addf %square, %other : f64
  %root = math.sqrt %sum : f64
  %length = arith.truncf %root : f64 to f32
  %is_infinite = arith.cmpf oeq, %square, 0x7FF0000000000000 : f64
  %other_is_infinite = arith.cmpf oeq, %other, 0x7FF0000000000000 : f64
  %is_beyond = arith.ori %is_infinite, %other_is_infinite : i1
  %result = arith.select %is_beyond, 0x7F800000, %length : f32
}

// ---------------------------------------------------------------- integers

// Quotient, cut toward 0, and rest of integers of up to 32 bits: by the divisor's magnitude, so
// that no division overflows; 0 counts as 1.
func.func private @divided(%x: i64, %y: i64) -> (i64, i64) {
  %size = math.absi %y : i64
  %magnitude = arith.maxsi %size, 1 : i64
  %of_size = arith.divsi %x, %magnitude : i64
  %rest = arith.remsi %x, %magnitude : i64
  %is_negative = arith.cmpi slt, %y, 0 : i64
  %opposite = arith.subi 0, %of_size : i64
  %quotient = arith.select %is_negative, %opposite, %of_size : i64
  func.return %quotient, %rest : i64, i64
}

// Whether there is a rest, of another sign than the divisor.
func.func private @is_cut_up(%rest: i64, %divisor: i64) -> i1 {
  %left = arith.cmpi slt, %rest, 0 : i64
  %right = arith.cmpi slt, %divisor, 0 : i64
  %is_some = arith.cmpi ne, %rest, 0 : i64
  %differs = arith.xori %left, %right : i1
  %result = arith.andi %differs, %is_some : i1
}

func.func private @cut_quotient(%x: i64, %y: i64) -> i64 {
  %quotient, %rest = func.call @divided(%x, %y) : (i64, i64) -> (i64, i64)
  func.return %quotient : i64
}

func.func private @floor_quotient(%x: i64, %y: i64) -> i64 {
  %quotient, %rest = func.call @divided(%x, %y) : (i64, i64) -> (i64, i64)
  %is_cut_up = func.call @is_cut_up(%rest, %y) : (i64, i64) -> i1
  %below = arith.subi %quotient, 1 : i64
  %result = arith.select %is_cut_up, %below, %quotient : i64
}

// What a quotient rounded down leaves over, which has the divisor's sign.
func.func private @floor_rest(%x: i64, %y: i64) -> i64 {
  %quotient, %rest = func.call @divided(%x, %y) : (i64, i64) -> (i64, i64)
  %result = func.call @with_sign(%rest, %y) : (i64, i64) -> i64
}

// floor_rest on 64 bits, where the least divisor has no magnitude. By -1, where a division may
// overflow, it is the rest by 1.
func.func private @floor_rest_i64(%x: i64, %y: i64) -> i64 {
  %not_below = arith.maxsi %y, 1 : i64
  %above = arith.remsi %x, %not_below : i64
  %not_above = arith.minsi %y, -2 : i64
  %below = arith.remsi %x, %not_above : i64
  %is_low = arith.cmpi sle, %y, -2 : i64
  %rest = arith.select %is_low, %below, %above : i64
  %result = func.call @with_sign(%rest, %y) : (i64, i64) -> i64
}

func.func private @with_sign(%rest: i64, %y: i64) -> i64 {
  %is_cut_up = func.call @is_cut_up(%rest, %y) : (i64, i64) -> i1
  %raised = arith.addi %rest, %y : i64
  %result = arith.select %is_cut_up, %raised, %rest : i64
}

// Powers of numbers of 32 bits, converted from a double by x86: the least number where they don't
// fit. A negative exponent counts as 0.
func.func private @power(%x: i64, %y: i64) -> i64 {
  %exponent = arith.maxsi %y, 0 : i64
  %base = math.absi %x : i64
  %r0, %b0 = func.call @power_step(1, %base, %exponent, 1) : (i64, i64, i64, i64) -> (i64, i64)
  %r1, %b1 = func.call @power_step(%r0, %b0, %exponent, 2) : (i64, i64, i64, i64) -> (i64, i64)
  %r2, %b2 = func.call @power_step(%r1, %b1, %exponent, 4) : (i64, i64, i64, i64) -> (i64, i64)
  %r3, %b3 = func.call @power_step(%r2, %b2, %exponent, 8) : (i64, i64, i64, i64) -> (i64, i64)
  %r4, %b4 = func.call @power_step(%r3, %b3, %exponent, 16) : (i64, i64, i64, i64) -> (i64, i64)
  // 0, 1 and what doesn't fit
  %is_large = arith.cmpi sge, %exponent, 32 : i64
  %size = arith.select %is_large, %b4, %r4 : i64
  %is_below = arith.cmpi slt, %x, 0 : i64
  %last_bit = arith.andi %exponent, 1 : i64
  %is_odd = arith.cmpi ne, %last_bit, 0 : i64
  %is_negative = arith.andi %is_below, %is_odd : i1
  %opposite = arith.subi 0, %size : i64
  %result = arith.select %is_negative, %opposite, %size : i64
}

// The product by a base where the exponent has a bit, and the base's square; up to 2^31.
func.func private @power_step(%product: i64, %base: i64, %exponent: i64, %bit: i64) -> (i64, i64) {
  %masked = arith.andi %exponent, %bit : i64
  %has_bit = arith.cmpi ne, %masked, 0 : i64
  %any_product = arith.muli %product, %base : i64
  %bounded = arith.minsi %any_product, 2147483648 : i64
  %next = arith.select %has_bit, %bounded, %product : i64
  %any_square = arith.muli %base, %base : i64
  %square = arith.minsi %any_square, 2147483648 : i64
  func.return %next, %square : i64, i64
}

}
