// The arithmetic of PULP-NN's kernels (pulp-nn 288d06b) and of Deeploy without its flag
// `rounding`: as `deeploy`, with a shift that is a floor. PULP-NN's codes are uint8.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp(((acc M) >> n) + z)`
// # Ties
// Down.
// # Not matched
// - As `deeploy`; sub-byte outputs by thresholds.
// # Checked against
// As `deeploy`, without that flag. Of PULP-NN source read.
// # Sources
// - pulp-platform/pulp-nn at 288d06b; pulp-platform/Deeploy at bf64cfae

module attributes {contract.family = "PULP", contract.base = "deeploy",
    contract.summary = "PULP-NN: integer multiplier and shift of the model, floor"} {

func.func private @round_shift(%x: i64, %places: i64) -> i64 replaces {
  %result = fixed.shift_right %x, %places {rounding = floor} : i64
}

}
