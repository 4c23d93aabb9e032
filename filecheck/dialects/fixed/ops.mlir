// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK-LABEL: func.func @shift_right
func.func @shift_right(%x: i64, %n: i64, %v: vector<4xi32>) -> (i64, vector<4xi32>) {
  // CHECK-NEXT: %half_up = fixed.shift_right %x, %n {rounding = half_up} : i64
  %half_up = fixed.shift_right %x, %n {rounding = half_up} : i64
  // CHECK-NEXT: fixed.shift_right %half_up, %n {rounding = half_down} : i64
  %half_down = fixed.shift_right %half_up, %n {rounding = half_down} : i64
  // CHECK-NEXT: fixed.shift_right %half_down, %n {rounding = half_away} : i64
  %half_away = fixed.shift_right %half_down, %n {rounding = half_away} : i64
  // CHECK-NEXT: fixed.shift_right %half_away, %n {rounding = half_toward_zero} : i64
  %half_toward_zero = fixed.shift_right %half_away, %n {rounding = half_toward_zero} : i64
  // CHECK-NEXT: fixed.shift_right %half_toward_zero, %n {rounding = half_even} : i64
  %half_even = fixed.shift_right %half_toward_zero, %n {rounding = half_even} : i64
  // CHECK-NEXT: fixed.shift_right %half_even, %n {rounding = floor} : i64
  %floor = fixed.shift_right %half_even, %n {rounding = floor} : i64
  // CHECK-NEXT: fixed.shift_right %floor, %n {rounding = ceil} : i64
  %ceil = fixed.shift_right %floor, %n {rounding = ceil} : i64
  // CHECK-NEXT: fixed.shift_right %ceil, %n {rounding = toward_zero} : i64
  %toward_zero = fixed.shift_right %ceil, %n {rounding = toward_zero} : i64
  // CHECK-NEXT: fixed.shift_right %v, %v {rounding = floor} attributes {note = "kept"} : vector<4xi32>
  %w = fixed.shift_right %v, %v {rounding = floor} attributes {note = "kept"} : vector<4xi32>
  return %toward_zero, %w : i64, vector<4xi32>
}

// CHECK-LABEL: func.func @convert
func.func @convert(%x: f64, %v: tensor<4xf32>) -> (i32, tensor<4xi8>) {
  // CHECK-NEXT: fixed.convert %x {rounding = half_away} : f64 to i32
  %y = fixed.convert %x {rounding = half_away} : f64 to i32
  // CHECK-NEXT: fixed.convert %v {rounding = half_even} attributes {note = "kept"} : tensor<4xf32> to tensor<4xi8>
  %w = fixed.convert %v {rounding = half_even} attributes {note = "kept"} : tensor<4xf32> to tensor<4xi8>
  return %y, %w : i32, tensor<4xi8>
}

// CHECK-LABEL: func.func @saturate
func.func @saturate(%x: i64, %v: vector<4xi32>) -> (i8, vector<4xi16>) {
  // CHECK-NEXT: %y = fixed.saturate %x : i64 to i32
  %y = fixed.saturate %x : i64 to i32
  // CHECK-NEXT: fixed.saturate %y {unsigned} : i32 to i8
  %z = fixed.saturate %y {unsigned} : i32 to i8
  // CHECK-NEXT: fixed.saturate %v : vector<4xi32> to vector<4xi16>
  %w = fixed.saturate %v : vector<4xi32> to vector<4xi16>
  return %z, %w : i8, vector<4xi16>
}

// CHECK-LABEL: func.func @pair_dot
func.func @pair_dot(%x: i8, %y: i8, %v: vector<4xi8>) -> (i16, vector<4xi16>) {
  // CHECK-NEXT: %z = fixed.pair_dot %x, %y, %y, %x : i8 -> i16
  %z = fixed.pair_dot %x, %y, %y, %x : i8 -> i16
  // CHECK-NEXT: fixed.pair_dot %v, %v, %v, %v {note = "kept"} : vector<4xi8> -> vector<4xi16>
  %w = fixed.pair_dot %v, %v, %v, %v {note = "kept"} : vector<4xi8> -> vector<4xi16>
  return %z, %w : i16, vector<4xi16>
}
