// The arithmetic of AMD's DPU as its own CPU model computes it (Vitis-AI b2b22792): powers of
// two, half up, and averages by a table of factors.
// # Formula
// - conv2d, depthwise_conv2d, linear: `y = clamp((acc + 2^(n - 1)) >> n)`, n of the positions
// - avg_pool2d: `y = clamp(round_half_up(sum N 2^-M 2^e))`: N and M of `pool_factor` below, else
//   M = 6 + ceil(log2(k)), N the integer nearest to 2^M / k, k the window's size
// - add, sub: operands on the finer grid, added, one rounding shift
// # Operands
// Positions of the binary point: other ratios of scales, and zero points, are refused.
// # Quirks
// - An average of equal codes isn't that code: 9 codes of 64 give 63.
// # Not matched
// - leaky_relu: the CPU model multiplies by 0.01, the DPU, it is said, by 26/256.
// - Sums of 2^24 or more, which the model keeps in float32; windows at a border.
// # Checked against
// Source read. Nothing was compiled, and nothing ran on a DPU.
// # Sources
// - Xilinx/Vitis-AI at b2b22792, src/vai_library/cpu_task: ops/conv2d-fix, eltwise-fix,
//   pool-fix.cpp, util.hpp

module attributes {contract.family = "AMD", contract.base = "esp-dl-esp32",
    contract.summary = "AMD Vitis AI DPU: powers of two, half up, pools by a table"} {

// 1 / k as N 2^-M
func.func private @pool_factor(%kernel_height: i32, %kernel_width: i32) -> (i32, i32) {
  %side = %kernel_height if %kernel_height == %kernel_width else 0
  %size = %kernel_height * %kernel_width
  %zeros = math.ctlz %size - 1 : i32
  %places = 38 - %zeros
  %power = arith.shli 1, %places : i32
  %nearest = (%power + %size / 2) / %size
  %few = 10 if %side == 5 else 7 if %side == 3 or %side == 6 else %nearest
  %few_places = 6 if %side == 3 else 8 if %side == 5 or %side == 6 else %places
  %is_large = %side == 7 or %side == 14
  %large_places = 10 if %side == 7 else 12 : i32
  return 21 if %is_large else %few, %large_places if %is_large else %few_places : i32, i32
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  %number, %places = func.call @pool_factor(%kernel_height, %kernel_width) : (i32, i32) -> (i32, i32)
  %exponent = func.call @ratio_exponent(1.0) : (f32) -> i64
  %shifted = func.call @shift(@centred_sum * %number, %exponent - %places) : (i32, i64) -> i32
  %result = func.call @clamp_and_offset(%shifted) : (i32) -> i32
}

func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces {
  cf.assert false, "the DPU has averages of windows alone: make an average pool of this mean"
  return %accumulator : i32
}

}
