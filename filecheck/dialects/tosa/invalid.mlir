// RUN: %qopt %s --split-input-file --verify-diagnostics | %filecheck %s

// What the verifier says of operations of TOSA.

func.func @f(%x: tensor<1x4x4x4xf32>, %w: tensor<8x1x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: [[#]]:8: error: tosa.conv2d: element types f32 i8 i32 i8 i8 -> i32 are none of i8 i8 i32 i8 i8 -> i32, i8 i4 i32 i8 i4 -> i32, i16 i8 i48 i16 i8 -> i48
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xf32>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x3xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: weight has 3 channels along axis 3, input has 4
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x3xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: stride 0 is less than 1
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 0, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: width of input 4, kernel 1, stride 2, pad 0+0, dilation 1: the window moves by 3 in all, which isn't a whole number of strides
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 2>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: pad [0, 0] has length 2, expected 4
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %b: tensor<7xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: bias has shape [7], expected [8]
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<7xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x4x3x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: result has shape [1, 4, 3, 8], the operands give [1, 4, 4, 8]
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3x8xi32>
  return %y : tensor<1x4x3x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x1x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv2d: acc_type i48 differs from the sums' i32
  %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i48, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x1x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<1x1x3x2xi8>, %b: tensor<8xi32>) -> tensor<1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.depthwise_conv2d: weight has 3 channels along axis 2, input has 4
  %y = tosa.depthwise_conv2d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<1x1x3x2xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x8xi32>
  return %y : tensor<1x4x4x8xi32>
}

// -----

func.func @f(%a: tensor<1x4x8xi8>, %b: tensor<1x7x3xi8>) -> tensor<1x4x3xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.matmul: b has 7 elements to sum along axis 1, a has 8
  %y = tosa.matmul %a, %b, %z, %z : (tensor<1x4x8xi8>, tensor<1x7x3xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x3xi32>
  return %y : tensor<1x4x3xi32>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>) -> tensor<1x3x2x4xi8> {
  // CHECK: error: tosa.max_pool2d: pad 2 is outside [0, 2), the window's size
  %y = tosa.max_pool2d %x {kernel = array<i64: 2, 2>, pad = array<i64: 2, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xi8>) -> tensor<1x3x2x4xi8>
  return %y : tensor<1x3x2x4xi8>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>) -> tensor<1x2x2x4xi8> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.avg_pool2d: acc_type i48 is not i32
  %y = tosa.avg_pool2d %x, %z, %z {acc_type = i48, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x4x4x4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x4xi8>
  return %y : tensor<1x2x2x4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<1> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: shift 1 is outside [2, 62]
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<-1> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: multiplier -1 is less than 0
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<3> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: input_zp 3 of i32 is not 0
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi8>) -> tensor<4xi16> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi8>
  %b = arith.constant dense<7> : tensor<1xi16>
  // CHECK: error: tosa.rescale: output_zp 7 of i16 is not 0 or 32768
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = true} : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi16>) -> tensor<4xi16>
  return %y : tensor<4xi16>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: INEXACT_ROUND leaves open which result is right
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = INEXACT_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1> : tensor<1xi16>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: DOUBLE_ROUND needs scale32 = true
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = false, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi16>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: scale32 = false needs i16 multipliers
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = false, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi48>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi48>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: scale32 = true is not defined on i48
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi48>, tensor<1xi32>, tensor<1xi8>, tensor<1xi48>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: i32 of input_zp can't be unsigned
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = true, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi8>) -> tensor<4xi32> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi8>
  %b = arith.constant dense<0> : tensor<1xi32>
  // CHECK: error: tosa.rescale: an unsigned input can't be rescaled to i32
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = true, output_unsigned = false} : (tensor<4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: i32 can't be rescaled to an unsigned output
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = true} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>) -> tensor<4xi8> {
  %m = arith.constant dense<1073741824> : tensor<1xi32>
  %s = arith.constant dense<38> : tensor<1xi8>
  %a = arith.constant dense<0> : tensor<1xi32>
  %b = arith.constant dense<0> : tensor<1xi8>
  // CHECK: error: tosa.rescale: multiplier [1073741824] has length 1, expected 4
  %y = tosa.rescale %x, %m, %s, %a, %b {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = true, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi32>, %m: tensor<1xi32>) -> tensor<4xi32> {
  %s = arith.constant dense<30> : tensor<1xi8>
  %z = arith.constant dense<0> : tensor<1xi32>
  // CHECK: error: tosa.rescale: multiplier is computed, it must be a constant
  %y = tosa.rescale %x, %m, %s, %z, %z {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

func.func @f(%x: tensor<4xi8>) -> tensor<4xi8> {
  // CHECK: error: tosa.clamp: bound 6 : i16 is of another type than tensor<4xi8>
  %y = tosa.clamp %x {min_val = -5 : i8, max_val = 6 : i16} : (tensor<4xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi8>) -> tensor<4xi8> {
  // CHECK: error: tosa.clamp: min_val 5 exceeds max_val -5
  %y = tosa.clamp %x {min_val = 5 : i8, max_val = -5 : i8} : (tensor<4xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi8>, %t: tensor<255xi8>) -> tensor<4xi8> {
  // CHECK: error: tosa.table: table has shape [255], expected [256]
  %y = tosa.table %x, %t : (tensor<4xi8>, tensor<255xi8>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<2x3xi32>, %z: tensor<2x2xi32>) -> tensor<2x3xi32> {
  // CHECK: error: tosa.add: shapes [2, 3] and [2, 2] don't broadcast
  %y = tosa.add %x, %z : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>
  return %y : tensor<2x3xi32>
}

// -----

func.func @f(%x: tensor<3xi32>) -> tensor<3xi32> {
  %n = arith.constant dense<32> : tensor<1xi32>
  // CHECK: error: tosa.logical_left_shift: shift 32 is outside [0, 32)
  %y = tosa.logical_left_shift %x, %n : (tensor<3xi32>, tensor<1xi32>) -> tensor<3xi32>
  return %y : tensor<3xi32>
}

// -----

func.func @f(%x: tensor<3xi32>) -> tensor<3xi32> {
  %n = arith.constant dense<0> : tensor<1xi32>
  // CHECK: error: tosa.intdiv: a division by 0, which TOSA calls unpredictable
  %y = tosa.intdiv %x, %n : (tensor<3xi32>, tensor<1xi32>) -> tensor<3xi32>
  return %y : tensor<3xi32>
}

// -----

func.func @f(%x: tensor<3xi8>) -> tensor<3xi32> {
  %n = arith.constant dense<1> : tensor<1xi8>
  // CHECK: error: tosa.mul: shift 1 is outside [0, 0]
  %y = tosa.mul %x, %x, %n : (tensor<3xi8>, tensor<3xi8>, tensor<1xi8>) -> tensor<3xi32>
  return %y : tensor<3xi32>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<4xi8> {
  %s0 = tosa.const_shape {values = dense<[4]> : tensor<1xindex>} : () -> !tosa.shape<1>
  // CHECK: error: tosa.reshape: 6 elements of [2, 3] don't have shape [4]
  %y = tosa.reshape %x, %s0 : (tensor<2x3xi8>, !tosa.shape<1>) -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<6x1xi8> {
  %s0 = tosa.const_shape {values = dense<[-1, -1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: error: tosa.reshape: 6 elements of [2, 3] don't have shape [-1, -1]
  %y = tosa.reshape %x, %s0 : (tensor<2x3xi8>, !tosa.shape<2>) -> tensor<6x1xi8>
  return %y : tensor<6x1xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<2x2xi8> {
  %s0 = tosa.const_shape {values = dense<[0, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s1 = tosa.const_shape {values = dense<[2, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: error: tosa.slice: slice of axis 1 reads element 3, outside [0, 2]
  %y = tosa.slice %x, %s0, %s1 : (tensor<2x3xi8>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x2xi8>
  return %y : tensor<2x2xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<0x3xi8> {
  %s0 = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: error: tosa.tile: multiples 0 is less than 1
  %y = tosa.tile %x, %s0 : (tensor<2x3xi8>, !tosa.shape<2>) -> tensor<0x3xi8>
  return %y : tensor<0x3xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<3x2xi8> {
  // CHECK: error: tosa.transpose: [1, 1] is not an order of the axes of [2, 3]
  %y = tosa.transpose %x {perms = array<i32: 1, 1>} : (tensor<2x3xi8>) -> tensor<3x2xi8>
  return %y : tensor<3x2xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  // CHECK: error: tosa.reverse: axis 2 is outside [0, 2)
  %y = tosa.reverse %x {axis = 2 : i32} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  return %y : tensor<2x3xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<2x1xi8> {
  // CHECK: error: tosa.reduce_max: axis -1 is outside [0, 2)
  %y = tosa.reduce_max %x {axis = -1 : i32} : (tensor<2x3xi8>) -> tensor<2x1xi8>
  return %y : tensor<2x1xi8>
}

// -----

func.func @f(%x: tensor<1x4x4x2xi8>) -> tensor<1x8x8x2xi8> {
  %s0 = tosa.const_shape {values = dense<[4, 0, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %s1 = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %s2 = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: error: tosa.resize: scale 0 is less than 1
  %y = tosa.resize %x, %s0, %s1, %s2 {mode = BILINEAR} : (tensor<1x4x4x2xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x8x2xi8>
  return %y : tensor<1x8x8x2xi8>
}

// -----

func.func @f(%x: tensor<1x4x4x2xf32>) -> tensor<1x7x7x2xi8> {
  %s = tosa.const_shape {values = dense<[2, 1, 2, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<[0, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: error: tosa.resize: element types f32 shape shape shape -> i8 are none of
  %y = tosa.resize %x, %s, %o, %o {mode = BILINEAR} : (tensor<1x4x4x2xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x7x7x2xi8>
  return %y : tensor<1x7x7x2xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>, %z: tensor<3x3xi8>) -> tensor<2x6xi8> {
  // CHECK: error: tosa.concat: shape [3, 3] of operand 1 differs from [2, 3] beside axis 1
  %y = tosa.concat %x, %z {axis = 1 : i32} : (tensor<2x3xi8>, tensor<3x3xi8>) -> tensor<2x6xi8>
  return %y : tensor<2x6xi8>
}

// -----

func.func @f(%x: tensor<1x4x4x4xi8>, %w: tensor<8x2x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x2x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.transpose_conv2d: out_pad -2 is less than -1
  %y = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = i32, out_pad = array<i64: -2, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x4xi8>, tensor<8x2x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x4x8xi32>
  return %y : tensor<1x2x4x8xi32>
}

// -----

func.func @f(%x: tensor<1x2x4x4x4xi8>, %w: tensor<8x2x1x4xi8>, %b: tensor<8xi32>) -> tensor<1x1x4x4x8xi32> {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  // CHECK: error: tosa.conv3d: weight has rank 4, expected 5
  %y = tosa.conv3d %x, %w, %b, %z, %z {acc_type = i32, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>} : (tensor<1x2x4x4x4xi8>, tensor<8x2x1x4xi8>, tensor<8xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x1x4x4x8xi32>
  return %y : tensor<1x1x4x4x8xi32>
}

// -----

func.func @f(%v: tensor<1x4x2xi8>, %x: tensor<1x2x2xi8>) -> tensor<1x4x2xi8> {
  %n = "tosa.const"() <{values = dense<[[3, 3]]> : tensor<1x2xi32>}> : () -> tensor<1x2xi32>
  // CHECK: error: tosa.scatter: a place is named twice, which TOSA calls unpredictable
  %y = tosa.scatter %v, %n, %x : (tensor<1x4x2xi8>, tensor<1x2xi32>, tensor<1x2x2xi8>) -> tensor<1x4x2xi8>
  return %y : tensor<1x4x2xi8>
}

// -----

func.func @f(%v: tensor<1x4x2xi8>, %x: tensor<1x2x2xi8>) -> tensor<1x4x2xi8> {
  %n = "tosa.const"() <{values = dense<[[3, 4]]> : tensor<1x2xi32>}> : () -> tensor<1x2xi32>
  // CHECK: error: tosa.scatter: place 4 is outside [0, 4)
  %y = tosa.scatter %v, %n, %x : (tensor<1x4x2xi8>, tensor<1x2xi32>, tensor<1x2x2xi8>) -> tensor<1x4x2xi8>
  return %y : tensor<1x4x2xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<3x2xi8> {
  // CHECK: error: tosa.identity: result has shape [3, 2], the operands give [2, 3]
  %y = tosa.identity %x : (tensor<2x3xi8>) -> tensor<3x2xi8>
  return %y : tensor<3x2xi8>
}

// -----

func.func @f(%x: tensor<2x3xi16>) -> tensor<2x3xi16> {
  %z = "tosa.const"() <{values = dense<1> : tensor<1xi16>}> : () -> tensor<1xi16>
  // CHECK: error: tosa.negate: input1_zp 1 of i16 is not 0
  %y = tosa.negate %x, %z, %z : (tensor<2x3xi16>, tensor<1xi16>, tensor<1xi16>) -> tensor<2x3xi16>
  return %y : tensor<2x3xi16>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %c = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %p = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  // CHECK: error: tosa.pad: padding [1, 2] has length 2, expected 4
  %y = tosa.pad %x, %p, %c : (tensor<2x3xi8>, !tosa.shape<2>, tensor<1xi8>) -> tensor<2x3xi8>
  return %y : tensor<2x3xi8>
}

// -----

func.func @f(%v: tensor<2x4x2xi8>, %n: tensor<3x5xi32>) -> tensor<2x5x2xi8> {
  // CHECK: error: tosa.gather: batches 2 and 3 differ
  %y = tosa.gather %v, %n : (tensor<2x4x2xi8>, tensor<3x5xi32>) -> tensor<2x5x2xi8>
  return %y : tensor<2x5x2xi8>
}

// -----

func.func @f(%x: tensor<2x3xi8>) -> tensor<2x1xi32> {
  // CHECK: error: tosa.argmax: result has shape [2, 1], the operands give [2]
  %y = tosa.argmax %x {axis = 1 : i32} : (tensor<2x3xi8>) -> tensor<2x1xi32>
  return %y : tensor<2x1xi32>
}

// -----

func.func @f(%x: tensor<2xi8>, %n: tensor<2xi8>) -> tensor<2xi8> {
  %p = "tosa.const"() <{values = dense<[1, 8]> : tensor<2xi8>}> : () -> tensor<2xi8>
  // CHECK: error: tosa.arithmetic_right_shift: shift 8 is outside [0, 8)
  %y = tosa.arithmetic_right_shift %x, %p {round = true} : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return %y : tensor<2xi8>
}

// -----

func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: error: tosa.maximum: nan_mode IGNORE of f32 is not supported
  %y = tosa.maximum %x, %x {nan_mode = IGNORE} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @f(%x: tensor<2x3xf32>) -> tensor<1x3xf32> {
  // CHECK: error: tosa.reduce_max: nan_mode IGNORE of f32 is not supported
  %y = tosa.reduce_max %x {axis = 0 : i32, nan_mode = IGNORE} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// -----

func.func @f(%x: tensor<1x4x4x1xf32>) -> tensor<1x2x2x1xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  // CHECK: error: tosa.avg_pool2d: acc_type i32 is not f32
  %y = tosa.avg_pool2d %x, %z, %z {acc_type = i32, kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4x1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x2x1xf32>
  return %y : tensor<1x2x2x1xf32>
}

// -----

func.func @f(%x: tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32> {
  // CHECK: error: tosa.max_pool2d: nan_mode IGNORE of f32 is not supported
  %y = tosa.max_pool2d %x {kernel = array<i64: 1, 1>, stride = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, nan_mode = IGNORE} : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
  return %y : tensor<1x2x2x1xf32>
}

// -----

func.func @f(%x: tensor<1x2x3xf32>, %z: tensor<1xf32>) -> tensor<1x2x2xf32> {
  %n = "tosa.const"() <{values = dense<0.5> : tensor<1xf32>}> : () -> tensor<1xf32>
  %b = "tosa.const"() <{values = dense<1.0> : tensor<1x3x2xf32>}> : () -> tensor<1x3x2xf32>
  // CHECK: error: tosa.matmul: a_zp 0.5 of f32 is not 0
  %y = tosa.matmul %x, %b, %n, %n : (tensor<1x2x3xf32>, tensor<1x3x2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x2xf32>
  return %y : tensor<1x2x2xf32>
}
