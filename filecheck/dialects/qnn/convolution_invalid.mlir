// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @input_rank(%0: tensor<9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: operand 'input' at position 0 does not verify: tensor<9x9x4x!quant.uniform<i8:f32, 5.000000e-01>> has rank 3, expected 4
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @weight_rank(%0: tensor<1x9x9x4x!a>, %1: tensor<2x9x4x!w>) {
  // CHECK: error: qnn.conv2d: operand 'weight' at position 1 does not verify: tensor<2x9x4x!quant.uniform<i8<-127:127>:f32:0, {5.000000e-01,2.500000e-01}>> has rank 3, expected 4
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x9x4x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>

func.func @weight_axis(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x2x!d>) {
  // CHECK: error: qnn.conv2d: operand 'weight' at position 1 does not verify: weights are quantized along dimension 3, expected 0
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x2x!d>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @weight_scales(%0: tensor<1x9x9x4x!a>, %1: tensor<3x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: operand 'weight' at position 1 does not verify: 2 scales do not match the size 3 of quantized dimension 0
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<3x3x3x4x!w>) -> tensor<1x7x7x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @weight_depth(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x3x!w>) {
  // CHECK: error: qnn.conv2d: weight has 3 channels along axis 3, input has 4
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x3x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @no_groups(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: input has 4 channels along axis 3, which 0 groups don't divide
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], groups = 0} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @transposed_how(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: transposed "yes" is not true or false
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], transposed = "yes"} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @groups_of_input(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x1x!w>) {
  // CHECK: error: qnn.conv2d: input has 4 channels along axis 3, which 3 groups don't divide
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], groups = 3} : (tensor<1x9x9x4x!a>, tensor<2x3x3x1x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @groups_of_output(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x1x!w>) {
  // CHECK: error: qnn.conv2d: weight has 2 outputs along axis 0, which 4 groups don't divide
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], groups = 4} : (tensor<1x9x9x4x!a>, tensor<2x3x3x1x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @group_depth(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: weight has 4 channels along axis 3, input has 2 in each of 2 groups
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], groups = 2} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @bias_length(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<3xi32>) {
  // CHECK: error: qnn.conv2d: shape [3] of bias does not match the expected [2]
  %x = qnn.conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<3xi32>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @bias_rank(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<1x2xi32>) {
  // CHECK: error: qnn.conv2d: operand 'bias' at position 2 does not verify: tensor<1x2xi32> has rank 2, expected 1
  %x = qnn.conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<1x2xi32>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @bias_type(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<2xi64>) {
  // CHECK: error: qnn.conv2d: a bias of i64 does not go with an input of 8 bits, whose accumulator is i32
  %x = qnn.conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<2xi64>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @bias_of_bytes(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<2xi16>) {
  // CHECK: error: qnn.conv2d: operand 'bias' at position 2 does not verify: element type i16 is not i32, i64 or f32
  %x = qnn.conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<2xi16>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!words = !quant.uniform<i16:f32, 0.5>
!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @bytes_of_words(%0: tensor<4x8x!words>, %1: tensor<2x8x!w>) {
  // CHECK: error: qnn.linear: a result of 8 bits does not go with an input of 16
  %x = qnn.linear %0, %1 : (tensor<4x8x!words>, tensor<2x8x!w>) -> tensor<4x2x!a>
  return
}

// -----

!words = !quant.uniform<i16:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @bytes_by_words(%0: tensor<4x8x!quant.uniform<i8:f32, 0.5>>, %1: tensor<2x8x!words>) {
  // CHECK: error: qnn.linear: weights of 16 bits do not go with an input of 8
  %x = qnn.linear %0, %1 : (tensor<4x8x!quant.uniform<i8:f32, 0.5>>, tensor<2x8x!words>) -> tensor<4x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

!words = !quant.uniform<i16:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @words_with_addend(%0: tensor<1x4x4x2x!quant.uniform<i8:f32, 0.5>>, %1: tensor<2x1x1x2x!words>, %2: tensor<1x4x4x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: qnn.conv2d_add: operand 'weight' at position 1 does not verify: storage i16 is not supported yet: i4 or i8 or u8
  %x = qnn.conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !quant.uniform<i8:f32, 0.5>} : (tensor<1x4x4x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x1x1x2x!words>, tensor<1x4x4x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x4x4x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

!words = !quant.uniform<i16:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @sums_of_words(%0: tensor<4x8x!words>, %1: tensor<2x8x!w>) {
  // CHECK: error: qnn.linear: sums of 16-bit elements are not a result
  %x = qnn.linear %0, %1 : (tensor<4x8x!words>, tensor<2x8x!w>) -> tensor<4x2xi32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @output_channels(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: shape [1, 7, 7, 3] of result does not match the expected [1, 7, 7, 2]
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x7x7x3x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @batch(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: shape [2, 7, 7, 2] of result does not match the expected [1, 7, 7, 2]
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<2x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @height(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: output height 5 does not follow from input 9, kernel 3, stride 2, pad 0+0, dilation 1: expected 4
  %x = qnn.conv2d %0, %1 {stride = [2, 2], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x5x4x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @width(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: output width 5 does not follow from input 9, kernel 3, stride 2, pad 1+2, dilation 2: expected 4
  %x = qnn.conv2d %0, %1 {stride = [1, 2], pad = [0, 0, 1, 2], dilation = [1, 2]} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x7x5x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @large_kernel(%0: tensor<1x2x9x4x!a>, %1: tensor<2x3x3x4x!w>) {
  // CHECK: error: qnn.conv2d: output height does not exist: the window of input 2, kernel 3, stride 1, pad 0+0, dilation 1 is larger than the padded input
  %x = qnn.conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x2x9x4x!a>, tensor<2x3x3x4x!w>) -> tensor<1x1x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>

func.func @depthwise_weight_axis(%0: tensor<2x9x9x2x!a>, %1: tensor<2x3x3x2x!w>) {
  // CHECK: error: qnn.depthwise_conv2d: operand 'weight' at position 1 does not verify: weights are quantized along dimension 0, expected 3
  %x = qnn.depthwise_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<2x9x9x2x!a>, tensor<2x3x3x2x!w>) -> tensor<2x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>

func.func @depthwise_weight_shape(%0: tensor<1x9x9x2x!a>, %1: tensor<2x3x3x2x!d>) {
  // CHECK: error: qnn.depthwise_conv2d: weight has size 2 along axis 0, expected 1
  %x = qnn.depthwise_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x2x!a>, tensor<2x3x3x2x!d>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>

func.func @depthwise_multiplier(%0: tensor<1x9x9x3x!a>, %1: tensor<1x3x3x2x!d>) {
  // CHECK: error: qnn.depthwise_conv2d: weight has 2 channels along axis 3, which 3 doesn't divide
  %x = qnn.depthwise_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x3x!a>, tensor<1x3x3x2x!d>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>

func.func @depthwise_bias(%0: tensor<1x9x9x2x!a>, %1: tensor<1x3x3x2x!d>, %2: tensor<1xi32>) {
  // CHECK: error: qnn.depthwise_conv2d: shape [1] of bias does not match the expected [2]
  %x = qnn.depthwise_conv2d %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x2x!a>, tensor<1x3x3x2x!d>, tensor<1xi32>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>

func.func @depthwise_output(%0: tensor<1x9x9x2x!a>, %1: tensor<1x3x3x2x!d>) {
  // CHECK: error: qnn.depthwise_conv2d: shape [1, 7, 7, 4] of result does not match the expected [1, 7, 7, 2]
  %x = qnn.depthwise_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x2x!a>, tensor<1x3x3x2x!d>) -> tensor<1x7x7x4x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>

func.func @depthwise_height(%0: tensor<1x9x9x2x!a>, %1: tensor<1x3x3x2x!d>) {
  // CHECK: error: qnn.depthwise_conv2d: output height 9 does not follow from input 9, kernel 3, stride 1, pad 0+0, dilation 1: expected 7
  %x = qnn.depthwise_conv2d %0, %1 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x9x9x2x!a>, tensor<1x3x3x2x!d>) -> tensor<1x9x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.5>
!several = !quant.uniform<i8:f32:3, {0.5,0.25}>

func.func @addend_shape(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<1x7x6x2x!a>) {
  // CHECK: error: qnn.conv2d_add: shape [1, 7, 6, 2] of addend does not match the expected [1, 7, 7, 2]
  %x = qnn.conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !a} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<1x7x6x2x!a>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.5>
!several = !quant.uniform<i8:f32:3, {0.5,0.25}>

func.func @addend_of_words(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<1x7x7x2x!words>) {
  // CHECK: error: qnn.conv2d_add: operand 'addend' at position 2 does not verify: storage i16 is not supported yet: i8 or u8
  %x = qnn.conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !a} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<1x7x7x2x!words>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.5>
!several = !quant.uniform<i8:f32:3, {0.5,0.25}>

func.func @summand_of_words(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<1x7x7x2x!a>) {
  // CHECK: error: qnn.conv2d_add: summand: storage i16 is not supported yet: i8 or u8
  %x = qnn.conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !words} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<1x7x7x2x!a>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.5>
!several = !quant.uniform<i8:f32:3, {0.5,0.25}>

func.func @summand_of_several_scales(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<1x7x7x2x!a>) {
  // CHECK: error: qnn.conv2d_add: summand: per-axis quantization is only supported for weights: use per tensor
  %x = qnn.conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !several} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<1x7x7x2x!a>) -> tensor<1x7x7x2x!a>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.5>
!several = !quant.uniform<i8:f32:3, {0.5,0.25}>

func.func @summand_of_sums(%0: tensor<1x9x9x4x!a>, %1: tensor<2x3x3x4x!w>, %2: tensor<1x7x7x2x!a>) {
  // CHECK: error: qnn.conv2d_add: result 'result' at position 0 does not verify: element type i32 is not !quant.uniform
  %x = qnn.conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !a} : (tensor<1x9x9x4x!a>, tensor<2x3x3x4x!w>, tensor<1x7x7x2x!a>) -> tensor<1x7x7x2xi32>
  return
}

// -----

!a = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.5>
!several = !quant.uniform<i8:f32:3, {0.5,0.25}>

func.func @depthwise_addend_shape(%0: tensor<1x9x9x2x!a>, %1: tensor<1x3x3x2x!d>, %2: tensor<2x7x7x2x!a>) {
  // CHECK: error: qnn.depthwise_conv2d_add: shape [2, 7, 7, 2] of addend does not match the expected [1, 7, 7, 2]
  %x = qnn.depthwise_conv2d_add %0, %1, %2 {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !a} : (tensor<1x9x9x2x!a>, tensor<1x3x3x2x!d>, tensor<2x7x7x2x!a>) -> tensor<1x7x7x2x!a>
  return
}
