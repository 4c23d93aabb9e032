// The arithmetic of ESP-DL on the ESP32-S3 (esp-dl 12c0616d): as `esp-dl-esp32`, but its vector unit
// sums in lanes, which saturate: of 20 bits for elements of 8, of 40 for those of 16.
// # Formula
// acc = the bias; then after each product acc = clamp(acc + x w, -2^19, 2^19 - 1), in the order of the
// weights: row, column, channel; in a product of matrices in the order of the shared dimension.
// # Quirks
// - 33 products of 127 * 127 fill a lane: `lint` names layers whose sums can reach its ends.
// - Output channels beyond the last multiple of 16 (8 of int16) are summed one by one in a register
//   of 40 bits, which no int8 layer fills. For int16 it takes 8 products of a pixel at a time and
//   saturates after each 8, and after the last of a pixel. Depthwise convolutions sum all in lanes.
// # Not matched
// - Weights of several scales: the assembly adds their bias behind the sum.
// # Checked against
// Source read: the assembly, the reference manual, and for 8 bits what a chip was reported to do;
// nothing ran on one here. Independent integers: `tests/contracts/test_sums_in_turn.py`.
// # Sources
// - espressif/esp-dl at 12c0616d, esp-dl/dl/base/isa/tie728/dl_tie728_s8_conv2d.S, _s16_conv2d.S,
//   _s16_unaligned_conv2d.S, _s16.S; dl/module/include/dl_module_matmul.hpp (a convolution)
// - espressif/qemu, issue 165: EE.VMULAS.S8.QACC saturates at every product
// - ESP32-S3 Technical Reference Manual 1.7, EE.VSMULAS.S16.QACC, EE.VMULAS.S16.ACCX

module attributes {contract.family = "Espressif", contract.base = "esp-dl-esp32", contract.words,
    contract.summary = "ESP-DL on ESP32-S3: lanes of 20 or 40 bits that saturate, half up"} {

// A lane of QACC, or ACCX for channels that fill no vector of 16.
func.func @accumulate(%accumulator: i32) -> i32 {
  %alone = func.call @is_alone(16) : (i32) -> i1
  %result = %accumulator if %alone else min(max(%accumulator, -524288), 524287)
}

func.func @accumulate_i16(%accumulator: i64) -> i64 {
  %alone = func.call @is_alone(8) : (i32) -> i1
  %result = @word_alone(%accumulator) if %alone else @in_40_bits(%accumulator) : i64
}

func.func @accumulate_group() -> i32 serves accumulate_group, accumulate_group_i16 { %result = 1 : i32 }

func.func private @require_one_scale(%one_weight_scale: i1) {
  cf.assert %one_weight_scale, "weights of several scales, whose bias this device adds behind the sum"
}

func.func private @from_lane(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear attributes {contract.product = "in_turn"} {
  func.call @require_one_scale() : () -> ()
  %result = func.call @conv2d(%accumulator) : (i32) -> i32
}

func.func private @from_wide_lane(%accumulator: i64) -> i32
    serves conv2d_i16, depthwise_conv2d_i16, linear_i16 attributes {contract.product = "in_turn"} {
  func.call @require_one_scale() : () -> ()
  %result = func.call @words(%accumulator) : (i64) -> i32
}

// Matrices are multiplied by the kernels of convolutions of one pixel.
func.func @matmul(%accumulator: i32) -> i32 attributes {contract.product = "in_turn"} {
  %result = func.call @conv2d(%accumulator) : (i32) -> i32
}

func.func @matmul_i16(%accumulator: i64) -> i32 attributes {contract.product = "in_turn"} {
  %result = func.call @words(%accumulator) : (i64) -> i32
}

}
