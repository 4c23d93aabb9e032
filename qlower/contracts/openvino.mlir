// The arithmetic of OpenVINO's CPU plug-in on x86 with AVX-512 VNNI (OpenVINO 2026.4.1), for
// models with FakeQuantize, such as its reader makes of TFLite files and NNCF writes.
// # Formula
// Scales are kept as ranges: lo = F((low - z) s), hi = F((high - z) s) for the codes' ends; d =
// F(F(hi - lo) / 255), i = F(255 / F(hi - lo)), h = F(F(-lo 255) / F(hi - lo)), of the input x or
// the output y; w = F(s_w d_x). Codes are uint8 here; a is ReLU, or nothing.
// - conv2d, depthwise_conv2d: `y = rne(fma(a(F(F(acc w) + b)), i_y, h_y))`
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
// - A mean is over rows and columns.
// - Additions, multiplications and functions are fused into the convolution before them, in
//   float32 between quantizations that differ from graph to graph: such operations have no
//   rule here.
// # Not matched
// - Activations but ReLU, and pools that leave padding out.
// - Pools where il or ih is within 1e-6 of a whole number that it isn't: one such range in 175
//   was taken as whole.
// - Linear layers are refused. Those with ReLU whose output has a zero point other than the least
//   code are as conv2d, where h_x is whole; an output of zero point 128 is stored as int8, so
//   without h_y. Others part from it at near ties: weights of one scale take other steps than
//   weights of several, and the product of a h_x that isn't whole is a float32 sum over weights.
// - Weights with zero points, CPUs with AMX, several threads: not tried.
// # Checked against
// OpenVINO 2026.4.1 live, `tests/contracts/test_phone_systems_live.py`: 300,000 outputs of drawn
// layers of each rule but dequantize, and near ties of convolutions, no mismatch; mutants with
// one step changed differ.
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

func.func @linear(%accumulator: i32) -> i32 {
  %never = arith.constant false
  cf.assert %never, "the steps in which OpenVINO rounds a linear layer depend on whether its weights have one scale, and on the zero points around it: not all are known"
  return %accumulator : i32
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
