// RUN: %roundtrip
// RUN: %generic_roundtrip

!a = !quant.uniform<i8:f32, 0.5:-3>
!b = !quant.uniform<u8:f32, 0.25:128>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
!d = !quant.uniform<i8<-127:127>:f32:3, {0.5,0.25}>
!words = !quant.uniform<i16:f32, 0.25>
!narrow = !quant.uniform<i4:f32:0, {0.5,0.25}>

// CHECK-LABEL: func.func @constants
func.func @constants() -> tensor<2x1x!w> {
  // CHECK-NEXT: qnn.constant dense<{{.*}}> : tensor<2x1xi8> -> tensor<2x1x!quant.uniform<i8<-127:127>:f32:0, {5.000000e-01,2.500000e-01}>>
  %w = qnn.constant dense<"0x40C0"> : tensor<2x1xi8> -> tensor<2x1x!w>
  // CHECK-NEXT: qnn.constant dense<-56> : tensor<4xi8> -> tensor<4x!quant.uniform<u8:f32, 2.500000e-01:128>>
  %u = qnn.constant dense<-56> : tensor<4xi8> -> tensor<4x!b>
  // CHECK-NEXT: qnn.constant dense<-300> : tensor<4xi16> -> tensor<4x!quant.uniform<i16:f32, 2.500000e-01>>
  %long = qnn.constant dense<-300> : tensor<4xi16> -> tensor<4x!quant.uniform<i16:f32, 0.25>>
  // CHECK-NEXT: qnn.constant dense<[-8, 7]> : tensor<2xi4> -> tensor<2x!quant.uniform<i4:f32:0, {5.000000e-01,2.500000e-01}>>
  %n = qnn.constant dense<[-8, 7]> : tensor<2xi4> -> tensor<2x!narrow>
  // CHECK-NEXT: qnn.constant dense<1> : tensor<i8> {note = "kept"} -> tensor<!quant.uniform<i8:f32, 5.000000e-01:-3>>
  %s = qnn.constant dense<1> : tensor<i8> {note = "kept"} -> tensor<!a>
  return %w : tensor<2x1x!w>
}

// CHECK-LABEL: func.func @conv2d
func.func @conv2d(%x: tensor<1x4x16x2x!a>, %w: tensor<2x3x3x2x!w>, %g: tensor<2x3x3x1x!w>, %b: tensor<2xi32>, %r: tensor<2xf32>) -> tensor<1x2x7x2x!b> {
  // CHECK-NEXT: qnn.conv2d %x, %w, %b {stride = [1, 2], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x4x16x2x!quant.uniform<i8:f32, 5.000000e-01:-3>>, tensor<2x3x3x2x!quant.uniform<i8<-127:127>:f32:0, {5.000000e-01,2.500000e-01}>>, tensor<2xi32>) -> tensor<1x2x7x2x!quant.uniform<u8:f32, 2.500000e-01:128>>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 2], pad = [0, 0, 0, 0], dilation = [1, 1]}
     : (tensor<1x4x16x2x!a>, tensor<2x3x3x2x!w>, tensor<2xi32>) -> tensor<1x2x7x2x!b>
  // Without bias, and everything that is optional.
  // CHECK-NEXT: qnn.conv2d %x, %g {stride = [1, 1], pad = [1, 2, 3, 4], dilation = [2, 3], groups = 2, transposed = true, activation = "relu6", contract = "fp32"} :
  %z = qnn.conv2d %x, %g {stride = [1, 1], pad = [1, 2, 3, 4], dilation = [2, 3], groups = 2, transposed = true, activation = "relu6", contract = "fp32"}
     : (tensor<1x4x16x2x!a>, tensor<2x3x3x1x!w>) -> tensor<1x3x17x2x!b>
  // A bias in real numbers.
  // CHECK-NEXT: qnn.conv2d %x, %w, %r {{{.*}}} : ({{.*}}, tensor<2xf32>) ->
  %u = qnn.conv2d %x, %w, %r {stride = [1, 2], pad = [0, 0, 0, 0], dilation = [1, 1]}
     : (tensor<1x4x16x2x!a>, tensor<2x3x3x2x!w>, tensor<2xf32>) -> tensor<1x2x7x2x!b>
  // Lists are read in upstream's forms as well; defaults are not written, other attributes kept.
  // CHECK-NEXT: qnn.conv2d %x, %w, %b {stride = [1, 2], pad = [0, 0, 0, 0], dilation = [1, 1], note = [1 : i64]} :
  %v = qnn.conv2d %x, %w, %b {stride = array<i64: 1, 2>, pad = [0 : i64, 0, 0, 0], dilation = [1, 1], groups = 1, note = [1 : i64]}
     : (tensor<1x4x16x2x!a>, tensor<2x3x3x2x!w>, tensor<2xi32>) -> tensor<1x2x7x2x!b>
  return %y : tensor<1x2x7x2x!b>
}

