// The steps of which the arithmetic of an unknown device is put together (`family.py` says
// which follow each other). A contract that is written for it has those that it takes, with
// words after a dollar sign filled in. F(...) is one float32 rounding; x, w, y are the scales
// of input, weight and output.

// ---------------------------------------------------------------- the bias

// rne(F(b / F(x w)))
func.func @quantize_bias(%real_bias: f32, %input_scale: f32, %weight_scale: f32) -> i32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.divf %real_bias, %step : f32
  %result = fixed.convert %steps {rounding = half_even} : f32 to i32
  return %result : i32
}

// F(b F(x w))
func.func @dequantize_bias(%bias: i32, %input_scale: f32, %weight_scale: f32) -> f32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.sitofp %bias : i32 to f32
  %result = arith.mulf %steps, %step : f32
  return %result : f32
}

// ---------------------------------------------------------------- the accumulator

func.func private @hold_in_32_bits(%accumulator: i32) -> i32 {
  return %accumulator : i32
}

// The accumulator has ${bits} bits, and wraps.
func.func private @wrap_to_${bits}_bits(%accumulator: i32) -> i32 {
  %places = arith.constant ${rest} : i32
  %left = arith.shli %accumulator, %places : i32
  %result = arith.shrsi %left, %places : i32
  return %result : i32
}

// The accumulator has ${bits} bits, and saturates.
func.func private @saturate_to_${bits}_bits(%accumulator: i32) -> i32 {
  %least = arith.constant ${least} : i32
  %most = arith.constant ${most} : i32
  %above = arith.maxsi %accumulator, %least : i32
  %result = arith.minsi %above, %most : i32
  return %result : i32
}

// ---------------------------------------------------------------- the scales

// A step of the sum: F(x w)
func.func private @sum_step(%input_scale: f32, %weight_scale: f32) -> f32 {
  %result = arith.mulf %input_scale, %weight_scale : f32
  return %result : f32
}

// Scales are kept as reciprocals: F(1 / F(F(1 / x) F(1 / w)))
func.func private @sum_step_of_reciprocals(%input_scale: f32, %weight_scale: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %x = arith.divf %one, %input_scale : f32
  %w = arith.divf %one, %weight_scale : f32
  %product = arith.mulf %x, %w : f32
  %result = arith.divf %one, %product : f32
  return %result : f32
}

// Scales are kept as ranges, of the ends F((least - z) s) and F((most - z) s) for the codes'
// ends. The input's step is F(F(high - low) / 255).
func.func private @sum_step_of_ranges(%input_scale: f32, %input_zero_point: i32, %input_unsigned: i1, %weight_scale: f32) -> f32 {
  %zero = arith.constant 0 : i32
  %signed_least = arith.constant -128 : i32
  %least = arith.select %input_unsigned, %zero, %signed_least : i32
  %low_steps = arith.subi %least, %input_zero_point : i32
  %codes = arith.constant 255 : i32
  %high_steps = arith.addi %low_steps, %codes : i32
  %low_real = arith.sitofp %low_steps : i32 to f32
  %high_real = arith.sitofp %high_steps : i32 to f32
  %low = arith.mulf %low_real, %input_scale : f32
  %high = arith.mulf %high_real, %input_scale : f32
  %width = arith.subf %high, %low : f32
  %steps = arith.constant 255.0 : f32
  %step = arith.divf %width, %steps : f32
  %result = arith.mulf %weight_scale, %step : f32
  return %result : f32
}

// The output's scale, its reciprocal, its zero point, and what is subtracted from a code.
func.func private @output_steps(%output_scale: f32, %output_zero_point: i32) -> (f32, f32, f32, i32) {
  %one = arith.constant 1.0 : f32
  %inverse = arith.divf %one, %output_scale : f32
  %zero = arith.sitofp %output_zero_point : i32 to f32
  %offset = arith.constant 0 : i32
  return %output_scale, %inverse, %zero, %offset : f32, f32, f32, i32
}

