// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %d: tensor<3x3x4x2xi8>, %b: tensor<8xi32>, %a: tensor<1x4x8xi8>, %c: tensor<1x8x3xi8>, %v: tensor<1x2x4x4x4xi8>, %k: tensor<8x2x1x1x4xi8>) -> tensor<1x4x4x8xi32> {
  // CHECK-NEXT: %z = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK-NEXT: tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, dilation = array<i64: 1, 1>, local_bound = false, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>, local_bound = false} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  // What it says as clauses, as LLVM 24 may write it.
  // CHECK-NEXT: tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 0, 1>, stride = array<i64: 1, 2>} :
  %1 = tosa.conv2d %x, %w, %b, %z, %z pad = [1, 1, 0, 1], stride = [1, 2], dilation = [1, 1], acc_type = i32 : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x6x?x8xi32>
  // CHECK-NEXT: tosa.depthwise_conv2d %x, %d, %b, %z, %z {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} :
  %2 = tosa.depthwise_conv2d %x, %d, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<3x3x4x2xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x8xi32>
  // CHECK-NEXT: tosa.conv3d %v, %k, %b, %z, %z {acc_type = i32, dilation = array<i64: 1, 1, 1>, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>} :
  %4 = tosa.conv3d %v, %k, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>} : (tensor<1x2x4x4x4xi8>, tensor<8x2x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x1x4x4x8xi32>
  // CHECK-NEXT: tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = i32, out_pad = array<i64: 0, 1, 0, 0>, stride = array<i64: 2, 1>} :
  %5 = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = i32, out_pad = array<i64: 0, 1, 0, 0>, stride = array<i64: 2, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x8x4x8xi32>
  // CHECK-NEXT: tosa.matmul %a, %c, %z, %z : (tensor<1x4x8xi8>, tensor<1x8x3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3xi32>
  %3 = tosa.matmul %a, %c, %z, %z : (tensor<1x4x8xi8>, tensor<1x8x3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3xi32>
  return %0 : tensor<1x4x4x8xi32>
}

// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x4x4x4xi8>) -> tensor<1x2x2x4xi8> {
  %z = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  // CHECK: tosa.avg_pool2d %x, %z, %z {acc_type = i32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} :
  %0 = tosa.avg_pool2d %x, %z, %z {acc_type = i32, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x4xi8>
  // CHECK-NEXT: tosa.max_pool2d %x {kernel = array<i64: 2, 2>, nan_mode = IGNORE, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} :
  %1 = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, nan_mode = IGNORE, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xi8>) -> tensor<1x2x2x4xi8>
  // The default isn't written.
  // CHECK-NEXT: tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad =
  %2 = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, nan_mode = PROPAGATE, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xi8>) -> tensor<1x2x2x4xi8>
  return %0 : tensor<1x2x2x4xi8>
}

