// CONTRACTS: exact tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT exact: 3 3
// EXPECT tflite: 3 3
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<2x4x!a>) -> tensor<2xi32> {
  %y = qnn.arg_max %x {axis = 1} : (tensor<2x4x!a>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}
