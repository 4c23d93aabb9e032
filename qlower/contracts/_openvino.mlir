// Scales as ranges, for OpenVINO's contracts, which name this file as their base. It defines no
// rule. F(...) is one float32 rounding.

module attributes {contract.base = "_reals"} {

// The ends of a range of 256 codes of a scale.
func.func private @range(%scale: f32, %zero_point: i32, %unsigned: i1) -> (f32, f32) {
  %least = arith.select %unsigned, 0, -128 : i32
  %low_steps = arith.subi %least, %zero_point : i32
  %high_steps = arith.addi %low_steps, 255 : i32
  %low_real = arith.sitofp %low_steps : i32 to f32
  %high_real = arith.sitofp %high_steps : i32 to f32
  %low = arith.mulf %low_real, %scale : f32
  %high = arith.mulf %high_real, %scale : f32
  return %low, %high : f32, f32
}

func.func private @input_range() -> (f32, f32) {
  %low, %high = func.call @range(%input_scale, %input_zero_point, %input_unsigned) : (f32, i32, i1) -> (f32, f32)
  return %low, %high : f32, f32
}

func.func private @output_range() -> (f32, f32) {
  %low, %high = func.call @range(%output_scale, %output_zero_point, %output_unsigned) : (f32, i32, i1) -> (f32, f32)
  return %low, %high : f32, f32
}

// FakeQuantize's inputScale and inputShift of a range.
func.func private @scale_and_shift(%low: f32, %high: f32) -> (f32, f32) {
  %width = arith.subf %high, %low : f32
  %scale = arith.divf 255.0, %width : f32
  %negated = arith.negf %low : f32
  %steps = arith.mulf %negated, 255.0 : f32
  %shift = arith.divf %steps, %width : f32
  return %scale, %shift : f32, f32
}

// The step of a range: F(F(hi - lo) / 255)
func.func private @step(%low: f32, %high: f32) -> f32 {
  %width = arith.subf %high, %low : f32
  %result = arith.divf %width, 255.0 : f32
}

// Of a real number in steps: a code, of int8 128 below that of uint8.
func.func private @store(%steps: f32) -> i32 {
  %offset = arith.select %output_unsigned, 0, 128 : i32
  %low = arith.addi %storage_min, %offset : i32
  %high = arith.addi %storage_max, %offset : i32
  %stored = func.call @store_with_zero_point_inside(%steps, %low, %high) : (f32, i32, i32) -> i32
  %result = arith.subi %stored, %offset : i32
}

// FakeQuantize as a kernel of several layers, and one of nothing else, compute it.
func.func private @store_in_turn(%real: f32, %low: f32, %high: f32) -> i32 {
  %scale, %unused = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %scaled = arith.mulf %real, %scale : f32
  %below = arith.mulf %low, %scale : f32
  %steps = arith.subf %scaled, %below : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

// A code as one of uint8.
func.func private @stored_point(%code: i32, %unsigned: i1) -> i32 {
  %offset = arith.select %unsigned, 0, 128 : i32
  %result = arith.addi %code, %offset : i32
}

}
