// CONTRACTS: onnxruntime onnx-reference
// INPUT: -128 127 3 4 0 -70000
// INPUT: 0.5 0.1
// EXPECT onnxruntime: -65.5 12.40000057220459 0 0.10000000149011612 -1.5 -7000.30029296875
// EXPECT onnx-reference: -65.5 12.40000057220459 0 0.10000000149011612 -1.5 -7000.30029296875
func.func @main(%x: tensor<3x2xi32>, %scale: tensor<2xf32>) -> tensor<3x2xf32> {
  %zero = arith.constant dense<3> : tensor<1xi32>
  %y = qnn.dequantize_with %x, %scale, %zero : (tensor<3x2xi32>, tensor<2xf32>, tensor<1xi32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
