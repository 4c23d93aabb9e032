// The arithmetic of ONNX Runtime's CPU execution provider on x86 with VNNI (ONNX Runtime 1.31,
// MLAS): the operators QLinearConv, QLinearMatMul, QGemm, QLinearAdd, QLinearMul,
// QLinearGlobalAveragePool, QLinearAveragePool, QLinearConcat, QLinearLeakyRelu, QLinearSigmoid,
// QLinearSoftmax, QuantizeLinear and DequantizeLinear, to which it fuses models in QDQ form at
// its default optimization level. Neither threads nor layout matter to them. Convolutions and
// products of float32 between them are MLAS's, in the order of one thread.
// # Formula
// F(...) is one float32 rounding, rne rounds half to even; clamping is to the storage type.
// - conv2d, depthwise_conv2d, linear, matmul: `y = rne(F(acc F(F(s_x s_w) / s_y))) + z`
// - add: `r_a = F(s_a / s_y)`, r_b alike, `c = F(z - fma(z_a, r_a, F(r_b z_b)))`, `y = rne(fma(a, r_a, fma(b, r_b, c)))`;
//   with a and b exchanged where a is one number along the innermost dimension
// - mul: `y = rne(F(F((a - z_a)(b - z_b) F(F(s_a s_b) / s_y)) + z))`
// - mean over rows and columns (QLinearGlobalAveragePool), D = sum(x - z_x): `y = rne(F(D F(s_x / F(s_y n)))) + z`
// - avg_pool2d: d = F(s_x (x - z_x)) of the taps inside the image are added in float32, row by row:
//   `y = rne(F(F(F(sum / n) / s_y) + z))`
// - sigmoid: `y = rne(F(f / s_y)) + z`, f MLAS's quotient of polynomials of F(s_x (x - z_x)), with FMAs
// - softmax of rows of D: t(x) = F(exp((x - max + b) s_x)) with `b = max(0, log(F(FLT_MAX / D)) - 5) / s_x`
//   in float64 but for log, the sum S of a row's t in float32, in order; `y = rne(F(F(t floor(F(1 / s_y))) / S)) + z`
// - real_linear, real_matmul: sums of blocks, each a chain of FMAs from 0, are added to the bias.
//   Blocks have 256 products where weights are a constant, else 128 or, of few columns, up to 1024.
//   Of computed weights a single row adds four products before the sum takes them; a single column
//   (of weights [outputs, K] a single row) has eight sums side by side
// - real_conv2d, real_depthwise_conv2d: so, too, channel by channel of what a window sees, and at
//   last `F(sum + b)`; places of the image are the columns, one filter a group is a row
// - real_average_pool: `F(sum / n)`, the rows of a window column by column, then these sums;
//   real_loop_average_pool: in raster order; real_global_average: in four lanes
// - real_softmax: `F(e F(1 / sum))`, e = exp(F(x - max)) by MLAS's polynomial, sums in sixteen lanes;
//   real_log_softmax: `F(F(x - max) - logf(sum))`
// - real_layer_norm: `fma(F(F(x - m) F(1 / d)), scale, bias)`, m of sums of float64 in four lanes, d of
//   eight lanes of FMAs; real_rms_norm: `F(F(x F(1 / d)) scale)`; real_loop_layer_norm: by Welford's
//   corrections, real_plain_layer_norm: by sums in turn, both `F(F(F(F(x - m) / d) scale) + bias)`
// - real_instance_norm, real_group_norm, real_mean_variance_norm: sums in Eigen's packets
// - hybrid_linear, hybrid_conv2d, hybrid_depthwise_conv2d: the whole input by one range,
//   `s = F(F(max - min) / 255)`, `q = rne(F(x / s)) + z`; `y = F(F(acc F(s s_w)) + b)`
// - quantize: `y = rne(F(x / s_y)) + z`; dequantize: `F((x - z_x) s_x)`
// - requantize, clamp, and concat and leaky_relu where they rescale: dequantize, then quantize
// # Ties
// Half to even. The zero point is added after the rounding, but inside it in add, mul and
// avg_pool2d: there its parity decides where a tie goes.
// # Operands
// Scales combine in float32 and divide; nothing is fixed point. The bias is an int32 of the
// accumulator's step; a real one becomes `rne(F(b / F(s_x s_w)))`, as ONNX Runtime's quantization
// tool does. Scales that only run time knows divide what is quantized by them, and combine like
// others; those of float16 become float32 first.
// # Quirks
// - A sum of two tensors and their product round differently from a convolution: zero
//   point inside and after.
// - Before VNNI uint8 activations with int8 weights saturate: `onnxruntime-avx2`.
// - A softmax of scale 1/255 has steps of 1/254, as floor(F(1 / s_y)) is 254: certainty is 254.
// - Models in QDQ form are this arithmetic only where they fuse. At optimization levels below
//   "extended", and convolutions of int8 activations at any level unless session.qdqisint8allowed
//   is 1, run in float32 and differ in up to 14 % of outputs on ties. `--qdq` chooses which of
//   these is imported; a command that names this contract means the default session. Another number
//   of threads changes ONNX Runtime's float32 sums.
// - Real images in blocks of channels (NCHWc): at its default level ONNX Runtime moves pools of
//   float32 there, and normalizations, products and global pools after them, if the block divides
//   their channels. Averages are then added in raster order. The block is that of AVX-512, 16; on
//   machines without it, it is 8, and float32 averages of 8, 24, ... channels have other last bits.
//   Transposes that undo each other there, with elementwise operators between, are taken out first.
// # Not matched
// - NaN among the numbers that DynamicQuantizeLinear takes: whether ONNX Runtime's smallest and
//   largest one pass over it depends on its place. Here the scale is NaN then.
// - Convolutions of float32 in a session that optimizes: they go through blocks of channels then,
//   in another order.
// - What ONNX Runtime makes of real images in blocks where its optimizer's way is not certain here:
//   images interpolated linearly, and results behind transposes that it may move. Refused by name.
// - Which of two zeros Max and Min of float32 return depends on its place in ONNX Runtime: the
//   sign of such a zero can differ.
// - A softmax whose result has so small a scale that its terms overflow, and a beta, are refused.
// - Ratios s_x s_w / s_y of 2^8 and more, and below 2^-126, are refused.
// - ARM: QLinearAdd and QLinearGlobalAveragePool are fixed point there, half away from zero.
// # Checked against
// ONNX Runtime 1.31.1: 114,304 recorded outputs of layers and those of other operations, all equal;
// live, over a million outputs of layers drawn at exact and near ties, all equal.
// Sums of real numbers: live, 26 convolutions, products and linear layers of up to 1,500 products a
// sum, and layers with numbers of 24 binades that cancel; all bits the same.
// Layers on real numbers with stored weights: live, a convolution and a linear layer; all bits the
// same.
// # Sources
// - onnxruntime/core/mlas/lib/sgemm.cpp, convolve.cpp; x86_64/SgemmKernelM1*Avx.S
// - microsoft/onnxruntime, onnxruntime/core/providers/cpu/quantization/qlinearconv.cc, ComputeOutputScale
// - onnxruntime/core/mlas/lib/quantize.cpp, MlasRequantizeOutput, MlasQuantizeLinear
// - onnxruntime/core/mlas/lib/qladd.cpp, qlmul.cpp, qlgavgpool.cpp
// - onnxruntime/core/mlas/lib/logistic.cpp, MlasLogisticKernel
// - onnxruntime/core/optimizer/nchwc_transformer.cc; onnxruntime/core/mlas/lib/snchwc.cpp
// - onnxruntime/contrib_ops/cpu/quantization/qlinear_concat.cc, qlinear_lookup_table.cc,
//   qlinear_pool.cc, qlinear_softmax.cc

