// Lanes of 40 bits that the first product fills: the sums after all are ties, or next to one.
// The last 4 of 12 channels fill no vector: all 7 products are added at once.
// CONTRACTS: esp-dl-esp32 esp-dl-s3
// INPUT: 32767 -32768 -32768 -32768 -32768 -32768 1
// EXPECT esp-dl-esp32: 16384 16384 16384 16384 16384 16384 16384 16384 -16384 -16384 -16384 -16384
// EXPECT esp-dl-s3: 16383 16383 16384 16384 16383 16383 16384 16384 -16384 -16384 -16384 -16384
!a = !quant.uniform<i16:f32, 0.0009765625>
!c = !quant.uniform<i16:f32, 128.0>
!w = !quant.uniform<i8<-127:127>:f32, 0.00390625>
func.func @main(%x: tensor<1x7x!a>) -> tensor<1x12x!c> {
  %w = qnn.constant dense<"0x7F7F7F7F7F04FF7F7F7F7F7F04007F7F7F7F7F04017F7F7F7F7F04027F7F7F7F7F04FF7F7F7F7F7F04007F7F7F7F7F04017F7F7F7F7F04028181818181FCFF8181818181FC008181818181FC018181818181FC02"> : tensor<12x7xi8> -> tensor<12x7x!w>
  %b = arith.constant dense<[549755813883, 549755813883, 549755813883, 549755813883, 549752813888, 549752813888, 549752813888, 549752813888, -549755813881, -549755813881, -549755813881, -549755813881]> : tensor<12xi64>
  %y = qnn.linear %x, %w, %b : (tensor<1x7x!a>, tensor<12x7x!w>, tensor<12xi64>) -> tensor<1x12x!c>
  return %y : tensor<1x12x!c>
}
