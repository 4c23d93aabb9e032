// RUN: %qopt %s -p plan-memory | %filecheck %s

// CHECK-LABEL: func.func @chain
// CHECK-SAME:    attributes {kernel.arena_bytes = 4160 : i64}
func.func @chain(%x: tensor<64x64xi8>) -> (tensor<64x64xi8>, tensor<64xi8>) {
  // The largest comes first.
  // CHECK: kernel.copy %x{{.*}} in [#kernel.arena<0>]
  %a = kernel.copy %x[0, 0] [64, 64] [1, 1] into empty[0, 0] [1, 1] : tensor<64x64xi8> into tensor<64x64xi8>
  // CHECK: kernel.copy %a{{.*}} in [#kernel.arena<4096>]
  %b = kernel.copy %a[3, 0] [1, 50] [1, 1] into fill(0 : i8)[0, 3] [1, 1] : tensor<64x64xi8> into tensor<1x64xi8>
  // A chain of copies stays in place: here in the caller's buffer.
  // CHECK: kernel.copy %a{{.*}} in [#kernel.output<0>]
  %c = kernel.copy %a[0, 0] [32, 64] [1, 1] into fill(1 : i8)[32, 0] [1, 1] : tensor<64x64xi8> into tensor<64x64xi8>
  // CHECK: kernel.copy %b{{.*}} into %c{{.*}} in [#kernel.output<0>]
  %d = kernel.copy %b[0, 0] [1, 64] [1, 1] into %c[7, 0] [1, 1] : tensor<1x64xi8> into tensor<64x64xi8>
  // %a is dead.
  // CHECK: kernel.copy %d{{.*}} in [#kernel.arena<0>]
  %e = kernel.copy %d[0, 0] [1, 64] [1, 1] into empty[0, 0] [1, 1] : tensor<64x64xi8> into tensor<1x64xi8>
  // A reshape has no memory of its own.
  %flat = tensor.collapse_shape %e [[0, 1]] : tensor<1x64xi8> into tensor<64xi8>
  // CHECK: kernel.copy %{{.*}} in [#kernel.output<1>]
  %f = kernel.copy %flat[0] [64] [1] into empty[0] [1] : tensor<64xi8> into tensor<64xi8>
  return %d, %f : tensor<64x64xi8>, tensor<64xi8>
}

// CHECK-LABEL: func.func @in_place
// CHECK-SAME:    attributes {kernel.arena_bytes = 128 : i64}
func.func @in_place(%x: tensor<8x8xi8>) -> tensor<8x8xi8> {
  // CHECK: %a = {{.*}} in [#kernel.arena<0>]
  %a = kernel.copy %x[0, 0] [8, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<8x8xi8> into tensor<8x8xi8>
  // Each element of %a is read where it is overwritten.
  // CHECK: } -> tensor<8x8xi8> in [#kernel.arena<0>]
  %b = kernel.nest map parallel [8, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>] ins(%a : tensor<8x8xi8>) epilogue {
  ^bb0(%v: i8):
    %r = arith.addi %v, %v : i8
    kernel.yield %r : i8
  } -> tensor<8x8xi8>
  // Here not.
  // CHECK: } -> tensor<8x8xi8> in [#kernel.arena<64>]
  %c = kernel.nest map parallel [8, 8] maps [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>] ins(%b : tensor<8x8xi8>) epilogue {
  ^bb0(%v: i8):
    %r = arith.addi %v, %v : i8
    kernel.yield %r : i8
  } -> tensor<8x8xi8>
  // CHECK: in [#kernel.output<0>]
  %d = kernel.copy %c[0, 0] [8, 7] [1, 1] into fill(0 : i8)[0, 0] [1, 1] : tensor<8x8xi8> into tensor<8x8xi8>
  return %d : tensor<8x8xi8>
}

// A copy whose destination is needed afterwards, or isn't ours, gets memory of its own.
// CHECK-LABEL: func.func @out_of_place
// CHECK-SAME:    attributes {kernel.arena_bytes = 0 : i64}
func.func @out_of_place(%x: tensor<8xi8>, %y: tensor<2xi8>) -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) {
  // CHECK: %a = {{.*}} in [#kernel.output<0>]
  %a = kernel.copy %y[0] [2] [1] into %x[0] [1] : tensor<2xi8> into tensor<8xi8>
  // CHECK: %b = {{.*}} in [#kernel.output<1>]
  %b = kernel.copy %y[0] [2] [1] into %a[2] [1] : tensor<2xi8> into tensor<8xi8>
  // A value that is returned twice lives in one of its outputs.
  return %a, %b, %b : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>
}

