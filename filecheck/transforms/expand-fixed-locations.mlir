// RUN: %qopt %s -p expand-fixed --print-debuginfo | %filecheck %s

// Every new op has the location of the op it stands for.
// CHECK-LABEL: func.func @saturate
// CHECK-NEXT:    arith.constant {{.*}} loc("layer"("model.tflite":3:0))
// CHECK-NEXT:    arith.maxsi {{.*}} loc("layer"("model.tflite":3:0))
// CHECK-NEXT:    arith.constant {{.*}} loc("layer"("model.tflite":3:0))
// CHECK-NEXT:    arith.minsi {{.*}} loc("layer"("model.tflite":3:0))
// CHECK-NEXT:    arith.trunci {{.*}} loc("layer"("model.tflite":3:0))
func.func @saturate(%x: i32) -> i8 {
  %y = fixed.saturate %x : i32 to i8 loc("layer"("model.tflite":3:0))
  return %y : i8
}