// CHECK-LABEL: func.func @depthwise_conv2d
func.func @depthwise_conv2d(%x: tensor<1x8x8x1x!a>, %w: tensor<1x3x3x2x!d>, %b: tensor<2xi32>) {
  // CHECK-NEXT: qnn.depthwise_conv2d %x, %w, %b {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu"} :
  %y = qnn.depthwise_conv2d %x, %w, %b {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu"}
     : (tensor<1x8x8x1x!a>, tensor<1x3x3x2x!d>, tensor<2xi32>) -> tensor<1x4x4x2x!b>
  // CHECK-NEXT: qnn.depthwise_conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} :
  %z = qnn.depthwise_conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
     : (tensor<1x8x8x1x!a>, tensor<1x3x3x2x!d>) -> tensor<1x6x6x2x!b>
  return
}

// CHECK-LABEL: func.func @fused_additions
func.func @fused_additions(%x: tensor<1x4x4x2x!a>, %w: tensor<2x3x3x2x!w>, %d: tensor<1x3x3x2x!d>, %b: tensor<2xi32>, %o: tensor<1x2x2x2x!b>) {
  // CHECK-NEXT: qnn.conv2d_add %x, %w, %b, %o {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !quant.uniform<i8:f32, 5.000000e-01:-3>, activation = "relu"} : ({{.*}}, tensor<2xi32>, tensor<1x2x2x2x!quant.uniform<u8:f32, 2.500000e-01:128>>) ->
  %y = qnn.conv2d_add %x, %w, %b, %o {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !a, activation = "relu"}
     : (tensor<1x4x4x2x!a>, tensor<2x3x3x2x!w>, tensor<2xi32>, tensor<1x2x2x2x!b>) -> tensor<1x2x2x2x!a>
  // Without bias.
  // CHECK-NEXT: qnn.conv2d_add %x, %w, %o {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !quant.uniform<u8:f32, 2.500000e-01:128>} :
  %z = qnn.conv2d_add %x, %w, %o {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !b}
     : (tensor<1x4x4x2x!a>, tensor<2x3x3x2x!w>, tensor<1x2x2x2x!b>) -> tensor<1x2x2x2x!a>
  // CHECK-NEXT: qnn.depthwise_conv2d_add %x, %d, %b, %o {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !quant.uniform<i8:f32, 5.000000e-01:-3>} :
  %v = qnn.depthwise_conv2d_add %x, %d, %b, %o {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], summand = !a}
     : (tensor<1x4x4x2x!a>, tensor<1x3x3x2x!d>, tensor<2xi32>, tensor<1x2x2x2x!b>) -> tensor<1x2x2x2x!a>
  return
}