module attributes {contract.family = "ONNX Runtime", contract.base = "_mlas",
    contract.qdq = "x86",
    contract.summary = "ONNX Runtime on x86 (VNNI): float32 ratio, half to even"} {

// ---------------------------------------------------------------- steps

func.func @dequantize(%input: i32) -> f32 serves dequantize, dequantize_i16, dequantize_with {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

// MlasQuantizeLinear.
func.func private @quantize_linear(%real: f32, %output_min: i32, %output_max: i32) -> i32 {
  %steps = arith.divf %real, %output_scale : f32
  %result = func.call @store_half_even(%steps) : (f32) -> i32
}

// A Clip or Relu between DequantizeLinear and QuantizeLinear.
// DequantizeLinear, then QuantizeLinear.
func.func private @rescale(%input: i32) -> i32 serves requantize, clamp {
  %result = func.call @quantize_linear(@dequantize_exactly) : (f32) -> i32
}

// ---------------------------------------------------------------- convolution, linear

// MlasRequantizeOutput.
func.func private @requantize_output(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear attributes {contract.product = ["exact", "saturating_pairs_flat"]} {
  %multiplier = func.call @product_ratio() : () -> f32
  func.call @require_ratio(%multiplier) : (f32) -> ()
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

// QLinearMatMul.
func.func @matmul(%accumulator: i32) -> i32 {
  %result = func.call @requantize_output(%accumulator) : (i32) -> i32
}

// With VNNI all products are exact.
func.func @conv2d_product() -> i32 serves conv2d_product, depthwise_conv2d_product, linear_product {
  %result = arith.constant 0 : i32
}

// quantization/onnx_quantizer.py, quantize_bias_static.
func.func @quantize_bias() -> i32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %steps = arith.divf %real_bias, %step : f32
  %result = fixed.convert %steps {rounding = half_even} : f32 to i32
}

// MlasQLinearGlobalAveragePool: over rows and columns.
func.func @mean(%accumulator: i32) -> i32 {
  cf.assert %over_image, "ONNX Runtime takes the mean over other dimensions than rows and columns in float32"
  %real = arith.sitofp @centred_sum : i32 to f32
  %n = arith.sitofp %count : i32 to f32
  %total_scale = arith.mulf %output_scale, %n : f32
  %multiplier = arith.divf %input_scale, %total_scale : f32
  func.call @require_finite(%multiplier) : (f32) -> ()
  %scaled = arith.mulf %real, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}

// ---------------------------------------------------------------- sums of real numbers

// core/mlas/lib/convolve.cpp: the columns of an image's windows, channel by channel, times the
// filters. Of one filter a group it is a product of a row, of one place one of a column.
func.func @real_conv2d(%sum: f32, %real_bias: f32) -> f32
    serves real_conv2d, real_depthwise_conv2d
    attributes {contract.product = ["fused_blocks_planes", "fours_planes", "eights_planes"]} {
  %y = arith.addf %sum, %real_bias : f32
  %result = func.call @clamp_real(%y) : (f32) -> f32
}

func.func @real_conv2d_product(%group_channels: i32, %place_count: i32) -> i32
    serves real_conv2d_product, real_depthwise_conv2d_product {
  %is_column = arith.cmpi eq, %place_count, 1 : i32
  %of_several = arith.select %is_column, 2, 0 : i32
  %is_row = arith.cmpi eq, %group_channels, 1 : i32
  %result = arith.select %is_row, 1, %of_several : i32
}

func.func @real_conv2d_block(%place_count: i32, %depth: i32) -> i32
    serves real_conv2d_block, real_depthwise_conv2d_block {
  %result = func.call @fitted_block(%place_count, %depth) : (i32, i32) -> i32
}

// core/mlas/lib/sgemm.cpp, MlasSgemmOperation: blocks have 128 rows of the right factor and as many
// columns; where there are fewer columns, of 16 at least, they have more rows.
func.func private @fitted_block(%columns: i32, %depth: i32) -> i32 {
  %up_to_64 = arith.cmpi sle, %columns, 64 : i32
  %up_to_32 = arith.cmpi sle, %columns, 32 : i32
  %up_to_16 = arith.cmpi sle, %columns, 16 : i32
  %narrow = arith.select %up_to_64, 256, 128 : i32
  %narrower = arith.select %up_to_32, 512, %narrow : i32
  %narrowest = arith.select %up_to_16, 1024, %narrower : i32
  %is_wide = arith.cmpi sge, %columns, %depth : i32
  %result = arith.select %is_wide, 128, %narrowest : i32
}

// Weights [outputs, K], as a Gemm with transB has them. Constants are packed before the model runs,
// in blocks of 256 (MLAS_SGEMM_PACKED_STRIDEK). core/mlas/lib/qnbitgemm.cpp, weights of 4 bits
// (MatMulNBits): all products of a sum in one chain; those of a single row in lanes.
func.func @real_linear(%sum: f32) -> f32
    attributes {contract.product = ["fused_blocks", "eights", "fused", "fused_sixteens"]} {
  %result = func.call @clamp_real(%sum) : (f32) -> f32
}

func.func @real_linear_product(%place_count: i32) -> i32 {
  %is_row = arith.cmpi eq, %place_count, 1 : i32
  %of_computed = arith.select %is_row, 1, 0 : i32
  %of_real = arith.select @has_blocks_only, 0, %of_computed : i32
  %of_narrow = arith.select %is_row, 3, 2 : i32
  %result = arith.select %narrow_weights, %of_narrow, %of_real : i32
}

// The kernels of single rows and columns take no packed weights and no factor.
func.func private @has_blocks_only() -> i1 {
  %result = arith.ori %constant_weights, %is_scaled : i1
}

func.func @real_linear_block(%group_channels: i32, %depth: i32, %constant_weights: i1) -> i32
    serves real_linear_block, real_matmul_block {
  %fitted = func.call @fitted_block(%group_channels, %depth) : (i32, i32) -> i32
  %result = arith.select %constant_weights, 256, %fitted : i32
}

func.func @real_matmul(%sum: f32) -> f32
    attributes {contract.product = ["fused_blocks", "fours", "eights"]} {
  %result = func.call @clamp_real(%sum) : (f32) -> f32
}

func.func @real_matmul_product(%place_count: i32, %group_channels: i32) -> i32 {
  %is_column = arith.cmpi eq, %group_channels, 1 : i32
  %of_rows = arith.select %is_column, 2, 0 : i32
  %is_row = arith.cmpi eq, %place_count, 1 : i32
  %of_computed = arith.select %is_row, 1, %of_rows : i32
  %result = arith.select @has_blocks_only, 0, %of_computed : i32
}

// A Relu or Clip behind it.
func.func private @clamp_real(%y: f32, %activation_min: f32, %activation_max: f32) -> f32 {
  %raised = arith.maximumf %y, %activation_min : f32
  %has_min = arith.cmpf ogt, %activation_min, 0xFF800000 : f32
  %above = arith.select %has_min, %raised, %y : f32
  %lowered = arith.minimumf %above, %activation_max : f32
  %has_max = arith.cmpf olt, %activation_max, 0x7F800000 : f32
  %result = arith.select %has_max, %lowered, %above : f32
}

// ---------------------------------------------------------------- rows of real numbers

// core/mlas/lib/pooling.cpp: rows of a window column by column, then these sums, where steps, sides
// and rows are small; else, as in ONNX Runtime's own loops (since opset 19, and for rows of numbers
// and blocks of channels), all in raster order. Padding adds 0. Windows over the whole image are in
// four lanes.
func.func @real_average_pool() -> f32 {
  %result = func.call @mean_of(@taps) : (f32) -> f32
}

func.func @real_loop_average_pool() -> f32 {
  %result = func.call @mean_of(@elements_in_turn) : (f32) -> f32
}

func.func @real_volume_average_pool() -> f32 {
  %result = func.call @mean_of(@columns) : (f32) -> f32
}

func.func @real_global_average() -> f32 {
  %result = func.call @mean_of(@elements_in_lanes) : (f32) -> f32
}

// core/providers/cpu/nn/pool_functors.h, LpPool
func.func @real_sum_pool() -> f32 {
  %result = func.call @elements_in_turn() : () -> f32
}

// core/providers/cpu/reduction: rows by Eigen's packets, columns one element after the other, what
// lies between as a product of a row of ones.
func.func @real_mean() -> f32 {
  %result = func.call @mean_of(@elements_by_place) : (f32) -> f32
}

func.func @real_sum() -> f32 {
  %result = func.call @elements_by_place() : () -> f32
}

func.func private @elements_by_place(%input: f32) -> f32 attributes {
    contract.rows = ["packets", "sequential", "fours"], contract.choice = @order_by_place} {
  return %input : f32
}

func.func private @order_by_place() -> i32 {
  %is_block = arith.xori %apart, true : i1
  cf.assert %is_block, "ONNX Runtime's sum over dimensions that don't lie together is not known"
  %is_between = arith.cmpi sgt, %row_count, 1 : i32
  %of_columns = arith.select %is_between, 2, 1 : i32
  %has_columns = arith.cmpi sgt, %column_count, 1 : i32
  %result = arith.select %has_columns, %of_columns, 0 : i32
}

// Elements in turn; those of a whole tensor by packets, as all such sums below.
func.func @real_l1() -> f32 {
  %result = func.call @absolute_values() : () -> f32
}

func.func @real_l2() -> f32 {
  %result = math.sqrt @squares : f32
}

// core/providers/cpu/nn/pool_functors.h, LpPool
func.func @real_global_l2() -> f32 {
  %result = func.call @powf(@squares, 0.5) : (f32, f32) -> f32
}

func.func @real_square_sum() -> f32 {
  %result = func.call @squares() : () -> f32
}

func.func @real_log_sum() -> f32 {
  %result = func.call @logf(@elements) : (f32) -> f32
}

func.func @real_product() -> f32 {
  %is_partial = arith.xori %whole, true : i1
  cf.assert %is_partial, "ONNX Runtime's product of all elements is not known; expected one of some dimensions"
  %result = func.call @multiplied(1.0) : (f32) -> f32
}

func.func @real_log_sum_exp() -> f32 {
  %log = func.call @logf(@distant_exponentials) : (f32) -> f32
  %result = arith.addf %log, @highest : f32
}

func.func @real_maximum() -> f32 {
  %result = func.call @highest() : () -> f32
}

func.func @real_minimum() -> f32 {
  %result = func.call @minimum(0x7F800000) : (f32) -> f32
}

func.func private @order_of_whole() -> i32 {
  %result = arith.select %whole, 0, 1 : i32
}

func.func private @elements(%input: f32) -> f32
    attributes {contract.rows = ["packets", "sequential"], contract.choice = @order_of_whole} {
  return %input : f32
}

func.func private @absolute_values(%input: f32) -> f32
    attributes {contract.rows = ["packets", "sequential"], contract.choice = @order_of_whole} {
  %result = math.absf %input : f32
}

func.func private @squares(%input: f32) -> f32
    attributes {contract.rows = ["packets", "sequential"], contract.choice = @order_of_whole} {
  %result = arith.mulf %input, %input : f32
}

func.func private @highest() -> f32 {
  %result = func.call @maximum(0xFF800000) : (f32) -> f32
}

func.func private @distant_exponentials(%input: f32) -> f32
    attributes {contract.rows = "sequential"} {
  %below = arith.subf %input, @highest : f32
  %result = func.call @expf(%below) : (f32) -> f32
}

func.func private @multiplied(%so_far: f32, %input: f32) -> f32
    attributes {contract.rows = "fold"} {
  %result = arith.mulf %so_far, %input : f32
}

func.func private @minimum(%so_far: f32, %input: f32) -> f32 attributes {contract.rows = "fold"} {
  %result = arith.minimumf %so_far, %input : f32
}

func.func @real_max_pool() -> f32 {
  %y = func.call @maximum(-3.4028234663852886e+38) : (f32) -> f32
  %result = func.call @clamp_real(%y) : (f32) -> f32
}

func.func private @mean_of(%sum: f32) -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %mean = arith.divf %sum, %n : f32
  %result = func.call @clamp_real(%mean) : (f32) -> f32
}

func.func private @taps(%input: f32) -> f32
    attributes {contract.rows = ["columns_first", "sequential"], contract.choice = @taps_order} {
  return %input : f32
}

func.func private @taps_order() -> i32 {
  %side = arith.maxsi %kernel_height, %kernel_width : i32
  %is_large = arith.cmpi sgt, %side, 32 : i32
  %is_coarse = arith.cmpi sgt, %stride_width, 2 : i32
  %padded = arith.addi %image_width, %pad_left : i32
  %width = arith.addi %padded, %pad_right : i32
  %is_wide = arith.cmpi sgt, %width, 2045 : i32
  %is_either = arith.ori %is_large, %is_coarse : i1
  %is_any = arith.ori %is_either, %is_wide : i1
  %result = arith.select %is_any, 1, 0 : i32
}

func.func private @columns(%input: f32) -> f32 attributes {contract.rows = "columns_first"} {
  return %input : f32
}

// core/mlas/lib/compute.cpp and x86_64/TransKernelAvx512F.S. With AVX2 alone there are eight lanes.
func.func @real_softmax(%input: f32) -> f32 {
  %e = func.call @exponential(%input) : (f32) -> f32
  %result = arith.mulf %e, @share_of_exponentials : f32
}

func.func @real_log_softmax(%input: f32) -> f32 {
  %below = arith.subf %input, @largest : f32
  %result = arith.subf %below, @log_of_exponentials : f32
}

func.func private @largest() -> f32 {
  %result = func.call @maximum(-3.4028234663852886e+38) : (f32) -> f32
}

func.func private @exponential(%input: f32) -> f32 attributes {contract.rows = "each"} {
  %below = arith.subf %input, @largest : f32
  %result = func.call @exp(%below) : (f32) -> f32
}

func.func private @exponentials(%input: f32) -> f32 attributes {contract.rows = "sixteens"} {
  %result = func.call @exponential(%input) : (f32) -> f32
}

func.func private @share_of_exponentials() -> f32 attributes {contract.rows = "row"} {
  %result = arith.divf 1.0, @exponentials : f32
}

func.func private @log_of_exponentials() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @logf(@exponentials) : (f32) -> f32
}

// The kernel of onnxruntime 1.31's wheel for x86-64 with AVX2: the mean from sums of float64 in four
// lanes, the squared distances in eight lanes of FMAs.
func.func @real_layer_norm(%input: f32, %scale: f32, %bias: f32) -> f32 {
  %distance = func.call @distance(%input) : (f32) -> f32
  %normal = arith.mulf %distance, @inverse_deviation : f32
  %result = math.fma %normal, %scale, %bias : f32
}

func.func private @sum_of_row(%input: f32) -> f64 attributes {contract.rows = "lanes"} {
  %result = arith.extf %input : f32 to f64
}

func.func private @mean_of_row() -> f32 attributes {contract.rows = "row"} {
  %n = arith.sitofp %count : i32 to f64
  %mean = arith.divf @sum_of_row, %n : f64
  %result = arith.truncf %mean : f64 to f32
}

func.func private @distance(%input: f32) -> f32 {
  %result = arith.subf %input, @mean_of_row : f32
}

func.func private @squared_distances(%input: f32) -> f32
    attributes {contract.rows = "squares_in_fused_lanes"} {
  %result = func.call @distance(%input) : (f32) -> f32
}

func.func private @inverse_deviation() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @inverse_deviation_of(@squared_distances) : (f32) -> f32
}

