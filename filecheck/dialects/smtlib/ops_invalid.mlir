// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

func.func @unknown(%a: !smt.bv<32>) {
  // CHECK: 'bvfoo' is no function of these: ite, =, bvslt
  %0 = smtlib.apply "bvfoo"(%a) : (!smt.bv<32>) -> !smt.bv<8>
  return
}

// -----

func.func @count(%a: !smt.bv<32>) {
  // CHECK: 'bvslt' has 2 operands, not 1
  %0 = smtlib.apply "bvslt"(%a) : (!smt.bv<32>) -> !smt.bool
  return
}

// -----

// CHECK: exponent and significand have at least 2 bits each
func.func @small(%a: !smtlib.float<1, 24>) {
  return
}
