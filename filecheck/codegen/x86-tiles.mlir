// RUN: %qlower inspect %s --at asm --target x86_64-linux-gnu --cpu sapphirerapids | %filecheck %s --check-prefix=TILES
// RUN: %qlower inspect %s --at asm --target x86_64-linux-gnu --cpu sapphirerapids --features=-amx-int8 | %filecheck %s --check-prefix=VECTORS

!in = !quant.uniform<i8:f32, 7.812500e-03:-128>
!w = !quant.uniform<i8<-127:127>:f32, 3.906250e-03>
!out = !quant.uniform<i8:f32, 1.562500e-02:3>
module attributes {qnn.contract = "tflite-single"} {
  func.func @main(%image: tensor<1x4x32x64x!in>) -> tensor<1x4x32x64x!out> {
    %w = qnn.constant dense<-7> : tensor<64x1x1x64xi8> -> tensor<64x1x1x64x!w>
    %b = arith.constant dense<5> : tensor<64xi32>
    %y = qnn.conv2d %image, %w, %b
      {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
      : (tensor<1x4x32x64x!in>, tensor<64x1x1x64x!w>, tensor<64xi32>)
      -> tensor<1x4x32x64x!out>
    return %y : tensor<1x4x32x64x!out>
  }
}

// Two registers of pixels times two of channels, twice, start from what is known of the
// weights and go through memory; 64 channels of a pixel make a vector of bytes, and what
// doesn't depend on pixels is loaded once for all of them.

// TILES: ldtilecfg
// TILES-COUNT-8: tileloadd
// TILES: tdpbssd %tmm6, %tmm4, %tmm0
// TILES: tdpbssd %tmm7, %tmm5, %tmm3
// TILES-COUNT-4: tilestored
// TILES-COUNT-8: tileloadd
// TILES-COUNT-4: tdpbssd
// TILES-COUNT-4: tilestored
// TILES: vpacksswb %zmm
// TILES: vmovdqu64 %zmm{{[0-9]+}}, (
// TILES: tilerelease

// VECTORS-NOT: tile
// VECTORS: vpdpbusd
