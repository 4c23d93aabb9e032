// TOSA with RESCALE in mode DOUBLE_ROUND everywhere, as tosa-converter-for-tflite writes it.
// Otherwise as the contract tosa.

module attributes {
  contract.summary = "TOSA's RESCALE in DOUBLE_ROUND mode, as made from TFLite models",
  contract.base = "tosa"
} {

func.func private @rounds_twice(%double_round: i1) -> i1 {
  %true = arith.constant true
  return %true : i1
}

// Lone RELUs are the exception: the converter gives them SINGLE_ROUND.
func.func @clamp(
    %input: i32 {contract.value = "input"},
    %input_scale: f32 {contract.value = "input_scale"},
    %input_zero_point: i32 {contract.value = "input_zero_point"},
    %output_scale: f32 {contract.value = "output_scale"},
    %zero_point: i32 {contract.value = "output_zero_point"},
    %min: i32 {contract.value = "output_min"},
    %max: i32 {contract.value = "output_max"}) -> i32 {
  %real = func.call @ratio(%input_scale, %output_scale) : (f32, f32) -> f64
  %multiplier, %exponent = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %c31 = arith.constant 31 : i32
  %places = arith.subi %c31, %exponent : i32
  %shift = arith.extsi %places : i32 to i64
  %single_round = arith.constant false
  %centred = arith.subi %input, %input_zero_point : i32
  %scaled = func.call @apply_scale_32(%centred, %multiplier, %shift, %single_round) : (i32, i32, i64, i1) -> i32
  %result = func.call @offset_and_clamp(%scaled, %zero_point, %min, %max) : (i32, i32, i32, i32) -> i32
  return %result : i32
}

// The converter gives AVG_POOL2D zero points of 0, so that it averages stored integers as
// TFLite does.
func.func @avg_pool2d(
    %accumulator: i32 {contract.value = "accumulator"},
    %count: i32 {contract.value = "count"},
    %min: i32 {contract.value = "output_min"},
    %max: i32 {contract.value = "output_max"}) -> i32 {
  %zero = arith.constant 0 : i32
  %result = func.call @tosa.avg_pool2d(%accumulator, %count, %zero, %zero, %min, %max) : (i32, i32, i32, i32, i32, i32) -> i32
  return %result : i32
}

}
