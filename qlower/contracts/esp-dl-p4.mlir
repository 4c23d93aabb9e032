// The arithmetic of ESP-DL on the ESP32-P4 (esp-dl 12c0616d): as `esp-dl-esp32`, with shifts and
// averages that round half to even.
// # Ties
// Half to even.
// # Quirks
// - Convolutions and linear layers have an exponent for each channel.
// - Sums of int8 have 32 bits and more: nothing saturates. Lanes of int16 have 64, but output
//   channels beyond the last multiple of 8 are summed in a register of 40, which saturates after
//   each 8 products of a pixel and after its last; depthwise convolutions sum all in lanes.
// # Not matched
// - Other operations: as `pow2-shift`, with this rounding, read in no source.
// # Checked against
// As `esp-dl-esp32`, with CONFIG_ROUND_HALF_EVEN_ENABLED.
// # Sources
// - espressif/esp-dl at 12c0616d, esp-dl/dl/tool/src/dl_tool.cpp, esp-dl/dl/base/isa/esp32p4/
//   dl_esp32p4_s16_unaligned_conv2d.S; tools/agents/skills/esp32p4-pie-simd (ESP.VMULAS.S16.XACC)

module attributes {contract.family = "Espressif", contract.base = "esp-dl-esp32", contract.words,
    contract.summary = "ESP-DL on ESP32-P4: powers of two, half to even"} {

func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {
  %result = fixed.shift_right %x, %places {rounding = half_even} : i64
}

func.func private @round_mean(%steps: f32) -> i32 replaces { %result = half_even(%steps) }

// A lane of QACC has 64 bits, XACC 40.
func.func @accumulate_i16(%accumulator: i64) -> i64 {
  %alone = func.call @is_alone(8) : (i32) -> i1
  %result = @word_alone(%accumulator) if %alone else %accumulator
}

func.func private @of_words(%accumulator: i64) -> i32
    serves conv2d_i16, linear_i16, matmul_i16 attributes {contract.product = "in_turn"} {
  %result = func.call @words(%accumulator) : (i64) -> i32
}

}
