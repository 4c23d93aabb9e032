// RUN: %qopt %s --split-input-file -p 'set-target{triple=aarch64-linux-gnu cpu=cortex-a53}' | %filecheck %s
// RUN: %qopt %s --split-input-file -p 'set-target{triple=x86_64-linux-gnu cpu=x86-64 features="+avx2" tuned-for=x86-64-v3}' | %filecheck %s --check-prefix=LEVEL
// RUN: not %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=pentium-9}' 2>&1 | %filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown cpu 'pentium-9' for x86_64

// CHECK: module attributes {qlower.target = {triple = "aarch64-linux-gnu", cpu = "cortex-a53"}}
// LEVEL: module attributes {qlower.target = {triple = "x86_64-linux-gnu", cpu = "x86-64", features = "+avx2", tuned_for = "x86-64-v3"}}
module {}

// -----

// Another target takes the place of the one that is there.
// CHECK: module attributes {qlower.target = {triple = "aarch64-linux-gnu", cpu = "cortex-a53"}}
module attributes {qlower.target = {triple = "riscv64-linux-gnu"}} {}
