// RUN: %qopt %s -p 'lower-tosa,canonicalize,cse' | %filecheck %s
// RUN: %qopt %s -p 'lower-tosa,expand-fixed' --print-op-generic | %qopt > %t

// A convolution sums exactly, from its bias on. Zero points are subtracted where they aren't 0, and
// surround the image.
// CHECK-LABEL: func.func @convolution(
// CHECK-SAME: %x: tensor<1x4x4x3xi8>
func.func @convolution(%x: tensor<1x4x4x3xi8>) -> tensor<1x4x4x2xi8> {
  // CHECK: tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0]
  // CHECK: arith.constant -3 : i8
  // CHECK: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  // CHECK: %[[X:.*]] = arith.extsi %{{.*}} : i8 to i32
  // CHECK: %[[W:.*]] = arith.extsi %{{.*}} : i8 to i32
  // CHECK: %[[ZERO:.*]] = arith.constant -3 : i32
  // CHECK: %[[CENTRED:.*]] = arith.subi %[[X]], %[[ZERO]] : i32
  // CHECK: %[[PRODUCT:.*]] = arith.muli %[[CENTRED]], %[[W]] : i32
  // CHECK: arith.addi %{{.*}}, %[[PRODUCT]] : i32
  %w = "tosa.const"() <{values = dense<5> : tensor<2x3x3x3xi8>}> : () -> tensor<2x3x3x3xi8>
  %b = "tosa.const"() <{values = dense<[10, -20]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %xz = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %wz = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.conv2d %x, %w, %b, %xz, %wz {acc_type = i32, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x3xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x2xi32>
  // RESCALE in mode DOUBLE_ROUND, its numbers by channel.
  // CHECK: arith.constant dense<[1073741824, 1073741825]> : tensor<2xi64>
  // CHECK: arith.constant dense<[38, 37]> : tensor<2xi64>
  // CHECK: linalg.generic
  // CHECK: arith.muli %{{.*}} : i64
  // CHECK: arith.select %{{.*}} : i64
  // CHECK: fixed.shift_right %{{.*}} {rounding = half_up} : i64
  // CHECK: arith.constant 7 : i32
  // CHECK: fixed.saturate %{{.*}} : i32 to i8
  %m = "tosa.const"() <{values = dense<[1073741824, 1073741825]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %s = "tosa.const"() <{values = dense<[38, 37]> : tensor<2xi8>}> : () -> tensor<2xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %y = "tosa.const"() <{values = dense<7> : tensor<1xi8>}> : () -> tensor<1xi8>
  %1 = tosa.rescale %0, %m, %s, %z, %y {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = true, input_unsigned = false, output_unsigned = false} : (tensor<1x4x4x2xi32>, tensor<2xi32>, tensor<2xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x4x4x2xi8>
  // One bound is the type's own.
  // CHECK: arith.constant -10 : i8
  // CHECK-NEXT: arith.maxsi
  // CHECK-NOT: arith.minsi
  %2 = tosa.clamp %1 {min_val = -10 : i8, max_val = 127 : i8} : (tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  // CHECK: return
  return %2 : tensor<1x4x4x2xi8>
}

// Neither end of a clamp of real numbers that is infinite is compared.
// CHECK-LABEL: func.func @clamp_reals(
func.func @clamp_reals(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: [[LOW:%.+]] = linalg.generic
  // CHECK-NOT: arith.minimumf
  // CHECK: arith.maximumf
  // CHECK-NOT: arith.minimumf
  // CHECK: [[HIGH:%.+]] = linalg.generic
  // CHECK-NOT: arith.maximumf
  // CHECK: arith.minimumf
  // CHECK-NOT: arith.maximumf
  // CHECK: return [[LOW]], [[HIGH]], %x
  %0 = tosa.clamp %x {min_val = -1.0 : f32, max_val = 0x7F800000 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tosa.clamp %x {min_val = 0xFF800000 : f32, max_val = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tosa.clamp %x {min_val = 0xFF800000 : f32, max_val = 0x7F800000 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Types lose their sign, which the signature keeps beside them. A clamp to all that the type holds is
// nothing; a constant takes its new shape at once.
// CHECK-LABEL: func.func @borders(
// CHECK-SAME: %x: tensor<4xi8> {qnn.type = ui8}) -> (tensor<4xi8>, tensor<2x2xi8>)
func.func @borders(%x: tensor<4xui8>) -> (tensor<4xi8>, tensor<2x2xi8>) {
  // CHECK: arith.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi8>
  // CHECK: arith.extui
  // CHECK: arith.constant 128 : i32
  // CHECK-NOT: linalg.generic
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
  %u = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %c = "tosa.const"() <{values = dense<[1, 2, 3, 4]> : tensor<4xi8>}> : () -> tensor<4xi8>
  %r = tosa.const_shape {values = dense<[2, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.reshape %c, %r : (tensor<4xi8>, !tosa.shape<2>) -> tensor<2x2xi8>
  %1 = tosa.rescale %x, %m, %s, %u, %z {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = true, output_unsigned = false} : (tensor<4xui8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  %2 = tosa.clamp %1 {min_val = -128 : i8, max_val = 127 : i8} : (tensor<4xi8>) -> tensor<4xi8>
  return %2, %0 : tensor<4xi8>, tensor<2x2xi8>
}

// A shift by what is computed stays in its range.
// CHECK-LABEL: func.func @shift(
func.func @shift(%x: tensor<4xi32>, %n: tensor<4xi32>) -> tensor<4xi32> {
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: fixed.shift_right %{{.*}} {rounding = half_up} : i32
  %0 = tosa.arithmetic_right_shift %x, %n {round = true} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// A convolution of f32 starts from 0, takes products in turn and adds its bias last.
// CHECK-LABEL: func.func @real_convolution(
func.func @real_convolution(%x: tensor<1x4x4x3xf32>, %w: tensor<2x3x3x3xf32>, %b: tensor<2xf32>) -> tensor<1x4x4x2xf32> {
  // CHECK: tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0]
  // CHECK: arith.constant 0.000000e+00 : f32
  // CHECK: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  // CHECK: %[[PRODUCT:.*]] = arith.mulf
  // CHECK: arith.addf %{{.*}}, %[[PRODUCT]] : f32
  // CHECK: ins(%{{.*}}, %b : tensor<1x4x4x2xf32>, tensor<2xf32>)
  // CHECK: arith.addf
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x3xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x2xf32>
  return %0 : tensor<1x4x4x2xf32>
}
