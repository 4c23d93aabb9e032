// RUN: %qlower inspect %s --at asm --target aarch64-linux-gnu --contract gemmlowp | %filecheck %s --check-prefixes=CHECK,DOUBLE
// RUN: %qlower inspect %s --at asm --target aarch64-linux-gnu --contract tflite-single | %filecheck %s --check-prefixes=CHECK,SINGLE

!in = !quant.uniform<i8:f32, 7.812500e-03:-128>
!w = !quant.uniform<i8<-127:127>:f32:0, {3.0e-3, 7.0e-3, 4.0e-3, 5.0e-3, 6.0e-3, 2.0e-3, 1.0e-3, 9.0e-3}>
!out = !quant.uniform<i8:f32, 1.562500e-02:3>
func.func @main(%image: tensor<1x2x2x4x!in>) -> tensor<1x2x2x8x!out> {
  %w = qnn.constant dense<[
    [[[-67, 24, 12, -94]]], [[[-33, 107, 27, -6]]],
    [[[33, 21, -111, 28]]], [[[-124, 105, 87, -7]]],
    [[[-61, 14, -68, -78]]], [[[127, 56, -7, 11]]],
    [[[87, 13, -6, -26]]], [[[36, 93, -89, -68]]]]> : tensor<8x1x1x4xi8> -> tensor<8x1x1x4x!w>
  %b = arith.constant dense<5> : tensor<8xi32>
  %y = qnn.conv2d %image, %w, %b
    {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x2x2x4x!in>, tensor<8x1x1x4x!w>, tensor<8xi32>) -> tensor<1x2x2x8x!out>
  return %y : tensor<1x2x2x8x!out>
}

// CHECK: smlal v{{[0-9]+}}.4s, v{{[0-9]+}}.4h, v{{[0-9]+}}.h[


// gemmlowp rounds twice: the product's upper half, and the shift, whose ties below zero
// are made to go down. Each is one instruction.
// DOUBLE-NOT: {{smull2? v[0-9]+.2d}}
// DOUBLE: sqrdmulh v{{[0-9]+}}.4s
// DOUBLE-NOT: {{smull2? v[0-9]+.2d}}
// DOUBLE: sqadd v{{[0-9]+}}.4s
// DOUBLE: srshl v{{[0-9]+}}.4s

// Rounding once is proved to be one multiply-add here, and a conversion that rounds.
// SINGLE-NOT: {{sqrdmulh|smull v[0-9]+.2d}}
// SINGLE: fmla v{{[0-9]+}}.4s
// SINGLE: fcvtns v{{[0-9]+}}.4s

// The clamp to the range of i8 is what narrowing does.
// CHECK-NOT: {{smax|smin}}
// CHECK: sqxtn v{{[0-9]+}}.4h, v{{[0-9]+}}.4s
// CHECK: sqxtn2 v{{[0-9]+}}.8h, v{{[0-9]+}}.4s
// CHECK: sqxtn v{{[0-9]+}}.8b, v{{[0-9]+}}.8h
