// RUN: %qopt %s -p arith-to-comb,pipeline-circuits{stages=1} | %filecheck %s

// The register is before what makes a value wider.
// CHECK:      hw.module @f(in %clk: !seq.clock, in %x: i8, in %y: i8, out result: i16)
// CHECK-DAG:    %x_at1 = seq.compreg %x, %clk : i8
// CHECK-DAG:    %[[X:.*]] = comb.concat %{{.*}}, %x_at1 : i8, i8
// CHECK-DAG:    %y_at1 = seq.compreg %y, %clk : i8
// CHECK-DAG:    %[[Y:.*]] = comb.concat %{{.*}}, %y_at1 : i8, i8
// CHECK:        %p = comb.mul %[[X]], %[[Y]] : i16
// CHECK-NEXT:   hw.output %p : i16
func.func @f(%x: i32 {qlower.low = array<i64: -128>, qlower.high = array<i64: 127>},
             %y: i32 {qlower.low = array<i64: -128>, qlower.high = array<i64: 127>}) -> i32 {
  %p = arith.muli %x, %y : i32
  func.return %p : i32
}
