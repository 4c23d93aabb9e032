// RUN: %qopt %s -p prove-epilogues --split-input-file --verify-diagnostics | %filecheck %s

// CHECK: error: the module has no qlower.target, which the pass depends on
// CHECK: help: the pass set-target gives it one
module {}

// -----

// CHECK: error: qlower.target is "host", not a dictionary
module attributes {qlower.target = "host"} {}

// -----

// CHECK: error: qlower.target has the key 'chip', not one of triple, cpu, features, tuned_for
module attributes {qlower.target = {triple = "x86_64-linux-gnu", chip = "x86-64"}} {}

// -----

// CHECK: error: qlower.target has cpu = 64 : i64, not a string
module attributes {qlower.target = {triple = "x86_64-linux-gnu", cpu = 64}} {}

// -----

// CHECK: error: qlower.target has no triple
module attributes {qlower.target = {cpu = "x86-64"}} {}

// -----

// CHECK: error: unknown cpu 'pentium-9' for x86_64
module attributes {qlower.target = {triple = "x86_64-linux-gnu", cpu = "pentium-9"}} {}
