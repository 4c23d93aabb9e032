func.func @main(%x: tensor<2x3x4xi32>, %divisor: tensor<2x1x4xi32>, %places: tensor<1x3x1xi32>) -> (tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<1x3x1xi32>, tensor<1x3x1xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi16>, tensor<2x3x4xi8>, tensor<2x1x4xi32>, tensor<2x3x1xi32>, tensor<1x3x4xi32>) {
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %h = "tosa.const"() <{values = dense<31> : tensor<1xi8>}> : () -> tensor<1xi8>
  %one = "tosa.const"() <{values = dense<1> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zero = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.add %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %1 = tosa.sub %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %2 = tosa.maximum %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %3 = tosa.minimum %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %4 = tosa.intdiv %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %5 = tosa.bitwise_and %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %6 = tosa.bitwise_or %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %7 = tosa.bitwise_xor %x, %divisor : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x3x4xi32>
  %8 = tosa.bitwise_not %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
  %9 = tosa.abs %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
  %10 = tosa.clz %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
  %11 = tosa.negate %x, %zero, %zero : (tensor<2x3x4xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2x3x4xi32>
  %12 = tosa.mul %x, %divisor, %h : (tensor<2x3x4xi32>, tensor<2x1x4xi32>, tensor<1xi8>) -> tensor<2x3x4xi32>
  %13 = tosa.mul %places, %places, %z : (tensor<1x3x1xi32>, tensor<1x3x1xi32>, tensor<1xi8>) -> tensor<1x3x1xi32>
  %14 = tosa.mul %places, %places, %one : (tensor<1x3x1xi32>, tensor<1x3x1xi32>, tensor<1xi8>) -> tensor<1x3x1xi32>
  %15 = tosa.arithmetic_right_shift %x, %places {round = true} : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
  %16 = tosa.arithmetic_right_shift %x, %places {round = false} : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
  %17 = tosa.logical_left_shift %x, %places : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
  %18 = tosa.logical_right_shift %x, %places : (tensor<2x3x4xi32>, tensor<1x3x1xi32>) -> tensor<2x3x4xi32>
  %19 = tosa.cast %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi16>
  %20 = tosa.cast %x : (tensor<2x3x4xi32>) -> tensor<2x3x4xi8>
  %21 = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<2x3x4xi32>) -> tensor<2x1x4xi32>
  %22 = tosa.reduce_max %x {axis = 2 : i32} : (tensor<2x3x4xi32>) -> tensor<2x3x1xi32>
  %23 = tosa.reduce_min %x {axis = 0 : i32} : (tensor<2x3x4xi32>) -> tensor<1x3x4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23 : tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<1x3x1xi32>, tensor<1x3x1xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x3x4xi16>, tensor<2x3x4xi8>, tensor<2x1x4xi32>, tensor<2x3x1xi32>, tensor<1x3x4xi32>
}
