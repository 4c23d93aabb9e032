// RUN: %qlower contracts show %s --plain | %filecheck %s
// RUN: %qlower contracts show %s --plain > %t.mlir
// RUN: %qlower contracts show %t.mlir --plain | %filecheck %s

// What a contract's text may leave out stands in its plain form, which reads back as the same.
module attributes {contract.summary = "shorthand"} {

// Numbers are of the operation's type; constants of the layer are arguments behind the others.
func.func @requantize(%input: i32) -> i32 {
  %offset = arith.addi -3, %input : i32
  %low = arith.cmpi slt, %offset, %output_min : i32
  %high = arith.xori %low, true : i1
  %result = arith.select %high, %offset, 0x7f : i32
}
// CHECK-LABEL: func.func @requantize(%input: i32, %output_min: i32) -> i32 {
// CHECK-NEXT: %0 = arith.constant -3 : i32
// CHECK-NEXT: %offset = arith.addi %0, %input : i32
// CHECK-NEXT: %low = arith.cmpi slt, %offset, %output_min : i32
// CHECK-NEXT: %1 = arith.constant true
// CHECK-NEXT: %high = arith.xori %low, %1 : i1
// CHECK-NEXT: %2 = arith.constant 127 : i32
// CHECK-NEXT: %result = arith.select %high, %offset, %2 : i32
// CHECK-NEXT: func.return %result : i32

// A float is decimal, or its bits. A callee's arguments that are left out come last.
func.func private @finite(%x: f32) -> f32 {
  %doubled = arith.mulf %x, -2.5 : f32
  %scaled = arith.mulf %doubled, %input_scale : f32
  %finite = arith.cmpf olt, %scaled, 0x7F800000 : f32
  cf.assert %finite, "too large"
  %result = arith.divf %scaled, %output_scale : f32
}
// CHECK-LABEL: func.func private @finite(%x: f32, %input_scale: f32, %output_scale: f32) -> f32 {
// CHECK-NEXT: %0 = arith.constant -2.500000e+00 : f32
// CHECK: arith.constant 0x7f800000 : f32
// CHECK: func.return %result : f32

func.func @quantize(%input: f32) -> i32 {
  %scaled = func.call @finite(%input, 2.0) : (f32, f32) -> f32
  %result = fixed.convert %scaled {rounding = half_even} : f32 to i32
}
// CHECK-LABEL: func.func @quantize(%input: f32, %output_scale: f32) -> i32 {
// CHECK-NEXT: %0 = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: %scaled = func.call @finite(%input, %0, %output_scale) : (f32, f32, f32) -> f32

// A step of values alone is an operand by its name, and what is narrower is widened.
func.func private @ratio() -> f64 {
  %result = arith.divf %input_scale, %output_scale : f64
}
// CHECK-LABEL: func.func private @ratio(%input_scale: f32, %output_scale: f32) -> f64 {
// CHECK-NEXT: %0 = arith.extf %input_scale : f32 to f64
// CHECK-NEXT: %1 = arith.extf %output_scale : f32 to f64
// CHECK-NEXT: %result = arith.divf %0, %1 : f64

func.func private @scaled(%input: i32) -> f32 {
  %product = arith.mulf %input, @ratio : f64
  %wide = arith.addi %input, 1 : i64
  %result = arith.truncf %product : f64 to f32
}
// CHECK-LABEL: func.func private @scaled(%input: i32, %input_scale: f32, %output_scale: f32) -> f32
// CHECK: %0 = arith.sitofp %input : i32 to f64
// CHECK-NEXT: %ratio = func.call @ratio(%input_scale, %output_scale) : (f32, f32) -> f64
// CHECK-NEXT: %product = arith.mulf %0, %ratio : f64
// CHECK-NEXT: %1 = arith.extsi %input : i32 to i64

// A function says in front of its body which rules it serves.
func.func private @bounded(%accumulator: i32) -> i32 serves conv2d, linear attributes {contract.product = "exact"} {
  %result = func.call @requantize(%accumulator) : (i32) -> i32
}
// CHECK-LABEL: func.func private @bounded(%accumulator: i32, %output_min: i32) -> i32
// CHECK-SAME: attributes {contract.product = "exact", contract.rules = ["conv2d", "linear"]} {

// What returns nothing needs no return either.
func.func private @require(%x: i1 {contract.value = "mine"}) {
  cf.assert %keep_dims, "no"
}
// CHECK-LABEL: func.func private @require(%x: i1 {contract.value = "mine"}, %keep_dims: i1) {
// CHECK-NEXT: cf.assert %keep_dims, "no"
// CHECK-NEXT: func.return

}
