// RUN: %qopt %s | %qopt | %filecheck %s

// CHECK: func.func @apply(%a: !smt.bv<32>, %b: !smtlib.float<8, 24>)
func.func @apply(%a: !smt.bv<32>, %b: !smtlib.float<8, 24>) {
  // CHECK-NEXT: smtlib.apply "(_ extract 7 0)"(%a) : (!smt.bv<32>) -> !smt.bv<8>
  %0 = smtlib.apply "(_ extract 7 0)"(%a) : (!smt.bv<32>) -> !smt.bv<8>
  // CHECK-NEXT: smtlib.apply "fp.mul RNE"(%b, %b) : (!smtlib.float<8, 24>, !smtlib.float<8, 24>) -> !smtlib.float<8, 24>
  %1 = smtlib.apply "fp.mul RNE"(%b, %b)
    : (!smtlib.float<8, 24>, !smtlib.float<8, 24>) -> !smtlib.float<8, 24>
  return
}
