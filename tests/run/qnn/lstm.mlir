// CONTRACTS: tflite
// INPUT: -128 127 3 -50 64 0 100 -7 127 127 -128 -90
// INPUT: -128 -3 127 40
// INPUT: -32768 32767 0 -5000
// INPUT: 127 -127 35 -80 0 100 -3 64 90 -111 1
// INPUT: -127 127 60 -5 -100 33 0 90 11 -64 127 8 -21
// INPUT: 0 20000 -20000 500 -700 40000 3 -9
// EXPECT tflite: -37 89 -2 88 -16 14 -70 17 -2 88 -70 17 163 24576 -15859 8793
!in = !quant.uniform<i8:f32, 0.015:5>
!state = !quant.uniform<i8:f32, 0.0078125:-3>
!cell = !quant.uniform<i16:f32, 6.103515625E-05>
!wx = !quant.uniform<i8:f32, 0.01>
!wh = !quant.uniform<i8:f32:0, {0.005,0.005,0.006,0.006,0.02,0.02,0.008,0.008}>
func.func @main(%x: tensor<2x2x3x!in>, %h: tensor<2x2x!state>, %c: tensor<2x2x!cell>, %wx: tensor<8x3x!wx>, %wh: tensor<8x2x!wh>, %b: tensor<8xi32>) -> (tensor<2x2x2x!state>, tensor<2x2x!state>, tensor<2x2x!cell>) {
  %y, %h1, %c1 = qnn.lstm %x, %h, %c, %wx, %wh, %b {cell_clip = 1.5} : (tensor<2x2x3x!in>, tensor<2x2x!state>, tensor<2x2x!cell>, tensor<8x3x!wx>, tensor<8x2x!wh>, tensor<8xi32>) -> (tensor<2x2x2x!state>, tensor<2x2x!state>, tensor<2x2x!cell>)
  return %y, %h1, %c1 : tensor<2x2x2x!state>, tensor<2x2x!state>, tensor<2x2x!cell>
}
