// The arithmetic of ESP-DL on the ESP32-S3 (esp-dl 12c0616d): as `esp-dl-esp32`, but its vector unit
// sums in lanes of 20 bits, which saturate.
// # Formula
// acc = the bias; then after each product acc = clamp(acc + x w, -2^19, 2^19 - 1), in the order of the
// weights: row, column, channel. Then as `esp-dl-esp32`.
// # Ties
// Half up.
// # Operands
// As `esp-dl-esp32`.
// # Quirks
// - 33 products of 127 * 127 fill a lane. `lint` names the layers whose sums can reach its ends, and
//   `verify --equal esp-dl-esp32 esp-dl-s3` those that give other results then.
// # Not matched
// - Weights of several scales: the assembly adds their bias behind the sum.
// # Checked against
// From source: the assembly clears QACC, loads the bias, and multiplies. The saturation is as it was
// reported from a chip; nothing ran on one here.
// # Sources
// - espressif/esp-dl at 12c0616d, esp-dl/dl/base/isa/tie728/dl_tie728_s8_conv2d.S
// - espressif/qemu, issue 165: EE.VMULAS.S8.QACC saturates at every product

module attributes {contract.family = "Espressif", contract.base = "esp-dl-esp32",
    contract.summary = "ESP-DL on ESP32-S3: lanes of 20 bits that saturate, half up"} {

// A lane of QACC.
func.func @accumulate(%accumulator: i32) -> i32 {
  %above = arith.maxsi %accumulator, -524288 : i32
  %result = arith.minsi %above, 524287 : i32
}

// A lane saturates at every product.
func.func @accumulate_group() -> i32 { %result = arith.constant 1 : i32 }

func.func private @from_lane(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear attributes {contract.product = "in_turn"} {
  %one = arith.cmpi eq, %one_weight_scale, true : i1
  cf.assert %one, "weights of several scales, whose bias this device adds behind the sum"
  %result = func.call @conv2d(%accumulator) : (i32) -> i32
}

}
