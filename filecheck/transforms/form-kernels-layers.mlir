// RUN: %qopt %s -p form-kernels --print-debuginfo | %filecheck %s

// Ops of different layers stay apart, and those without a name join the layer they serve.
// CHECK: kernel.nest
// CHECK: -> tensor<4xi8> loc("first"("model.tflite":1:0))
// CHECK: kernel.nest
// CHECK: -> tensor<4xi8> loc("second"("model.tflite":2:0))
// CHECK-NOT: kernel.nest
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %empty = tensor.empty() : tensor<4xi8>
  %doubled = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%v: i8, %_: i8):
    %r = arith.addi %v, %v : i8
    linalg.yield %r : i8
  } -> tensor<4xi8> loc("first"("model.tflite":1:0))
  %squared = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%doubled : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%v: i8, %_: i8):
    %r = arith.muli %v, %v : i8
    linalg.yield %r : i8
  } -> tensor<4xi8> loc("second"("model.tflite":2:0))
  %inverted = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%squared : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
  ^bb0(%v: i8, %_: i8):
    %ones = arith.constant -1 : i8
    %r = arith.xori %v, %ones : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  return %inverted : tensor<4xi8>
}
