// CONTRACTS: exact tflite
// INPUT: -128 -3 0 127
// EXPECT exact: -37.5 0 0.9000000357627869 39
// EXPECT tflite: -37.5 0 0.9000000357627869 39
!a = !quant.uniform<i8:f32, 0.3:-3>
func.func @main(%x: tensor<4x!a>) -> tensor<4xf32> {
  %y = quant.dcast %x : tensor<4x!a> to tensor<4xf32>
  return %y : tensor<4xf32>
}
