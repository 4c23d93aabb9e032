// CONTRACTS: tflite
// INPUT: -128 -3 0 127
// EXPECT tflite: -128 -3 0 127 -128 -3 0 127
!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<i8:f32, 0.25:7>
func.func @main(%x: tensor<4x!a>) -> (tensor<4xi8>, tensor<4x!b>) {
  %y = quant.scast %x : tensor<4x!a> to tensor<4xi8>
  %z = quant.scast %y : tensor<4xi8> to tensor<4x!b>
  return %y, %z : tensor<4xi8>, tensor<4x!b>
}