// The sums of %a's rows are added to %b, which is only read where the result is stored.
// CHECK-LABEL: func.func @after_a_sum
// CHECK-SAME:    attributes {kernel.arena_bytes = 128 : i64}
func.func @after_a_sum(%x: tensor<8x8xi8>) -> tensor<8x8xi8> {
  // CHECK: %a = {{.*}} in [#kernel.arena<0>]
  %a = kernel.copy %x[0, 0] [8, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<8x8xi8> into tensor<8x8xi8>
  // CHECK: %b = {{.*}} in [#kernel.arena<64>]
  %b = kernel.copy %x[0, 0] [8, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<8x8xi8> into tensor<8x8xi8>
  // CHECK: } -> tensor<8x8xi8> in [#kernel.arena<64>]
  %c = kernel.nest contraction parallel [8, 8] reduction [8]
    maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%a, %b : tensor<8x8xi8>, tensor<8x8xi8>) init {
  ^bb0(%v: i8, %w: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%v: i8, %w: i8, %sum: i8):
    %r = arith.addi %sum, %v : i8
    kernel.yield %r : i8
  } epilogue {
  ^bb0(%v: i8, %w: i8, %sum: i8):
    %r = arith.addi %sum, %w : i8
    kernel.yield %r : i8
  } -> tensor<8x8xi8>
  // CHECK: in [#kernel.output<0>]
  %d = kernel.copy %c[0, 0] [8, 7] [1, 1] into fill(0 : i8)[0, 0] [1, 1] : tensor<8x8xi8> into tensor<8x8xi8>
  return %d : tensor<8x8xi8>
}

// A depthwise convolution needs no padding in memory: %a is read until %b is done. A full
// convolution does; there %b is stored inside of it.
// CHECK-LABEL: func.func @padding
// CHECK-SAME:    attributes {kernel.arena_bytes = 576 : i64}
func.func @padding(%x: tensor<1x4x6x8xi8>, %w: tensor<3x3x8xi8>, %full: tensor<8x3x3x8xi8>) -> tensor<1x4x6x8xi8> {
  // CHECK: %p = kernel.copy %x{{.*}} in [#kernel.unstored]
  %p = kernel.copy %x[0, 0, 0, 0] [1, 4, 6, 8] [1, 1, 1, 1] into fill(5 : i8)[0, 1, 1, 0] [1, 1, 1, 1] : tensor<1x4x6x8xi8> into tensor<1x6x8x8xi8>
  // CHECK: kernel.nest depthwise
  // CHECK: } -> tensor<1x4x6x8xi8> in [#kernel.arena<384>]
  %a = kernel.nest depthwise parallel [1, 4, 6, 8] reduction [3, 3]
    maps [affine_map<(n, y, x, c, i, j) -> (n, y + i, x + j, c)>, affine_map<(n, y, x, c, i, j) -> (i, j, c)>, affine_map<(n, y, x, c, i, j) -> (n, y, x, c)>]
    ins(%p, %w : tensor<1x6x8x8xi8>, tensor<3x3x8xi8>) init {
  ^bb0(%v: i8, %f: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%v: i8, %f: i8, %sum: i8):
    %product = arith.muli %v, %f : i8
    %next = arith.addi %sum, %product : i8
    kernel.yield %next : i8
  } epilogue {
  ^bb0(%v: i8, %f: i8, %sum: i8):
    kernel.yield %sum : i8
  } -> tensor<1x4x6x8xi8>
  // CHECK: %q = kernel.copy %a{{.*}} in [#kernel.unstored]
  %q = kernel.copy %a[0, 0, 0, 0] [1, 4, 6, 8] [1, 1, 1, 1] into fill(5 : i8)[0, 1, 1, 0] [1, 1, 1, 1] : tensor<1x4x6x8xi8> into tensor<1x6x8x8xi8>
  // CHECK: kernel.nest depthwise
  // CHECK: } -> tensor<1x4x6x8xi8> in [#kernel.box]
  %b = kernel.nest depthwise parallel [1, 4, 6, 8] reduction [3, 3]
    maps [affine_map<(n, y, x, c, i, j) -> (n, y + i, x + j, c)>, affine_map<(n, y, x, c, i, j) -> (i, j, c)>, affine_map<(n, y, x, c, i, j) -> (n, y, x, c)>]
    ins(%q, %w : tensor<1x6x8x8xi8>, tensor<3x3x8xi8>) init {
  ^bb0(%v: i8, %f: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%v: i8, %f: i8, %sum: i8):
    %product = arith.muli %v, %f : i8
    %next = arith.addi %sum, %product : i8
    kernel.yield %next : i8
  } epilogue {
  ^bb0(%v: i8, %f: i8, %sum: i8):
    kernel.yield %sum : i8
  } -> tensor<1x4x6x8xi8>
  // CHECK: %r = kernel.copy %b{{.*}} in [#kernel.arena<0>]
  %r = kernel.copy %b[0, 0, 0, 0] [1, 4, 6, 8] [1, 1, 1, 1] into fill(5 : i8)[0, 1, 1, 0] [1, 1, 1, 1] : tensor<1x4x6x8xi8> into tensor<1x6x8x8xi8>
  // CHECK: kernel.nest contraction
  %c = kernel.nest contraction parallel [1, 4, 6, 8] reduction [3, 3, 8]
    maps [affine_map<(n, y, x, c, i, j, k) -> (n, y + i, x + j, k)>, affine_map<(n, y, x, c, i, j, k) -> (c, i, j, k)>, affine_map<(n, y, x, c, i, j, k) -> (n, y, x, c)>]
    ins(%r, %full : tensor<1x6x8x8xi8>, tensor<8x3x3x8xi8>) init {
  ^bb0(%v: i8, %f: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%v: i8, %f: i8, %sum: i8):
    %product = arith.muli %v, %f : i8
    %next = arith.addi %sum, %product : i8
    kernel.yield %next : i8
  } epilogue {
  ^bb0(%v: i8, %f: i8, %sum: i8):
    kernel.yield %sum : i8
  } -> tensor<1x4x6x8xi8>
  return %c : tensor<1x4x6x8xi8>
}

// What only a copy uses is stored where that puts it: two nests write the halves of one
// tensor, and nothing is left to be copied. The rows of a matrix product stay together.
// CHECK-LABEL: func.func @boxes
// CHECK-SAME:    attributes {kernel.arena_bytes = 32 : i64}
func.func @boxes(%x: tensor<4x8xi8>, %f: tensor<8x8xi8>) -> (tensor<4x16xi8>, tensor<5x8xi8>) {
  // CHECK: } -> tensor<4x8xi8> in [#kernel.box]
  %a = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>] ins(%x : tensor<4x8xi8>) epilogue {
  ^bb0(%v: i8):
    %r = arith.addi %v, %v : i8
    kernel.yield %r : i8
  } -> tensor<4x8xi8>
  // CHECK: } -> tensor<4x8xi8> in [#kernel.box]
  %b = kernel.nest map parallel [4, 8] maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>] ins(%x : tensor<4x8xi8>) epilogue {
  ^bb0(%v: i8):
    %r = arith.muli %v, %v : i8
    kernel.yield %r : i8
  } -> tensor<4x8xi8>
  // CHECK: %c = kernel.copy %a{{.*}} in [#kernel.output<0>]
  %c = kernel.copy %a[0, 0] [4, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<4x8xi8> into tensor<4x16xi8>
  // CHECK: %d = kernel.copy %b{{.*}} into %c{{.*}} in [#kernel.output<0>]
  %d = kernel.copy %b[0, 0] [4, 8] [1, 1] into %c[0, 8] [1, 1] : tensor<4x8xi8> into tensor<4x16xi8>
  // CHECK: } -> tensor<4x8xi8> in [#kernel.arena<0>]
  %e = kernel.nest contraction parallel [4, 8] reduction [8]
    maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%x, %f : tensor<4x8xi8>, tensor<8x8xi8>) init {
  ^bb0(%v: i8, %w: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%v: i8, %w: i8, %sum: i8):
    %p = arith.muli %v, %w : i8
    %r = arith.addi %sum, %p : i8
    kernel.yield %r : i8
  } epilogue {
  ^bb0(%v: i8, %w: i8, %sum: i8):
    kernel.yield %sum : i8
  } -> tensor<4x8xi8>
  // CHECK: kernel.copy %e{{.*}} in [#kernel.output<1>]
  %g = kernel.copy %e[0, 0] [4, 8] [1, 1] into fill(0 : i8)[1, 0] [1, 1] : tensor<4x8xi8> into tensor<5x8xi8>
  return %d, %g : tensor<4x16xi8>, tensor<5x8xi8>
}

// What lay where before doesn't matter.
// CHECK-LABEL: func.func @anew
// CHECK-SAME:    attributes {kernel.arena_bytes = 64 : i64}
func.func @anew(%x: tensor<8x8xi8>) -> tensor<9x9xi8> attributes {kernel.arena_bytes = 0 : i64} {
  // CHECK: %a = {{.*}} in [#kernel.arena<0>]
  %a = kernel.copy %x[0, 0] [8, 8] [1, 1] into empty[0, 0] [1, 1] : tensor<8x8xi8> into tensor<8x8xi8> in [#kernel.output<7>]
  // CHECK: %b = {{.*}} in [#kernel.output<0>]
  %b = kernel.copy %a[0, 0] [8, 8] [1, 1] into fill(0 : i8)[1, 1] [1, 1] : tensor<8x8xi8> into tensor<9x9xi8> in [#kernel.unstored]
  return %b : tensor<9x9xi8>
}
