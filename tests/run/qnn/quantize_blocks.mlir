// CONTRACTS: exact onnx-reference onnxruntime
// INPUT: 0 1.25 -3 7.5 100 -0.5 2.5 8.75
// EXPECT exact: 3 5 0 18 255 126 138 163 3 5 -3 3 127 2 0 3 7 1257 -2993 7507 32767 -493 2507 8757 1 3 -5 7 7 0 6 7 0 1 -1.5 7.5 31.75 -0.5 2.5 8.75 0 1 -4 8 62 -0.5 2 8 0 1.25 -3.000000238418579 7.500000476837158 32.76000213623047 -0.5 2.5 8.75
// EXPECT onnx-reference: 3 5 0 18 255 126 138 163 3 5 -3 3 127 2 0 3 7 1257 -2993 7507 32767 -493 2507 8757 1 3 -5 7 7 0 6 7 0 1 -1.5 7.5 31.75 -0.5 2.5 8.75 0 1 -4 8 62 -0.5 2 8 0 1.25 -3.000000238418579 7.500000476837158 32.76000213623047 -0.5 2.5 8.75
// EXPECT onnxruntime: 3 5 0 18 255 126 138 163 3 5 -3 3 127 2 0 3 7 1257 -2993 7507 32767 -493 2507 8757 1 3 -5 7 7 0 6 7 0 1 -1.5 7.5 31.75 -0.5 2.5 8.75 0 1 -4 8 62 -0.5 2 8 0 1.25 -3.000000238418579 7.500000476837158 32.76000213623047 -0.5 2.5 8.75
!axis = !quant.uniform<u8:f32:0, {0.5:3,0.25:128}>
!blocks = !quant.uniform<i8:f32:{1:2}, {{0.5:3, 2.0:-1}}>
!wide = !quant.uniform<i16:f32, 0.001:7>
!nibble = !quant.uniform<i8<-8:7>:f32, 0.5:1>
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4x!axis>, tensor<2x4x!blocks>, tensor<2x4x!wide>, tensor<2x4x!nibble>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = qnn.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!axis>
  %b = qnn.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!blocks>
  %c = qnn.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!wide>
  %d = qnn.quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!nibble>
  %e = qnn.dequantize %a : (tensor<2x4x!axis>) -> tensor<2x4xf32>
  %f = qnn.dequantize %b : (tensor<2x4x!blocks>) -> tensor<2x4xf32>
  %g = qnn.dequantize %c : (tensor<2x4x!wide>) -> tensor<2x4xf32>
  return %a, %b, %c, %d, %e, %f, %g : tensor<2x4x!axis>, tensor<2x4x!blocks>, tensor<2x4x!wide>, tensor<2x4x!nibble>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
