// The arithmetic of ESP-NN, Espressif's kernels for TFLite Micro on ESP32 chips, in its portable
// C (esp-nn d45b843c): that of `tflm`, which a name of its own lets you compare and prove.
// # Quirks
// - The option NN_SKIP_NUDGE, said to be not bit-exact, was equal in 59.7 million samples with
//   multipliers of 31 bits.
// # Not matched
// - The assembly for the ESP32-S3 and P4, whose results were seen to depend on where memory
//   lies: a fault of those kernels, no rounding.
// # Checked against
// Compiled source: `esp_nn_multiply_by_quantized_mult` and its fast form, 59.7 million
// (accumulator, multiplier, shift), and as `requant-shift` says: no mismatch. The pools and other
// operations from source.
// # Sources
// - espressif/esp-nn at d45b843c, src/common/common_functions.h

module attributes {contract.family = "Espressif", contract.base = "tflm",
    contract.summary = "ESP-NN's portable C: TFLite Micro's arithmetic on ESP32"} {
}
