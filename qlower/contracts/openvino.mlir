// The arithmetic of OpenVINO's CPU plug-in on x86 with AVX-512 VNNI (OpenVINO 2026.4.1), for
// models with FakeQuantize, such as its reader makes of TFLite files and NNCF writes.
// # Formula
// Scales are kept as ranges: lo = F((low - z) s), hi = F((high - z) s) for the codes' ends; d =
// F(F(hi - lo) / 255), i = F(255 / F(hi - lo)), h = F(F(-lo 255) / F(hi - lo)), of the input x or
// the output y; w = F(s_w d_x). Codes are uint8 here; a is ReLU, or nothing.
// - conv2d, depthwise_conv2d: `y = rne(fma(a(F(F(acc w) + b)), i_y, h_y))`
// - linear: n = F(sum(q w) - t), t the sum of F(h_x w) in float32, one weight after the other; of
//   a zero point 0 or 128 n = F(acc). With ReLU, unless y has zero point 0, as conv2d of n. Else
//   `y = rne(F(F(n F(w i_y)) + F(F(b i_y) + h_y)))`, but F(F(n w) i_y) with t and one scale
// - avg_pool2d: il = F(F(lo_y / d_x) + h_x), ih likewise; `y = rne(fma(F(sum F(1 / n)),
//   F(255 / F(ih - il)), F(F(-il 255) / F(ih - il))))`
// - mean: as avg_pool2d, but F(sum / n)
// - quantize: `y = rne(F(F(x i_y) + F(-lo i_y)))`
// - dequantize: `F(F(q d) + lo)`
// # Ties
// Half to even, with the zero point inside: its parity decides where a tie goes.
// # Operands
// float32 as written. h is the zero point only nearly: a range in whole steps is rare.
// # Quirks
// - int8 codes run as the uint8 codes 128 above, so with the same parity.
// - A linear layer with one scale, without t, for which F(w i_y) is 1 multiplies by w alone: a
//   fault of oneDNN's attributes, which keep the scale set before (250 layers, 1,024,000 outputs
//   as here, up to 255 from the sums themselves).
// - A mean is over rows and columns.
// - Additions, multiplications and functions are fused into the convolution before them, in
//   float32 between quantizations that differ from graph to graph: such operations have no
//   rule here. What a convolution gives to an addition is clamped to the range of the
//   quantization between them, but not rounded: none of 393,216 outputs of six such layers
//   differs from the rounded real sum, and 18,379 do if the codes between are summed.
// # Not matched
// - Activations but ReLU, and pools that leave padding out.
// - Refused: pools and means where il or ih is within 1e-6 of a whole number that it isn't (one
//   such range in 175 was taken as whole); linear layers whose biases are all the same, or none,
//   or that have one output, for these become part of the output's range; and those with an
//   output of zero point 128, which is stored as int8 if another linear layer follows, and then
//   has h_y subtracted again, or for ReLU `rne(F(a F(1 / F(1 / i_y))))`.
// - Linear layers whose biases differ by less than 5e-5 steps, or that have scales of weights
//   whose products with d_x are the same.
// - Weights with zero points, CPUs with AMX, several threads: not tried.
// # Checked against
// OpenVINO 2026.4.1 live, `tests/contracts/test_phone_systems_live.py`: 300,000 outputs of drawn
// layers of each rule but dequantize, and 2,359,296 near ties of each with weights, no mismatch;
// mutants with one step changed differ. MLPerf Tiny's autoencoder of ten linear layers, by its
// reader of TFLite files: 0 of 960,000 outputs differ, and 275 from `tflite`.
// # Sources
// Files of openvinotoolkit/openvino:
// - src/plugins/intel_cpu/src/nodes/fake_quantize.cpp, dnnl_postops_composer.cpp
// - src/common/low_precision_transformations/src/fake_quantize.cpp

