// The arithmetic of Analog Devices' MAX78000 and MAX78002 as ai8x-synthesis simulates it
// (ab4f4c0): powers of two, half up. The bias is in steps of 128; the sum is clamped to 8 bits
// before an activation.
// # Quirks
// - "Full resolution for both products and sums" is what the maker publishes: no width, and nothing
//   about an overflow. The largest layer that the MAX78002 takes, 2,048 channels of 3x3, needs 30 bits
//   (the MAX78000's, 1,024 channels, 29). A layer whose sums can leave 30 bits is refused.
// # Not matched
// - Layers of 32-bit outputs; `--avg-pool-rounding`.
// # Checked against
// Source read: nothing ran on a device.
// # Sources
// - analogdevicesinc/ai8x-synthesis at ab4f4c0, izer/simulate.py, izer/compute.py, README.md
//   ("Saturation and Clipping")

module attributes {contract.family = "Analog Devices", contract.base = "nnom",
    contract.summary = "MAX78000: powers of two, half up, averages toward zero"} {

func.func @accumulator_bits() -> i32 { %result = 30 : i32 }

}
