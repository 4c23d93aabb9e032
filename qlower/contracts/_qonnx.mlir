// Functions of float32 by which the package `qonnx` (1.0) runs QONNX's own operators, for the ONNX
// front end. It defines no rule. Each step is numpy's, rounded to float32: a code is clamped before
// it is rounded, and the zero point is added before both.

module attributes {contract.base = "_steps"} {

// custom_op/general/intquant.py, int_quant
func.func private @clamped_steps(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @steps_of(%x, %scale, %zero_point) : (f32, f32, f32) -> f32
  %is_above = arith.cmpf ogt, %steps, %high : f32
  %at_most = arith.select %is_above, %high, %steps : f32
  %is_below = arith.cmpf olt, %at_most, %low : f32
  %result = arith.select %is_below, %low, %at_most : f32
}

func.func private @steps_of(%x: f32, %scale: f32, %zero_point: f32) -> f32 {
  %quotient = arith.divf %x, %scale : f32
  %result = arith.addf %quotient, %zero_point : f32
}

func.func private @real_of(%code: f32, %scale: f32, %zero_point: f32) -> f32 {
  %centred = arith.subf %code, %zero_point : f32
  %result = arith.mulf %centred, %scale : f32
}

// resolve_rounding_mode: codes by each mode
func.func private @round(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %result = math.roundeven %steps : f32
}

func.func private @ceil(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %result = math.ceil %steps : f32
}

func.func private @floor(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %result = math.floor %steps : f32
}

func.func private @up(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %size = math.absf %steps : f32
  %rounded = math.ceil %size : f32
  %result = func.call @with_sign(%rounded, %steps) : (f32, f32) -> f32
}

// np.fix: a negative fraction becomes -0
func.func private @down(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %below = math.floor %steps : f32
  %above = math.ceil %steps : f32
  %is_positive = arith.cmpf oge, %steps, 0.0 : f32
  %result = arith.select %is_positive, %below, %above : f32
}

func.func private @half_up(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %size = math.absf %steps : f32
  %half_more = arith.addf %size, 0.5 : f32
  %rounded = math.floor %half_more : f32
  %result = func.call @with_sign(%rounded, %steps) : (f32, f32) -> f32
}

func.func private @half_down(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @clamped_steps(%x, %scale, %zero_point, %low, %high) : (f32, f32, f32, f32, f32) -> f32
  %size = math.absf %steps : f32
  %half_less = arith.subf %size, 0.5 : f32
  %rounded = math.ceil %half_less : f32
  %result = func.call @with_sign(%rounded, %steps) : (f32, f32) -> f32
}

// np.sign times a size: the sign of 0 is 0
func.func private @with_sign(%size: f32, %x: f32) -> f32 {
  %is_positive = arith.cmpf ogt, %x, 0.0 : f32
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %one_or_itself = arith.select %is_positive, 1.0, %x : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %not_negative = arith.select %is_zero, 0.0, %one_or_itself : f32
  %sign = arith.select %is_negative, -1.0, %not_negative : f32
  %result = arith.mulf %sign, %size : f32
}

// int_quant of one signed bit, whatever the rounding
func.func private @bipolar(%x: f32, %scale: f32, %zero_point: f32, %low: f32, %high: f32) -> f32 {
  %steps = func.call @steps_of(%x, %scale, %zero_point) : (f32, f32, f32) -> f32
  %result = func.call @sign_of(%steps) : (f32) -> f32
}

func.func private @sign_of(%x: f32) -> f32 {
  %is_positive = arith.cmpf oge, %x, 0.0 : f32
  %result = arith.select %is_positive, 1.0, -1.0 : f32
}

// custom_op/general/bipolar_quant.py
func.func private @bipolar_quant(%x: f32, %scale: f32) -> f32 {
  %sign = func.call @sign_of(%x) : (f32) -> f32
  %result = arith.mulf %sign, %scale : f32
}

// custom_op/general/multithreshold.py: the thresholds that a number reaches, counted
func.func private @reaches(%x: f32, %threshold: f32) -> i32 {
  %is_reached = arith.cmpf oge, %x, %threshold : f32
  %result = arith.extui %is_reached : i1 to i32
}

func.func private @multi_threshold(%count: i32, %scale: f32, %bias: f32) -> f32 {
  %number = arith.sitofp %count : i32 to f32
  %scaled = arith.mulf %number, %scale : f32
  %result = arith.addf %scaled, %bias : f32
}
}