// CHECK-LABEL: func.func @matrices
func.func @matrices(%x: tensor<5x8x!a>, %w: tensor<2x8x!w>, %b: tensor<2xi32>, %l: tensor<2x3x4x!a>, %r: tensor<2x4x5x!b>) {
  // CHECK-NEXT: qnn.linear %x, %w, %b {activation = "relu_n1_to_1"} :
  %y = qnn.linear %x, %w, %b {activation = "relu_n1_to_1"} : (tensor<5x8x!a>, tensor<2x8x!w>, tensor<2xi32>) -> tensor<5x2x!b>
  // CHECK-NEXT: qnn.linear %x, %w :
  %z = qnn.linear %x, %w : (tensor<5x8x!a>, tensor<2x8x!w>) -> tensor<5x2x!b>
  // CHECK-NEXT: qnn.matmul %l, %r :
  %m = qnn.matmul %l, %r : (tensor<2x3x4x!a>, tensor<2x4x5x!b>) -> tensor<2x3x5x!b>
  // CHECK-NEXT: qnn.linear %x, %w : ({{.*}}) -> tensor<5x2xi32>
  %s = qnn.linear %x, %w : (tensor<5x8x!a>, tensor<2x8x!w>) -> tensor<5x2xi32>
  return
}

// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x4x4x3x!a>) {
  // CHECK-NEXT: qnn.avg_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]} :
  %a = qnn.avg_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]} : (tensor<1x4x4x3x!a>) -> tensor<1x2x2x3x!b>
  // CHECK-NEXT: qnn.avg_pool2d %x {kernel = [3, 3], stride = [2, 2], pad = [1, 1, 1, 1], count_include_pad = true, activation = "relu"} :
  %b = qnn.avg_pool2d %x {kernel = [3, 3], stride = [2, 2], pad = [1, 1, 1, 1], count_include_pad = true, activation = "relu"} : (tensor<1x4x4x3x!a>) -> tensor<1x2x2x3x!b>
  // CHECK-NEXT: qnn.adaptive_avg_pool2d %x {contract = "mine"} : (tensor<1x4x4x3x!quant.uniform<i8:f32, 5.000000e-01:-3>>) -> tensor<1x3x5x3x!quant.uniform<u8:f32, 2.500000e-01:128>>
  %f = qnn.adaptive_avg_pool2d %x {contract = "mine"} : (tensor<1x4x4x3x!a>) -> tensor<1x3x5x3x!b>
  // CHECK-NEXT: qnn.sum %x {axes = [1, 3]} :
  %s = qnn.sum %x {axes = [1, 3]} : (tensor<1x4x4x3x!a>) -> tensor<1x4x!b>
  // CHECK-NEXT: qnn.product %x {axes = [3], keep_dims = true} :
  %p = qnn.product %x {axes = [3], keep_dims = true} : (tensor<1x4x4x3x!a>) -> tensor<1x4x4x1x!b>
  // CHECK-NEXT: qnn.l2_normalize %x :
  %l = qnn.l2_normalize %x : (tensor<1x4x4x3x!a>) -> tensor<1x4x4x3x!b>
  // CHECK-NEXT: qnn.max_pool2d %x {kernel = [3, 2], stride = [2, 1], pad = [1, 0, 0, 1], activation = "relu"} :
  %c = qnn.max_pool2d %x {kernel = [3, 2], stride = [2, 1], pad = [1, 0, 0, 1], activation = "relu"} : (tensor<1x4x4x3x!a>) -> tensor<1x2x4x3x!a>
  // CHECK-NEXT: qnn.mean %x {axes = [1, 2]} :
  %d = qnn.mean %x {axes = [1, 2]} : (tensor<1x4x4x3x!a>) -> tensor<1x3x!b>
  // CHECK-NEXT: qnn.mean %x {axes = [3, 0], keep_dims = true, in_sequence = true} :
  %e = qnn.mean %x {axes = [3, 0], keep_dims = true, in_sequence = true} : (tensor<1x4x4x3x!a>) -> tensor<1x4x4x1x!b>
  return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<2x1x4x!a>, %y: tensor<3x1x!b>, %s: tensor<!a>, %r: tensor<4xf32>) {
  // CHECK-NEXT: qnn.div %x, %y :
  %9 = qnn.div %x, %y : (tensor<2x1x4x!a>, tensor<3x1x!b>) -> tensor<2x3x4x!b>
  // CHECK-NEXT: qnn.squared_difference %x, %y :
  %6 = qnn.squared_difference %x, %y : (tensor<2x1x4x!a>, tensor<3x1x!b>) -> tensor<2x3x4x!b>
  // CHECK-NEXT: qnn.prelu %x, %y :
  %7 = qnn.prelu %x, %y : (tensor<2x1x4x!a>, tensor<3x1x!b>) -> tensor<2x3x4x!b>
  // CHECK-NEXT: qnn.compare %x, %y {predicate = "le"} :
  %8 = qnn.compare %x, %y {predicate = "le"} : (tensor<2x1x4x!a>, tensor<3x1x!b>) -> tensor<2x3x4xi1>
  // CHECK-NEXT: qnn.add %x, %y {activation = "relu"} :
  %0 = qnn.add %x, %y {activation = "relu"} : (tensor<2x1x4x!a>, tensor<3x1x!b>) -> tensor<2x3x4x!b>
  // CHECK-NEXT: qnn.sub %y, %s :
  %1 = qnn.sub %y, %s : (tensor<3x1x!b>, tensor<!a>) -> tensor<3x1x!b>
  // CHECK-NEXT: qnn.mul %s, %s {contract = "gemmlowp"} :
  %2 = qnn.mul %s, %s {contract = "gemmlowp"} : (tensor<!a>, tensor<!a>) -> tensor<!b>
  // CHECK-NEXT: qnn.requantize %x :
  %3 = qnn.requantize %x : (tensor<2x1x4x!a>) -> tensor<2x1x4x!b>
  // CHECK-NEXT: qnn.requantize %x : (tensor<2x1x4x!quant.uniform<i8:f32, {{.*}}>>) -> tensor<2x1x4x!quant.uniform<i32:f32, 5.000000e-01>>
  %long = qnn.requantize %x : (tensor<2x1x4x!a>) -> tensor<2x1x4x!quant.uniform<i32:f32, 0.5>>
  // CHECK-NEXT: qnn.quantize %r :
  %4 = qnn.quantize %r : (tensor<4xf32>) -> tensor<4x!b>
  // CHECK-NEXT: qnn.dequantize %x :
  %5 = qnn.dequantize %x : (tensor<2x1x4x!a>) -> tensor<2x1x4xf32>
  return
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<2x4x!a>, %t: tensor<256xi8>) {
  // CHECK-NEXT: qnn.relu %x :
  %0 = qnn.relu %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.relu6 %x :
  %1 = qnn.relu6 %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // A number without a type is an f32.
  // CHECK-NEXT: qnn.clamp %x {min = -1.000000e+00 : f32, max = 1.250000e+00 : f32} :
  %2 = qnn.clamp %x {min = -1.0, max = 1.25 : f32} : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.sigmoid %x :
  %3 = qnn.sigmoid %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.tanh %x :
  %4 = qnn.tanh %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.hard_swish %x :
  %5 = qnn.hard_swish %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.elu %x :
  %6 = qnn.elu %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.leaky_relu %x {alpha = 1.000000e-01 : f32} :
  %7 = qnn.leaky_relu %x {alpha = 0.1 : f32} : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.log_softmax %x :
  %12 = qnn.log_softmax %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.function %x {function = "gelu_tanh"} :
  %11 = qnn.function %x {function = "gelu_tanh"} : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.lut %x, %t :
  %8 = qnn.lut %x, %t : (tensor<2x4x!a>, tensor<256xi8>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.softmax %x :
  %9 = qnn.softmax %x : (tensor<2x4x!a>) -> tensor<2x4x!b>
  // CHECK-NEXT: qnn.softmax %x {axis = 1, beta = 5.000000e-01 : f32} :
  %10 = qnn.softmax %x {axis = 1, beta = 0.5 : f32} : (tensor<2x4x!a>) -> tensor<2x4x!b>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x4x!a>, %y: tensor<2x3x!b>, %r: tensor<2x4xf32>, %i: tensor<1x2x2x3x!a>) {
  // CHECK-NEXT: qnn.concat %x, %y {axis = 1} :
  %0 = qnn.concat %x, %y {axis = 1} : (tensor<2x4x!a>, tensor<2x3x!b>) -> tensor<2x7x!b>
  // CHECK-NEXT: qnn.pad %x {low = [0, 1], high = [2, 0]} :
  %1 = qnn.pad %x {low = [0, 1], high = [2, 0]} : (tensor<2x4x!a>) -> tensor<4x5x!a>
  // CHECK-NEXT: qnn.pad %x {low = [0, 0], high = [0, 0], value = -128} :
  %2 = qnn.pad %x {low = [0, 0], high = [0, 0], value = -128} : (tensor<2x4x!a>) -> tensor<2x4x!a>
  // CHECK-NEXT: qnn.reshape %x :
  %3 = qnn.reshape %x : (tensor<2x4x!a>) -> tensor<8x1x!a>
  // CHECK-NEXT: qnn.reshape %r : (tensor<2x4xf32>) -> tensor<8xf32>
  %4 = qnn.reshape %r : (tensor<2x4xf32>) -> tensor<8xf32>
  // CHECK-NEXT: qnn.transpose %x {perm = [1, 0]} :
  %5 = qnn.transpose %x {perm = [1, 0]} : (tensor<2x4x!a>) -> tensor<4x2x!a>
  // CHECK-NEXT: qnn.transpose %r {perm = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %6 = qnn.transpose %r {perm = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: qnn.concat %r, %r {axis = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %14 = qnn.concat %r, %r {axis = 0} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: qnn.slice %x {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]} :
  %7 = qnn.slice %x {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]} : (tensor<2x4x!a>) -> tensor<2x2x!a>
  // CHECK-NEXT: %{{.*}}, %{{.*}} = qnn.split %x {axis = 1} : (tensor<2x4x!quant.uniform<i8:f32, 5.000000e-01:-3>>) -> (tensor<2x2x!quant.uniform<i8:f32, 5.000000e-01:-3>>, tensor<2x2x!quant.uniform<i8:f32, 5.000000e-01:-3>>)
  %8, %9 = qnn.split %x {axis = 1} : (tensor<2x4x!a>) -> (tensor<2x2x!a>, tensor<2x2x!a>)
  // CHECK-NEXT: qnn.resize %i {mode = "nearest", align_corners = true} :
  %10 = qnn.resize %i {mode = "nearest", align_corners = true} : (tensor<1x2x2x3x!a>) -> tensor<1x5x3x3x!a>
  // CHECK-NEXT: qnn.resize %i {mode = "bilinear", half_pixel_centers = true} :
  %11 = qnn.resize %i {mode = "bilinear", half_pixel_centers = true} : (tensor<1x2x2x3x!a>) -> tensor<1x4x4x3x!a>
  // CHECK-NEXT: qnn.arg_max %x {axis = 1} :
  %12 = qnn.arg_max %x {axis = 1} : (tensor<2x4x!a>) -> tensor<2xi32>
  // CHECK-NEXT: qnn.arg_max %x {axis = 0} :
  %13 = qnn.arg_max %x {axis = 0} : (tensor<2x4x!a>) -> tensor<4xi64>
  return
}

