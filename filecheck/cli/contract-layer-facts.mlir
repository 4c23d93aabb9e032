// RUN: %qlower contracts show %s --plain | %filecheck %s
// RUN: %qlower contracts show %s --plain > %t.mlir
// RUN: %qlower contracts show %t.mlir --plain | %filecheck %s

// What a layer's constants have in common are values with types of their own.
module attributes {contract.summary = "layer facts"} {

func.func @weight_addend(%weight: i32) -> f32 {
  %real = arith.sitofp %weight : i32 to f32
  %result = arith.mulf %real, %input_scale : f32
}
// CHECK-LABEL: func.func @weight_addend(%weight: i32, %input_scale: f32) -> f32 {

func.func @linear(%accumulator: i32) -> i32 {
  %alike = arith.andi %one_weight_scale, %one_bias : i1
  %total = fixed.convert %weight_total {rounding = half_even} : f32 to i32
  %result = arith.select %alike, %total, %accumulator : i32
}
// CHECK-LABEL: func.func @linear(%accumulator: i32, %one_weight_scale: i1, %one_bias: i1, %weight_total: f32) -> i32 {
// CHECK-NEXT: %alike = arith.andi %one_weight_scale, %one_bias : i1
// CHECK-NEXT: %total = fixed.convert %weight_total {rounding = half_even} : f32 to i32
// CHECK-NEXT: %result = arith.select %alike, %total, %accumulator : i32

}
