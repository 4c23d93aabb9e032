// RUN: %qopt %s -p expand-fixed | %filecheck %s

// The bits that are shifted out are above those just below one half.
// CHECK-LABEL: func.func @half_up
// CHECK-NEXT:    %[[FLOOR:.*]] = arith.shrsi %x, %n : i64
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-NEXT:    %[[POWER:.*]] = arith.shli %[[ONE]], %n : i64
// CHECK-NEXT:    %[[MASK:.*]] = arith.subi %[[POWER]], %[[ONE]] : i64
// CHECK-NEXT:    %[[REMAINDER:.*]] = arith.andi %x, %[[MASK]] : i64
// CHECK-NEXT:    %[[SHIFT:.*]] = arith.constant 1 : i64
// CHECK-NEXT:    %[[BELOW_HALF:.*]] = arith.shrui %[[MASK]], %[[SHIFT]] : i64
// CHECK-NEXT:    %[[UP:.*]] = arith.cmpi ugt, %[[REMAINDER]], %[[BELOW_HALF]] : i64
// CHECK-NEXT:    %[[CARRY:.*]] = arith.extui %[[UP]] : i1 to i64
// CHECK-NEXT:    %y = arith.addi %[[FLOOR]], %[[CARRY]] : i64
// CHECK-NEXT:    func.return %y : i64
func.func @half_up(%x: i64, %n: i64) -> i64 {
  %y = fixed.shift_right %x, %n {rounding = half_up} : i64
  return %y : i64
}

// A tie goes down.
// CHECK-LABEL: func.func @half_down
// CHECK:         %[[BELOW_HALF:.*]] = arith.shrui
// CHECK-NEXT:    %[[HALF:.*]] = arith.addi %[[BELOW_HALF]], %{{.*}} : i32
// CHECK-NEXT:    arith.cmpi ugt, %{{.*}}, %[[HALF]] : i32
func.func @half_down(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = half_down} : i32
  return %y : i32
}

// A tie of a negative number goes down.
// CHECK-LABEL: func.func @half_away
// CHECK:         %[[BELOW_HALF:.*]] = arith.shrui
// CHECK-NEXT:    %[[SIGN_BIT:.*]] = arith.constant 31 : i32
// CHECK-NEXT:    %[[NEGATIVE:.*]] = arith.shrui %x, %[[SIGN_BIT]] : i32
// CHECK-NEXT:    %[[LIMIT:.*]] = arith.addi %[[BELOW_HALF]], %[[NEGATIVE]] : i32
// CHECK-NEXT:    arith.cmpi ugt, %{{.*}}, %[[LIMIT]] : i32
func.func @half_away(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = half_away} : i32
  return %y : i32
}

// A tie of a number that is not negative goes down.
// CHECK-LABEL: func.func @half_toward_zero
// CHECK:         %[[NEGATIVE:.*]] = arith.shrui %x
// CHECK-NEXT:    %[[OTHER:.*]] = arith.xori %[[NEGATIVE]]
// CHECK-NEXT:    %[[LIMIT:.*]] = arith.addi %{{.*}}, %[[OTHER]] : i32
// CHECK-NEXT:    arith.cmpi ugt, %{{.*}}, %[[LIMIT]] : i32
func.func @half_toward_zero(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = half_toward_zero} : i32
  return %y : i32
}

// A tie goes down to an even floor.
// CHECK-LABEL: func.func @half_even
// CHECK:         %[[FLOOR:.*]] = arith.shrsi %x, %n : i32
// CHECK:         %[[ODD:.*]] = arith.andi %[[FLOOR]]
// CHECK-NEXT:    %[[EVEN:.*]] = arith.xori %[[ODD]]
// CHECK-NEXT:    %[[LIMIT:.*]] = arith.addi %{{.*}}, %[[EVEN]] : i32
// CHECK-NEXT:    arith.cmpi ugt, %{{.*}}, %[[LIMIT]] : i32
func.func @half_even(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = half_even} : i32
  return %y : i32
}

// CHECK-LABEL: func.func @floor
// CHECK-NEXT:    %y = arith.shrsi %x, %n : i32
// CHECK-NEXT:    func.return
func.func @floor(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = floor} : i32
  return %y : i32
}

// Any remainder rounds up.
// CHECK-LABEL: func.func @ceil
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT:    arith.cmpi ugt, %{{.*}}, %[[ZERO]] : i32
func.func @ceil(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = ceil} : i32
  return %y : i32
}

// 2^n - 1 is added to a negative number only, so nothing overflows.
// CHECK-LABEL: func.func @toward_zero
// CHECK:         %[[MASK:.*]] = arith.subi
// CHECK:         %[[SIGN:.*]] = arith.shrsi %x
// CHECK-NEXT:    %[[OFFSET:.*]] = arith.andi %[[SIGN]], %[[MASK]] : i32
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %x, %[[OFFSET]] : i32
// CHECK-NEXT:    %y = arith.shrsi %[[SUM]], %n : i32
func.func @toward_zero(%x: i32, %n: i32) -> i32 {
  %y = fixed.shift_right %x, %n {rounding = toward_zero} : i32
  return %y : i32
}

