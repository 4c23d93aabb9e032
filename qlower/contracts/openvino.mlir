// The arithmetic of OpenVINO's CPU plug-in on x86 with AVX-512 VNNI (OpenVINO 2026.4.1), for
// models with FakeQuantize, such as its reader makes of TFLite files and NNCF writes, and for ONNX
// files in QDQ form.
// # Formula
// Scales are kept as ranges: lo = F((low - z) s), hi = F((high - z) s) for the codes' ends; d =
// F(F(hi - lo) / 255), i = F(255 / F(hi - lo)), h = F(F(-lo 255) / F(hi - lo)), of the input x or
// the output y; w = F(s_w d_x). Codes are uint8 here; a is ReLU, or nothing.
// - conv2d, depthwise_conv2d: `y = rne(fma(a(F(F(acc w) + b)), i_y, h_y))`, but with
//   F(1 / F(1 / i_y)) for i_y where h_y is 0 and a has no bound below the last code
// - conv2d_add: m between, r added, in steps of r: p = F(h_m + F(F(h_r d_r) / d_m)),
//   l = F(F(0 - p) F(d_m / d_r)), u of 255 likewise, t = F(F(u - l) / 255);
//   `v = min(max(fma(F(F(acc w) + b), F(i_m t), F(F(h_m t) + l)), l), F(F(t 255) + l))`;
//   y as above of a(F(v + r)), with lo_y and hi_y divided by d_r
// - linear: n = F(sum(q w) - t), t the sum of F(h_x w) in float32, one weight after the other; of
//   a zero point 0 or 128 n = F(acc). With ReLU, unless y has zero point 0, as conv2d of n. Else
//   `y = rne(F(F(n F(w i_y)) + F(F(b i_y) + h_y)))`, but F(F(n w) i_y) with t and one scale; of
//   more than two dimensions as conv2d of n; in a sequence
//   `y = rne(F(F(a(F(F(n w) + b)) i_y) - F(lo_y i_y)))`
// - avg_pool2d: il = F(F(lo_y / d_x) + h_x), ih likewise; `y = rne(fma(F(sum F(1 / n)),
//   F(255 / F(ih - il)), F(F(-il 255) / F(ih - il))))`
// - mean: as avg_pool2d, but F(sum / n); before a sequence as linear in one
// - quantize: `y = rne(F(F(x i_y) + F(-lo i_y)))`
// - dequantize: `F(F(q d) + lo)`
// QDQ form states steps and zero points: s for d and z for h of all inputs and what is between,
// while the output keeps its range. So w = F(s_w s_x), t sums F(z w), z also 128; p = F(z_m +
// F(F(z_r s_r) / s_m)); pools have il = F(lo_y / s_x) and F(F(-il 255) / F(ih - il)) - F(z i) for
// the shift; dequantize is F((q - z) s). int8 codes are int8: linear layers have F(h_y - 128).
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
// - One kernel computes two to seven linear layers so that follow each other, each read by the
//   next alone, of 8 rows, 256 inputs and 256 outputs at most, and quantizes the linear layer's or
//   mean's result before them, too. That holds for one thread; two leave one row or three out, as
//   sizes that a file leaves open do (`model.reshape` fixes them). Models are read so.
// - An addition is computed by the convolution before it, which is then clamped to the range of
//   the quantization between them, but not rounded. A model is read so: of two convolutions the
//   first adds, and what is added has no later reader. Codes whose zero point is the middle one
//   are int8: h_r, and h_m in p, are 0 then, and m goes from -128 to 127. A sum F(h_m t) + l
//   below 1e-5 of its range is 0.
// - Biases that are all the same, or none, become part of the range, as do scales: lo_y is
//   F(F(lo_y - b) / w) then, hi_y likewise, and `y = rne(F(F(acc i_y) + h))` with h of the first
//   channel, with one scale `rne(fma(acc, i_y, h))`. ReLU is in the way, unless y has no codes
//   below 0; without biases it comes first.
// - Other additions, those of linear layers too, multiplications, functions and softmax are
//   computed in float32 between quantizations that differ from graph to graph: they have no
//   rule here. A linear layer before an addition gives its codes.
// # Not matched
// - Activations but ReLU (of convolutions ReLU6 too), and pools that leave padding out.
// - Files of TFLite with depthwise convolutions: behind the reader's transposition of their
//   weights these run in float32. In QDQ form steps of 1x1 convolutions, which a pooling
//   takes, so that convolutions around it run in float32, and convolutions of int8 codes, which
//   round as the processor's kernels do: refused.
// - Refused, not in QDQ form: pools and means where il or ih is within 1e-6 of a whole number that
//   it isn't (one such range in 175 was taken as whole); layers with weights whose output has zero
//   point 128, which is stored as int8 if such a layer follows, and then has 128 subtracted from
//   h_y: 29,341 of 262,144 near ties of convolutions differ by that.
// - Refused: biases that are all the same in additions, before ReLU6, and in linear layers with t.
// - Linear layers whose biases differ by less than 5e-5 steps, or that have scales of weights
//   whose products with d_x are the same.
// - Kernels for AMX have faults: 2 of 42 convolutions of several groups gave values far off there,
//   some different ones in each process. `ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI` avoids them.
// - Real numbers at the end of QDQ form are now and then fma(q, s, lo): 2,436 of 6,006 logits of a
//   MobileNetV2 by ONNX Runtime's quantizer, in the last bit. None of their codes differs.
// - Weights with zero points, files with QLinearConv, several threads: not tried.
// # Checked against
// OpenVINO 2026.4.1 live, `tests/contracts/test_phone_systems_live.py`,
// `test_openvino_sequences_live.py`: 29 million outputs, 18 million of them ties or near ties, and three
// networks, no mismatch ([more](../../docs/pages/contracts-measured.md#openvino)).
// # Sources
// Files of openvinotoolkit/openvino:
// - src/plugins/intel_cpu/src/nodes/fake_quantize.cpp, dnnl_postops_composer.cpp
// - src/plugins/intel_cpu/src/graph_optimizer.cpp, dnnl_postops_composer_legacy.cpp
// - src/common/low_precision_transformations/src/fake_quantize.cpp, add.cpp
// - src/common/snippets/src/pass/mlp_seq_tokenization.cpp, fq_decomposition.cpp
// - src/plugins/intel_cpu/src/transformations/transformation_pipeline.cpp