// CHECK-LABEL: func.func @words
func.func @words(%x: tensor<5x8x!words>, %w: tensor<2x8x!w>, %b: tensor<2xi64>, %narrow: tensor<2xi32>) -> tensor<5x2x!words> {
  // CHECK-NEXT: qnn.linear %x, %w, %b : (tensor<5x8x!quant.uniform<i16:f32, 2.500000e-01>>, {{.*}}, tensor<2xi64>) -> tensor<5x2x!quant.uniform<i16:f32, 2.500000e-01>>
  %y = qnn.linear %x, %w, %b : (tensor<5x8x!words>, tensor<2x8x!w>, tensor<2xi64>) -> tensor<5x2x!words>
  // CHECK-NEXT: qnn.linear %x, %w, %{{.*}} : ({{.*}}, tensor<2xi32>) ->
  %v = qnn.linear %x, %w, %narrow : (tensor<5x8x!words>, tensor<2x8x!w>, tensor<2xi32>) -> tensor<5x2x!words>
  // CHECK-NEXT: qnn.add %y, %v :
  %z = qnn.add %y, %v : (tensor<5x2x!words>, tensor<5x2x!words>) -> tensor<5x2x!words>
  return %z : tensor<5x2x!words>
}

// CHECK-LABEL: func.func @word_weights
func.func @word_weights(%x: tensor<1x4x4x2x!words>, %w: tensor<2x1x1x2x!words>, %d: tensor<1x1x1x2x!words>, %r: tensor<5x8x!words>, %m: tensor<2x8x!words>) {
  // CHECK-NEXT: qnn.conv2d %x, %w {{{.*}}} : ({{.*}}, tensor<2x1x1x2x!quant.uniform<i16:f32, 2.500000e-01>>) ->
  %y = qnn.conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x4x4x2x!words>, tensor<2x1x1x2x!words>) -> tensor<1x4x4x2x!words>
  // CHECK-NEXT: qnn.depthwise_conv2d %x, %d {{{.*}}} : ({{.*}}, tensor<1x1x1x2x!quant.uniform<i16:f32, 2.500000e-01>>) ->
  %z = qnn.depthwise_conv2d %x, %d {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x4x4x2x!words>, tensor<1x1x1x2x!words>) -> tensor<1x4x4x2x!words>
  // CHECK-NEXT: qnn.linear %r, %m : ({{.*}}, tensor<2x8x!quant.uniform<i16:f32, 2.500000e-01>>) ->
  %u = qnn.linear %r, %m : (tensor<5x8x!words>, tensor<2x8x!words>) -> tensor<5x2x!words>
  return
}