func.func private @inverse_deviation_of(%sum: f32) -> f32 {
  %deviation = func.call @deviation_of(%sum) : (f32) -> f32
  %result = arith.divf 1.0, %deviation : f32
}

func.func private @deviation_of(%sum: f32) -> f32 {
  %n = arith.sitofp %count : i32 to f32
  %square = arith.divf %sum, %n : f32
  %moved = arith.addf %square, %epsilon : f32
  %result = math.sqrt %moved : f32
}

func.func @real_rms_norm(%input: f32, %scale: f32) -> f32 {
  %normal = arith.mulf %input, @inverse_norm : f32
  %result = arith.mulf %normal, %scale : f32
}

func.func private @fused_squares(%input: f32) -> f32
    attributes {contract.rows = "squares_in_fused_lanes"} {
  return %input : f32
}

func.func private @inverse_norm() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @inverse_deviation_of(@fused_squares) : (f32) -> f32
}

// core/providers/cpu/nn/layer_norm_impl.cc, rows of fewer than 8 (16) numbers, and
// contrib_ops/cpu/skip_layer_norm.cc: each number corrects the mean and the sum of squares, as
// Welford has it; without a mean squares are added in turn.
func.func @real_loop_layer_norm(%input: f32, %scale: f32, %bias: f32) -> f32 {
  %mean, %total = func.call @welford(0.0, 0.0) : (f32, f32) -> (f32, f32)
  %distance = arith.subf %input, %mean : f32
  %normal = arith.divf %distance, @deviation_by_turns : f32
  %scaled = arith.mulf %normal, %scale : f32
  %result = arith.addf %scaled, %bias : f32
}

