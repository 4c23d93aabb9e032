// REQUIRES: mlir-opt
// RUN: %qopt %s -p expand-fixed | %mlir_opt | %filecheck %s

// What is left is upstream's own.
// CHECK-LABEL: func.func @all
func.func @all(%x: i64, %n: i64, %f: f32) -> (i8, i16, i16) {
  %0 = fixed.shift_right %x, %n {rounding = half_up} : i64
  %1 = fixed.shift_right %0, %n {rounding = half_down} : i64
  %2 = fixed.shift_right %1, %n {rounding = half_away} : i64
  %3 = fixed.shift_right %2, %n {rounding = half_toward_zero} : i64
  %4 = fixed.shift_right %3, %n {rounding = half_even} : i64
  %5 = fixed.shift_right %4, %n {rounding = ceil} : i64
  %6 = fixed.shift_right %5, %n {rounding = toward_zero} : i64
  %7 = fixed.saturate %6 : i64 to i8
  %8 = fixed.convert %f {rounding = half_toward_zero} : f32 to i8
  %9 = fixed.convert %f {rounding = half_away} : f32 to i16
  %10 = fixed.pair_dot %7, %7, %8, %8 : i8 -> i16
  return %7, %10, %9 : i8, i16, i16
}
