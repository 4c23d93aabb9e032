// RUN: %qlower inspect %s --at asm --target thumbv7em-none-eabi --contract gemmlowp | %filecheck %s --check-prefix=INTEGER
// RUN: %qlower inspect %s --at asm --target thumbv7em-none-eabi --cpu cortex-m4 --contract gemmlowp | %filecheck %s --check-prefix=FLOATS
// RUN: %qlower inspect %s --at asm --target wasm32-unknown-unknown --features +simd128 --contract tflite-xnnpack | %filecheck %s --check-prefix=WASM
// RUN: %qlower inspect %s --at asm --target riscv64-linux-gnu --contract tflite-single | %filecheck %s --check-prefix=RISCV

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

// Two roundings are proved to be the upper word of a product and an offset, with a unit for
// floats or without. A routine of machine code makes products of halves.
// INTEGER: sxtb16 {{.*}}, ror #8
// INTEGER: bl _sums_of_two_rows
// INTEGER-NOT: __aeabi
// INTEGER: smlal
// INTEGER: ssat {{r[0-9]+|lr}}, #8,

// FLOATS-NOT: {{vmul|vcvt|__aeabi}}
// FLOATS: smlal
// FLOATS-NOT: {{vmul|vcvt|__aeabi}}
// FLOATS: ssat {{r[0-9]+|lr}}, #8,

// A sum with 2^23 + 2^22 rounds to the nearest: 0x1.8p23, whose bits are subtracted again.
// WASM: i32x4.dot_i16x8_s
// WASM: f32x4.mul
// WASM: v128.const 0x1.8p23
// WASM: f32x4.add
// WASM-NOT: trunc_sat
// WASM: i8x16.narrow_i16x8_s

// RISCV: fmadd.s
// RISCV-NEXT: fcvt.l.s
