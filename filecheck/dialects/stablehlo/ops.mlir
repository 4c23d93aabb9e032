// RUN: %roundtrip
// RUN: %generic_roundtrip

// StableHLO in the text of its own tools.

!q = !quant.uniform<i8:f32, 0.5:-3>
!r = !quant.uniform<i8:f32, 0.25:4>
!v = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32:3, {0.1,0.2}>
!s = !quant.uniform<i32:f32:3, {0.05,0.1}>

// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: stablehlo.constant dense<[1.000000e+00, -2.000000e+00, 3.000000e+00, 0.000000e+00]> : tensor<4xf32>
  %c = stablehlo.constant dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>
  // CHECK: stablehlo.constant() <{value = dense<[1, 2, -3, 4]> : tensor<4xi8>}> : () -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>>
  %k = stablehlo.constant() <{value = dense<[1, 2, -3, 4]> : tensor<4xi8>}> : () -> tensor<4x!q>
  // CHECK: stablehlo.uniform_quantize %{{.*}} : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>>
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!q>
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : (tensor<4x!quant
  %s = stablehlo.add %q, %k : (tensor<4x!q>, tensor<4x!q>) -> tensor<4x!r>
  // CHECK: stablehlo.abs %{{.*}} : (tensor<4x!quant.uniform<i8:f32, 2.500000e-01:4>>) -> tensor<4x!quant.uniform<i8:f32, 2.500000e-01:4>>
  %a = stablehlo.abs %s : tensor<4x!r>
  // CHECK: stablehlo.uniform_dequantize
  %d = stablehlo.uniform_dequantize %a : (tensor<4x!r>) -> tensor<4xf32>
  // CHECK: stablehlo.clamp
  %m = stablehlo.clamp %c, %d, %c : tensor<4xf32>
  return %m : tensor<4xf32>
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x6x!q>, %i: tensor<3x1xi32>, %z: tensor<!q>) -> tensor<3x6x!q> {
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] : (
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x6x!q>) -> tensor<6x2x!q>
  // CHECK: stablehlo.reshape
  %r = stablehlo.reshape %t : (tensor<6x2x!q>) -> tensor<3x4x!q>
  // CHECK: stablehlo.slice %{{.*}} [1:3, 0:4:3] : (
  %s = stablehlo.slice %r [1:3, 0:4:3] : (tensor<3x4x!q>) -> tensor<2x2x!q>
  // CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 1 : (
  %c = stablehlo.concatenate %s, %s, dim = 1 : (tensor<2x2x!q>, tensor<2x2x!q>) -> tensor<2x4x!q>
  // CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [0, 1], high = [0, 1], interior = [1, 0] : (
  %p = stablehlo.pad %c, %z, low = [0, 1], high = [0, 1], interior = [1, 0] : (tensor<2x4x!q>, tensor<!q>) -> tensor<3x6x!q>
  // CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (
  %b = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<!q>) -> tensor<3x6x!q>
  %m = stablehlo.maximum %p, %b : tensor<3x6x!q>
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}>
  %g = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<3x6x!q>, tensor<3x1xi32>) -> tensor<3x6x!q>
  return %g : tensor<3x6x!q>
}

// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<1x4x4x3x!q>, %w: tensor<3x3x3x2x!w>, %a: tensor<2x3x4x!q>, %b: tensor<2x4x5x!v>) -> (tensor<1x2x2x2x!s>, tensor<2x3x5x!q>) {
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = {{\[\[}}1, 1], [1, 1]], reverse = [0, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo.precision<HIGH>, #stablehlo.precision<DEFAULT>]} : (
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x4x3x!q>, tensor<3x3x3x2x!w>) -> tensor<1x2x2x2x!s>
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (
  %z = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4x!q>, tensor<2x4x5x!v>) -> tensor<2x3x5x!q>
  return %y, %z : tensor<1x2x2x2x!s>, tensor<2x3x5x!q>
}

