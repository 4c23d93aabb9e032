// CONTRACTS: tflite tflite-ruy tflite-xnnpack onnxruntime
// INPUT: -1.5 0.25 0.77 3.1 0 0.4 -0.3 0.2
// EXPECT tflite: -86.56101989746094 -15.602441787719727 10.733071327209473 -3.554488182067871
// EXPECT tflite-ruy: -86.56101989746094 -15.602441787719727 10.733071327209473 -3.554488182067871
// EXPECT tflite-xnnpack: -86.95568084716797 -15.67505931854248 10.683335304260254 -3.5497653484344482
// EXPECT onnxruntime: -86.95568084716797 -15.67505931854248 11.240784645080566 -3.568941116333008
// A row is quantized by its own range, but by onnxruntime, which has one for all.
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.3}>
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE"> : tensor<2x4xi8> -> tensor<2x4x!w>
  %b = arith.constant dense<[0.3, -0.1]> : tensor<2xf32>
  %y = qnn.hybrid_linear %x, %w, %b {symmetric = true, fallback = "tflite"}
     : (tensor<2x4xf32>, tensor<2x4x!w>, tensor<2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