func.func private @welford(%mean: f32, %total: f32, %input: f32, %turn: f32) -> (f32, f32)
    attributes {contract.rows = "fold"} {
  %distance = arith.subf %input, %mean : f32
  %share = arith.divf %distance, %turn : f32
  %moved = arith.addf %mean, %share : f32
  %after = arith.subf %input, %moved : f32
  %product = arith.mulf %distance, %after : f32
  %sum = arith.addf %total, %product : f32
  return %moved, %sum : f32, f32
}

func.func private @deviation_by_turns() -> f32 attributes {contract.rows = "row"} {
  %mean, %total = func.call @welford(0.0, 0.0) : (f32, f32) -> (f32, f32)
  %result = func.call @deviation_of(%total) : (f32) -> f32
}

func.func @real_loop_rms_norm(%input: f32, %scale: f32) -> f32 {
  %normal = arith.divf %input, @norm_by_turns : f32
  %result = arith.mulf %normal, %scale : f32
}

func.func private @squares_in_turn(%input: f32) -> f32 attributes {contract.rows = "sequential"} {
  %result = arith.mulf %input, %input : f32
}

func.func private @norm_by_turns() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @deviation_of(@squares_in_turn) : (f32) -> f32
}

// contrib_ops/cpu/bert/embed_layer_norm.cc: mean and squares in turn.
func.func @real_plain_layer_norm(%input: f32, %scale: f32, %bias: f32) -> f32 {
  %distance = arith.subf %input, @mean_in_turn : f32
  %normal = arith.divf %distance, @deviation_in_turn : f32
  %scaled = arith.mulf %normal, %scale : f32
  %result = arith.addf %scaled, %bias : f32
}

