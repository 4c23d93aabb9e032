// RUN: %qopt %s -p 'plan-memory{alignment=8}' | %filecheck %s
// RUN: %qopt %s -p plan-memory | %filecheck %s --check-prefix=LINES
// RUN: not %qopt %s -p 'plan-memory{alignment=24}' 2>&1 | %filecheck %s --check-prefix=BAD

// BAD: plan-memory aligns to 1, 2, 4, 8, 16, 32, 64, not to 24

// A machine without cache lines has no use for gaps between tensors.
// CHECK: attributes {kernel.arena_bytes = 112 : i64}
// LINES: attributes {kernel.arena_bytes = 144 : i64}
func.func @gaps(%x: tensor<99xi8>) -> (tensor<9xi8>) {
  // CHECK: kernel.copy %x{{.*}} in [#kernel.arena<0>]
  // LINES: kernel.copy %x{{.*}} in [#kernel.arena<0>]
  %a = kernel.copy %x[0] [90] [1] into empty[0] [1] : tensor<99xi8> into tensor<90xi8>
  // CHECK: kernel.copy %a{{.*}} in [#kernel.arena<96>]
  // LINES: kernel.copy %a{{.*}} in [#kernel.arena<128>]
  %b = kernel.copy %a[0] [9] [1] into empty[0] [1] : tensor<90xi8> into tensor<9xi8>
  // CHECK: kernel.copy %b{{.*}} in [#kernel.output<0>]
  %c = kernel.copy %b[0] [9] [1] into empty[0] [1] : tensor<9xi8> into tensor<9xi8>
  return %c : tensor<9xi8>
}
