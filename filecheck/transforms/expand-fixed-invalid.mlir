// RUN: %qopt %s -p expand-fixed --split-input-file --verify-diagnostics | %filecheck %s

func.func @vector(%x: vector<4xi32>) -> vector<4xi32> {
  // CHECK: error: fixed.shift_right on vector<4xi32> cannot be expanded
  %y = fixed.shift_right %x, %x {rounding = floor} : vector<4xi32>
  return %y : vector<4xi32>
}

// -----

func.func @quadruple(%x: f128) -> i32 {
  // CHECK: error: fixed.convert on f128 cannot be expanded
  %y = fixed.convert %x {rounding = floor} : f128 to i32
  return %y : i32
}