func.func private @mean_in_turn() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @mean_of(@elements_in_turn) : (f32) -> f32
}

func.func private @squared_distances_in_turn(%input: f32) -> f32
    attributes {contract.rows = "sequential"} {
  %distance = arith.subf %input, @mean_in_turn : f32
  %result = arith.mulf %distance, %distance : f32
}

func.func private @deviation_in_turn() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @deviation_of(@squared_distances_in_turn) : (f32) -> f32
}

// core/providers/cpu/nn/instance_norm.cc: sums by Eigen, those of squares of what was computed
// before, which begins at an aligned address.
func.func @real_instance_norm(%input: f32) -> f32 {
  %scaled = arith.mulf %input, @instance_scale : f32
  %result = arith.addf %scaled, @instance_offset : f32
}

func.func private @elements_in_packets(%input: f32) -> f32 attributes {contract.rows = "packets"} {
  return %input : f32
}

func.func private @instance_mean() -> f32 attributes {contract.rows = "row"} {
  %result = func.call @mean_of(@elements_in_packets) : (f32) -> f32
}

func.func private @instance_squares(%input: f32) -> f32
    attributes {contract.rows = "aligned_packets"} {
  %d = arith.subf %input, @instance_mean : f32
  %result = arith.mulf %d, %d : f32
}

