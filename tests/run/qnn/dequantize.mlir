// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: -62.5 -47 -31.5 -16 -0.5 15 30.5 46 61.5 -60 -23.5 3 65 1 1.5 2
// EXPECT tflite: -62.5 -47 -31.5 -16 -0.5 15 30.5 46 61.5 -60 -23.5 3 65 1 1.5 2
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<16x!a>) -> tensor<16xf32> {
  %y = qnn.dequantize %x : (tensor<16x!a>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}
