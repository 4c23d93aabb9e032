// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

func.func @shift_amount_of_another_type(%x: i64, %n: i32) {
  // CHECK: error: fixed.shift_right: operand 'amount' at position 1 does not verify: attribute i64 expected from variable 'T', but got i32
  %y = "fixed.shift_right"(%x, %n) <{rounding = #fixed.rounding<floor>}> : (i64, i32) -> i64
  return
}

// -----

func.func @unknown_rounding(%x: i64) {
  // CHECK: error: expected `half_up`, `half_down`, `half_away`, `half_toward_zero`, `half_even`, `floor`, `ceil`, or `toward_zero`
  %y = fixed.shift_right %x, %x {rounding = nearest} : i64
  return
}

// -----

func.func @no_rounding(%x: i64) {
  // CHECK: error: property 'rounding' expected in operation 'fixed.shift_right'
  %y = "fixed.shift_right"(%x, %x) : (i64, i64) -> i64
  return
}

// -----

func.func @shift_of_float(%x: f32) {
  // CHECK: error: fixed.shift_right: operand 'operand' at position 0 does not verify: expected signless integers
  %y = fixed.shift_right %x, %x {rounding = floor} : f32
  return
}

// -----

func.func @convert_from_integer(%x: i32) {
  // CHECK: error: fixed.convert: operand 'operand' at position 0 does not verify: expected floats
  %y = fixed.convert %x {rounding = floor} : i32 to i8
  return
}

// -----

func.func @convert_to_another_shape(%x: tensor<4xf32>) {
  // CHECK: error: fixed.convert: shape of tensor<4xf32> differs from that of tensor<5xi8>
  %y = fixed.convert %x {rounding = floor} : tensor<4xf32> to tensor<5xi8>
  return
}

// -----

func.func @convert_to_a_scalar(%x: vector<4xf32>) {
  // CHECK: error: fixed.convert: shape of vector<4xf32> differs from that of i8
  %y = fixed.convert %x {rounding = floor} : vector<4xf32> to i8
  return
}

// -----

func.func @saturate_to_the_same_width(%x: i32) {
  // CHECK: error: fixed.saturate: result width 32 is not below the operand's 32
  %y = fixed.saturate %x : i32 to i32
  return
}

// -----

func.func @saturate_to_another_shape(%x: tensor<4xi32>) {
  // CHECK: error: fixed.saturate: shape of tensor<4xi32> differs from that of vector<4xi8>
  %y = fixed.saturate %x : tensor<4xi32> to vector<4xi8>
  return
}

// -----

func.func @pair_dot_of_words(%x: i16) {
  // CHECK: error: expected i8
  %y = fixed.pair_dot %x, %x, %x, %x : i16 -> i16
  return
}

// -----

func.func @pair_dot_to_a_byte(%x: i8) {
  // CHECK: error: expected i16
  %y = fixed.pair_dot %x, %x, %x, %x : i8 -> i8
  return
}

// -----

func.func @pair_dot_of_other_shapes(%x: vector<4xi8>) {
  // CHECK: error: fixed.pair_dot: shape of vector<4xi8> differs from that of i16
  %y = fixed.pair_dot %x, %x, %x, %x : vector<4xi8> -> i16
  return
}
