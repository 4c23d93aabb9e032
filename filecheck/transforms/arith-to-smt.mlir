// RUN: %qopt %s -p expand-fixed,arith-to-smt | %filecheck %s

// CHECK-LABEL: func.func @rescale(%0: !smt.bv<32>) -> (!smt.bv<8>, !smt.bool)
// CHECK:         smtlib.apply "(_ sign_extend 32)"(%0) : (!smt.bv<32>) -> !smt.bv<64>
// CHECK-NEXT:    smt.bv.mul
// CHECK:         smt.bv.ashr
// CHECK:         smtlib.apply "bvult"
// CHECK:         smtlib.apply "(_ extract 7 0)"{{.*}} -> !smt.bv<8>
// CHECK-NEXT:    [[ALWAYS:%[0-9]+]] = smt.constant true
// CHECK-NEXT:    func.return {{%[0-9]+}}, [[ALWAYS]] : !smt.bv<8>, !smt.bool
func.func @rescale(%x: i32) -> i8 {
  %m = arith.constant 1518500250 : i64
  %w = arith.extsi %x : i32 to i64
  %p = arith.muli %w, %m : i64
  %c = arith.constant 38 : i64
  %r = fixed.shift_right %p, %c {rounding = half_up} : i64
  %q = fixed.saturate %r : i64 to i8
  return %q : i8
}

// A step that may have no result is asked about.
// CHECK-LABEL: func.func @shift
// CHECK:         [[SHIFTED:%[0-9]+]] = smt.bv.ashr %0, %1 : !smt.bv<32>
// CHECK-NEXT:    [[WIDTH:%[0-9]+]] = smt.bv.constant #smt.bv<32> : !smt.bv<32>
// CHECK-NEXT:    [[DEFINED:%[0-9]+]] = smtlib.apply "bvult"(%1, [[WIDTH]])
// CHECK-NEXT:    func.return [[SHIFTED]], [[DEFINED]]
func.func @shift(%x: i32, %n: i32) -> i32 {
  %y = arith.shrsi %x, %n : i32
  return %y : i32
}

// A choice is defined where what it chooses is.
// CHECK-LABEL: func.func @choose
// CHECK:         [[TEST:%[0-9]+]] = smtlib.apply "bvslt"
// CHECK:         [[CHOSEN:%[0-9]+]] = smt.ite [[TEST]], {{%[0-9]+}}, %0 : !smt.bv<32>
// CHECK-NEXT:    [[YES:%[0-9]+]] = smt.constant true
// CHECK-NEXT:    [[DEFINED:%[0-9]+]] = smt.ite [[TEST]], {{%[0-9]+}}, [[YES]] : !smt.bool
// CHECK-NEXT:    func.return [[CHOSEN]], [[DEFINED]]
func.func @choose(%x: i32, %n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %is = arith.cmpi slt, %x, %zero : i32
  %y = arith.shli %x, %n : i32
  %z = arith.select %is, %y, %x : i32
  return %z : i32
}

// CHECK-LABEL: func.func @real
// CHECK:         smtlib.apply "(_ to_fp 8 24) RNE"(%0) : (!smt.bv<32>) -> !smtlib.float<8, 24>
// CHECK:         smtlib.apply "fp.fma RNE"
// CHECK:         smtlib.apply "fp.roundToIntegral RNE"
// CHECK:         smtlib.apply "(_ fp.to_sbv 32) RTZ"
func.func @real(%x: i32, %m: f32, %z: f32) -> i32 {
  %w = arith.sitofp %x : i32 to f32
  %p = math.fma %w, %m, %z : f32
  %r = fixed.convert %p {rounding = half_even} : f32 to i32
  return %r : i32
}