// Of a range: F(F(high - low) / 255), F(255 / F(high - low)), F(F(-low 255) / F(high - low)).
// Codes are uint8: 128 above an int8.
func.func private @output_steps_of_ranges(%output_scale: f32, %output_zero_point: i32, %output_unsigned: i1) -> (f32, f32, f32, i32) {
  %none = arith.constant 0 : i32
  %half = arith.constant 128 : i32
  %offset = arith.select %output_unsigned, %none, %half : i32
  %point = arith.addi %output_zero_point, %offset : i32
  %low_steps = arith.subi %none, %point : i32
  %codes = arith.constant 255 : i32
  %high_steps = arith.addi %low_steps, %codes : i32
  %low_real = arith.sitofp %low_steps : i32 to f32
  %high_real = arith.sitofp %high_steps : i32 to f32
  %low = arith.mulf %low_real, %output_scale : f32
  %high = arith.mulf %high_real, %output_scale : f32
  %width = arith.subf %high, %low : f32
  %steps = arith.constant 255.0 : f32
  %scale = arith.divf %width, %steps : f32
  %inverse = arith.divf %steps, %width : f32
  %negated = arith.negf %low : f32
  %reach = arith.mulf %negated, %steps : f32
  %zero = arith.divf %reach, %width : f32
  return %scale, %inverse, %zero, %offset : f32, f32, f32, i32
}

// ---------------------------------------------------------------- the ratio of the scales

// F(F(x w) / y)
func.func private @ratio_f32_product_first(%step: f32, %scale: f32) -> f64 {
  %ratio = arith.divf %step, %scale : f32
  %result = arith.extf %ratio : f32 to f64
  return %result : f64
}

// F(x F(w / y))
func.func private @ratio_f32_weight_first(%input_scale: f32, %weight_scale: f32, %output_scale: f32) -> f64 {
  %quotient = arith.divf %weight_scale, %output_scale : f32
  %ratio = arith.mulf %input_scale, %quotient : f32
  %result = arith.extf %ratio : f32 to f64
  return %result : f64
}

// F(F(x / y) w)
func.func private @ratio_f32_input_first(%input_scale: f32, %weight_scale: f32, %output_scale: f32) -> f64 {
  %quotient = arith.divf %input_scale, %output_scale : f32
  %ratio = arith.mulf %quotient, %weight_scale : f32
  %result = arith.extf %ratio : f32 to f64
  return %result : f64
}

// F(F(x w) F(1 / y))
func.func private @ratio_f32_reciprocal(%step: f32, %inverse: f32) -> f64 {
  %ratio = arith.mulf %step, %inverse : f32
  %result = arith.extf %ratio : f32 to f64
  return %result : f64
}

// x w / y in float64
func.func private @ratio_f64(%input_scale: f32, %weight_scale: f32, %output_scale: f32) -> f64 {
  %x = arith.extf %input_scale : f32 to f64
  %w = arith.extf %weight_scale : f32 to f64
  %y = arith.extf %output_scale : f32 to f64
  %product = arith.mulf %x, %w : f64
  %result = arith.divf %product, %y : f64
  return %result : f64
}

// F(x w) / y in float64
func.func private @ratio_f64_of_f32_product(%step: f32, %output_scale: f32) -> f64 {
  %wide = arith.extf %step : f32 to f64
  %y = arith.extf %output_scale : f32 to f64
  %result = arith.divf %wide, %y : f64
  return %result : f64
}

// ---------------------------------------------------------------- floating point

func.func private @sum_f32(%held: i32) -> f32 {
  %result = arith.sitofp %held : i32 to f32
  return %result : f32
}

func.func private @sum_f64(%held: i32) -> f64 {
  %result = arith.sitofp %held : i32 to f64
  return %result : f64
}

// F(F(sum) + F(b / F(x w)))
func.func private @sum_and_bias_f32(%held: i32, %real_bias: f32, %input_scale: f32, %weight_scale: f32) -> f32 {
  %sum = arith.sitofp %held : i32 to f32
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.divf %real_bias, %step : f32
  %result = arith.addf %sum, %steps : f32
  return %result : f32
}

