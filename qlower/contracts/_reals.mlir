// Steps of systems that compute with real numbers between codes, and bound those by activations,
// for contracts that name this file as their base. F(...) is one float32 rounding.

module attributes {contract.base = "_steps"} {

// Asked for, but not used: bounds of real numbers have no codes.
func.func @bound(%real: f32) -> i32 {
  %result = fixed.convert %real {rounding = toward_zero} : f32 to i32
}

func.func private @active(%real: f32) -> f32 {
  %above = arith.maximumf %real, %activation_min : f32
  %result = arith.minimumf %above, %activation_max : f32
}

func.func private @require_relu(%activation_max: f32) {
  %open = arith.cmpf oeq, %activation_max, 0x7F800000 : f32
  cf.assert %open, "an activation other than ReLU, which this system computes in other ways"
}

}
