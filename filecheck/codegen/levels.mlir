// RUN: rm -rf %t && %qlower compile %s -o %t --emit asm --target x86_64-linux-gnu --cpu x86-64,x86-64-v3,cascadelake && cat %t/levels.s | %filecheck %s --check-prefix=X86
// RUN: rm -rf %t && %qlower compile %s -o %t --emit asm --target aarch64-linux-gnu --cpu generic,+dotprod && cat %t/levels.s | %filecheck %s --check-prefix=ARM
// RUN: rm -rf %t && %qlower compile %s -o %t --emit asm --target x86_64-linux-gnu --cpu x86-64 && cat %t/levels.s | %filecheck %s --check-prefix=LEAST

// An object of several levels: each has functions of its own, with its own instructions;
// what chooses is code for the least of processors.

!in = !quant.uniform<i8:f32, 7.812500e-03:-128>
!w = !quant.uniform<i8<-127:127>:f32, 3.0e-3>
!out = !quant.uniform<i8:f32, 1.562500e-02:3>
module attributes {qnn.contract = "tflite"} {
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
}

// X86-LABEL: levels_level:
// X86: movl known.level(%rip), %eax
// X86-NOT: {{%[yz]mm}}
// X86: movl %eax, known.level(%rip)
// X86-LABEL: known.level.now:
// X86: callq processor_words
// X86-LABEL: levels_run_checked:
// X86-NOT: {{%[yz]mm}}
// X86-DAG: callq _level_1_qlower_main
// X86-DAG: callq _level_2_qlower_main
// X86-DAG: callq _level_3_qlower_main
// X86-LABEL: _level_1_nest_0_y:
// X86: {{^}}	pmaddwd {{.*}}%xmm
// X86-LABEL: _level_2_nest_0_y:
// X86: vpmaddwd {{.*}}%ymm
// X86-LABEL: _level_3_nest_0_y:
// X86: vpdpbusd {{.*}}%zmm

// ARM-LABEL: processor_words:
// ARM: mov w0, #16
// ARM: bl getauxval
// ARM: mov w0, #26
// ARM: bl getauxval
// ARM-NOT: known.level
// ARM-LABEL: _level_1_nest_0_y:
// ARM-NOT: sdot
// ARM: smlal
// ARM-LABEL: _level_2_nest_0_y:
// ARM: sdot

// All x86-64 processors run the least level: there is nothing to ask.
// LEAST-NOT: processor_words
// LEAST-LABEL: levels_level:
// LEAST-NEXT: movl $1, %eax
// LEAST-NEXT: retq
