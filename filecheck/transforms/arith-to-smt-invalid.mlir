// RUN: %qopt %s -p arith-to-smt --split-input-file --verify-diagnostics | %filecheck %s

func.func @exponential(%x: f32) -> f32 {
  // CHECK: error: math.exp on f32 can't be written as a term of SMT-LIB
  %y = math.exp %x : f32
  return %y : f32
}

// -----

func.func @divide(%x: i32, %y: i32) -> i32 {
  // CHECK: error: arith.divsi by a number that isn't a positive constant can't be written as a term of SMT-LIB
  %z = arith.divsi %x, %y : i32
  return %z : i32
}

// -----

func.func @no_wrap(%x: i32) -> i32 {
  // CHECK: error: arith.addi with flags can't be written as a term of SMT-LIB
  %y = arith.addi %x, %x overflow<nsw> : i32
  return %y : i32
}

// -----

// CHECK: error: tensor<4xi8> is no sort of SMT-LIB
func.func @tensor(%x: tensor<4xi8>) -> tensor<4xi8> {
  return %x : tensor<4xi8>
}
