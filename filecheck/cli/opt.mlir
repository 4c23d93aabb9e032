// RUN: %qopt %s --split-input-file --print-debuginfo --parsing-diagnostics --verify-diagnostics | %filecheck %s

// Operations get the place of their name, unless they have a location.
func.func @places(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  %z = arith.addi %y, %x : i32 loc("layer"("net.tflite":3:0))
  return %z : i32
}
// CHECK-LABEL: func.func @places
// CHECK: %y = arith.addi %x, %x : i32 loc("{{.*}}opt.mlir":5:8)
// CHECK-NEXT: %z = arith.addi %y, %x : i32 loc("layer"("net.tflite":3:0))

// -----

// Lines count from the beginning of the file.
func.func @undefined() -> i32 {
  return %nothing : i32
}
// CHECK: opt.mlir:17:10: error: value %nothing is used but never defined
// CHECK-NEXT: return %nothing : i32
// CHECK-NEXT: ^

// -----

func.func @unknown(%x: i32) {
  %y = qnn.lineer %x : (i32) -> i32
  return
}
// CHECK: opt.mlir:26:8: error: operation qnn.lineer is not registered; did you mean qnn.linear?

// -----

func.func @dominance(%x: i32) {
  %y = arith.addi %z, %x : i32
  %z = arith.addi %x, %x : i32
  return
}
// CHECK: opt.mlir:34:8: error: arith.addi: operand %z is used before it is defined

// -----

#id = affine_map<(i) -> (i)>
func.func @other_region(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %first = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi32>) outs(%y : tensor<4xi32>) {
  ^bb0(%a: i32, %_: i32):
    %b = arith.addi %inner, %a : i32
    linalg.yield %b : i32
  } -> tensor<4xi32>
  %second = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xi32>) outs(%y : tensor<4xi32>) {
  ^bb0(%a: i32, %_: i32):
    %inner = arith.addi %a, %a : i32
    linalg.yield %inner : i32
  } -> tensor<4xi32>
  return %second : tensor<4xi32>
}
// CHECK: opt.mlir:47:10: error: arith.addi: operand %inner is defined in a region that this is not in