module attributes {contract.family = "OpenVINO", contract.base = "_openvino",
    contract.summary = "OpenVINO (VNNI): scales as ranges, one FMA with the zero point inside"} {

// F(s_w d_x)
func.func private @weight_step() -> f32 {
  %result = arith.mulf %weight_scale, @input_step : f32
}

// The step of a range, or in QDQ form what the model states.
func.func private @step_of(%stated: f32, %low: f32, %high: f32) -> f32 {
  %step = func.call @step(%low, %high) : (f32, f32) -> f32
  %result = arith.select %in_qdq, %stated, %step : f32
}

func.func private @input_step() -> f32 {
  %low, %high = func.call @input_range() : () -> (f32, f32)
  %result = func.call @step_of(%input_scale, %low, %high) : (f32, f32, f32) -> f32
}

// F(F(sum w) + b)
func.func private @real(%sum: f32) -> f32 {
  cf.assert %weights_symmetric, "weights with a zero point, which OpenVINO computes in other ways"
  %scaled = arith.mulf %sum, @weight_step : f32
  %result = arith.addf %scaled, %real_bias : f32
}

func.func private @fused(%sum: f32) -> i32 {
  %active = func.call @active(@real(%sum)) : (f32) -> f32
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %result = func.call @store_in_range(%active, %low, %high) : (f32, f32, f32) -> i32
}

// A pooling takes the steps of such a convolution in QDQ form.
func.func private @require_no_steps() {
  %window = arith.muli %kernel_height, %kernel_width : i32
  %steps = arith.muli %stride_height, %stride_width : i32
  %is_window = arith.cmpi ne, %window, 1 : i32
  %is_dense = arith.cmpi eq, %steps, 1 : i32
  %is_ranged = arith.cmpi eq, %in_qdq, false : i1
  %is_other = arith.ori %is_window, %is_dense : i1
  %known = arith.ori %is_other, %is_ranged : i1
  cf.assert %known, "a 1x1 convolution with steps in QDQ form: around it OpenVINO computes in float32"
  return
}

func.func private @convolved(%accumulator: i32) -> i32 {
  func.call @require_known_storage() : () -> ()
  func.call @require_codes() : () -> ()
  %sum = arith.sitofp %accumulator : i32 to f32
  %apart = func.call @fused(%sum) : (f32) -> i32
  %result = func.call @unless_in_range(%sum, %apart) : (f32, i32) -> i32
}

func.func private @require_codes() {
  %is_ranged = arith.cmpi eq, %in_qdq, false : i1
  %known = arith.ori %input_unsigned, %is_ranged : i1
  cf.assert %known, "a convolution of int8 codes in QDQ form: how OpenVINO rounds it depends on the processor"
  return
}

func.func private @require_known_storage() {
  %y_point = func.call @stored_point(%output_zero_point, %output_unsigned) : (i32, i1) -> i32
  %is_off = arith.cmpi ne, %y_point, 128 : i32
  %known = arith.ori %is_off, %in_qdq : i1
  cf.assert %known, "an output whose zero point is the middle of its codes: OpenVINO rounds it in one of two ways, by what follows"
  return
}

// Scales become part of the output's range if no bias or ReLU is between; without biases a
// ReLU comes before them.
func.func private @unless_in_range(%sum: f32, %otherwise: i32) -> i32 {
  %without = arith.cmpf oeq, %real_bias, 0.0 : f32
  %is_next = arith.ori @without_relu, %without : i1
  %is_range = arith.andi %one_bias, %is_next : i1
  %is_open = arith.cmpf oeq, %activation_max, 0x7F800000 : f32
  %is_known = arith.cmpi uge, %is_open, %one_bias : i1
  cf.assert %is_known, "biases that are all the same before an activation other than ReLU"
  %above = arith.maximumf %sum, 0.0 : f32
  %active = arith.select @without_relu, %sum, %above : f32
  %in_range = func.call @in_range_of_sums(%active) : (f32) -> i32
  %result = arith.select %is_range, %in_range, %otherwise : i32
}

// Biases that are all the same become part of the output's range, as scales do.
func.func private @in_range_of_sums(%sum: f32) -> i32 {
  %low, %high = func.call @range_of_sums(@weight_step) : (f32) -> (f32, f32)
  %scale, %unused = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %step = arith.mulf %first_weight_scale, @input_step : f32
  %first_low, %first_high = func.call @range_of_sums(%step) : (f32) -> (f32, f32)
  %other, %shift = func.call @scale_and_shift(%first_low, %first_high) : (f32, f32) -> (f32, f32)
  %first_shift = arith.subf %shift, @offset_of_codes : f32
  %scaled = arith.mulf %sum, %scale : f32
  %steps = arith.addf %scaled, %first_shift : f32
  %several = func.call @store_shifted(%steps) : (f32) -> i32
  %single = func.call @store_in_range(%sum, %low, %high) : (f32, f32, f32) -> i32
  %result = arith.select %one_weight_scale, %single, %several : i32
}

func.func private @range_of_sums(%step: f32) -> (f32, f32) {
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %low_moved = arith.subf %low, %real_bias : f32
  %high_moved = arith.subf %high, %real_bias : f32
  %low_sums = arith.divf %low_moved, %step : f32
  %high_sums = arith.divf %high_moved, %step : f32
  return %low_sums, %high_sums : f32, f32
}

// A ReLU whose output has no codes below 0 is left out.
func.func private @without_relu() -> i1 {
  %free = arith.cmpf oeq, %activation_min, 0xFF800000 : f32
  %y_point = func.call @stored_point(%output_zero_point, %output_unsigned) : (i32, i1) -> i32
  %is_lowest = arith.cmpi eq, %y_point, 0 : i32
  %is_open = arith.cmpf oeq, %activation_max, 0x7F800000 : f32
  %keeps = arith.andi %is_lowest, %is_open : i1
  %result = arith.ori %free, %keeps : i1
}

// A scale without a shift, or bound below the last code, is passed on as its inverse, which is
// inverted again.
func.func private @store_in_range(%real: f32, %low: f32, %high: f32) -> i32 {
  %scale, %ranged = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %moved = arith.subf %ranged, @offset_of_codes : f32
  %shift = func.call @unless_negligible(%moved, 0.0, 255.0) : (f32, f32, f32) -> f32
  %inverse = arith.divf 1.0, %scale : f32
  %inverted = arith.divf 1.0, %inverse : f32
  %bound = arith.mulf %activation_max, %scale : f32
  %last = math.roundeven %bound : f32
  %last_code = arith.subf 255.0, @offset_of_codes : f32
  %is_open = arith.cmpf oge, %last, %last_code : f32
  %is_from_0 = arith.cmpf oeq, %shift, 0.0 : f32
  %is_alone = arith.andi %is_open, %is_from_0 : i1
  %used = arith.select %is_alone, %inverted, %scale : f32
  %steps = math.fma %real, %used, %shift : f32
  %result = func.call @store_shifted(%steps) : (f32) -> i32
}

// int8 codes of QDQ form are int8 to all of OpenVINO: a part of the shift.
func.func private @offset_of_codes() -> f32 {
  %offset = arith.select %output_unsigned, 0.0, 128.0 : f32
  %result = arith.select %in_qdq, %offset, 0.0 : f32
}

func.func private @store_shifted(%steps: f32) -> i32 {
  %own = func.call @store_with_zero_point_inside(%steps, %storage_min, %storage_max) : (f32, i32, i32) -> i32
  %above = func.call @store(%steps) : (f32) -> i32
  %result = arith.select %in_qdq, %own, %above : i32
}

func.func @conv2d(%accumulator: i32) -> i32 attributes {
    contract.product = ["exact", "saturating_pairs_flat", "saturating_pairs_pixel"]} {
  func.call @require_no_steps() : () -> ()
  %result = func.call @convolved(%accumulator) : (i32) -> i32
}

func.func @depthwise_conv2d(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_taps"]} {
  %result = func.call @convolved(%accumulator) : (i32) -> i32
}

// FakeQuantize's inputScale and inputShift in steps of the addend, from which its zero point
// is taken: codes are added as they are. A shift of nearly nothing is none.
func.func private @in_addend_steps() -> (f32, f32, f32, f32) {
  %low, %high = func.call @range(%summand_scale, %summand_zero_point, %summand_unsigned) : (f32, i32, i1) -> (f32, f32)
  %scale, %zero = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %step = func.call @step_of(%summand_scale, %low, %high) : (f32, f32, f32) -> f32
  %other_low, %other_high = func.call @range(%addend_scale, %addend_zero_point, %addend_unsigned) : (f32, i32, i1) -> (f32, f32)
  %unused, %other_zero = func.call @scale_and_shift(%other_low, %other_high) : (f32, f32) -> (f32, f32)
  %other_ranged = arith.select @addend_is_signed, 0.0, %other_zero : f32
  %other_stated = arith.sitofp %addend_zero_point : i32 to f32
  %other_point = arith.select %in_qdq, %other_stated, %other_ranged : f32
  %other_real = arith.mulf %other_point, @addend_step : f32
  %other_steps = arith.divf %other_real, %step : f32
  %is_signed = func.call @is_signed(%summand_zero_point, %summand_unsigned) : (i32, i1) -> i1
  %ranged = arith.select %is_signed, 0.0, %zero : f32
  %stated = arith.sitofp %summand_zero_point : i32 to f32
  %own_point = arith.select %in_qdq, %stated, %ranged : f32
  %least = arith.select %is_signed, -128.0, 0.0 : f32
  %most = arith.addf %least, 255.0 : f32
  %point = arith.addf %own_point, %other_steps : f32
  %ratio = arith.divf %step, @addend_step : f32
  %below = arith.subf %least, %point : f32
  %above = arith.subf %most, %point : f32
  %first = arith.mulf %below, %ratio : f32
  %last = arith.mulf %above, %ratio : f32
  %unit = func.call @step(%first, %last) : (f32, f32) -> f32
  %scaled_end = arith.mulf %unit, 255.0 : f32
  %end = arith.addf %scaled_end, %first : f32
  %combined = arith.mulf %scale, %unit : f32
  %scaled_zero = arith.mulf %zero, %unit : f32
  %shift = arith.addf %scaled_zero, %first : f32
  %used = func.call @unless_negligible(%shift, %first, %end) : (f32, f32, f32) -> f32
  return %combined, %used, %first, %end : f32, f32, f32, f32
}

func.func private @unless_negligible(%shift: f32, %low: f32, %high: f32) -> f32 {
  %width = arith.subf %high, %low : f32
  %least = arith.mulf %width, 1.0e-5 : f32
  %distance = math.absf %shift : f32
  %is_none = arith.cmpf olt, %distance, %least : f32
  %result = arith.select %is_none, 0.0, %shift : f32
}

// Codes whose zero point is the middle one are stored as int8.
func.func private @is_signed(%zero_point: i32, %unsigned: i1) -> i1 {
  %point = func.call @stored_point(%zero_point, %unsigned) : (i32, i1) -> i32
  %is_middle = arith.cmpi eq, %point, 128 : i32
  %is_stated = arith.cmpi eq, %unsigned, false : i1
  %result = arith.select %in_qdq, %is_stated, %is_middle : i1
}

func.func private @addend_is_signed() -> i1 {
  %result = func.call @is_signed(%addend_zero_point, %addend_unsigned) : (i32, i1) -> i1
}

func.func private @addend_step() -> f32 {
  %low, %high = func.call @range(%addend_scale, %addend_zero_point, %addend_unsigned) : (f32, i32, i1) -> (f32, f32)
  %result = func.call @step_of(%addend_scale, %low, %high) : (f32, f32, f32) -> f32
}

// What a convolution gives to an addition is clamped, but not rounded.
func.func private @fused_add(%accumulator: i32, %addend: i32) -> i32 {
  func.call @require_relu(%activation_max) : (f32) -> ()
  func.call @require_known_storage() : () -> ()
  func.call @require_codes() : () -> ()
  %several = arith.cmpi eq, %one_bias, false : i1
  cf.assert %several, "an addition behind a convolution whose biases are all the same: OpenVINO makes them part of the range of its quantization"
  %sum = arith.sitofp %accumulator : i32 to f32
  %real = func.call @real(%sum) : (f32) -> f32
  %scale, %shift, %first, %last = func.call @in_addend_steps() : () -> (f32, f32, f32, f32)
  %moved = math.fma %real, %scale, %shift : f32
  %above = arith.maximumf %moved, %first : f32
  %clamped = arith.minimumf %above, %last : f32
  %code = func.call @stored_point(%addend, %addend_unsigned) : (i32, i1) -> i32
  %middle = arith.select @addend_is_signed, 128, 0 : i32
  %stored = arith.subi %code, %middle : i32
  %other = arith.sitofp %stored : i32 to f32
  %total = arith.addf %clamped, %other : f32
  %active = arith.maximumf %total, %activation_min : f32
  %y_low, %y_high = func.call @output_range() : () -> (f32, f32)
  %low_steps = arith.divf %y_low, @addend_step : f32
  %high_steps = arith.divf %y_high, @addend_step : f32
  %result = func.call @store_in_range(%active, %low_steps, %high_steps) : (f32, f32, f32) -> i32
}

func.func @conv2d_add(%accumulator: i32, %addend: i32) -> i32 attributes {
    contract.product = ["exact", "saturating_pairs_flat", "saturating_pairs_pixel"]} {
  %result = func.call @fused_add(%accumulator, %addend) : (i32, i32) -> i32
}

func.func @depthwise_conv2d_add(%accumulator: i32, %addend: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_taps"]} {
  %result = func.call @fused_add(%accumulator, %addend) : (i32, i32) -> i32
}

func.func private @exact() -> i32
    serves conv2d_product, depthwise_conv2d_product, conv2d_add_product,
    depthwise_conv2d_add_product, linear_product {
  %result = arith.constant 0 : i32
}

// A matrix product of stored codes, from which F(h_x w) of each weight is subtracted.
func.func @weight_addend(%weight: i32) -> f32 {
  %low, %high = func.call @input_range() : () -> (f32, f32)
  %unused, %zero = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %number = arith.sitofp %weight : i32 to f32
  %stated = arith.sitofp %input_zero_point : i32 to f32
  %used = arith.select %in_qdq, %stated, %zero : f32
  %result = arith.mulf %number, %used : f32
}

// The sum that is multiplied, and whether something was subtracted from it.
func.func private @linear_sum(%accumulator: i32) -> (f32, i1) {
  func.call @require_relu(%activation_max) : (f32) -> ()
  func.call @require_known_storage() : () -> ()
  %ranged = func.call @stored_point(%input_zero_point, %input_unsigned) : (i32, i1) -> i32
  %x_point = arith.select %in_qdq, %input_zero_point, %ranged : i32
  %above = arith.cmpi ne, %x_point, 0 : i32
  %is_other = arith.cmpi ne, %x_point, 128 : i32
  %off_middle = arith.ori %is_other, %in_qdq : i1
  %shifted = arith.andi %above, %off_middle : i1
  %zeros = arith.muli %x_point, %weight_sum : i32
  %codes = arith.addi %accumulator, %zeros : i32
  %code_sum = arith.sitofp %codes : i32 to f32
  %moved = arith.subf %code_sum, %weight_total : f32
  %exact = arith.sitofp %accumulator : i32 to f32
  %sum = arith.select %shifted, %moved, %exact : f32
  %is_same = arith.andi %one_bias, %shifted : i1
  %several = arith.cmpi eq, %is_same, false : i1
  cf.assert %several, "biases that are all the same, or one output: OpenVINO makes them part of the range of its quantization"
  return %sum, %shifted : f32, i1
}

// A ReLU whose output has no codes below 0 is left out, and a layer without one multiplies
// and adds in the output's steps.
func.func @linear(%accumulator: i32) -> i32
    attributes {contract.product = ["exact", "saturating_pairs_pixel"]} {
  %sum, %shifted = func.call @linear_sum(%accumulator) : (i32) -> (f32, i1)
  %real = func.call @real(%sum) : (f32) -> f32
  %active = arith.maximumf %real, %activation_min : f32
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %in_turn = func.call @store_in_turn(%active, %low, %high) : (f32, f32, f32) -> i32
  %with_relu = func.call @fused(%sum) : (f32) -> i32
  %plain = func.call @in_steps(%sum, %shifted) : (f32, i1) -> i32
  %is_deep = arith.cmpi sgt, %input_rank, 2 : i32
  %shallow = arith.cmpi eq, %is_deep, false : i1
  %in_steps = arith.andi @without_relu, %shallow : i1
  %apart = arith.select %in_steps, %plain, %with_relu : i32
  %in_range = func.call @unless_in_range(%sum, %apart) : (f32, i32) -> i32
  %alone = arith.select %is_deep, %apart, %in_range : i32
  %result = arith.select @is_in_sequence, %in_turn, %alone : i32
}

// Whether a kernel of several linear layers rounds.
func.func private @is_in_sequence() -> i1 { return %in_sequence : i1 }

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
  %ranged = arith.addf %bias_steps, %shift : f32
  %offset = arith.subf %ranged, @offset_of_codes : f32
  %steps = arith.addf %product, %offset : f32
  %result = func.call @store_shifted(%steps) : (f32) -> i32
}