func.func private @instance_scale(%scale: f32) -> f32 attributes {contract.rows = "row"} {
  %inverse = func.call @inverse_deviation_of(@instance_squares) : (f32) -> f32
  %result = arith.mulf %inverse, %scale : f32
}

func.func private @instance_offset(%bias: f32) -> f32 attributes {contract.rows = "row"} {
  %moved = arith.mulf @instance_mean, @instance_scale : f32
  %result = arith.subf %bias, %moved : f32
}

// core/providers/cpu/tensor/mean_variance_normalization.cc
func.func @real_mean_variance_norm(%input: f32) -> f32 {
  %distance = arith.subf %input, @instance_mean : f32
  %result = arith.divf %distance, @plain_deviation : f32
}

func.func private @plain_deviation() -> f32 attributes {contract.rows = "row"} {
  %variance = func.call @mean_of(@instance_squares) : (f32) -> f32
  %result = math.sqrt %variance : f32
}

// The operator's function in ONNX's schema, with Eigen's sums.
func.func @real_group_norm(%input: f32, %scale: f32, %bias: f32) -> f32 {
  %distance = arith.subf %input, @instance_mean : f32
  %normal = arith.divf %distance, @group_deviation : f32
  %scaled = arith.mulf %scale, %normal : f32
  %result = arith.addf %scaled, %bias : f32
}

func.func private @squares_in_packets(%input: f32) -> f32 attributes {contract.rows = "packets"} {
  %result = arith.mulf %input, %input : f32
}

func.func private @group_deviation() -> f32 attributes {contract.rows = "row"} {
  %of_squares = func.call @mean_of(@squares_in_packets) : (f32) -> f32
  %square = arith.mulf @instance_mean, @instance_mean : f32
  %variance = arith.subf %of_squares, %square : f32
  %moved = arith.addf %variance, %epsilon : f32
  %result = math.sqrt %moved : f32
}

// ---------------------------------------------------------------- real numbers, stored weights

