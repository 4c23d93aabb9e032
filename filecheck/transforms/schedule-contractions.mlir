// RUN: %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=x86-64-v3},schedule-contractions' | %filecheck %s
// RUN: %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=x86-64-v3},schedule-contractions{limit=1}' | %filecheck %s --check-prefix=ONE

// Every contraction without a schedule gets the best by estimate; with a limit the first do.
// CHECK:         kernel.nest contraction
// CHECK:         } schedule #kernel.tile<{{[0-9]+}}, {{[0-9]+}}>
// CHECK:         kernel.nest contraction
// CHECK:         } schedule #kernel.tile<7, 1>
// CHECK:         kernel.nest contraction
// CHECK:         } schedule #kernel.tile<{{[0-9]+}}, {{[0-9]+}}>
// ONE:           } schedule
// ONE:           } schedule #kernel.tile<7, 1>
// ONE-NOT:     schedule
func.func @main(%x: tensor<16x64xi8>) -> (tensor<16x32xi32>, tensor<16x32xi32>, tensor<16x32xi32>) {
  %w = arith.constant dense<1> : tensor<32x64xi8>
  %a = kernel.nest contraction parallel [16, 32] reduction [64]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>, affine_map<(n, o, i) -> (n, o)>]
    ins(%x, %w : tensor<16x64xi8>, tensor<32x64xi8>) init {
  ^bb0(%p: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%p: i8, %f: i8, %sum: i32):
    %p32 = arith.extsi %p : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %p32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%p: i8, %f: i8, %sum: i32):
    kernel.yield %sum : i32
  } -> tensor<16x32xi32>
  %b = kernel.nest contraction parallel [16, 32] reduction [64]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>, affine_map<(n, o, i) -> (n, o)>]
    ins(%x, %w : tensor<16x64xi8>, tensor<32x64xi8>) init {
  ^bb0(%p: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%p: i8, %f: i8, %sum: i32):
    %p32 = arith.extsi %p : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %p32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%p: i8, %f: i8, %sum: i32):
    kernel.yield %sum : i32
  } schedule #kernel.tile<7, 1> -> tensor<16x32xi32>
  %c = kernel.nest contraction parallel [16, 32] reduction [64]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>, affine_map<(n, o, i) -> (n, o)>]
    ins(%x, %w : tensor<16x64xi8>, tensor<32x64xi8>) init {
  ^bb0(%p: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%p: i8, %f: i8, %sum: i32):
    %p32 = arith.extsi %p : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %product = arith.muli %p32, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%p: i8, %f: i8, %sum: i32):
    kernel.yield %sum : i32
  } -> tensor<16x32xi32>
  return %a, %b, %c : tensor<16x32xi32>, tensor<16x32xi32>, tensor<16x32xi32>
}
