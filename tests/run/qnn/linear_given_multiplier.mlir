// A multiplier and a shift of the model, 13 2^-8: sums that are ties, or next to one.
// CONTRACTS: tpu-mlir gap9 deeploy pulp-nn gemmini
// INPUT: 127 -128 1 100
// EXPECT tpu-mlir: -7 -32 33 33 71 72 46 -6 32 46 -19 -32
// EXPECT gap9: -7 -32 33 33 71 72 46 -6 32 46 -19 -32
// EXPECT deeploy: -7 -32 33 33 71 72 46 -6 32 46 -19 -32
// EXPECT pulp-nn: -7 -33 32 32 71 71 45 -7 32 45 -20 -33
// EXPECT gemmini: -7 -32 32 33 71 72 46 -6 32 46 -20 -32
!a = !quant.uniform<i8:f32, 1.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.05078125>
func.func @main(%x: tensor<1x4x!a>) -> tensor<1x12x!a> {
  %w = qnn.constant dense<"0x05072001F9014D030402580306062F060503380BF8F8000EFE03220F06F90FEEF8FA5708FC07001704070400070338F4"> : tensor<12x4xi8> -> tensor<12x4x!w>
  %y = qnn.linear %x, %w : (tensor<1x4x!a>, tensor<12x4x!w>) -> tensor<1x12x!a>
  return %y : tensor<1x12x!a>
}
