module {
  func.func @main(%x: tensor<?x4x4x4xui8>) -> tensor<?x16xui8>
      attributes {tf.entry_function = {inputs = "image", outputs = "scores"}} {
    %w = "tosa.const"() <{values = dense<3> : tensor<1x1x1x4xi8>}> : () -> tensor<1x1x1x4xi8>
    %b = "tosa.const"() <{values = dense<-40> : tensor<1xi32>}> : () -> tensor<1xi32>
    %z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %u = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
    %y = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
    %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
    %s = "tosa.const"() <{values = dense<33> : tensor<1xi8>}> : () -> tensor<1xi8>
    %t = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
    %r = tosa.const_shape {values = dense<[-1, 16]> : tensor<2xindex>} : () -> !tosa.shape<2>
    %0 = tosa.rescale %x, %m, %t, %u, %z {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = true, output_unsigned = false} : (tensor<?x4x4x4xui8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<?x4x4x4xi8>
    %1 = tosa.conv2d %0, %w, %b, %z, %z {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<?x4x4x4xi8>, tensor<1x1x1x4xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<?x4x4x1xi32>
    %2 = tosa.rescale %1, %m, %s, %y, %z {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<?x4x4x1xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<?x4x4x1xi8>
    %3 = tosa.clamp %2 {max_val = 90 : i8, min_val = -90 : i8} : (tensor<?x4x4x1xi8>) -> tensor<?x4x4x1xi8>
    %4 = tosa.reshape %3, %r : (tensor<?x4x4x1xi8>, !tosa.shape<2>) -> tensor<?x16xi8>
    %5 = tosa.rescale %4, %m, %t, %z, %u {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = true} : (tensor<?x16xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<?x16xui8>
    return %5 : tensor<?x16xui8>
  }
}
