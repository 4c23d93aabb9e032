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
  %square = arith.cmpi eq, %kernel_height, %kernel_width : i32
  %side = arith.select %square, %kernel_height, 0 : i32
  %size = arith.muli %kernel_height, %kernel_width : i32
  %less_1 = arith.subi %size, 1 : i32
  %zeros = math.ctlz %less_1 : i32
  %log = arith.subi 32, %zeros : i32
  %places = arith.addi %log, 6 : i32
  %power = arith.shli 1, %places : i32
  %half = arith.shrsi %size, 1 : i32
  %nudged = arith.addi %power, %half : i32
  %number = arith.divsi %nudged, %size : i32
  %n3, %m3 = func.call @entry(%side, 3, 7, 6, %number, %places) : (i32, i32, i32, i32, i32, i32) -> (i32, i32)
  %n5, %m5 = func.call @entry(%side, 5, 10, 8, %n3, %m3) : (i32, i32, i32, i32, i32, i32) -> (i32, i32)
  %n6, %m6 = func.call @entry(%side, 6, 7, 8, %n5, %m5) : (i32, i32, i32, i32, i32, i32) -> (i32, i32)
  %n7, %m7 = func.call @entry(%side, 7, 21, 10, %n6, %m6) : (i32, i32, i32, i32, i32, i32) -> (i32, i32)
  %n, %m = func.call @entry(%side, 14, 21, 12, %n7, %m7) : (i32, i32, i32, i32, i32, i32) -> (i32, i32)
  return %n, %m : i32, i32
}

func.func private @entry(%side: i32, %of: i32, %n: i32, %m: i32, %other_n: i32, %other_m: i32) -> (i32, i32) {
  %is_it = arith.cmpi eq, %side, %of : i32
  %number = arith.select %is_it, %n, %other_n : i32
  %places = arith.select %is_it, %m, %other_m : i32
  return %number, %places : i32, i32
}

func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
  %number, %places = func.call @pool_factor(%kernel_height, %kernel_width) : (i32, i32) -> (i32, i32)
  %product = arith.muli @centred_sum, %number : i32
  %exponent = func.call @ratio_exponent(1.0) : (f32) -> i64
  %m = arith.extsi %places : i32 to i64
  %total = arith.subi %exponent, %m : i64
  %shifted = func.call @shift(%product, %total) : (i32, i64) -> i32
  %result = func.call @clamp_and_offset(%shifted) : (i32) -> i32
}

func.func private @mean_of(%accumulator: i32, %count: i32) -> i32 replaces {
  %never = arith.constant false
  cf.assert %never, "the DPU has averages of windows alone: make an average pool of this mean"
  return %accumulator : i32
}

}
