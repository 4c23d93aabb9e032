// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi cpu=cortex-m4},plan-memory{alignment=8}' | %filecheck %s
// RUN: %qopt %s -p 'set-target{cpu=x86-64-v3},plan-memory{alignment=8}' | %filecheck %s --check-prefix=NONE

// Code for Cortex-M widens two pixels' activations and keeps the sums of the channels:
// 2 * 16 * 2 bytes and 2 * 8 * 4 bytes, in memory that nothing live has.
// CHECK: attributes {kernel.arena_bytes = 256 : i64}
// NONE: attributes {kernel.arena_bytes = 128 : i64}
func.func @main(%x: tensor<8x16xi8>) -> tensor<8x8xi8> {
  %w = arith.constant dense<3> : tensor<8x16xi8>
  // CHECK: kernel.copy %x{{.*}} in [#kernel.arena<0>]
  %a = kernel.copy %x[0, 0] [8, 16] [1, 1] into empty[0, 0] [1, 1] : tensor<8x16xi8> into tensor<8x16xi8>
  // CHECK: in [#kernel.output<0>] scratch #kernel.scratch<128, 128>
  // NONE: in [#kernel.output<0>]
  // NONE-NOT: scratch
  %y = kernel.nest contraction parallel [8, 8] reduction [16] maps [affine_map<(p, c, k) -> (p, k)>, affine_map<(p, c, k) -> (c, k)>, affine_map<(p, c, k) -> (p, c)>] ins(%a, %w : tensor<8x16xi8>, tensor<8x16xi8>) init {
  ^bb0(%v: i8, %u: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%v: i8, %u: i8, %sum: i32):
    %v32 = arith.extsi %v : i8 to i32
    %u32 = arith.extsi %u : i8 to i32
    %product = arith.muli %v32, %u32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%v: i8, %u: i8, %sum: i32):
    %r = fixed.saturate %sum : i32 to i8
    kernel.yield %r : i8
  } -> tensor<8x8xi8>
  return %y : tensor<8x8xi8>
}
