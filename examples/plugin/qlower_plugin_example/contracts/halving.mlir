// The arithmetic of `tflite`, on a device whose last adder drops the lowest bit.

module attributes {contract.base = "tflite", contract.summary = "tflite, even results only"} {
  func.func private @offset_and_clamp(
      %x: i32, %output_zero_point: i32, %output_min: i32, %output_max: i32) -> i32 replaces {
    %mask = arith.constant -2 : i32
    %sum = arith.addi %x, %output_zero_point : i32
    %even = arith.andi %sum, %mask : i32
    %high = arith.maxsi %even, %output_min : i32
    %result = arith.minsi %high, %output_max : i32
    return %result : i32
  }
}
