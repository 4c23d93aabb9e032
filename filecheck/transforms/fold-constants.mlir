// RUN: %qopt %s -p fold-constants | %filecheck %s

// What has an operand that isn't constant stays; the others are computed in turn.
// CHECK-LABEL: func.func @shift_right
// CHECK-DAG:     %[[FLOOR:.*]] = arith.constant -2 : i8
// CHECK-DAG:     %[[UP:.*]] = arith.constant -1 : i8
// CHECK-DAG:     %[[SAME:.*]] = fixed.shift_right %x
// CHECK:         func.return %[[SAME]], %[[FLOOR]], %[[UP]] : i8, i8, i8
func.func @shift_right(%x: i8) -> (i8, i8, i8) {
  %zero = arith.constant 0 : i8
  %one = arith.constant 1 : i8
  %four = arith.constant 4 : i8
  %minus_three = arith.subi %one, %four : i8
  %same = fixed.shift_right %x, %zero {rounding = ceil} : i8
  %floor = fixed.shift_right %minus_three, %one {rounding = floor} : i8
  %up = fixed.shift_right %minus_three, %one {rounding = half_up} : i8
  return %same, %floor, %up : i8, i8, i8
}

// Poison is left alone.
// CHECK-LABEL: func.func @shift_too_far
// CHECK:         fixed.shift_right
// CHECK:         fixed.shift_right
func.func @shift_too_far() -> (i8, i8) {
  %x = arith.constant 100 : i8
  %eight = arith.constant 8 : i8
  %minus_one = arith.constant -1 : i8
  %y = fixed.shift_right %x, %eight {rounding = floor} : i8
  %z = fixed.shift_right %x, %minus_one {rounding = floor} : i8
  return %y, %z : i8, i8
}

// CHECK-LABEL: func.func @convert
// CHECK-DAG:     %[[EVEN:.*]] = arith.constant 2 : i8
// CHECK-DAG:     %[[AWAY:.*]] = arith.constant 3 : i8
// CHECK-DAG:     %[[MAX:.*]] = arith.constant 127 : i8
// CHECK-DAG:     %[[MIN:.*]] = arith.constant -128 : i8
// CHECK:         func.return %[[EVEN]], %[[AWAY]], %[[MAX]], %[[MIN]]
func.func @convert() -> (i8, i8, i8, i8) {
  %x = arith.constant 2.5 : f32
  %huge = arith.constant 1.0e+30 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %even = fixed.convert %x {rounding = half_even} : f32 to i8
  %away = fixed.convert %x {rounding = half_away} : f32 to i8
  %max = fixed.convert %huge {rounding = half_even} : f32 to i8
  %min = fixed.convert %infinity {rounding = half_even} : f32 to i8
  return %even, %away, %max, %min : i8, i8, i8, i8
}

// CHECK-LABEL: func.func @convert_nan
// CHECK:         %y = arith.constant 0 : i8
func.func @convert_nan() -> i8 {
  %nan = arith.constant 0x7FC00000 : f32
  %y = fixed.convert %nan {rounding = half_even} : f32 to i8
  return %y : i8
}

// CHECK-LABEL: func.func @saturate
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant 127 : i8
// CHECK-DAG:     %[[BYTE:.*]] = arith.constant -56 : i8
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK:         func.return %[[HIGH]], %[[BYTE]], %[[ZERO]]
func.func @saturate() -> (i8, i8, i8) {
  %x = arith.constant 200 : i32
  %negative = arith.constant -200 : i32
  %high = fixed.saturate %x : i32 to i8
  %byte = fixed.saturate %x {unsigned} : i32 to i8
  %zero = fixed.saturate %negative {unsigned} : i32 to i8
  return %high, %byte, %zero : i8, i8, i8
}

// Codes 255 are unsigned: 2 * 255 * 127 saturates, 255 * 127 - 255 doesn't.
// CHECK-LABEL: func.func @pair_dot
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant 32767 : i16
// CHECK-DAG:     %[[SUM:.*]] = arith.constant 32130 : i16
// CHECK-DAG:     %[[LOW:.*]] = arith.constant -32768 : i16
// CHECK:         func.return %[[HIGH]], %[[SUM]], %[[LOW]]
func.func @pair_dot() -> (i16, i16, i16) {
  %a = arith.constant -1 : i8
  %b = arith.constant 127 : i8
  %c = arith.constant -128 : i8
  %high = fixed.pair_dot %a, %b, %a, %b : i8 -> i16
  %sum = fixed.pair_dot %a, %b, %a, %a : i8 -> i16
  %low = fixed.pair_dot %a, %c, %a, %c : i8 -> i16
  return %high, %sum, %low : i16, i16, i16
}
