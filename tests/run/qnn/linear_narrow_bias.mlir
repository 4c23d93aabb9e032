// CONTRACTS: tflite tflm
// INPUT: 32767 32767 32767 32767 32767 32767 32767 32767 -5 100 -32768 77 3 12345 -20000 1
// INPUT: 2147480000 -70000
// EXPECT tflite: -26427 -27 26780 0
// EXPECT tflm: -26427 -27 26780 0
!words = !quant.uniform<i16:f32, 0.5>
!out = !quant.uniform<i16:f32, 20000.0>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
func.func @main(%x: tensor<2x8x!words>, %b: tensor<2xi32>) -> tensor<2x2x!out> {
  %w = qnn.constant dense<"0x7F7F7F7F7F7F7F7F0102030405F9F781"> : tensor<2x8xi8> -> tensor<2x8x!w>
  %y = qnn.linear %x, %w, %b : (tensor<2x8x!words>, tensor<2x8x!w>, tensor<2xi32>) -> tensor<2x2x!out>
  return %y : tensor<2x2x!out>
}