module attributes {contract.family = "OpenVINO", contract.base = "_steps",
    contract.summary = "OpenVINO (VNNI): scales as ranges, one FMA with the zero point inside"} {

// The ends of a range of 256 codes of a scale.
func.func private @range(%scale: f32, %zero_point: i32, %unsigned: i1) -> (f32, f32) {
  %least = arith.select %unsigned, 0, -128 : i32
  %low_steps = arith.subi %least, %zero_point : i32
  %high_steps = arith.addi %low_steps, 255 : i32
  %low_real = arith.sitofp %low_steps : i32 to f32
  %high_real = arith.sitofp %high_steps : i32 to f32
  %low = arith.mulf %low_real, %scale : f32
  %high = arith.mulf %high_real, %scale : f32
  return %low, %high : f32, f32
}

func.func private @input_range() -> (f32, f32) {
  %low, %high = func.call @range(%input_scale, %input_zero_point, %input_unsigned) : (f32, i32, i1) -> (f32, f32)
  return %low, %high : f32, f32
}

func.func private @output_range() -> (f32, f32) {
  %low, %high = func.call @range(%output_scale, %output_zero_point, %output_unsigned) : (f32, i32, i1) -> (f32, f32)
  return %low, %high : f32, f32
}

// FakeQuantize's inputScale and inputShift of a range.
func.func private @scale_and_shift(%low: f32, %high: f32) -> (f32, f32) {
  %width = arith.subf %high, %low : f32
  %scale = arith.divf 255.0, %width : f32
  %negated = arith.negf %low : f32
  %steps = arith.mulf %negated, 255.0 : f32
  %shift = arith.divf %steps, %width : f32
  return %scale, %shift : f32, f32
}

// The step of a range: F(F(hi - lo) / 255)
func.func private @step(%low: f32, %high: f32) -> f32 {
  %width = arith.subf %high, %low : f32
  %result = arith.divf %width, 255.0 : f32
}

// Of a real number in steps: a code, of int8 128 below that of uint8.
func.func private @store(%steps: f32) -> i32 {
  %offset = arith.select %output_unsigned, 0, 128 : i32
  %low = arith.addi %storage_min, %offset : i32
  %high = arith.addi %storage_max, %offset : i32
  %stored = func.call @store_with_zero_point_inside(%steps, %low, %high) : (f32, i32, i32) -> i32
  %result = arith.subi %stored, %offset : i32
}

func.func private @require_relu(%activation_max: f32) {
  %infinity = arith.constant 0x7F800000 : f32
  %open = arith.cmpf oeq, %activation_max, %infinity : f32
  %legal = arith.andi %open, %weights_symmetric : i1
  cf.assert %legal, "an activation other than ReLU, or weights with a zero point, which OpenVINO computes in other ways"
}

// F(s_w d_x)
func.func private @weight_step() -> f32 {
  %low, %high = func.call @input_range() : () -> (f32, f32)
  %x = func.call @step(%low, %high) : (f32, f32) -> f32
  %result = arith.mulf %weight_scale, %x : f32
}

func.func private @fused(%sum: f32) -> i32 {
  func.call @require_relu(%activation_max) : (f32) -> ()
  %scaled = arith.mulf %sum, @weight_step : f32
  %biased = arith.addf %scaled, %real_bias : f32
  %active = arith.maximumf %biased, %activation_min : f32
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %scale, %shift = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %steps = math.fma %active, %scale, %shift : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

func.func @conv2d(%accumulator: i32) -> i32 attributes {
    contract.product = ["exact", "saturating_pairs_flat", "saturating_pairs_pixel"]} {
  %sum = arith.sitofp %accumulator : i32 to f32
  %result = func.call @fused(%sum) : (f32) -> i32
}

func.func @depthwise_conv2d(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_taps"]} {
  %sum = arith.sitofp %accumulator : i32 to f32
  %result = func.call @fused(%sum) : (f32) -> i32
}

func.func @conv2d_product() -> i32 { %result = arith.constant 0 : i32 }

func.func @depthwise_conv2d_product() -> i32 { %result = arith.constant 0 : i32 }

func.func @linear_product() -> i32 { %result = arith.constant 0 : i32 }

// A matrix product of stored codes, from which F(h_x w) of each weight is subtracted.
func.func @weight_addend(%weight: i32) -> f32 {
  %low, %high = func.call @input_range() : () -> (f32, f32)
  %unused, %zero = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %number = arith.sitofp %weight : i32 to f32
  %result = arith.mulf %number, %zero : f32
}

// A ReLU whose output has no codes below 0 is left out, and a layer without one multiplies
// and adds in the output's steps.
func.func @linear(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_pixel"]} {
  %several = arith.cmpi eq, %one_bias, false : i1
  cf.assert %several, "biases that are all the same, or one output: OpenVINO makes them part of the range of its quantization"
  %y_point = func.call @stored_point(%output_zero_point, %output_unsigned) : (i32, i1) -> i32
  %known = arith.cmpi ne, %y_point, 128 : i32
  cf.assert %known, "an output whose zero point is the middle of its codes: OpenVINO rounds it in one of two ways, by what follows"
  %x_point = func.call @stored_point(%input_zero_point, %input_unsigned) : (i32, i1) -> i32
  %above = arith.cmpi ne, %x_point, 0 : i32
  %off_middle = arith.cmpi ne, %x_point, 128 : i32
  %shifted = arith.andi %above, %off_middle : i1
  %zeros = arith.muli %x_point, %weight_sum : i32
  %codes = arith.addi %accumulator, %zeros : i32
  %code_sum = arith.sitofp %codes : i32 to f32
  %moved = arith.subf %code_sum, %weight_total : f32
  %exact = arith.sitofp %accumulator : i32 to f32
  %sum = arith.select %shifted, %moved, %exact : f32
  %with_relu = func.call @fused(%sum) : (f32) -> i32
  %plain = func.call @in_steps(%sum, %shifted) : (f32, i1) -> i32
  %bounded = arith.cmpf oeq, %activation_min, 0.0 : f32
  %cuts = arith.cmpi ne, %y_point, 0 : i32
  %is_cut = arith.andi %bounded, %cuts : i1
  %result = arith.select %is_cut, %with_relu, %plain : i32
}

// A zero point as a code of uint8.
func.func private @stored_point(%zero_point: i32, %unsigned: i1) -> i32 {
  %offset = arith.select %unsigned, 0, 128 : i32
  %result = arith.addi %zero_point, %offset : i32
}

// A combined scale of 1 doesn't replace the one that a single scale had set before; nor is a
// single scale combined after a subtraction.
func.func private @in_steps(%sum: f32, %shifted: i1) -> i32 {
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %scale, %shift = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %combined = arith.mulf @weight_step, %scale : f32
  %is_one = arith.cmpf oeq, %combined, 1.0 : f32
  %kept = arith.andi %is_one, %one_weight_scale : i1
  %multiplier = arith.select %kept, @weight_step, %combined : f32
  %at_once = arith.mulf %sum, %multiplier : f32
  %real = arith.mulf %sum, @weight_step : f32
  %in_turn = arith.mulf %real, %scale : f32
  %twice = arith.andi %shifted, %one_weight_scale : i1
  %product = arith.select %twice, %in_turn, %at_once : f32
  %bias_steps = arith.mulf %real_bias, %scale : f32
  %offset = arith.addf %bias_steps, %shift : f32
  %steps = arith.addf %product, %offset : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

func.func @dequantize_bias() -> f32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.sitofp %bias : i32 to f32
  %result = arith.mulf %steps, %step : f32
}

// The sum of uint8 codes.
func.func private @sum_of(%accumulator: i32, %count: i32) -> f32 {
  %offset = arith.select %input_unsigned, 0, 128 : i32
  %offsets = arith.muli %offset, %count : i32
  %codes = arith.addi %accumulator, %offsets : i32
  %result = arith.sitofp %codes : i32 to f32
}

// Some ends are taken as whole numbers.
func.func private @require_clear(%end: f32) {
  %nearest = math.roundeven %end : f32
  %difference = arith.subf %end, %nearest : f32
  %distance = math.absf %difference : f32
  %is_whole = arith.cmpf oeq, %distance, 0.0 : f32
  %is_far = arith.cmpf oge, %distance, 1.0e-6 : f32
  %clear = arith.ori %is_whole, %is_far : i1
  cf.assert %clear, "an output whose range ends within 1e-6 of a whole number of steps of the input, which OpenVINO may take as that number"
}

// Of a mean of uint8 codes; the output's range in steps of the input.
func.func private @store_mean(%mean: f32) -> i32 {
  %x_low, %x_high = func.call @input_range() : () -> (f32, f32)
  %x = func.call @step(%x_low, %x_high) : (f32, f32) -> f32
  %unused, %zero = func.call @scale_and_shift(%x_low, %x_high) : (f32, f32) -> (f32, f32)
  %y_low, %y_high = func.call @output_range() : () -> (f32, f32)
  %low_steps = arith.divf %y_low, %x : f32
  %high_steps = arith.divf %y_high, %x : f32
  %low = arith.addf %low_steps, %zero : f32
  %high = arith.addf %high_steps, %zero : f32
  func.call @require_clear(%low) : (f32) -> ()
  func.call @require_clear(%high) : (f32) -> ()
  %scale, %shift = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %steps = math.fma %mean, %scale, %shift : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  %sum = func.call @sum_of(%accumulator, %count) : (i32, i32) -> f32
  %n = arith.sitofp %count : i32 to f32
  %inverse = arith.divf 1.0, %n : f32
  %mean = arith.mulf %sum, %inverse : f32
  %result = func.call @store_mean(%mean) : (f32) -> i32
}

func.func @mean(%accumulator: i32, %count: i32) -> i32 {
  %sum = func.call @sum_of(%accumulator, %count) : (i32, i32) -> f32
  %n = arith.sitofp %count : i32 to f32
  %mean = arith.divf %sum, %n : f32
  %result = func.call @store_mean(%mean) : (f32) -> i32
}

func.func @quantize(%input: f32) -> i32 {
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %width = arith.subf %high, %low : f32
  %scale = arith.divf 255.0, %width : f32
  %negated = arith.negf %low : f32
  %shift = arith.mulf %negated, %scale : f32
  %scaled = arith.mulf %input, %scale : f32
  %steps = arith.addf %scaled, %shift : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

func.func @dequantize(%input: i32) -> f32 {
  %offset = arith.select %input_unsigned, 0, 128 : i32
  %code = arith.addi %input, %offset : i32
  %real = arith.sitofp %code : i32 to f32
  %low, %high = func.call @input_range() : () -> (f32, f32)
  %x = func.call @step(%low, %high) : (f32, f32) -> f32
  %scaled = arith.mulf %real, %x : f32
  %result = arith.addf %scaled, %low : f32
}

// Not used: activations bound real numbers.
func.func @bound(%real: f32) -> i32 {
  %result = fixed.convert %real {rounding = toward_zero} : f32 to i32
}

}