// The bounds are compared as floats, where 2^31 is exact; fptosi sees what is in range,
// or 0 for NaN.
// CHECK-LABEL: func.func @convert
// CHECK-NEXT:    %[[ROUNDED:.*]] = math.roundeven %x : f32
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant -2.14748365e+09 : f32
// CHECK-NEXT:    %[[TOO_LOW:.*]] = arith.cmpf olt, %[[ROUNDED]], %[[LOW]] : f32
// CHECK-NEXT:    %[[HIGH:.*]] = arith.constant 2.14748365e+09 : f32
// CHECK-NEXT:    %[[TOO_HIGH:.*]] = arith.cmpf oge, %[[ROUNDED]], %[[HIGH]] : f32
// CHECK-NEXT:    %[[BEYOND:.*]] = arith.cmpf uge, %[[ROUNDED]], %[[HIGH]] : f32
// CHECK-NEXT:    %[[OUTSIDE:.*]] = arith.ori %[[TOO_LOW]], %[[BEYOND]] : i1
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %[[INSIDE:.*]] = arith.select %[[OUTSIDE]], %[[ZERO]], %[[ROUNDED]] : f32
// CHECK-NEXT:    %[[INTEGER:.*]] = arith.fptosi %[[INSIDE]] : f32 to i32
// CHECK-NEXT:    %[[MAX:.*]] = arith.constant 2147483647 : i32
// CHECK-NEXT:    %[[CAPPED:.*]] = arith.select %[[TOO_HIGH]], %[[MAX]], %[[INTEGER]] : i32
// CHECK-NEXT:    %[[MIN:.*]] = arith.constant -2147483648 : i32
// CHECK-NEXT:    %y = arith.select %[[TOO_LOW]], %[[MIN]], %[[CAPPED]] : i32
func.func @convert(%x: f32) -> i32 {
  %y = fixed.convert %x {rounding = half_even} : f32 to i32
  return %y : i32
}

// Where math has no op for a mode, the fraction that trunc leaves decides.
// CHECK-LABEL: func.func @convert_half_up
// CHECK-NEXT:    %[[WHOLE:.*]] = math.trunc %x : f64
// CHECK-NEXT:    %[[FRACTION:.*]] = arith.subf %x, %[[WHOLE]] : f64
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT:    %[[HALF:.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT:    %[[UP:.*]] = arith.cmpf oge, %[[FRACTION]], %[[HALF]] : f64
// CHECK-NEXT:    %[[MINUS_HALF:.*]] = arith.constant -5.000000e-01 : f64
// CHECK-NEXT:    %[[DOWN:.*]] = arith.cmpf olt, %[[FRACTION]], %[[MINUS_HALF]] : f64
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addf %[[WHOLE]], %[[ONE]] : f64
// CHECK-NEXT:    %[[ABOVE:.*]] = arith.select %[[UP]], %[[NEXT]], %[[WHOLE]] : f64
// CHECK-NEXT:    %[[LAST:.*]] = arith.subf %[[WHOLE]], %[[ONE]] : f64
// CHECK-NEXT:    arith.select %[[DOWN]], %[[LAST]], %[[ABOVE]] : f64
func.func @convert_half_up(%x: f64) -> i8 {
  %y = fixed.convert %x {rounding = half_up} : f64 to i8
  return %y : i8
}

// Half precision does not hold the bounds of i32.
// CHECK-LABEL: func.func @convert_half_precision
// CHECK-NEXT:    %[[X:.*]] = arith.extf %x : f16 to f32
// CHECK-NEXT:    math.floor %[[X]] : f32
func.func @convert_half_precision(%x: f16) -> i32 {
  %y = fixed.convert %x {rounding = floor} : f16 to i32
  return %y : i32
}

// CHECK-LABEL: func.func @saturate
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant -128 : i32
// CHECK-NEXT:    %[[ABOVE:.*]] = arith.maxsi %x, %[[LOW]] : i32
// CHECK-NEXT:    %[[HIGH:.*]] = arith.constant 127 : i32
// CHECK-NEXT:    %[[CLAMPED:.*]] = arith.minsi %[[ABOVE]], %[[HIGH]] : i32
// CHECK-NEXT:    %y = arith.trunci %[[CLAMPED]] : i32 to i8
func.func @saturate(%x: i32) -> i8 {
  %y = fixed.saturate %x : i32 to i8
  return %y : i8
}

// CHECK-LABEL: func.func @saturate_unsigned
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant 0 : i32
// CHECK:         %[[HIGH:.*]] = arith.constant 255 : i32
func.func @saturate_unsigned(%x: i32) -> i8 {
  %y = fixed.saturate %x {unsigned} : i32 to i8
  return %y : i8
}

// CHECK-LABEL: func.func @pair_dot
// CHECK-NEXT:    %[[A0:.*]] = arith.extui %a : i8 to i32
// CHECK-NEXT:    %[[B0:.*]] = arith.extsi %b : i8 to i32
// CHECK-NEXT:    %[[P0:.*]] = arith.muli %[[A0]], %[[B0]] : i32
// CHECK:         %[[SUM:.*]] = arith.addi %[[P0]], %{{.*}} : i32
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant -32768 : i32
// CHECK-NEXT:    arith.maxsi %[[SUM]], %[[LOW]] : i32
// CHECK-NEXT:    arith.constant 32767 : i32
// CHECK-NEXT:    arith.minsi
// CHECK-NEXT:    %y = arith.trunci %{{.*}} : i32 to i16
func.func @pair_dot(%a: i8, %b: i8, %c: i8, %d: i8) -> i16 {
  %y = fixed.pair_dot %a, %b, %c, %d : i8 -> i16
  return %y : i16
}

// Ops in the regions of loop nests are expanded where they are.
// CHECK-LABEL: func.func @nest
// CHECK:         linalg.generic
// CHECK:           arith.trunci
// CHECK-NEXT:      linalg.yield
func.func @nest(%x: tensor<4xi32>, %init: tensor<4xi8>) -> tensor<4xi8> {
  %y = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%x : tensor<4xi32>) outs(%init : tensor<4xi8>) {
  ^bb0(%a: i32, %old: i8):
    %q = fixed.saturate %a : i32 to i8
    linalg.yield %q : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}

// CHECK-NOT: fixed.
