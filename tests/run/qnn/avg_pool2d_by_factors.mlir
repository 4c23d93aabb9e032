// Windows of 3 by 3 by the DPU's factor 7 / 64: sums of 7 x that are ties, or next to one, and
// others than of ninths.
// CONTRACTS: esp-dl-esp32 vitis-dpu
// INPUT: 50 -120 50 -120 50 -121 -7 36 -7 36 -7 36 50 -121 50 -121 50 -121 -7 36 -7 35 -7 35 50 -121 50 -121 49 -121 -7 35 -7 35 -8 35 121 -49 121 -49 121 -50 22 -92 22 -92 22 -92 121 -50 121 -50 121 -50 21 -92 21 -93 21 -93 121 -50 120 -50 120 -50 21 -93 21 -93 21 -93
// EXPECT esp-dl-esp32: 25 -60 -4 18 60 -25 11 -46
// EXPECT vitis-dpu: 25 -59 -3 17 59 -24 11 -46
!a = !quant.uniform<i8:f32, 0.0625>
!c = !quant.uniform<i8:f32, 0.125>
func.func @main(%x: tensor<1x6x6x2x!a>) -> tensor<1x2x2x2x!c> {
  %y = qnn.avg_pool2d %x {kernel = [3, 3], stride = [3, 3], pad = [0, 0, 0, 0]} : (tensor<1x6x6x2x!a>) -> tensor<1x2x2x2x!c>
  return %y : tensor<1x2x2x2x!c>
}
