// RUN: %qlower inspect %s --at kernel --target x86_64-linux-gnu --cpu x86-64-v3 | %filecheck %s --check-prefix=PAIRS
// RUN: %qlower inspect %s --at kernel --target x86_64-linux-gnu --cpu cascadelake | %filecheck %s --check-prefix=BYTES
// RUN: %qlower inspect %s --at kernel --target x86_64-linux-gnu --cpu sapphirerapids | %filecheck %s --check-prefix=TILES
// RUN: %qlower inspect %s --at kernel --target aarch64-linux-gnu --cpu neoverse-n1 | %filecheck %s --check-prefix=NEON

!in = !quant.uniform<i8:f32, 7.812500e-03:-128>
!w = !quant.uniform<i8<-127:127>:f32, 3.906250e-03>
!out = !quant.uniform<i8:f32, 1.562500e-02:3>
module attributes {qnn.contract = "tflite-single"} {
  func.func @main(%image: tensor<1x4x32x64x!in>) -> tensor<1x4x32x64x!out> {
    %w = qnn.constant dense<-7> : tensor<64x1x1x64xi8> -> tensor<64x1x1x64x!w>
    %y = qnn.conv2d %image, %w
      {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
      : (tensor<1x4x32x64x!in>, tensor<64x1x1x64x!w>) -> tensor<1x4x32x64x!out>
    return %y : tensor<1x4x32x64x!out>
  }
}

// How a contraction is cut depends on the target, and the kernel level says it: no more
// sums than the target has registers for, and all 64 channels in whole tiles.

// PAIRS: kernel.nest contraction
// PAIRS: schedule #kernel.tile<2, 4>
// BYTES: kernel.nest contraction
// BYTES: schedule #kernel.tile<6, 4>
// TILES: kernel.nest contraction
// TILES: schedule #kernel.tile_registers
// NEON: kernel.nest contraction
// NEON: schedule #kernel.tile<{{[2-9]}}, {{[2-8]}}>
