// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

// What is refused of StableHLO.

func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: [[#]]:8: error: stablehlo.transpose: result has shape [2, 3], the operands give [3, 2]
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: error: stablehlo.abs: tensor<?xf32> is not a tensor of fixed shape
  %0 = stablehlo.abs %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
  // CHECK: error: stablehlo.abs: elements of f64 aren't supported
  %0 = stablehlo.abs %x : tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----

func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
  // CHECK: error: stablehlo.abs: elements of i32; f32 and quantized ones are supported
  %0 = stablehlo.abs %x : tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

func.func @f(%x: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1,0.2,0.3}>> {
  // CHECK: error: stablehlo.uniform_quantize: 3 scales along axis 0 don't fit tensor<2x!quant
  %0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1,0.2,0.3}>>
  return %0 : tensor<2x!quant.uniform<i8:f32:0, {0.1,0.2,0.3}>>
}

// -----

func.func @f(%x: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.1:200>> {
  // CHECK: error: stablehlo.uniform_quantize: zero point 200 is outside of [-128, 127]
  %0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.1:200>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.1:200>>
}

// -----

func.func @f(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32, 0.2>> {
  // CHECK: error: stablehlo.reshape: element types !quant.uniform<i8:f32, 1.000000e-01>, !quant.uniform<i8:f32, 2.000000e-01> differ; elements that move keep theirs
  %0 = stablehlo.reshape %x : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32, 0.2>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.2>>
}

// -----

func.func @f(%x: tensor<1x4x4x3xf32>, %w: tensor<3x3x4x2xf32>) -> tensor<1x2x2x2xf32> {
  // CHECK: error: stablehlo.convolution: rhs has 4 channels along axis 2, lhs has 3
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x3xf32>, tensor<3x3x4x2xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----

func.func @f(%x: tensor<1x4x4x3xf32>, %w: tensor<3x3x3x2xf32>) -> tensor<1x2x2x2xf32> {
  // CHECK: error: a window has no strides, or it is given twice
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {strides = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x3xf32>, tensor<3x3x3x2xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----

func.func @f(%x: tensor<1x4x4x3xf32>, %w: tensor<3x3x3x2xf32>) -> tensor<1x2x2x2xf32> {
  // CHECK: error: stablehlo.convolution: [b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f] are no dimensions of
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x3xf32>, tensor<3x3x3x2xf32>) -> tensor<1x2x2x2xf32>
  return %0 : tensor<1x2x2x2xf32>
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // CHECK: error: stablehlo.dot_general: contracting dimensions have different sizes
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
  // CHECK: error: stablehlo.slice: [1:5:1] is no box of 4 elements
  %0 = stablehlo.slice %x [1:5] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: operation stablehlo.custom_call is not supported
  %0 = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  // CHECK: error: stablehlo.constant: elements of i16 are stored as i8
  %0 = stablehlo.constant() <{value = dense<1> : tensor<2xi16>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}

// -----

func.func @f(%x: tensor<4xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {
  // CHECK: error: stablehlo.clamp: the bounds have another shape
  %0 = stablehlo.clamp %b, %x, %b : (tensor<2xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: stablehlo.uniform_dequantize: tensor<4xf32> is not quantized
  %0 = stablehlo.uniform_dequantize %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<3xf32>) -> tensor<2x4xf32> {
  // CHECK: error: stablehlo.broadcast_in_dim: axes [1] don't bring [3] to [2, 4]
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) -> tensor<2x6xf32> {
  // CHECK: error: stablehlo.concatenate: shape [3, 3] of operand 1 differs from [2, 3] beside axis 1
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// -----

func.func @f(%x: tensor<3xf32>, %z: tensor<1xf32>) -> tensor<4xf32> {
  // CHECK: error: stablehlo.pad: tensor<1xf32> is not one number
  %0 = stablehlo.pad %x, %z, low = [1], high = [0], interior = [0] : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<3xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  // CHECK: error: stablehlo.pad: interior -1 is less than 0
  %0 = stablehlo.pad %x, %z, low = [1], high = [0], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi32>) -> tensor<2x5xf32> {
  // CHECK: error: stablehlo.gather: [1, 5] is no box of tensor<3x4xf32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @f(%x: tensor<3x4xf32>, %i: tensor<2x1xi32>) -> tensor<2x4xf32> {
  // CHECK: error: stablehlo.gather: lists have 1 indices, start_index_map 2
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @f(%x: tensor<2xf32>) -> tensor<2xui8> {
  // CHECK: error: stablehlo.convert: elements of ui8; f32 and signless integers are converted
  %0 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xui8>
  return %0 : tensor<2xui8>
}

// -----

func.func @f(%x: tensor<2xi8>, %n: tensor<2xi32>) -> tensor<2xi8> {
  // CHECK: error: stablehlo.shift_left: elements of i8, i32; one signless type is shifted
  %0 = stablehlo.shift_left %x, %n : (tensor<2xi8>, tensor<2xi32>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}

// -----

func.func @f(%x: tensor<2x8xi8>, %w: tensor<8x4xi8>) -> tensor<2x4xi8> {
  // CHECK: error: stablehlo.dot_general: a result of i8; products of i8 have sums of i32
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x8xi8>, tensor<8x4xi8>) -> tensor<2x4xi8>
  return %0 : tensor<2x4xi8>
}

// -----

func.func @f(%a: tensor<4xf32>) -> tensor<4xi1> {
  // CHECK: error: stablehlo.compare: elements of f32 are compared as FLOAT
  %0 = stablehlo.compare LT, %a, %a, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @f(%p: tensor<2xi1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error: stablehlo.select: the condition has another shape
  %0 = stablehlo.select %p, %a, %a : tensor<2xi1>, tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.reduce: elements of f32; signless integers of several bits are reduced
  %0 = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.reduce: dimension 2 is out of range [0, 1]
  %0 = stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [2] : (tensor<2x8xi32>, tensor<i32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.reduce: dimensions [1, 1]: each one once
  %0 = stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [1, 1] : (tensor<2x8xi32>, tensor<i32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.divide isn't supported; expected stablehlo.add
  %0 = stablehlo.reduce(%x init: %n) applies stablehlo.divide across dimensions = [1] : (tensor<2x8xi32>, tensor<i32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.reduce: an init of tensor<f32>, expected tensor<i32>
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    "stablehlo.return"(%m) : (tensor<i32>) -> ()
  }) : (tensor<2x8xi32>, tensor<f32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.reduce: the body must be one operation on its two arguments
  %0 = "stablehlo.reduce"(%x, %n) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %a : tensor<i32>
    "stablehlo.return"(%m) : (tensor<i32>) -> ()
  }) : (tensor<2x8xi32>, tensor<i32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.iota: dimension 2 is out of range [0, 1]
  %0 = stablehlo.iota dim = 2 : tensor<2x4xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>, %r: tensor<2x8xf32>, %z: tensor<f32>) {
  // CHECK: error: stablehlo.iota: position 128 is none of i8
  %0 = stablehlo.iota dim = 0 : tensor<129xi8>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>) {
  // CHECK: error: stablehlo.reduce_window: the window spans 3 elements along dimension 0, which has 2
  %0 = "stablehlo.reduce_window"(%x, %n) <{window_dimensions = array<i64: 3, 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>) {
  // CHECK: error: stablehlo.reduce_window: window_dimensions
  %0 = "stablehlo.reduce_window"(%x, %n) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>) {
  // CHECK: error: stablehlo.reduce_window: window_strides
  %0 = "stablehlo.reduce_window"(%x, %n) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>) {
  // CHECK: error: stablehlo.reduce_window: padding
  %0 = "stablehlo.reduce_window"(%x, %n) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [-1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  return
}

// -----

func.func @f(%x: tensor<2x8xi32>, %n: tensor<i32>) {
  // CHECK: error: stablehlo.reduce_window: padding
  %0 = "stablehlo.reduce_window"(%x, %n) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  return
}
