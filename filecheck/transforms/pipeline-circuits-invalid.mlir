// RUN: %qopt %s -p arith-to-comb,pipeline-circuits{stages=1},pipeline-circuits{stages=1} --verify-diagnostics | %filecheck %s

// CHECK: module f has a clock already
func.func @f(%x: i32 {qlower.low = array<i64: -128>, qlower.high = array<i64: 127>}) -> i32 {
  func.return %x : i32
}