// sum + b / (x w) in float64
func.func private @sum_and_bias_f64(%held: i32, %real_bias: f32, %input_scale: f32, %weight_scale: f32) -> f64 {
  %sum = arith.sitofp %held : i32 to f64
  %x = arith.extf %input_scale : f32 to f64
  %w = arith.extf %weight_scale : f32 to f64
  %bias = arith.extf %real_bias : f32 to f64
  %step = arith.mulf %x, %w : f64
  %steps = arith.divf %bias, %step : f64
  %result = arith.addf %sum, %steps : f64
  return %result : f64
}

// F(sum ratio)
func.func private @multiply_f32(%sum: f32, %ratio: f64) -> f32 {
  %factor = arith.truncf %ratio : f64 to f32
  %result = arith.mulf %sum, %factor : f32
  return %result : f32
}

func.func private @multiply_f64(%sum: f64, %ratio: f64) -> f64 {
  %result = arith.mulf %sum, %ratio : f64
  return %result : f64
}

// F(sum F(x w))
func.func private @dequantize_f32(%sum: f32, %step: f32) -> f32 {
  %result = arith.mulf %sum, %step : f32
  return %result : f32
}

func.func private @dequantize_f64(%sum: f64, %input_scale: f32, %weight_scale: f32) -> f64 {
  %x = arith.extf %input_scale : f32 to f64
  %w = arith.extf %weight_scale : f32 to f64
  %step = arith.mulf %x, %w : f64
  %result = arith.mulf %sum, %step : f64
  return %result : f64
}

// F(sum F(x w) + b): one rounding
func.func private @dequantize_with_bias_f32(%sum: f32, %step: f32, %real_bias: f32) -> f32 {
  %result = math.fma %sum, %step, %real_bias : f32
  return %result : f32
}

func.func private @add_bias_f32(%dequantized: f32, %real_bias: f32) -> f32 {
  %result = arith.addf %dequantized, %real_bias : f32
  return %result : f32
}

func.func private @add_bias_f64(%dequantized: f64, %real_bias: f32) -> f64 {
  %bias = arith.extf %real_bias : f32 to f64
  %result = arith.addf %dequantized, %bias : f64
  return %result : f64
}

// F(real + F(b / y))
func.func private @add_quotient_f32(%real: f32, %real_bias: f32, %output_scale: f32) -> f32 {
  %bias = arith.divf %real_bias, %output_scale : f32
  %result = arith.addf %real, %bias : f32
  return %result : f32
}

func.func private @add_quotient_f64(%real: f64, %real_bias: f32, %output_scale: f32) -> f64 {
  %b = arith.extf %real_bias : f32 to f64
  %y = arith.extf %output_scale : f32 to f64
  %bias = arith.divf %b, %y : f64
  %result = arith.addf %real, %bias : f64
  return %result : f64
}

// F(real / y)
func.func private @divide_f32(%dequantized: f32, %scale: f32) -> f32 {
  %result = arith.divf %dequantized, %scale : f32
  return %result : f32
}

func.func private @divide_f64(%dequantized: f64, %output_scale: f32) -> f64 {
  %y = arith.extf %output_scale : f32 to f64
  %result = arith.divf %dequantized, %y : f64
  return %result : f64
}

// F(real F(1 / y))
func.func private @reciprocal_f32(%dequantized: f32, %inverse: f32) -> f32 {
  %result = arith.mulf %dequantized, %inverse : f32
  return %result : f32
}

// F(real F(1 / y) + z): one rounding
func.func private @reciprocal_and_zero_point_f32(%dequantized: f32, %inverse: f32, %zero: f32) -> f32 {
  %result = math.fma %dequantized, %inverse, %zero : f32
  return %result : f32
}

// F(sum ratio + z): one rounding
func.func private @multiply_and_zero_point_f32(%sum: f32, %ratio: f64, %zero: f32) -> f32 {
  %factor = arith.truncf %ratio : f64 to f32
  %result = math.fma %sum, %factor, %zero : f32
  return %result : f32
}

func.func private @reciprocal_f64(%dequantized: f64, %output_scale: f32) -> f64 {
  %one = arith.constant 1.0 : f64
  %y = arith.extf %output_scale : f32 to f64
  %reciprocal = arith.divf %one, %y : f64
  %result = arith.mulf %dequantized, %reciprocal : f64
  return %result : f64
}

