func.func @main(%x8: tensor<5x4xi8>, %x16: tensor<5x4xi16>, %x32: tensor<5x4xi32>) -> (tensor<5x4xi8>, tensor<5x4xi8>, tensor<5x4xi8>, tensor<5x4xi16>, tensor<5x4xi32>, tensor<5x4xi16>, tensor<5x4xi8>, tensor<5x4xi16>, tensor<5x4xi8>, tensor<5x4xi8>, tensor<5x4xi16>) {
  %m32 = "tosa.const"() <{values = dense<1431655766> : tensor<1xi32>}> : () -> tensor<1xi32>
  %m16 = "tosa.const"() <{values = dense<21846> : tensor<1xi16>}> : () -> tensor<1xi16>
  %ms = "tosa.const"() <{values = dense<[1073741824, 2147483647, 1, 1610612736]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %s = "tosa.const"() <{values = dense<35> : tensor<1xi8>}> : () -> tensor<1xi8>
  %ss = "tosa.const"() <{values = dense<[33, 48, 62, 40]> : tensor<4xi8>}> : () -> tensor<4xi8>
  %z8 = "tosa.const"() <{values = dense<-7> : tensor<1xi8>}> : () -> tensor<1xi8>
  %u8 = "tosa.const"() <{values = dense<-100> : tensor<1xi8>}> : () -> tensor<1xi8>
  %z16 = "tosa.const"() <{values = dense<0> : tensor<1xi16>}> : () -> tensor<1xi16>
  %u16 = "tosa.const"() <{values = dense<-32768> : tensor<1xi16>}> : () -> tensor<1xi16>
  %z32 = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %0 = tosa.rescale %x32, %m32, %s, %z32, %z8 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<5x4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<5x4xi8>
  %1 = tosa.rescale %x32, %m32, %s, %z32, %z8 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = DOUBLE_ROUND, scale32 = true} : (tensor<5x4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<5x4xi8>
  %2 = tosa.rescale %x32, %ms, %ss, %z32, %z8 {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = DOUBLE_ROUND, scale32 = true} : (tensor<5x4xi32>, tensor<4xi32>, tensor<4xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<5x4xi8>
  %3 = tosa.rescale %x32, %ms, %ss, %z32, %z16 {input_unsigned = false, output_unsigned = false, per_channel = true, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<5x4xi32>, tensor<4xi32>, tensor<4xi8>, tensor<1xi32>, tensor<1xi16>) -> tensor<5x4xi16>
  %4 = tosa.rescale %x8, %m32, %s, %z8, %z32 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = DOUBLE_ROUND, scale32 = true} : (tensor<5x4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi32>) -> tensor<5x4xi32>
  %5 = tosa.rescale %x8, %m32, %s, %u8, %z16 {input_unsigned = true, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<5x4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi16>) -> tensor<5x4xi16>
  %6 = tosa.rescale %x16, %m32, %s, %z16, %u8 {input_unsigned = false, output_unsigned = true, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<5x4xi16>, tensor<1xi32>, tensor<1xi8>, tensor<1xi16>, tensor<1xi8>) -> tensor<5x4xi8>
  %7 = tosa.rescale %x8, %m32, %s, %z8, %u16 {input_unsigned = false, output_unsigned = true, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<5x4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi16>) -> tensor<5x4xi16>
  %8 = tosa.rescale %x16, %m32, %s, %u16, %z8 {input_unsigned = true, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true} : (tensor<5x4xi16>, tensor<1xi32>, tensor<1xi8>, tensor<1xi16>, tensor<1xi8>) -> tensor<5x4xi8>
  %9 = tosa.rescale %x16, %m16, %s, %z16, %z8 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = false} : (tensor<5x4xi16>, tensor<1xi16>, tensor<1xi8>, tensor<1xi16>, tensor<1xi8>) -> tensor<5x4xi8>
  %10 = tosa.rescale %x8, %m16, %s, %z8, %z16 {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = false} : (tensor<5x4xi8>, tensor<1xi16>, tensor<1xi8>, tensor<1xi8>, tensor<1xi16>) -> tensor<5x4xi16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<5x4xi8>, tensor<5x4xi8>, tensor<5x4xi8>, tensor<5x4xi16>, tensor<5x4xi32>, tensor<5x4xi16>, tensor<5x4xi8>, tensor<5x4xi16>, tensor<5x4xi8>, tensor<5x4xi8>, tensor<5x4xi16>
}