// DynamicQuantizeLinear, of the whole tensor; codes of uint8 less 128. cpu/quantization,
// GetQuantizationParameter: NaN and infinities come out as x86 has them.
func.func @dynamic_range(%lowest: f32, %highest: f32) -> (f32, f32, i32)
    serves hybrid_range, hybrid_symmetric_range {
  %distance = arith.subf %highest, %lowest : f32
  %step = arith.divf %distance, 255.0 : f32
  %is_flat = arith.cmpf oeq, %highest, %lowest : f32
  %scale = arith.select %is_flat, 1.0, %step : f32
  %codes_below = arith.divf %lowest, %scale : f32
  %below = arith.subf 0.0, %codes_below : f32
  %is_low = arith.cmpf olt, %below, 255.0 : f32
  %lowered = arith.select %is_low, %below, 255.0 : f32
  %is_high = arith.cmpf ogt, %lowered, 0.0 : f32
  %within = arith.select %is_high, %lowered, 0.0 : f32
  %unsigned = fixed.convert %within {rounding = half_even} : f32 to i32
  %zero_point = arith.subi %unsigned, 128 : i32
  return %scale, %scale, %zero_point : f32, f32, i32
}

// MlasQuantizeLinear, whose bounds come before the zero point.
func.func @hybrid_code(%input: f32, %input_scale: f32, %input_zero_point: i32) -> i32 {
  %steps = arith.divf %input, %input_scale : f32
  %lowest = arith.subi -128, %input_zero_point : i32
  %highest = arith.subi 127, %input_zero_point : i32
  %low = arith.sitofp %lowest : i32 to f32
  %high = arith.sitofp %highest : i32 to f32
  %is_above = arith.cmpf ogt, %steps, %low : f32
  %raised = arith.select %is_above, %steps, %low : f32
  %is_below = arith.cmpf olt, %raised, %high : f32
  %within = arith.select %is_below, %raised, %high : f32
  %rounded = fixed.convert %within {rounding = half_even} : f32 to i32
  %result = arith.addi %rounded, %input_zero_point : i32
}

// MatMulIntegerToFloat; ConvInteger, Cast, Mul and Add.
func.func @hybrid_linear(%accumulator: i32, %input_scale: f32, %weight_scale: f32, %real_bias: f32) -> f32
    serves hybrid_conv2d, hybrid_depthwise_conv2d, hybrid_linear
    attributes {contract.product = "tensor_range"} {
  %real = arith.sitofp %accumulator : i32 to f32
  %scale = arith.mulf %input_scale, %weight_scale : f32
  %product = arith.mulf %real, %scale : f32
  %y = arith.addf %product, %real_bias : f32
  %result = func.call @clamp_real(%y) : (f32) -> f32
}

// ---------------------------------------------------------------- average

// QLinearAveragePool dequantizes and adds in float32.
func.func @avg_pool2d_addend(%input: i32) -> f32 {
  %result = func.call @dequantize_exactly(%input) : (i32) -> f32
}

func.func @avg_pool2d(%sum: f32, %count: i32, %output_scale: f32, %output_zero_point: i32) -> i32 {
  %n = arith.sitofp %count : i32 to f32
  %mean = arith.divf %sum, %n : f32
  %steps = arith.divf %mean, %output_scale : f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = arith.addf %steps, %z : f32
  %result = func.call @store_with_zero_point_inside(%moved) : (f32) -> i32
}

// ---------------------------------------------------------------- elementwise

// MlasQLinearAddKernelAvx2Helper: all zero points become one float32, in which the compiler
// contracts a product and a sum, too. QLinearAdd exchanges the operands where its left one is a
// scalar.
func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %in_order = func.call @add_in_order(%lhs, %lhs_scale, %lhs_zero_point, %rhs, %rhs_scale, %rhs_zero_point) : (i32, f32, i32, i32, f32, i32) -> i32
  %out_of_order = func.call @add_in_order(%rhs, %rhs_scale, %rhs_zero_point, %lhs, %lhs_scale, %lhs_zero_point) : (i32, f32, i32, i32, f32, i32) -> i32
  %result = arith.select %lhs_is_scalar, %out_of_order, %in_order : i32
}

// The largest product of a code with it is finite, too.
func.func private @require_finite(%ratio: f32) {
  %legal = arith.cmpf olt, %ratio, 1.0E+30 : f32
  cf.assert %legal, "the ratio of the operands' scales to the output's is 10^30 or more"
}

func.func private @add_in_order(
    %lhs: i32, %lhs_scale: f32, %lhs_zero_point: i32, %rhs: i32, %rhs_scale: f32,
    %rhs_zero_point: i32) -> i32 {
  %lhs_ratio = arith.divf %lhs_scale, %output_scale : f32
  %rhs_ratio = arith.divf %rhs_scale, %output_scale : f32
  %both = arith.maximumf %lhs_ratio, %rhs_ratio : f32
  func.call @require_finite(%both) : (f32) -> ()
  %lhs_zero = arith.sitofp %lhs_zero_point : i32 to f32
  %rhs_zero = arith.sitofp %rhs_zero_point : i32 to f32
  %rhs_offset = arith.mulf %rhs_ratio, %rhs_zero : f32
  %offsets = math.fma %lhs_zero, %lhs_ratio, %rhs_offset : f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %fixed = arith.subf %z, %offsets : f32
  %a = arith.sitofp %lhs : i32 to f32
  %b = arith.sitofp %rhs : i32 to f32
  %moved = math.fma %b, %rhs_ratio, %fixed : f32
  %sum = math.fma %a, %lhs_ratio, %moved : f32
  %result = func.call @store_with_zero_point_inside(%sum) : (f32) -> i32
}