func.func private @zero_point_inside_f32(%real: f32, %zero: f32) -> f32 {
  %result = arith.addf %real, %zero : f32
  return %result : f32
}

func.func private @zero_point_inside_f64(%real: f64, %output_zero_point: i32) -> f64 {
  %z = arith.sitofp %output_zero_point : i32 to f64
  %result = arith.addf %real, %z : f64
  return %result : f64
}

func.func private @round_f32_${rounding}(%real: f32) -> i32 {
  %result = fixed.convert %real {rounding = ${rounding}} : f32 to i32
  return %result : i32
}

func.func private @round_f64_${rounding}(%real: f64) -> i32 {
  %result = fixed.convert %real {rounding = ${rounding}} : f64 to i32
  return %result : i32
}

// ---------------------------------------------------------------- fixed point

// ratio = m 2^-shift with m in [2^(${width} - 2), 2^(${width} - 1)]: an integer of ${width} bits,
// which a shift to the left makes larger.
func.func private @multiplier_${width}_bits_${multiplier}(%ratio: f64) -> (i64, i64) {
  %bits = arith.bitcast %ratio : f64 to i64
  %fraction_mask = arith.constant 4503599627370495 : i64
  %fraction = arith.andi %bits, %fraction_mask : i64
  %hidden_bit = arith.constant 4503599627370496 : i64
  %mantissa = arith.ori %fraction, %hidden_bit : i64
  %dropped = arith.constant ${dropped} : i64
  %multiplier = fixed.shift_right %mantissa, %dropped {rounding = ${multiplier}} : i64
  %c52 = arith.constant 52 : i64
  %exponent = arith.shrui %bits, %c52 : i64
  // 1023 + width - 2
  %places = arith.constant ${places} : i64
  %shift = arith.subi %places, %exponent : i64
  %least = arith.constant ${least} : i64
  %most = arith.constant 62 : i64
  %not_low = arith.cmpi sge, %shift, %least : i64
  %not_far = arith.cmpi sle, %shift, %most : i64
  %legal = arith.andi %not_low, %not_far : i1
  cf.assert %legal, "the ratio of the scales is too large or too small for a multiplier of ${width} bits"
  %zero = arith.constant 0 : i64
  %right = arith.maxsi %shift, %zero : i64
  %left = arith.subi %right, %shift : i64
  %shifted = arith.shli %multiplier, %left : i64
  return %shifted, %right : i64, i64
}

// The nearest power of two in the logarithm: the larger one above a mantissa of sqrt(2).
func.func private @nearest_power_of_two(%ratio: f64) -> (i64, i64) {
  %bits = arith.bitcast %ratio : f64 to i64
  %fraction_mask = arith.constant 4503599627370495 : i64
  %fraction = arith.andi %bits, %fraction_mask : i64
  // 2^52 (sqrt(2) - 1)
  %last = arith.constant 1865452045155276 : i64
  %is_above = arith.cmpi sgt, %fraction, %last : i64
  %more = arith.extui %is_above : i1 to i64
  %c52 = arith.constant 52 : i64
  %exponent = arith.shrui %bits, %c52 : i64
  %nearest = arith.addi %exponent, %more : i64
  %places = arith.constant 1023 : i64
  %shift = arith.subi %places, %nearest : i64
  %least = arith.constant -30 : i64
  %most = arith.constant 62 : i64
  %not_low = arith.cmpi sge, %shift, %least : i64
  %not_far = arith.cmpi sle, %shift, %most : i64
  %legal = arith.andi %not_low, %not_far : i1
  cf.assert %legal, "the ratio of the scales is too large or too small for a power of two"
  %zero = arith.constant 0 : i64
  %right = arith.maxsi %shift, %zero : i64
  %left = arith.subi %right, %shift : i64
  %one = arith.constant 1 : i64
  %multiplier = arith.shli %one, %left : i64
  return %multiplier, %right : i64, i64
}

func.func private @shift_once_${rounding}(%held: i32, %multiplier: i64, %shift: i64) -> i32 {
  %wide = arith.extsi %held : i32 to i64
  %product = arith.muli %wide, %multiplier : i64
  %scaled = fixed.shift_right %product, %shift {rounding = ${rounding}} : i64
  %result = fixed.saturate %scaled : i64 to i32
  return %result : i32
}

