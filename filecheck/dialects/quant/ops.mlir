// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, tensor<4xi8>, i8) {
  // CHECK-NEXT: quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>>
  %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:-3>>
  // CHECK-NEXT: quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>> to tensor<4xf32>
  %d = quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 0.5:-3>> to tensor<4xf32>
  // CHECK-NEXT: quant.scast %q : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:-3>> to tensor<4xi8>
  %i = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 0.5:-3>> to tensor<4xi8>
  // CHECK-NEXT: quant.qcast %s : f32 to !quant.uniform<u8:f32, 1.000000e-01>
  %sq = quant.qcast %s : f32 to !quant.uniform<u8:f32, 0.1>
  // CHECK-NEXT: quant.scast %sq {note = "kept"} : !quant.uniform<u8:f32, 1.000000e-01> to i8
  %si = quant.scast %sq {note = "kept"} : !quant.uniform<u8:f32, 0.1> to i8
  return %d, %i, %si : tensor<4xf32>, tensor<4xi8>, i8
}

// A scale for each index of the axis; dynamic dimensions may have any.
// CHECK-LABEL: func.func @per_axis
func.func @per_axis(%x: tensor<3x2xf32>, %y: tensor<?x?xf32>) -> tensor<3x2xi8> {
  // CHECK-NEXT: tensor<3x2x!quant.uniform<i8<-127:127>:f32:1, {1.000000e-01,2.000000e-01:3}>>
  %q = quant.qcast %x : tensor<3x2xf32> to tensor<3x2x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3}>>
  // CHECK-NEXT: tensor<?x?x!quant.uniform<i8:f32:1, {1.000000e-01,2.000000e-01}>>
  %r = quant.qcast %y : tensor<?x?xf32> to tensor<?x?x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  %i = quant.scast %q : tensor<3x2x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3}>> to tensor<3x2xi8>
  return %i : tensor<3x2xi8>
}