func.func @dequantize_bias() -> f32 { %result = func.call @bias_in_float32() : () -> f32 }

// The sum of uint8 codes, and how many they are.
func.func private @sum_of(%accumulator: i32, %count: i32) -> (f32, f32) {
  %above = arith.select %input_unsigned, 0, 128 : i32
  %offset = arith.select %in_qdq, 0, %above : i32
  %offsets = arith.muli %offset, %count : i32
  %codes = arith.addi %accumulator, %offsets : i32
  %sum = arith.sitofp %codes : i32 to f32
  %n = arith.sitofp %count : i32 to f32
  return %sum, %n : f32, f32
}

// Some ends are taken as whole numbers.
func.func private @require_clear(%end: f32) {
  %nearest = math.roundeven %end : f32
  %difference = arith.subf %end, %nearest : f32
  %distance = math.absf %difference : f32
  %is_whole = arith.cmpf oeq, %distance, 0.0 : f32
  %is_far = arith.cmpf oge, %distance, 1.0e-6 : f32
  %clear = arith.ori %is_whole, %is_far : i1
  %known = arith.ori %clear, %in_qdq : i1
  cf.assert %known, "an output whose range ends within 1e-6 of a whole number of steps of the input, which OpenVINO may take as that number"
}

// The output's range in steps of the input.
func.func private @range_of_mean() -> (f32, f32) {
  %x_low, %x_high = func.call @input_range() : () -> (f32, f32)
  %x = func.call @step_of(%input_scale, %x_low, %x_high) : (f32, f32, f32) -> f32
  %unused, %zero = func.call @scale_and_shift(%x_low, %x_high) : (f32, f32) -> (f32, f32)
  %y_low, %y_high = func.call @output_range() : () -> (f32, f32)
  %low_steps = arith.divf %y_low, %x : f32
  %high_steps = arith.divf %y_high, %x : f32
  %used = arith.select %in_qdq, 0.0, %zero : f32
  %low = arith.addf %low_steps, %used : f32
  %high = arith.addf %high_steps, %used : f32
  func.call @require_clear(%low) : (f32) -> ()
  func.call @require_clear(%high) : (f32) -> ()
  return %low, %high : f32, f32
}

