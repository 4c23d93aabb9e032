// RUN: %qopt %s -p fuse-layers --print-debuginfo | %filecheck %s
// RUN: %qopt %s -p 'fuse-layers{real=true}' --print-debuginfo | %filecheck %s --check-prefix=REAL

// An addition and an activation become part of the matrix product, by the product's own
// loops; the other operand is read at the same point. The nest has all their names.
// CHECK-LABEL: func.func @residual
// CHECK-NEXT:    %w = arith.constant
// CHECK-NEXT:    %{{.*}} = kernel.nest contraction parallel [1, 4, 2] reduction [2]
// CHECK-SAME:      affine_map<(d0, d1, d2, d3) -> (0, d1, d2)>
// CHECK-SAME:      ins(%x, %w, %y : tensor<1x4x2xi8>, tensor<2x2xi8>, tensor<1x4x2xi8>)
// CHECK:         } epilogue {
// CHECK-NEXT:    ^bb0(%{{.*}}, %{{.*}}, %[[Y:[a-z_0-9]+]]: {{.*}}, %acc: {{.*}}):
// CHECK-NEXT:      %[[BYTE:.*]] = arith.trunci %acc : i32 to i8
// CHECK-NEXT:      %[[SUM:.*]] = arith.addi %[[Y]], %[[BYTE]] : i8
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK-NEXT:      %[[RESULT:.*]] = arith.maxsi %[[SUM]], %[[ZERO]] : i8
// CHECK-NEXT:      kernel.yield %[[RESULT]] : i8
// CHECK-NEXT:    } -> tensor<1x4x2xi8> loc(fused["conv", "add"("model.tflite":2:0), "relu"])
// CHECK-NEXT:    func.return
func.func @residual(%x: tensor<1x4x2xi8>, %y: tensor<1x4x2xi8>) -> tensor<1x4x2xi8> {
  %w = arith.constant dense<[[3, -7], [10, 20]]> : tensor<2x2xi8>
  %conv = kernel.nest contraction parallel [1, 4, 2] reduction [2]
    maps [affine_map<(n, r, o, i) -> (n, r, i)>, affine_map<(n, r, o, i) -> (o, i)>, affine_map<(n, r, o, i) -> (n, r, o)>]
    ins(%x, %w : tensor<1x4x2xi8>, tensor<2x2xi8>) init {
  ^bb0(%a: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %a32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%a: i8, %f: i8, %acc: i32):
    %byte = arith.trunci %acc : i32 to i8
    kernel.yield %byte : i8
  } -> tensor<1x4x2xi8> loc("conv")
  %add = kernel.nest map parallel [1, 4, 2]
    maps [affine_map<(n, r, o) -> (0, r, o)>, affine_map<(n, r, o) -> (0, r, o)>, affine_map<(n, r, o) -> (n, r, o)>]
    ins(%y, %conv : tensor<1x4x2xi8>, tensor<1x4x2xi8>) epilogue {
  ^bb0(%a: i8, %b: i8):
    %sum = arith.addi %a, %b : i8
    kernel.yield %sum : i8
  } -> tensor<1x4x2xi8> loc("add"("model.tflite":2:0))
  %relu = kernel.nest map parallel [1, 4, 2]
    maps [affine_map<(n, r, o) -> (n, r, o)>, affine_map<(n, r, o) -> (n, r, o)>]
    ins(%add : tensor<1x4x2xi8>) epilogue {
  ^bb0(%a: i8):
    %zero = arith.constant 0 : i8
    %r = arith.maxsi %a, %zero : i8
    kernel.yield %r : i8
  } -> tensor<1x4x2xi8> loc("relu")
  return %relu : tensor<1x4x2xi8>
}

// Not where its value is needed again, or its result is stored in another order.
// CHECK-LABEL: func.func @apart
// CHECK:         kernel.nest row
// CHECK:         kernel.nest map
// CHECK:         kernel.nest map
func.func @apart(%x: tensor<3x4x2xi8>) -> (tensor<3x4xi8>, tensor<3x4xi8>, tensor<4x3xi8>) {
  %sums, %other = kernel.nest row parallel [3, 4] reduction [2]
    maps [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j)>]
    ins(%x : tensor<3x4x2xi8>) init {
  ^bb0(%a: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%a: i8, %sum: i8):
    %next = arith.addi %sum, %a : i8
    kernel.yield %next : i8
  } epilogue {
  ^bb0(%a: i8, %acc: i8):
    kernel.yield %acc, %acc : i8, i8
  } -> (tensor<3x4xi8>, tensor<3x4xi8>) loc("sum")
  %doubled = kernel.nest map parallel [3, 4]
    maps [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]
    ins(%sums : tensor<3x4xi8>) epilogue {
  ^bb0(%a: i8):
    %sum = arith.addi %a, %a : i8
    kernel.yield %sum : i8
  } -> tensor<3x4xi8> loc("double")
  %turned = kernel.nest map parallel [4, 3]
    maps [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>]
    ins(%other : tensor<3x4xi8>) epilogue {
  ^bb0(%a: i8):
    %sum = arith.addi %a, %a : i8
    kernel.yield %sum : i8
  } -> tensor<4x3xi8> loc("turn")
  return %sums, %doubled, %turned : tensor<3x4xi8>, tensor<3x4xi8>, tensor<4x3xi8>
}

