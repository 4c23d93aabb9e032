// Sums in ap_fixed<16,6>, as hls4ml makes them: products lose two places before they are added, and
// sums and results wrap. All products of the second channel are below a step of accum_t.
// CONTRACTS: hls4ml pulp-nn
// INPUT: 127 127 127 127 127 127 127 127 1 1 1 1 1 1 1 1 -128 -128 -128 -128 -128 -128 -128 -128 -1 -1 3 -1 -1 -1 -1 -1
// EXPECT hls4ml: -2 7 -8 3 2 0 3 -5 0 -8 4 -1 -1 -1 -2 1
// EXPECT pulp-nn: 127 7 127 -128 2 0 4 -5 -128 -8 -128 127 -1 0 -2 1
!a = !quant.uniform<i8:f32, 0.015625>
!w = !quant.uniform<i8:f32, 0.015625>
!c = !quant.uniform<i8:f32, 0.0625>
func.func @main(%x: tensor<4x8x!a>) -> tensor<4x4x!c> {
  %w = qnn.constant dense<[[64, 64, 64, 64, 64, 64, 64, 64], [1, 2, 3, 1, 2, 3, 1, 2], [127, 127, 127, 127, 127, 127, 127, 127], [-128, -128, -128, -128, -128, -128, -128, -128]]> : tensor<4x8xi8> -> tensor<4x8x!w>
  %b = arith.constant dense<[0, 4, 8, -4]> : tensor<4xi32>
  %y = qnn.linear %x, %w, %b : (tensor<4x8x!a>, tensor<4x8x!w>, tensor<4xi32>) -> tensor<4x4x!c>
  return %y : tensor<4x4x!c>
}
