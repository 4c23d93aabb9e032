// RUN: %qopt %s -p 'lower-qnn{contract=tflite},canonicalize,cse,dce,form-kernels,drop-channels{unit=1}' | %filecheck %s
// RUN: %qopt %s -p 'lower-qnn{contract=tflite},canonicalize,cse,dce,form-kernels,drop-channels{unit=1}' | %qopt -p 'drop-channels{unit=1}' | %filecheck %s
// RUN: %qopt %s -p 'lower-qnn{contract=tflite},canonicalize,cse,dce,form-kernels,drop-channels{unit=1 limit=0}' | %filecheck %s --check-prefix=NONE
// RUN: %qopt %s -p 'lower-qnn{contract=tflite},canonicalize,cse,dce,form-kernels,drop-channels{unit=2}' | %filecheck %s --check-prefix=PAIRS

!x  = !quant.uniform<i8:f32, 0.5:-128>
!y  = !quant.uniform<i8:f32, 1.0:-128>
!w  = !quant.uniform<i8<-127:127>:f32, 0.5>

// Channel 1 has zero weights: it is its bias, which is (4 * 0.25) / 1 = 1, stored -127.
// Less the zero point that is 1, times its weights 3 and 4 for the results: these start
// from 10 + 3 and 20 + 4. Channel 2 is read by no weight.
// CHECK-LABEL: func.func @zero_weights
// CHECK:       arith.constant dense<2> : tensor<1x1x1x1xi8>
// CHECK:       kernel.nest window parallel [1, 2, 2, 1] reduction [1, 1, 1]
// CHECK:       -> tensor<1x2x2x1xi8> attributes {kept_channels = array<i64: 0>}
// CHECK:       arith.constant dense<{{\[}}13, 24]> : tensor<2xi32>
// CHECK:       kernel.nest contraction parallel [1, 2, 2, 2] reduction [1, 1, 1]
// CHECK-SAME:  tensor<1x2x2x1xi8>
// CHECK:       attributes {kept_channels = array<i64: 0, 1>}
// NONE-LABEL:  func.func @zero_weights
// NONE-NOT:    kept_channels
// Of three channels one would do, and two are computed at once.
// PAIRS-LABEL: func.func @zero_weights
// PAIRS:       attributes {kept_channels = array<i64: 0, 1>}
func.func @zero_weights(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x2x!y> {
  %w = qnn.constant dense<[[[[2]]], [[[0]]], [[[1]]]]> : tensor<3x1x1x1xi8> -> tensor<3x1x1x1x!w>
  %b = arith.constant dense<[7, 4, 0]> : tensor<3xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<3x1x1x1x!w>, tensor<3xi32>) -> tensor<1x2x2x3x!y>
  %v = qnn.constant dense<[[[[1, 3, 0]]], [[[2, 4, 0]]]]> : tensor<2x1x1x3xi8> -> tensor<2x1x1x3x!w>
  %c = arith.constant dense<[10, 20]> : tensor<2xi32>
  %z = qnn.conv2d %y, %v, %c {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x3x!y>, tensor<2x1x1x3x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  return %z : tensor<1x2x2x2x!y>
}

// relu cuts all that channel 0 can give, at most 255 - 1000, to the zero point: that is
// what the padding has, too, so the depthwise layer's channel 0 is constant as well.
// CHECK-LABEL: func.func @by_clamp_alone
// CHECK:       kernel.nest window parallel [1, 2, 2, 1]
// CHECK:       kernel.copy {{.*}} [1, 2, 2, 1] [1, 1, 1, 1] into fill(-128 : i8)[0, 1, 1, 0] [1, 1, 1, 1] : tensor<1x2x2x1xi8> into tensor<1x4x4x1xi8>
// CHECK:       kernel.nest window parallel [1, 2, 2, 1] reduction [3, 3]
// CHECK:       attributes {kept_channels = array<i64: 1>}
func.func @by_clamp_alone(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x1x!y> {
  %w = qnn.constant dense<[[[[1]]], [[[2]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[-1000, 0]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], activation = "relu"} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %d = qnn.constant dense<1> : tensor<1x3x3x2xi8> -> tensor<1x3x3x2x!w>
  %e = arith.constant dense<[9, 9]> : tensor<2xi32>
  %z = qnn.depthwise_conv2d %y, %d, %e {stride = [1, 1], pad = [1, 1, 1, 1], dilation = [1, 1]} : (tensor<1x2x2x2x!y>, tensor<1x3x3x2x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %v = qnn.constant dense<[[[[1, 3]]]]> : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!w>
  %r = qnn.conv2d %z, %v {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x2x!y>, tensor<1x1x1x2x!w>) -> tensor<1x2x2x1x!y>
  return %r : tensor<1x2x2x1x!y>
}

// Channel 0 is constant, but not what the padding has: a sum at the border has another
// value than one inside, so all stays.
// CHECK-LABEL: func.func @other_padding
// CHECK-NOT:   kept_channels
func.func @other_padding(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x1x!y> {
  %w = qnn.constant dense<[[[[0]]], [[[2]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[40, 0]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %v = qnn.constant dense<1> : tensor<1x3x3x2xi8> -> tensor<1x3x3x2x!w>
  %r = qnn.conv2d %y, %v {stride = [1, 1], pad = [1, 1, 1, 1], dilation = [1, 1]} : (tensor<1x2x2x2x!y>, tensor<1x3x3x2x!w>) -> tensor<1x2x2x1x!y>
  return %r : tensor<1x2x2x1x!y>
}

// A constant 40 * 0.25 = 10 and padding of 0 both are beyond what relu6 lets through,
// whatever the border adds: the layer after it is constant at every place, and goes.
// CHECK-LABEL: func.func @saturated_border
// CHECK:       kernel.nest window parallel [1, 2, 2, 1]
// CHECK:       attributes {kept_channels = array<i64: 1>}
func.func @saturated_border(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x1x!y> {
  %w = qnn.constant dense<[[[[0]]], [[[2]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[40, 0]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %d = qnn.constant dense<1> : tensor<1x3x3x2xi8> -> tensor<1x3x3x2x!w>
  %e = arith.constant dense<[100, 9]> : tensor<2xi32>
  %z = qnn.depthwise_conv2d %y, %d, %e {stride = [1, 1], pad = [1, 1, 1, 1], dilation = [1, 1], activation = "relu6"} : (tensor<1x2x2x2x!y>, tensor<1x3x3x2x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %v = qnn.constant dense<[[[[1, 3]]]]> : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!w>
  %r = qnn.conv2d %z, %v {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x2x!y>, tensor<1x1x1x2x!w>) -> tensor<1x2x2x1x!y>
  return %r : tensor<1x2x2x1x!y>
}

// An addition is constant where both of its operands are (channel 0), and both lose that.
// Channel 1 of one operand stays: that of the other isn't constant.
// CHECK-LABEL: func.func @addition
// CHECK:       kernel.nest window parallel [1, 2, 2, 1]
// CHECK:       kernel.nest window parallel [1, 2, 2, 1]
// CHECK-SAME:  tensor<1x2x2x1xi8>
// CHECK:       attributes {kept_channels = array<i64: 1>}
func.func @addition(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x1x!y> {
  %w = qnn.constant dense<[[[[0]]], [[[2]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[40, 0]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %c = arith.constant dense<[8, 80]> : tensor<2xi32>
  %n = qnn.constant dense<0> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %k = qnn.conv2d %x, %n, %c {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %s = qnn.add %y, %k : (tensor<1x2x2x2x!y>, tensor<1x2x2x2x!y>) -> tensor<1x2x2x2x!y>
  %v = qnn.constant dense<[[[[1, 3]]]]> : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!w>
  %r = qnn.conv2d %s, %v {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x2x!y>, tensor<1x1x1x2x!w>) -> tensor<1x2x2x1x!y>
  return %r : tensor<1x2x2x1x!y>
}

// Through a concatenation, a maximum, a mean and a reshape to a linear layer, whose
// weights for channels 1 and 2 of four go.
// CHECK-LABEL: func.func @moved
// CHECK:       kernel.nest window parallel [1, 2, 2, 1]
// CHECK:       kernel.copy {{.*}}[1, 2, 2, 1] [1, 1, 1, 1] into empty[0, 0, 0, 0] [1, 1, 1, 1] : tensor<1x2x2x1xi8> into tensor<1x2x2x2xi8>
// CHECK:       kernel.copy {{.*}}[1, 2, 2, 1] [1, 1, 1, 1] into {{.*}}[0, 0, 0, 1] [1, 1, 1, 1] : tensor<1x2x2x1xi8> into tensor<1x2x2x2xi8>
// CHECK:       kernel.nest window parallel [1, 1, 1, 2] reduction [2, 2]
// CHECK:       attributes {kept_channels = array<i64: 0, 3>}
// CHECK:       tensor.collapse_shape {{.*}} : tensor<1x1x1x2xi8> into tensor<1x2xi8>
// CHECK:       arith.constant dense<{{\[\[}}1, 4]]> : tensor<1x2xi8>
// CHECK:       kernel.nest row parallel [1, 1] reduction [2]
func.func @moved(%x: tensor<1x2x2x1x!x>) -> tensor<1x1x!y> {
  %w = qnn.constant dense<[[[[2]]], [[[0]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %u = qnn.constant dense<[[[[0]]], [[[3]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[40, 8]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %k = qnn.conv2d %x, %u, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %s = qnn.concat %y, %k {axis = 3} : (tensor<1x2x2x2x!y>, tensor<1x2x2x2x!y>) -> tensor<1x2x2x4x!y>
  %p = qnn.max_pool2d %s {kernel = [2, 2], stride = [1, 1], pad = [0, 0, 0, 0]} : (tensor<1x2x2x4x!y>) -> tensor<1x1x1x4x!y>
  %f = qnn.reshape %p : (tensor<1x1x1x4x!y>) -> tensor<1x4x!y>
  %v = qnn.constant dense<[[1, 2, 3, 4]]> : tensor<1x4xi8> -> tensor<1x4x!w>
  %r = qnn.linear %f, %v : (tensor<1x4x!y>, tensor<1x4x!w>) -> tensor<1x1x!y>
  return %r : tensor<1x1x!y>
}

// Through a reshape that adds dimensions: it says its shape, too.
// CHECK-LABEL: func.func @raised
// CHECK:       tensor.expand_shape {{.*}} output_shape [1, 1, 1, 1] : tensor<1x1xi8> into tensor<1x1x1x1xi8>
// CHECK:       kernel.nest window parallel [1, 1, 1, 1] reduction [1, 1, 1]
func.func @raised(%x: tensor<1x2x!x>) -> tensor<1x1x1x1x!y> {
  %w = qnn.constant dense<[[2, 3], [0, 0]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %b = arith.constant dense<[40, 8]> : tensor<2xi32>
  %y = qnn.linear %x, %w, %b : (tensor<1x2x!x>, tensor<2x2x!w>, tensor<2xi32>) -> tensor<1x2x!y>
  %f = qnn.reshape %y : (tensor<1x2x!y>) -> tensor<1x1x1x2x!y>
  %v = qnn.constant dense<[[[[1, 3]]]]> : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!w>
  %r = qnn.conv2d %f, %v {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x1x1x2x!y>, tensor<1x1x1x2x!w>) -> tensor<1x1x1x1x!y>
  return %r : tensor<1x1x1x1x!y>
}

// Groups divide the channels that they read among two loops: all of these stay.
// CHECK-LABEL: func.func @groups
// CHECK-NOT:   kept_channels
func.func @groups(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x2x!y> {
  %w = qnn.constant dense<[[[[2]]], [[[0]]], [[[3]]], [[[0]]]]> : tensor<4x1x1x1xi8> -> tensor<4x1x1x1x!w>
  %y = qnn.conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<4x1x1x1x!w>) -> tensor<1x2x2x4x!y>
  %v = qnn.constant dense<[[[[1, 3]]], [[[2, 4]]]]> : tensor<2x1x1x2xi8> -> tensor<2x1x1x2x!w>
  %z = qnn.conv2d %y, %v {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], groups = 2} : (tensor<1x2x2x4x!y>, tensor<2x1x1x2x!w>) -> tensor<1x2x2x2x!y>
  return %z : tensor<1x2x2x2x!y>
}

// What is returned stays, constant or not.
// CHECK-LABEL: func.func @returned
// CHECK-NOT:   kept_channels
func.func @returned(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x2x!y> {
  %w = qnn.constant dense<[[[[2]]], [[[0]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %y = qnn.conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>) -> tensor<1x2x2x2x!y>
  return %y : tensor<1x2x2x2x!y>
}
