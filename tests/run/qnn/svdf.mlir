// CONTRACTS: tflite tflm
// INPUT: -128 127 3 -50 64 0
// INPUT: 1 -2 3 32767 -32768 5 100 -100 7 0 0 9 20 30 -9999 -1 -2 -3 4000 500 77 -32768 32767 8
// INPUT: 127 -127 35 -80 0 100 -3 64 90 -111 1 12
// INPUT: 32767 -32767 900 -1000 25 1 0 -7 12345 20000 -3 2
// INPUT: 1000000 -70000
// EXPECT tflite: -128 -112 -128 -128 -2 -16227 0 -32768 5220 0 -100 4014 0 0 7431 0 30 -7326 0 -2 1950 0 500 1746 0 32767 3052 0
// EXPECT tflm: -128 -112 -128 -128 -2 -16227 0 -32768 5220 0 -100 4014 0 0 7431 0 30 -7326 0 -2 1950 0 500 1746 0 32767 3052 0
!in = !quant.uniform<i8:f32, 0.05:5>
!out = !quant.uniform<i8:f32, 0.3:-128>
!w = !quant.uniform<i8:f32, 0.01>
!state = !quant.uniform<i16:f32, 0.001>
!time = !quant.uniform<i16:f32, 0.0001>
func.func @main(%x: tensor<2x3x!in>, %s: tensor<2x4x3x!state>, %w: tensor<4x3x!w>, %t: tensor<4x3x!time>, %b: tensor<2xi32>) -> (tensor<2x2x!out>, tensor<2x4x3x!state>) {
  %y, %n = qnn.svdf %x, %s, %w, %t, %b : (tensor<2x3x!in>, tensor<2x4x3x!state>, tensor<4x3x!w>, tensor<4x3x!time>, tensor<2xi32>) -> (tensor<2x2x!out>, tensor<2x4x3x!state>)
  return %y, %n : tensor<2x2x!out>, tensor<2x4x3x!state>
}
