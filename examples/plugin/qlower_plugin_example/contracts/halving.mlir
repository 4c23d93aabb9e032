// The arithmetic of `tflite`, on a device whose last adder drops the lowest bit.

module attributes {contract.base = "tflite", contract.summary = "tflite, even results only"} {
  func.func private @offset_and_clamp(%x: i32, %zero_point: i32, %min: i32, %max: i32) -> i32 {
    %mask = arith.constant -2 : i32
    %sum = arith.addi %x, %zero_point : i32
    %even = arith.andi %sum, %mask : i32
    %high = arith.maxsi %even, %min : i32
    %result = arith.minsi %high, %max : i32
    return %result : i32
  }
}
