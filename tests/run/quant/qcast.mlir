// CONTRACTS: exact tflite
// INPUT: -1000.0 -0.25 0.25 0.75 1.25 -1.25 3.1 1e9
// EXPECT exact: -128 -3 -3 -1 -1 -5 3 127
// EXPECT tflite: -128 -4 -2 -1 0 -6 3 127
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<8xf32>) -> tensor<8x!a> {
  %y = quant.qcast %x : tensor<8xf32> to tensor<8x!a>
  return %y : tensor<8x!a>
}