// Of a mean of codes, whose stated zero point becomes a part of the shift.
func.func private @store_mean(%mean: f32) -> i32 {
  %low, %high = func.call @range_of_mean() : () -> (f32, f32)
  %scale, %ranged = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %zero = arith.sitofp %input_zero_point : i32 to f32
  %stated = arith.select %in_qdq, %zero, 0.0 : f32
  %moved = arith.mulf %stated, %scale : f32
  %shift = arith.subf %ranged, %moved : f32
  %steps = math.fma %mean, %scale, %shift : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  %sum, %n = func.call @sum_of(%accumulator, %count) : (i32, i32) -> (f32, f32)
  %inverse = arith.divf 1.0, %n : f32
  %mean = arith.mulf %sum, %inverse : f32
  %result = func.call @store_mean(%mean) : (f32) -> i32
}

func.func @mean(%accumulator: i32, %count: i32) -> i32 {
  %sum, %n = func.call @sum_of(%accumulator, %count) : (i32, i32) -> (f32, f32)
  %mean = arith.divf %sum, %n : f32
  %at_once = func.call @store_mean(%mean) : (f32) -> i32
  %low, %high = func.call @range_of_mean() : () -> (f32, f32)
  %apart = func.call @store_in_turn(%mean, %low, %high) : (f32, f32, f32) -> i32
  %result = arith.select @is_in_sequence, %apart, %at_once : i32
}

func.func @quantize(%input: f32) -> i32 {
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %result = func.call @store_in_turn(%input, %low, %high) : (f32, f32, f32) -> i32
}

func.func @dequantize(%input: i32) -> f32 {
  %code = func.call @stored_point(%input, %input_unsigned) : (i32, i1) -> i32
  %real = arith.sitofp %code : i32 to f32
  %low, %high = func.call @input_range() : () -> (f32, f32)
  %x = func.call @step(%low, %high) : (f32, f32) -> f32
  %scaled = arith.mulf %real, %x : f32
  %ranged = arith.addf %scaled, %low : f32
  %difference = arith.subi %input, %input_zero_point : i32
  %steps = arith.sitofp %difference : i32 to f32
  %stated = arith.mulf %steps, %input_scale : f32
  %result = arith.select %in_qdq, %stated, %ranged : f32
}

}
