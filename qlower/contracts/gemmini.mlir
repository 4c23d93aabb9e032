// The arithmetic of Berkeley's Gemmini as its default configuration has it (gemmini 8c3f992): one
// product in float32, half to even, no zero points.
// # Formula
// - conv2d, depthwise_conv2d, linear, matmul: `y = clamp(rne(F(F(relu(acc)) M)))` with
//   M = F(F(x w) / y) of the scales; that the activation comes before the scale changes nothing
// # Operands
// float32 as written.
// # Not matched
// - Configurations with an integer shift, half to even; zero points are refused; other operations
//   have the arithmetic of `exact`.
// # Checked against
// Source read: nothing was generated or simulated.
// # Sources
// - ucb-bar/gemmini at 8c3f992, src/main/scala/gemmini/Arithmetic.scala, Configs.scala

module attributes {contract.family = "Gemmini", contract.base = "exact", contract.qdq = "device",
    contract.summary = "Gemmini: one float32 product, half to even, no zero points"} {

func.func @conv2d(%accumulator: i32) -> i32 {
  func.call @require_no_zero_points() : () -> ()
  %ratio = func.call @product_ratio(%input_scale) : (f32) -> f32
  %result = func.call @store_half_even(f32(%accumulator) * %ratio) : (f32) -> i32
}

}
