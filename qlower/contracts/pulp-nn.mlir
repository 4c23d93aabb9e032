// The arithmetic of PULP-NN's kernels (pulp-nn 288d06b) and of Deeploy without its flag
// `rounding`: an integer multiplier, an addend and one shift that is a floor.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(((acc M) >> n) + z)`
// # Ties
// Down.
// # Operands
// As `deeploy`.
// # Quirks
// - As `deeploy`. PULP-NN's codes are uint8.
// # Not matched
// - As `deeploy`; sub-byte outputs by thresholds.
// # Checked against
// Compiled source: Deeploy's `RequantShift_s32_s8_NHWC`, by
// `tests/contracts/test_makers_code.py`: 201,960 sums, 102,960 of them at or next to
// a tie, with multipliers of 10 bits, no mismatch. Of PULP-NN source read.
// # Sources
// - pulp-platform/pulp-nn at 288d06b; pulp-platform/Deeploy at bf64cfae

module attributes {contract.family = "PULP", contract.base = "deeploy",
    contract.summary = "PULP-NN: integer multiplier and shift of the model, floor"} {

func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {
  %result = fixed.shift_right %x, %places {rounding = floor} : i64
}

}
