// The arithmetic of Analog Devices' MAX78000 and MAX78002 as ai8x-synthesis simulates it
// (ab4f4c0): powers of two, half up.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(floor(acc / 2^n + 1/2))`; the bias, in steps of
//   128, is one of the sum's
// - avg_pool2d, mean: `y = sum / count`, toward zero
// # Ties
// Half up; averages truncate.
// # Operands
// Shifts of the output: other ratios of scales, and zero points, are refused.
// # Quirks
// - The sum is clamped to 8 bits before an activation.
// # Not matched
// - The device's sums have 30 bits; layers of 32-bit outputs; `--avg-pool-rounding`.
// # Checked against
// Source read: nothing ran on a device.
// # Sources
// - analogdevicesinc/ai8x-synthesis at ab4f4c0, izer/simulate.py, izer/compute.py

module attributes {contract.family = "Analog Devices", contract.base = "esp-dl-esp32",
    contract.summary = "MAX78000: powers of two, half up, averages toward zero"} {

func.func private @require_equal_scales() {
  cf.assert @is_same_quantization, "an average's scales differ, which this device can't change"
}

func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces {
  func.call @require_equal_scales() : () -> ()
  %mean = arith.divsi @centred_sum, %count : i32
  %result = func.call @clamp_and_offset(%mean) : (i32) -> i32
}

}