// The zero point is added before the shift.
func.func private @shift_once_inside_${rounding}(%held: i32, %multiplier: i64, %shift: i64, %output_zero_point: i32) -> i32 {
  %most = arith.constant 54 : i64
  %not_far = arith.cmpi sle, %shift, %most : i64
  cf.assert %not_far, "the ratio of the scales is too small for a zero point before the shift"
  %wide = arith.extsi %held : i32 to i64
  %product = arith.muli %wide, %multiplier : i64
  %z = arith.extsi %output_zero_point : i32 to i64
  %steps = arith.shli %z, %shift : i64
  %sum = arith.addi %product, %steps : i64
  %scaled = fixed.shift_right %sum, %shift {rounding = ${rounding}} : i64
  %result = fixed.saturate %scaled : i64 to i32
  return %result : i32
}

// The high half of the product, rounded, and then what is left of the shift. One to the left
// comes first, and wraps.
func.func private @shift_twice_${width}_bits_${first}_${rounding}(%held: i32, %multiplier: i64, %shift: i64) -> i32 {
  %high_places = arith.constant ${high} : i64
  %zero = arith.constant 0 : i64
  %rest = arith.subi %shift, %high_places : i64
  %right = arith.maxsi %rest, %zero : i64
  %negated = arith.subi %zero, %rest : i64
  %left = arith.maxsi %negated, %zero : i64
  %left_places = arith.trunci %left : i64 to i32
  %shifted = arith.shli %held, %left_places : i32
  %wide = arith.extsi %shifted : i32 to i64
  %product = arith.muli %wide, %multiplier : i64
  %high = fixed.shift_right %product, %high_places {rounding = ${first}} : i64
  %scaled = fixed.shift_right %high, %right {rounding = ${rounding}} : i64
  %result = fixed.saturate %scaled : i64 to i32
  return %result : i32
}

// ---------------------------------------------------------------- storing

func.func private @from_code(%rounded: i32, %offset: i32) -> i32 {
  %result = arith.subi %rounded, %offset : i32
  return %result : i32
}

func.func private @clamp_rounded(%rounded: i32, %output_min: i32, %output_max: i32) -> i32 {
  %above = arith.maxsi %rounded, %output_min : i32
  %result = arith.minsi %above, %output_max : i32
  return %result : i32
}

func.func private @add_zero_point_and_clamp(%rounded: i32, %output_zero_point: i32, %output_min: i32, %output_max: i32) -> i32 {
  %low = arith.subi %output_min, %output_zero_point : i32
  %high = arith.subi %output_max, %output_zero_point : i32
  %above = arith.maxsi %rounded, %low : i32
  %clamped = arith.minsi %above, %high : i32
  %result = arith.addi %clamped, %output_zero_point : i32
  return %result : i32
}

// What is rounded is an 8-bit integer before the zero point is added.
func.func private @saturate_and_add_zero_point(%rounded: i32, %output_zero_point: i32, %output_min: i32, %output_max: i32) -> i32 {
  %least = arith.constant -128 : i32
  %most = arith.constant 127 : i32
  %above = arith.maxsi %rounded, %least : i32
  %byte = arith.minsi %above, %most : i32
  %offset = arith.addi %byte, %output_zero_point : i32
  %not_low = arith.maxsi %offset, %output_min : i32
  %result = arith.minsi %not_low, %output_max : i32
  return %result : i32
}

// As an 8-bit integer that has no -128.
func.func private @saturate_to_127_and_add_zero_point(%rounded: i32, %output_zero_point: i32, %output_min: i32, %output_max: i32) -> i32 {
  %least = arith.constant -127 : i32
  %most = arith.constant 127 : i32
  %above = arith.maxsi %rounded, %least : i32
  %byte = arith.minsi %above, %most : i32
  %offset = arith.addi %byte, %output_zero_point : i32
  %not_low = arith.maxsi %offset, %output_min : i32
  %result = arith.minsi %not_low, %output_max : i32
  return %result : i32
}
