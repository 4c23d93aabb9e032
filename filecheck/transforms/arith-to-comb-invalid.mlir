// RUN: %qopt %s -p arith-to-comb --split-input-file --verify-diagnostics | %filecheck %s

// CHECK: arith.sitofp is no step of a circuit of integers
func.func @real(%x: i32) -> f32 {
  %y = arith.sitofp %x : i32 to f32
  func.return %y : f32
}

// -----

// CHECK: argument 0 of wide has range [0, 256], which is no range of i8
func.func @wide(%x: i8 {qlower.low = array<i64: 0>, qlower.high = array<i64: 256>}) -> i8 {
  func.return %x : i8
}

// -----

// CHECK: function real takes f32, a circuit has integers only
func.func @real(%x: f32) -> f32 {
  func.return %x : f32
}
