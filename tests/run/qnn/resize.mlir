// CONTRACTS: tflite tflite-ruy
// INPUT: -128 -97 -66 -35 -4 27 58 89 120 -123 -50 3 127 -1 0 1
// EXPECT tflite: -128 -97 -97 -66 -66 -35 -97 -66 -66 -35 -35 -4 -35 -4 -4 27 27 58 -4 27 27 58 58 89 -128 -97 -128 -97 -66 -35 -66 -35 -128 -97 -128 -97 -66 -35 -66 -35 -4 27 -4 27 58 89 58 89
// EXPECT tflite-ruy: -128 -97 -97 -66 -66 -35 -97 -66 -66 -35 -35 -4 -35 -4 -4 27 27 58 -4 27 27 58 58 89 -128 -97 -128 -97 -66 -35 -66 -35 -128 -97 -128 -97 -66 -35 -66 -35 -4 27 -4 27 58 89 58 89
!a = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%x: tensor<1x2x2x2x!a>) -> (tensor<1x4x3x2x!a>, tensor<1x3x4x2x!a>) {
  %y = qnn.resize %x {mode = "bilinear", half_pixel_centers = true} : (tensor<1x2x2x2x!a>) -> tensor<1x4x3x2x!a>
  %z = qnn.resize %x {mode = "nearest"} : (tensor<1x2x2x2x!a>) -> tensor<1x3x4x2x!a>
  return %y, %z : tensor<1x4x3x2x!a>, tensor<1x3x4x2x!a>
}