// CHECK-LABEL: func.func @functions
func.func @functions(%x: tensor<4x!q>, %y: tensor<4x!r>) -> tensor<4x!q> {
  // CHECK-NEXT: stablehlo.cbrt %x : (tensor<4x!quant
  %0 = stablehlo.cbrt %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.ceil %x : (tensor<4x!quant
  %1 = stablehlo.ceil %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.cosine %x : (tensor<4x!quant
  %2 = stablehlo.cosine %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.exponential %x : (tensor<4x!quant
  %3 = stablehlo.exponential %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.exponential_minus_one %x : (tensor<4x!quant
  %4 = stablehlo.exponential_minus_one %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.floor %x : (tensor<4x!quant
  %5 = stablehlo.floor %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.log %x : (tensor<4x!quant
  %6 = stablehlo.log %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.log_plus_one %x : (tensor<4x!quant
  %7 = stablehlo.log_plus_one %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.logistic %x : (tensor<4x!quant
  %8 = stablehlo.logistic %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.negate %x : (tensor<4x!quant
  %9 = stablehlo.negate %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.round_nearest_afz %x : (tensor<4x!quant
  %10 = stablehlo.round_nearest_afz %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.round_nearest_even %x : (tensor<4x!quant
  %11 = stablehlo.round_nearest_even %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.rsqrt %x : (tensor<4x!quant
  %12 = stablehlo.rsqrt %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.sign %x : (tensor<4x!quant
  %13 = stablehlo.sign %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.sine %x : (tensor<4x!quant
  %14 = stablehlo.sine %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.sqrt %x : (tensor<4x!quant
  %15 = stablehlo.sqrt %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.tanh %x : (tensor<4x!quant
  %16 = stablehlo.tanh %x : tensor<4x!q>
  // CHECK-NEXT: stablehlo.divide %x, %y : (tensor<4x!quant
  %17 = stablehlo.divide %x, %y : (tensor<4x!q>, tensor<4x!r>) -> tensor<4x!q>
  // CHECK-NEXT: stablehlo.minimum %x, %y : (tensor<4x!quant
  %18 = stablehlo.minimum %x, %y : (tensor<4x!q>, tensor<4x!r>) -> tensor<4x!q>
  // CHECK-NEXT: stablehlo.multiply %x, %y : (tensor<4x!quant
  %19 = stablehlo.multiply %x, %y : (tensor<4x!q>, tensor<4x!r>) -> tensor<4x!q>
  // CHECK-NEXT: stablehlo.subtract %x, %y : (tensor<4x!quant
  %20 = stablehlo.subtract %x, %y : (tensor<4x!q>, tensor<4x!r>) -> tensor<4x!q>
  return %17 : tensor<4x!q>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<2x8xi8>, %w: tensor<8x4xi8>, %n: tensor<2x4xi32>) -> tensor<2x4xi8> {
  // CHECK: stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x8xi8>, tensor<8x4xi8>) -> tensor<2x4xi32>
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0],>}> : (tensor<2x8xi8>, tensor<8x4xi8>) -> tensor<2x4xi32>
  // CHECK-NEXT: stablehlo.shift_right_arithmetic %{{.*}}, %n : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  %1 = stablehlo.shift_right_arithmetic %0, %n : tensor<2x4xi32>
  // CHECK-NEXT: stablehlo.shift_right_logical
  %2 = stablehlo.shift_right_logical %1, %n : tensor<2x4xi32>
  // CHECK-NEXT: stablehlo.shift_left
  %3 = stablehlo.shift_left %2, %n : tensor<2x4xi32>
  // CHECK-NEXT: stablehlo.convert %{{.*}} : (tensor<2x4xi32>) -> tensor<2x4xi8>
  %4 = stablehlo.convert %3 : (tensor<2x4xi32>) -> tensor<2x4xi8>
  return %4 : tensor<2x4xi8>
}

// CHECK-LABEL: func.func @choice
func.func @choice(%a: tensor<4xi32>, %b: tensor<4xi32>, %p: tensor<i1>, %q: tensor<4x!q>) -> tensor<4x!q> {
  // CHECK: stablehlo.compare LT, %a, %b, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %0 = stablehlo.compare  LT, %a, %b,  SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK-NEXT: stablehlo.select %{{.*}}, %a, %b : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = stablehlo.select %0, %a, %b : tensor<4xi1>, tensor<4xi32>
  // CHECK-NEXT: stablehlo.compare NE, %{{.*}}, %b : (tensor<4xi32>
  %2 = "stablehlo.compare"(%1, %b) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK-NEXT: stablehlo.select %p, %q, %q : (tensor<i1>, tensor<4x!quant
  %3 = stablehlo.select %p, %q, %q : (tensor<i1>, tensor<4x!q>, tensor<4x!q>) -> tensor<4x!q>
  return %3 : tensor<4x!q>
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<2x3x4xi32>, %n: tensor<i32>) -> tensor<3xi32> {
  // CHECK: stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<3xi32>
  %0 = stablehlo.reduce(%x init: %n) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<3xi32>
  // CHECK-NEXT: stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1]
  %1 = "stablehlo.reduce"(%x, %n) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.maximum %a, %b : tensor<i32>
    "stablehlo.return"(%m) : (tensor<i32>) -> ()
  }) : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  // CHECK-NEXT: stablehlo.iota dim = 1 : tensor<2x4xf32>
  %2 = stablehlo.iota dim = 1 : tensor<2x4xf32>
  // CHECK-NEXT: stablehlo.iota dim = 0 : tensor<100xi8>
  %3 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<100xi8>
  // CHECK-NEXT: "stablehlo.reduce_window"(%x, %n) <{padding = dense<1> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 3>}> ({
  // CHECK: stablehlo.add
  // CHECK: -> tensor<4x4x4xi32>
  %4 = "stablehlo.reduce_window"(%x, %n) <{padding = dense<1> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 2, 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<4x4x4xi32>
  return %0 : tensor<3xi32>
}
