// REQUIRES: mlir-opt
// RUN: %qopt %S/parse.mlir | %mlir_opt --allow-unregistered-dialect | %qopt | %filecheck %S/parse.mlir
// RUN: %qopt %S/ops.mlir | %mlir_opt | %qopt | %filecheck %s

// Upstream reads what we write, and we read what it writes.

// CHECK: quant.qcast %{{.*}} : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>>
// CHECK: quant.dcast %{{.*}} : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>> to tensor<4xf32>
// CHECK: quant.scast %{{.*}} : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>> to tensor<4xi8>
// CHECK: tensor<3x2x!quant.uniform<i8<-127:127>:f32:1, {1.000000e-01,2.000000e-01:3}>>
