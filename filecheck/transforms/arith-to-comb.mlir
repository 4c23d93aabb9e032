// RUN: %qopt %s -p arith-to-comb --split-input-file | %filecheck %s
// RUN: %qopt %s -p arith-to-comb --split-input-file | %qopt --split-input-file | %filecheck %s

// A sum has the bits of its range; what isn't negative has no sign.
// CHECK:      hw.module @sum(in %x: i5, in %y: i3, out result: i6)
// CHECK-DAG:    %[[SIGN:.*]] = comb.extract %x from 4 :  (i5) -> i1
// CHECK-DAG:    %[[X:.*]] = comb.concat %[[SIGN]], %x : i1, i5
// CHECK-DAG:    %[[Y:.*]] = comb.concat %{{.*}}, %y : i3, i3
// CHECK:        %z = comb.add %[[X]], %[[Y]] : i6
// CHECK-NEXT:   hw.output %z : i6
func.func @sum(%x: i32 {qlower.low = array<i64: -16>, qlower.high = array<i64: 15>},
               %y: i32 {qlower.low = array<i64: 0>, qlower.high = array<i64: 7>}) -> i32 {
  %z = arith.addi %x, %y : i32
  func.return %z : i32
}

// -----

// Lane by lane: the largest factor never meets the largest number.
// CHECK:      hw.module @product(in %x: i7, in %m: i7, out result: i8)
func.func @product(%x: i32 {qlower.low = array<i64: -1, -64>, qlower.high = array<i64: 1, 63>},
                   %m: i32 {qlower.low = array<i64: 100, 2>, qlower.high = array<i64: 100, 2>}) -> i32 {
  %z = arith.muli %x, %m : i32
  func.return %z : i32
}

// -----

// A tie goes up: the upper bit of what is dropped is added.
// CHECK:      hw.module @rounded(in %x: i8, out result: i6)
// CHECK:        %[[FLOOR:.*]] = comb.extract %{{.*}} from 3 :  (i9) -> i6
// CHECK:        %round_up = comb.extract %x from 2 :  (i8) -> i1
// CHECK:        %y = comb.add %[[FLOOR]], %{{.*}} : i6
func.func @rounded(%x: i32 {qlower.low = array<i64: -128>, qlower.high = array<i64: 127>}) -> i32 {
  %n = arith.constant 3 : i32
  %y = fixed.shift_right %x, %n {rounding = half_up} : i32
  func.return %y : i32
}

// -----

// What is never below the other number isn't compared with it.
// CHECK:      hw.module @least(in %x: i4, in %y: i5, out result: i4)
// CHECK-NOT:    comb.icmp
// CHECK-NOT:    comb.mux
// CHECK:        hw.output %x : i4
func.func @least(%x: i32 {qlower.low = array<i64: -8>, qlower.high = array<i64: 7>},
                 %y: i32 {qlower.low = array<i64: 7>, qlower.high = array<i64: 31>}) -> i32 {
  %z = arith.minsi %x, %y : i32
  func.return %z : i32
}