// MlasQLinearMul.
func.func @mul(%lhs: i32, %lhs_scale: f32, %rhs: i32, %rhs_scale: f32) -> i32 {
  %multiplier = func.call @product_ratio(%lhs_scale, %rhs_scale) : (f32, f32) -> f32
  func.call @require_finite(%multiplier) : (f32) -> ()
  %real = arith.sitofp @centred_product : i32 to f32
  %scaled = arith.mulf %real, %multiplier : f32
  %z = arith.sitofp %output_zero_point : i32 to f32
  %moved = arith.addf %scaled, %z : f32
  %result = func.call @store_with_zero_point_inside(%moved) : (f32) -> i32
}

// The stored integer of a bound, as QuantizeLinear gives it.
func.func @bound(%real: f32) -> i32 {
  %result = func.call @quantize_linear(%real, -65536, 65536) : (f32, i32, i32) -> i32
}

// ---------------------------------------------------------------- borders, rescaling

// NaN gives the smallest code.
func.func @quantize(%input: f32) -> i32 serves quantize, quantize_i16 {
  %infinity = arith.constant 0xFF800000 : f32
  %above = arith.cmpf ogt, %input, %infinity : f32
  %number = arith.select %above, %input, %infinity : f32
  %result = func.call @quantize_linear(%number) : (f32) -> i32
}

// Scales that only run time knows, any number: as instructions saturate. Those of float16 become
// float32 before; a loop of C++ divides by these.
func.func @quantize_with(%input: f32) -> i32 serves quantize_with, quantize_with_i16 {
  %steps = arith.divf %input, %output_scale : f32
  %by_half = func.call @store_or_lowest(%steps) : (f32) -> i32
  %by_whole = func.call @code_between(%input, %output_scale, %output_zero_point, %output_min, %output_max)
      : (f32, f32, i32, i32, i32) -> i32
  %result = arith.select %half_scales, %by_half, %by_whole : i32
}

func.func private @requantized_with(%accumulator: i32) -> i32 serves conv2d_with, matmul_with {
  %result = func.call @requantized(%accumulator, %input_scale, %weight_scale, %output_scale, %output_zero_point, %output_min, %output_max)
      : (i32, f32, f32, f32, i32, i32, i32) -> i32
}

// QLinearConcat: an input whose scale and zero point are the output's is copied.
func.func @concat(%input: i32) -> i32 {
  %rescaled = func.call @rescale(%input) : (i32) -> i32
  %result = arith.select @is_same_quantization, %input, %rescaled : i32
}

// QLinearLeakyRelu, a table.
func.func @leaky_relu(%input: i32) -> i32 {
  %real = func.call @dequantize_exactly(%input) : (i32) -> f32
  %leak = arith.mulf %real, %alpha : f32
  %not_negative = arith.cmpf oge, %real, 0.0 : f32
  %y = arith.select %not_negative, %real, %leak : f32
  %result = func.call @quantize_linear(%y) : (f32) -> i32
}

// QLinearSigmoid, a table.
func.func @sigmoid(%input: i32) -> i32 {
  %y = func.call @logistic(@dequantize_exactly) : (f32) -> f32
  %result = func.call @quantize_linear(%y) : (f32) -> i32
}

// ---------------------------------------------------------------- softmax

// BuildLookupTableIfFixed: the largest term of a row is as large as its sum allows.
func.func @softmax_term(%difference: i32) -> f32 {
  %unscaled = arith.cmpf oeq, %beta, 1.0 : f32
  cf.assert %unscaled, "a softmax of ONNX Runtime has no beta"
  %log = math.log @largest_term : f32
  %reserve = arith.constant 5.0 : f64
  %rest = arith.subf %log, %reserve : f64
  %shift = arith.maximumf %rest, 0.0 : f64
  %shift_steps = arith.divf %shift, %input_scale : f64
  %shifted = arith.addf %difference, %shift_steps : f64
  %real = arith.mulf %shifted, %input_scale : f64
  %exponential = math.exp %real : f64
  %result = arith.truncf %exponential : f64 to f32
}

func.func private @largest_term() -> f32 {
  %largest = arith.constant 3.40282347E+38 : f32
  %size = arith.sitofp %row_size : i32 to f32
  %result = arith.divf %largest, %size : f32
}

func.func @softmax_addend(%term: f32) -> f32 { return %term : f32 }

// QuantizeOutput: with the whole part of 1 / scale.
func.func @softmax_output(%term: f32, %sum: f32) -> i32 {
  %inverse = arith.divf 1.0, %output_scale : f32
  %codes = math.floor %inverse : f32
  %size = arith.sitofp %row_size : i32 to f32
  %most = arith.mulf 148.0, %size : f32
  %finite = arith.cmpf ole, %codes, %most : f32
  cf.assert %finite, "ONNX Runtime's softmax overflows where 1 / output scale is more than 148 times a row's size"
  %scaled = arith.mulf %term, %codes : f32
  %steps = arith.divf %scaled, %sum : f32
  %result = func.call @store_half_even(%steps) : (f32) -> i32
}

}