// CHECK-LABEL: func.func @recurrent
func.func @recurrent(%x: tensor<1x6x8x!a>, %h: tensor<1x1x!a>, %c: tensor<1x1x!words>, %w: tensor<4x8x!a>, %r: tensor<4x1x!a>, %b: tensor<4xi32>) {
  // CHECK-NEXT: %{{.*}}, %{{.*}}, %{{.*}} = qnn.lstm %x, %h, %c, %w, %r, %b {cell_clip = 1.000000e+01 : f32} :
  %0:3 = qnn.lstm %x, %h, %c, %w, %r, %b {cell_clip = 10.0} : (tensor<1x6x8x!a>, tensor<1x1x!a>, tensor<1x1x!words>, tensor<4x8x!a>, tensor<4x1x!a>, tensor<4xi32>) -> (tensor<1x6x1x!a>, tensor<1x1x!a>, tensor<1x1x!words>)
  return
}

// CHECK-LABEL: func.func @separated
func.func @separated(%x: tensor<1x8x!a>, %s: tensor<1x4x5x!words>, %w: tensor<4x8x!a>, %t: tensor<4x5x!words>, %b: tensor<2xi32>) {
  // CHECK-NEXT: %{{.*}}, %{{.*}} = qnn.svdf %x, %s, %w, %t, %b :
  %0:2 = qnn.svdf %x, %s, %w, %t, %b : (tensor<1x8x!a>, tensor<1x4x5x!words>, tensor<4x8x!a>, tensor<4x5x!words>, tensor<2xi32>) -> (tensor<1x2x!a>, tensor<1x4x5x!words>)
  return
}

