// The arithmetic of Deeploy's requantization, for PULP clusters and other accelerators (Deeploy
// bf64cfae): an integer multiplier, an addend and one shift, half up.
// # Operands
// M and n come with the model: here they are the ratio of the scales, which is M 2^-n exactly. The
// addend is a multiple of M, the bias.
// # Quirks
// - Products have 32 bits and wrap: where one could be larger, this differs.
// - Without Deeploy's flag `rounding` shifts are those of `pulp-nn`.
// # Not matched
// - An addend that no bias gives; other operations than these have those of `pow2-shift`.
// # Checked against
// Compiled source, `RequantShift_s32_s8_NHWC`, as `requant-shift` says, with multipliers of 10
// bits: no mismatch.
// # Sources
// - pulp-platform/Deeploy at bf64cfae, TargetLibraries/Generic/src/RequantShift_s8.c

module attributes {contract.family = "PULP", contract.base = "requant-shift",
    contract.summary = "Deeploy: integer multiplier and shift of the model, half up"} {
}
