// The arithmetic of ESP-DL on the ESP32-P4 (esp-dl 12c0616d): as `esp-dl-esp32`, but half to even.
// # Formula
// As `esp-dl-esp32`, with shifts and averages that round to the nearest, half to even.
// # Ties
// Half to even.
// # Operands
// As `esp-dl-esp32`; convolutions and linear layers have an exponent for each channel.
// # Quirks
// - Sums have 32 bits and more: nothing saturates.
// # Not matched
// - Operations other than convolutions, linear layers and averages have the arithmetic of
//   `pow2-shift`, with this rounding: read in no source.
// # Checked against
// Compiled source: `shift_and_round` with CONFIG_ROUND_HALF_EVEN_ENABLED, by
// `tests/contracts/test_makers_code.py`: 201,960 sums, 102,960 of them at or next to
// a tie, and 200,000 sums of 64 bits for int16, 150,000 of them; no mismatch. The rest from
// source. Nothing ran on a chip.
// # Sources
// - espressif/esp-dl at 12c0616d, esp-dl/dl/tool/src/dl_tool.cpp

module attributes {contract.family = "Espressif", contract.base = "esp-dl-esp32", contract.words,
    contract.summary = "ESP-DL on ESP32-P4: powers of two, half to even"} {

func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {
  %result = fixed.shift_right %x, %places {rounding = half_even} : i64
}

func.func private @round_mean(%steps: f32) -> i32 replaces {
  %result = fixed.convert %steps {rounding = half_even} : f32 to i32
}

}