// With `real` only what stands between bytes in real numbers.
// REAL-LABEL: func.func @residual
// REAL:         loc("conv")
// REAL:         loc("add"("model.tflite":2:0))
// REAL:         loc("relu")

// CHECK-LABEL: func.func @between
// CHECK-COUNT-1: kernel.nest
// REAL-LABEL: func.func @between
// REAL-NEXT:    %{{.*}} = kernel.nest map
// REAL:         } -> tensor<4xi8> loc("bytes")
// REAL-NEXT:    %{{.*}} = kernel.nest map
// REAL:           arith.sitofp
// REAL:           fixed.convert
// REAL:         } -> tensor<4xi8> loc(fused["real", "bytes again"])
// REAL-NEXT:    func.return
func.func @between(%x: tensor<4xi8>) -> tensor<4xi8> {
  %bytes = kernel.nest map parallel [4] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x : tensor<4xi8>) epilogue {
  ^bb0(%a: i8):
    %sum = arith.addi %a, %a : i8
    kernel.yield %sum : i8
  } -> tensor<4xi8> loc("bytes")
  %real = kernel.nest map parallel [4] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%bytes : tensor<4xi8>) epilogue {
  ^bb0(%a: i8):
    %number = arith.sitofp %a : i8 to f32
    kernel.yield %number : f32
  } -> tensor<4xf32> loc("real")
  %again = kernel.nest map parallel [4] maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%real : tensor<4xf32>) epilogue {
  ^bb0(%a: f32):
    %byte = fixed.convert %a {rounding = half_even} : f32 to i8
    kernel.yield %byte : i8
  } -> tensor<4xi8> loc("bytes again")
  return %again : tensor<4xi8>
}

// What two layers compute alike is computed once, under both names; but for results that
// are returned, which are stored in places of their own.
// CHECK-LABEL: func.func @equal
// CHECK-NEXT:    %{{.*}} = kernel.nest row
// CHECK:         -> tensor<4xi8> loc("third")
// CHECK-NEXT:    %{{.*}} = kernel.nest row
// CHECK:           arith.addi %[[MAX:.*]], %[[MAX]] : i8
// CHECK:         -> tensor<4xi8> loc(fused["first", "second", "sum"])
// CHECK-NEXT:    func.return
func.func @equal(%x: tensor<4x8xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %first = kernel.nest row parallel [4] reduction [8]
    maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>] ins(%x : tensor<4x8xi8>) init {
  ^bb0(%a: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%a: i8, %acc: i8):
    %r = arith.maxsi %a, %acc : i8
    kernel.yield %r : i8
  } epilogue {
  ^bb0(%a: i8, %acc: i8):
    kernel.yield %acc : i8
  } -> tensor<4xi8> loc("first")
  %second = kernel.nest row parallel [4] reduction [8]
    maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>] ins(%x : tensor<4x8xi8>) init {
  ^bb0(%a: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%a: i8, %acc: i8):
    %r = arith.maxsi %a, %acc : i8
    kernel.yield %r : i8
  } epilogue {
  ^bb0(%a: i8, %acc: i8):
    kernel.yield %acc : i8
  } -> tensor<4xi8> loc("second")
  %third = kernel.nest row parallel [4] reduction [8]
    maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>] ins(%x : tensor<4x8xi8>) init {
  ^bb0(%a: i8):
    %zero = arith.constant 0 : i8
    kernel.yield %zero : i8
  } body {
  ^bb0(%a: i8, %acc: i8):
    %r = arith.maxsi %a, %acc : i8
    kernel.yield %r : i8
  } epilogue {
  ^bb0(%a: i8, %acc: i8):
    kernel.yield %acc : i8
  } -> tensor<4xi8> loc("third")
  %sum = kernel.nest map parallel [4]
    maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%first, %second : tensor<4xi8>, tensor<4xi8>) epilogue {
  ^bb0(%a: i8, %b: i8):
    %r = arith.addi %a, %b : i8
    kernel.yield %r : i8
  } -> tensor<4xi8> loc("sum")
  return %sum, %third : tensor<4xi8>, tensor<4xi8>
}