// CHECK-LABEL: func.func @rescalings
func.func @rescalings(%x: tensor<2x4xi32>, %u: tensor<4xui8>, %y: tensor<4xi8>, %h: tensor<4xi16>) -> tensor<2x4xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  // Constants of another dialect serve as well.
  %ms = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %s = "tosa.const"() <{values = dense<38> : tensor<1xi8>}> : () -> tensor<1xi8>
  %ss = arith.constant dense<[2, 31, 32, 62]> : tensor<4xi8>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %b = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: tosa.rescale %x, %ms, %ss, %z, %b {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = DOUBLE_ROUND, scale32 = true} : (tensor<2x4xi32>, tensor<4xi32>, tensor<4xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<2x4xi8>
  %0 = tosa.rescale %x, %ms, %ss, %z, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = true, input_unsigned = false, output_unsigned = false} : (tensor<2x4xi32>, tensor<4xi32>, tensor<4xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<2x4xi8>
  // CHECK-NEXT: tosa.rescale %u, %m, %s, %b, %b {input_unsigned = true, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<4xui8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  %1 = tosa.rescale %u, %m, %s, %b, %b {scale32 = true, rounding_mode = "SINGLE_ROUND", per_channel = false, input_unsigned = true, output_unsigned = false} : (tensor<4xui8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.rescale %u, %m, %s, %b, %b {input_unsigned = true, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} :
  %2 = tosa.rescale %u, %m, %s, %b, %b scale32(true) rounding_mode<SINGLE_ROUND> per_channel(false) input_unsigned = true output_unsigned = false : (tensor<4xui8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.clamp %y {max_val = 127 : i8, min_val = -10 : i8} : (tensor<4xi8>) -> tensor<4xi8>
  %3 = tosa.clamp %y {min_val = -10 : i8, max_val = 127 : i8} : (tensor<4xi8>) -> tensor<4xi8>
  %t = "tosa.const"() <{values = dense<1> : tensor<256xi8>}> : () -> tensor<256xi8>
  %w = "tosa.const"() <{values = dense<1> : tensor<513xi16>}> : () -> tensor<513xi16>
  // CHECK: tosa.table %y, %t : (tensor<4xi8>, tensor<256xi8>) -> tensor<4xi8>
  %4 = tosa.table %y, %t : (tensor<4xi8>, tensor<256xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.table %h, %w : (tensor<4xi16>, tensor<513xi16>) -> tensor<4xi32>
  %5 = tosa.table %h, %w : (tensor<4xi16>, tensor<513xi16>) -> tensor<4xi32>
  return %0 : tensor<2x4xi8>
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<2x4xi32>, %y: tensor<2x1xi32>, %b: tensor<4xi8>, %p: tensor<4xi1>, %f: tensor<4xf32>) -> tensor<2x4xi32> {
  // CHECK-NEXT: tosa.add %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  %0 = tosa.add %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.sub %x, %y :
  %1 = tosa.sub %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.maximum %x, %y :
  %2 = tosa.maximum %x, %y {nan_mode = PROPAGATE} : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.minimum %x, %y :
  %3 = tosa.minimum %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.intdiv %x, %y :
  %4 = tosa.intdiv %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.bitwise_and %b, %b :
  %5 = tosa.bitwise_and %b, %b : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.bitwise_or %b, %b :
  %6 = tosa.bitwise_or %b, %b : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.bitwise_xor %b, %b :
  %7 = tosa.bitwise_xor %b, %b : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.bitwise_not %b :
  %8 = tosa.bitwise_not %b : (tensor<4xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.logical_and %p, %p :
  %9 = tosa.logical_and %p, %p : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK-NEXT: tosa.logical_or %p, %p :
  %10 = tosa.logical_or %p, %p : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK-NEXT: tosa.logical_xor %p, %p :
  %11 = tosa.logical_xor %p, %p : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK-NEXT: tosa.logical_not %p :
  %12 = tosa.logical_not %p : (tensor<4xi1>) -> tensor<4xi1>
  // CHECK-NEXT: tosa.logical_left_shift %x, %y :
  %13 = tosa.logical_left_shift %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.logical_right_shift %x, %y :
  %14 = tosa.logical_right_shift %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.arithmetic_right_shift %x, %y {round = true} :
  %15 = tosa.arithmetic_right_shift %x, %y {round = true} : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.equal %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi1>
  %16 = tosa.equal %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi1>
  // CHECK-NEXT: tosa.greater %x, %y :
  %17 = tosa.greater %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi1>
  // CHECK-NEXT: tosa.greater_equal %x, %y :
  %18 = tosa.greater_equal %x, %y : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi1>
  %n = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: tosa.mul %x, %y, %n : (tensor<2x4xi32>, tensor<2x1xi32>, tensor<1xi8>) -> tensor<2x4xi32>
  %19 = tosa.mul %x, %y, %n : (tensor<2x4xi32>, tensor<2x1xi32>, tensor<1xi8>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.abs %f : (tensor<4xf32>) -> tensor<4xf32>
  %20 = tosa.abs %f : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: tosa.clz %x :
  %21 = tosa.clz %x : (tensor<2x4xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: tosa.negate %b, %n, %n :
  %22 = tosa.negate %b, %n, %n : (tensor<4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.cast %f : (tensor<4xf32>) -> tensor<4xi8>
  %23 = tosa.cast %f : (tensor<4xf32>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.select %p, %b, %b :
  %24 = tosa.select %p, %b, %b : (tensor<4xi1>, tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  // CHECK-NEXT: tosa.identity %b : (tensor<4xi8>) -> tensor<4xi8>
  %25 = tosa.identity %b : (tensor<4xi8>) -> tensor<4xi8>
  return %0 : tensor<2x4xi32>
}

// CHECK-LABEL: func.func @reals
func.func @reals(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK-NEXT: tosa.ceil %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = tosa.ceil %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.cos %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = tosa.cos %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = tosa.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.floor %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = tosa.floor %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.log %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = tosa.log %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.reciprocal %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = tosa.reciprocal %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.rsqrt %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = tosa.rsqrt %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.sigmoid %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = tosa.sigmoid %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.sin %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = tosa.sin %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.tanh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = tosa.tanh %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.pow %x, %x :
  %10 = tosa.pow %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.maximum %x, %x :
  %11 = tosa.maximum %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.erf %x :
  %13 = tosa.erf %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: tosa.reduce_product %x {axis = 1 : i32} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %14 = tosa.reduce_product %x {axis = 1 : i32} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x3xi8>, %i: tensor<1x4x4x2xi8>, %v: tensor<1x4x2xi8>, %n: tensor<1x3xi32>) -> tensor<6xi8> {
  %c = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: %s = tosa.const_shape {values = dense<6> : tensor<1xindex>} : () -> !tosa.shape<1>
  %s = tosa.const_shape {values = dense<[6]> : tensor<1xindex>} : () -> !tosa.shape<1>
  %p = tosa.const_shape {values = dense<[0, 0, 1, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %t = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %k = tosa.const_shape {values = dense<[4, 2, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %m = tosa.const_shape {values = dense<[-1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.const_shape {values = dense<1> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: tosa.reshape %x, %s : (tensor<2x3xi8>, !tosa.shape<1>) -> tensor<6xi8>
  %0 = tosa.reshape %x, %s : (tensor<2x3xi8>, !tosa.shape<1>) -> tensor<6xi8>
  // CHECK-NEXT: tosa.pad %x, %p, %c : (tensor<2x3xi8>, !tosa.shape<4>, tensor<1xi8>) -> tensor<2x6xi8>
  %1 = tosa.pad %x, %p, %c : (tensor<2x3xi8>, !tosa.shape<4>, tensor<1xi8>) -> tensor<2x6xi8>
  // CHECK-NEXT: tosa.slice %x, %o, %t :
  %2 = tosa.slice %x, %o, %t : (tensor<2x3xi8>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x2xi8>
  // CHECK-NEXT: tosa.tile %x, %t :
  %3 = tosa.tile %x, %t : (tensor<2x3xi8>, !tosa.shape<2>) -> tensor<2x6xi8>
  // CHECK-NEXT: tosa.transpose %x {perms = array<i32: 1, 0>} :
  %4 = tosa.transpose %x {perms = array<i32: 1, 0>} : (tensor<2x3xi8>) -> tensor<3x2xi8>
  // CHECK-NEXT: tosa.concat %x, %x {axis = 1 : i32} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x6xi8>
  %5 = tosa.concat %x, %x {axis = 1 : i32} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x6xi8>
  // CHECK-NEXT: tosa.concat %x {axis = 0 : i32} :
  %6 = tosa.concat %x axis = 0 : (tensor<2x3xi8>) -> tensor<2x3xi8>
  // CHECK-NEXT: tosa.reverse %x {axis = 1 : i32} :
  %7 = tosa.reverse %x {axis = 1 : i32} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  // CHECK-NEXT: tosa.gather %v, %n :
  %8 = tosa.gather %v, %n : (tensor<1x4x2xi8>, tensor<1x3xi32>) -> tensor<1x3x2xi8>
  // CHECK-NEXT: tosa.scatter %v, %n, %{{.*}} : (tensor<1x4x2xi8>, tensor<1x3xi32>, tensor<1x3x2xi8>) -> tensor<1x4x2xi8>
  %10 = tosa.scatter %v, %n, %8 : (tensor<1x4x2xi8>, tensor<1x3xi32>, tensor<1x3x2xi8>) -> tensor<1x4x2xi8>
  // CHECK-NEXT: tosa.resize %i, %k, %m, %b {mode = NEAREST_NEIGHBOR} :
  %9 = tosa.resize %i, %k, %m, %b {mode = NEAREST_NEIGHBOR} : (tensor<1x4x4x2xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x8x2xi8>
  %real = "tosa.const"() <{values = dense<0.5> : tensor<1x4x4x2xf32>}> : () -> tensor<1x4x4x2xf32>
  %nought = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  // CHECK: tosa.resize %{{.*}}, %k, %m, %b {mode = BILINEAR} : (tensor<1x4x4x2xf32>,
  %11 = tosa.resize %real, %k, %m, %b {mode = BILINEAR} : (tensor<1x4x4x2xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x8x2xf32>
  // CHECK: tosa.transpose_conv2d %{{.*}} {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} :
  %12 = tosa.transpose_conv2d %real, %real, %nought, %nought, %nought {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x10x10x1xf32>
  return %0 : tensor<6xi8>
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<2x4xi32>, %b: tensor<2x4xi8>, %p: tensor<2x4xi1>) -> tensor<2x1xi32> {
  // CHECK-NEXT: tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4xi32>) -> tensor<2x1xi32>
  %0 = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x4xi32>) -> tensor<2x1xi32>
  // CHECK-NEXT: tosa.reduce_max %b {axis = 0 : i32} : (tensor<2x4xi8>) -> tensor<1x4xi8>
  %1 = tosa.reduce_max %b {axis = 0 : i32} : (tensor<2x4xi8>) -> tensor<1x4xi8>
  // CHECK-NEXT: tosa.reduce_min %b {axis = 0 : i32} :
  %2 = tosa.reduce_min %b {axis = 0 : i32} : (tensor<2x4xi8>) -> tensor<1x4xi8>
  // CHECK-NEXT: tosa.reduce_all %p {axis = 1 : i32} :
  %3 = tosa.reduce_all %p {axis = 1 : i32} : (tensor<2x4xi1>) -> tensor<2x1xi1>
  // CHECK-NEXT: tosa.reduce_any %p {axis = 1 : i32} :
  %4 = tosa.reduce_any %p {axis = 1 : i32} : (tensor<2x4xi1>) -> tensor<2x1xi1>
  // CHECK-NEXT: tosa.argmax %b {axis = 1 : i32} : (tensor<2x4xi8>) -> tensor<2xi32>
  %5 = tosa.argmax %b {axis = 1 : i32} : (tensor<2x4xi8>) -> tensor<2xi32>
  return %0 : tensor<2x1xi32>
}
