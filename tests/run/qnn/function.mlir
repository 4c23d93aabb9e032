// CONTRACTS: tflite
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT tflite: 127 127 102 50 -1 47 99 127 127 127 75 7 127 0 2 4 -3 -3 -2 4 29 127 127 127 127 -3 0 42 127 34 36 38 -3 -3 -3 -6 -4 44 99 127 127 -3 -4 3 127 -1 0 1 -3 -3 -3 -6 -4 44 99 127 127 -3 -4 3 127 -1 0 1 -128 -128 -128 -128 -128 11 34 48 58 -128 -128 -43 59 -80 -66 -57 127 127 127 127 127 24 16 13 10 127 127 58 10 102 83 72
!a = !quant.uniform<i8:f32, 0.05:-3>
!c = !quant.uniform<i8:f32, 0.03:-3>
func.func @main(%x: tensor<16x!a>) -> (tensor<16x!c>, tensor<16x!c>, tensor<16x!c>, tensor<16x!c>, tensor<16x!c>, tensor<16x!c>) {
  %0 = qnn.function %x {function = "abs"} : (tensor<16x!a>) -> tensor<16x!c>
  %1 = qnn.function %x {function = "exp"} : (tensor<16x!a>) -> tensor<16x!c>
  %2 = qnn.function %x {function = "gelu"} : (tensor<16x!a>) -> tensor<16x!c>
  %3 = qnn.function %x {function = "gelu_tanh"} : (tensor<16x!a>) -> tensor<16x!c>
  %4 = qnn.function %x {function = "log"} : (tensor<16x!a>) -> tensor<16x!c>
  %5 = qnn.function %x {function = "rsqrt"} : (tensor<16x!a>) -> tensor<16x!c>
  return %0, %1, %2, %3, %4, %5 : tensor<16x!c>, tensor<16x!c>, tensor<16x!c>, tensor<16x!c>, tensor<16x!c>, tensor<16x!c>
}
