// REQUIRES: mlir-opt
// RUN: %qopt %S/ops.mlir | %mlir_opt | %qopt | %filecheck %s
// RUN: %qopt %S/ops.mlir | %mlir_opt --mlir-print-op-generic | %qopt | %filecheck %s

// Upstream's mlir-opt reads what we print, and we read its text in both forms.

// CHECK-LABEL: func.func @convolutions
// CHECK: tosa.conv2d %{{.*}} {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 0, 1>, stride = array<i64: 1, 2>}
// CHECK-LABEL: func.func @rescalings
// CHECK: tosa.rescale %{{.*}} {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = DOUBLE_ROUND, scale32 = true}
// CHECK-LABEL: func.func @moves
// CHECK: tosa.resize %{{.*}} {mode = NEAREST_NEIGHBOR}
// CHECK-LABEL: func.func @reductions
// CHECK: tosa.argmax
