// RUN: %qopt %s | %filecheck %s
// RUN: %qopt %s | %qopt | %filecheck %s
// RUN: %qopt %s -p lower-tosa | %qopt | %filecheck %s --check-prefix ENV

// Text as iree-opt 3.13 prints it: clauses in parentheses, and the environment that the
// module is for.

// CHECK: module attributes {tosa.target_env = #tosa.target_env<specification_version = "1.0", level = none, profiles = [pro_int, pro_fp], extensions = []>}
// ENV: module attributes {tosa.target_env = #tosa.target_env<specification_version = "1.0", level = none, profiles = [pro_int, pro_fp], extensions = []>}
module attributes {tosa.target_env = #tosa.target_env<specification_version = "1.0", level = none, profiles = [pro_int, pro_fp], extensions = []>} {
  func.func @main(%arg0: tensor<1x4x4x2xi8>) -> tensor<1x4x4x3xi8> {
    // CHECK: "tosa.const"() <{values = dense<{{\[\[\[\[}}1, 2]]], {{\[\[\[}}3, -4]]], {{\[\[\[}}5, 6]]]]> : tensor<3x1x1x2xi8>}>
    %0 = tosa.const  values(dense<[[[[1, 2]]], [[[3, -4]]], [[[5, 6]]]]> : tensor<3x1x1x2xi8>) : () -> tensor<3x1x1x2xi8>
    %1 = tosa.const  values(dense<[10, -20, 30]> : tensor<3xi32>) : () -> tensor<3xi32>
    %2 = tosa.const  values(dense<3> : tensor<1xi8>) : () -> tensor<1xi8>
    %3 = tosa.const  values(dense<0> : tensor<1xi8>) : () -> tensor<1xi8>
    // CHECK: tosa.conv2d {{.*}} {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
    %4 = tosa.conv2d %arg0, %0, %1, %2, %3 pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(i32)  : (tensor<1x4x4x2xi8>, tensor<3x1x1x2xi8>, tensor<3xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x3xi32>
    %5 = tosa.const  values(dense<1073741824> : tensor<1xi32>) : () -> tensor<1xi32>
    %6 = tosa.const  values(dense<33> : tensor<1xi8>) : () -> tensor<1xi8>
    %7 = tosa.const  values(dense<0> : tensor<1xi32>) : () -> tensor<1xi32>
    %8 = tosa.const  values(dense<-1> : tensor<1xi8>) : () -> tensor<1xi8>
    // CHECK: tosa.rescale {{.*}} {input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = SINGLE_ROUND, scale32 = true}
    %9 = tosa.rescale %4, %5, %6, %7, %8 scale32(true) rounding_mode<SINGLE_ROUND> per_channel(false) input_unsigned(false) output_unsigned(false) : (tensor<1x4x4x3xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x4x4x3xi8>
    return %9 : tensor<1x4x4x3xi8>
  }
}
