// CONTRACTS: exact tflite
// EXPECT exact: -128 5 7 127
// EXPECT tflite: -128 5 7 127
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main() -> tensor<4x!a> {
  %y = qnn.constant dense<[[-128, 5], [7, 127]]> : tensor<2x2xi8> -> tensor<2x2x!a>
  %z = qnn.reshape %y : (tensor<2x2x!a>) -> tensor<4x!a>
  return %z : tensor<4x!a>
}