// CHECK-LABEL: func.func @real
func.func @real(%x: tensor<1x5x6x2xf32>, %w: tensor<2x3x3x1xf32>, %d: tensor<1x3x3x4xf32>, %b: tensor<2xf32>, %r: tensor<3x4x2xf32>, %m: tensor<5x2xf32>, %n: tensor<2x7xf32>) {
  // CHECK-NEXT: qnn.real_conv2d %x, %w, %b {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu6", contract = "tflite", groups = 2} : (tensor<1x5x6x2xf32>, tensor<2x3x3x1xf32>, tensor<2xf32>) -> tensor<1x2x3x2xf32>
  %c = qnn.real_conv2d %x, %w, %b {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu6", contract = "tflite", groups = 2}
     : (tensor<1x5x6x2xf32>, tensor<2x3x3x1xf32>, tensor<2xf32>) -> tensor<1x2x3x2xf32>
  // CHECK-NEXT: qnn.real_depthwise_conv2d %x, %d {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], fallback = "tflite"} :
  %e = qnn.real_depthwise_conv2d %x, %d {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], fallback = "tflite"}
     : (tensor<1x5x6x2xf32>, tensor<1x3x3x4xf32>) -> tensor<1x3x4x4xf32>
  // CHECK-NEXT: qnn.real_linear %r, %m {fallback = "tflite"} : (tensor<3x4x2xf32>, tensor<5x2xf32>) -> tensor<3x4x5xf32>
  %l = qnn.real_linear %r, %m {fallback = "tflite"} : (tensor<3x4x2xf32>, tensor<5x2xf32>) -> tensor<3x4x5xf32>
  // CHECK-NEXT: qnn.real_matmul %r, %n : (tensor<3x4x2xf32>, tensor<2x7xf32>) -> tensor<3x4x7xf32>
  %p = qnn.real_matmul %r, %n : (tensor<3x4x2xf32>, tensor<2x7xf32>) -> tensor<3x4x7xf32>
  // CHECK-NEXT: qnn.real_matmul %r, %n, %p {computed_weights = true} :
  %q = qnn.real_matmul %r, %n, %p {computed_weights = true} : (tensor<3x4x2xf32>, tensor<2x7xf32>, tensor<3x4x7xf32>) -> tensor<3x4x7xf32>
  // CHECK-NEXT: qnn.real_linear %r, %m {fallback = "onnxruntime", narrow_weights = true} :
  %u = qnn.real_linear %r, %m {fallback = "onnxruntime", narrow_weights = true} : (tensor<3x4x2xf32>, tensor<5x2xf32>) -> tensor<3x4x5xf32>
  // CHECK-NEXT: qnn.real_matmul %r, %n {fallback = "onnxruntime", scaled = true} :
  %t = qnn.real_matmul %r, %n {fallback = "onnxruntime", scaled = true} : (tensor<3x4x2xf32>, tensor<2x7xf32>) -> tensor<3x4x7xf32>
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<1x5x6x2xf32>, %p: tensor<6x1xf32>) {
  // CHECK-NEXT: qnn.real_pool2d %x {stride = [2, 2], pad = [1, 0, 0, 1], function = "average_pool", kernel = [3, 2], dilation = [1, 2], activation = "relu6", contract = "tflite", count_include_pad = true} : (tensor<1x5x6x2xf32>) -> tensor<1x2x3x2xf32>
  %a = qnn.real_pool2d %x {stride = [2, 2], pad = [1, 0, 0, 1], function = "average_pool", kernel = [3, 2], dilation = [1, 2], activation = "relu6", contract = "tflite", count_include_pad = true}
     : (tensor<1x5x6x2xf32>) -> tensor<1x2x3x2xf32>
  // CHECK-NEXT: qnn.real_reduce %x {function = "global_average", axes = [1, 2], fallback = "onnxruntime", keep_dims = true} : (tensor<1x5x6x2xf32>) -> tensor<1x1x1x2xf32>
  %r = qnn.real_reduce %x {function = "global_average", axes = [1, 2], fallback = "onnxruntime", keep_dims = true}
     : (tensor<1x5x6x2xf32>) -> tensor<1x1x1x2xf32>
  // CHECK-NEXT: qnn.real_normalize %x, %p, %p {function = "layer_norm", axis = 2, epsilon = 1.000000e-03 : f32, fallback = "onnxruntime"} : (tensor<1x5x6x2xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<1x5x6x2xf32>
  %n = qnn.real_normalize %x, %p, %p {function = "layer_norm", axis = 2, epsilon = 1.0e-03, fallback = "onnxruntime"}
     : (tensor<1x5x6x2xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<1x5x6x2xf32>
  // CHECK-NEXT: qnn.real_normalize %x, %p {function = "rms_norm", axis = 2, epsilon = 1.000000e-03 : f32} : (tensor<1x5x6x2xf32>, tensor<6x1xf32>) -> tensor<1x5x6x2xf32>
  %o = qnn.real_normalize %x, %p {function = "rms_norm", axis = 2, epsilon = 1.0e-03}
     : (tensor<1x5x6x2xf32>, tensor<6x1xf32>) -> tensor<1x5x6x2xf32>
  // CHECK-NEXT: qnn.real_normalize %x, %p, %p {function = "instance_norm", axis = 2, epsilon = 1.000000e-03 : f32, contract = "onnxruntime"} :
  %i = qnn.real_normalize %x, %p, %p {function = "instance_norm", axis = 2, epsilon = 1.0e-03, contract = "onnxruntime"}
     : (tensor<1x5x6x2xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<1x5x6x2xf32>
  // CHECK-NEXT: qnn.real_normalize %x, %p, %p {function = "group_norm", axis = 1} :
  %g = qnn.real_normalize %x, %p, %p {function = "group_norm", axis = 1}
     : (tensor<1x5x6x2xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<1x5x6x2xf32>
  // CHECK-NEXT: qnn.real_normalize %x {function = "softmax", axis = 3, beta = 2.000000e+00 : f32} :
  %s = qnn.real_normalize %x {function = "softmax", axis = 3, beta = 2.0}
     : (tensor<1x5x6x2xf32>) -> tensor<1x5x6x2xf32>
  return
}

!h = !quant.uniform<i8:f32, 0.25>

// CHECK-LABEL: func.func @hybrid
func.func @hybrid(%x: tensor<1x5x6x2xf32>, %w: tensor<2x3x3x1x!h>, %d: tensor<1x3x3x4x!h>, %b: tensor<2xf32>, %r: tensor<3x2xf32>, %m: tensor<5x2x!h>) {
  // CHECK-NEXT: qnn.hybrid_conv2d %x, %w, %b {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu6", groups = 2, symmetric = true} : (tensor<1x5x6x2xf32>, tensor<2x3x3x1x!quant.uniform<i8:f32, 2.500000e-01>>, tensor<2xf32>) -> tensor<1x2x3x2xf32>
  %c = qnn.hybrid_conv2d %x, %w, %b {stride = [2, 2], pad = [0, 1, 0, 1], dilation = [1, 1], activation = "relu6", groups = 2, symmetric = true}
     : (tensor<1x5x6x2xf32>, tensor<2x3x3x1x!h>, tensor<2xf32>) -> tensor<1x2x3x2xf32>
  // CHECK-NEXT: qnn.hybrid_depthwise_conv2d %x, %d {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], fallback = "tflite"} :
  %e = qnn.hybrid_depthwise_conv2d %x, %d {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1], fallback = "tflite"}
     : (tensor<1x5x6x2xf32>, tensor<1x3x3x4x!h>) -> tensor<1x3x4x4xf32>
  // CHECK-NEXT: qnn.hybrid_linear %r, %m :
  %l = qnn.hybrid_linear %r, %m : (tensor<3x2xf32>, tensor<5x2x!h>) -> tensor<3x5xf32>
  return
}

!codes = !quant.uniform<u8:f32, 1.0>

// CHECK-LABEL: func.func @scales_of_run_time
func.func @scales_of_run_time(%x: tensor<2x4xf32>, %w: tensor<2x4xi32>, %s: tensor<f32>, %t: tensor<4xf32>, %z: tensor<i32>) {
  // CHECK-NEXT: qnn.quantize_with %x, %t, %z {contract = "onnx-reference", half_scales = true} : (tensor<2x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2x4x!quant.uniform<u8:f32, 1.000000e+00>>
  %q = qnn.quantize_with %x, %t, %z {contract = "onnx-reference", half_scales = true} : (tensor<2x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2x4x!codes>
  // CHECK-NEXT: qnn.dequantize_with %w, %s, %z : (tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32>
  %d = qnn.dequantize_with %w, %s, %z : (tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> tensor<2x4xf32>
  // CHECK-NEXT: qnn.requantize_with %w, %s, %t, %s, %z {layer = "conv2d"} :
  %r = qnn.requantize_with %w, %s, %t, %s, %z {layer = "conv2d"} : (tensor<2x4xi32>, tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<2x4x!codes>
  return
}
