// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi cpu=cortex-m4 optimize=ram},plan-memory{alignment=8}' | %filecheck %s
// RUN: not %qopt %s -p 'set-target{triple=thumbv7em-none-eabi optimize=area}' 2>&1 | %filecheck %s --check-prefix=UNKNOWN
// RUN: not %qopt %s -p 'set-target{cpu=x86-64-v3 optimize=ram}' 2>&1 | %filecheck %s --check-prefix=SYSTEM

// UNKNOWN: --optimize 'area' is not one of speed, ram, size
// SYSTEM: --optimize ram is for targets without an operating system

// Input and output have places in the arena. Two pixels are read before their results
// are written, which are shorter: these lie over the input, after the scratch.
// CHECK: attributes {kernel.arena_inputs = array<i64: 128>, kernel.arena_outputs = array<i64: 128>, kernel.arena_bytes = 1152 : i64}
func.func @main(%x: tensor<64x16xi8>) -> tensor<64x8xi8> {
  %w = arith.constant dense<3> : tensor<8x16xi8>
  // CHECK: -> tensor<64x8xi8> in [#kernel.output<0>] scratch #kernel.scratch<0, 128>
  %y = kernel.nest contraction parallel [64, 8] reduction [16] maps [affine_map<(p, c, k) -> (p, k)>, affine_map<(p, c, k) -> (c, k)>, affine_map<(p, c, k) -> (p, c)>] ins(%x, %w : tensor<64x16xi8>, tensor<8x16xi8>) init {
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
  } -> tensor<64x8xi8>
  return %y : tensor<64x8xi8>
}
