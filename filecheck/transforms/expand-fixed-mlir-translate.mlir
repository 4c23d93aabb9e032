// REQUIRES: mlir-opt, mlir-translate
// RUN: %qopt %s -p 'lower-qnn{contract=tflite},canonicalize,cse,expand-fixed' | %mlir_opt --one-shot-bufferize="bufferize-function-boundaries" --convert-linalg-to-loops --convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-math-to-llvm --convert-to-llvm --reconcile-unrealized-casts | %mlir_translate --mlir-to-llvmir | %filecheck %s

// Quantized types of arguments and results are nothing to upstream's tools.
// CHECK: define {{.*}} @main
func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5:3>> {qnn.name = "x"})
    -> tensor<2x3x!quant.uniform<i8:f32, 0.25:-1>> {
  %y = qnn.requantize %x : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25:-1>>
  return %y : tensor<2x3x!quant.uniform<i8:f32, 0.25:-1>>
}
