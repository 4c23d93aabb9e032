// The arithmetic of NNoM's own C kernels (nnom 4d1d8fc0): powers of two, half up.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = ssat8((acc + 2^(n - 1)) >> n)`, the bias shifted left
//   into the sum
// - avg_pool2d, mean: `y = sum / count`, toward zero
// # Ties
// Half up; averages truncate.
// # Quirks
// - With NNOM_TRUNCATE defined nothing is added before the shift: the floor.
// # Not matched
// - An average whose output has another shift; other operations than these.
// # Checked against
// Compiled source, `local_convolve_HWC_q7_nonsquare`, `local_fully_connected_q7`, as `requant-shift`
// says: no mismatch. Averages from source.
// # Sources
// - majianjia/nnom at 4d1d8fc0, src/backends/nnom_local.c

module attributes {contract.family = "NNoM", contract.base = "esp-dl-esp32",
    contract.summary = "NNoM: powers of two, half up, averages toward zero"} {

func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces {
  cf.assert @is_same_quantization, "an average's scales differ, which this device can't change"
  %mean = arith.divsi @centred_sum, %count : i32
  %result = func.call @clamp_and_offset(%mean) : (i32) -> i32
}

}
