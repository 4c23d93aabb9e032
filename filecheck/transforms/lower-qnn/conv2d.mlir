// RUN: %qopt %s -p 'lower-qnn{contract=tflite},canonicalize,cse,dce' | %filecheck %s

!in  = !quant.uniform<i8:f32, 0.5:-128>
!w   = !quant.uniform<i8<-127:127>:f32:0, {0.25,0.125}>
!out = !quant.uniform<i8:f32, 1.0:3>

// Padded by the zero point; sums start at the bias; each channel has its multiplier.
// 0.5 * 0.25 / 1 is 2^30 * 2^(-2 - 31), 0.5 * 0.125 / 1 is 2^30 * 2^(-3 - 31).

// CHECK-LABEL: func.func @conv2d
// CHECK-SAME: (%x: tensor<1x3x3x1xi8> {qnn.type = !quant.uniform<i8:f32, 5.000000e-01:-128>})
// CHECK-SAME: -> (tensor<1x2x2x2xi8> {qnn.type = !quant.uniform<i8:f32, 1.000000e+00:3>})
func.func @conv2d(%x: tensor<1x3x3x1x!in>) -> tensor<1x2x2x2x!out> {
  %w = qnn.constant dense<[[[[1]]], [[[2]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[7, -7]> : tensor<2xi32>
  // CHECK: tensor.pad %x low[0, 1, 0, 0] high[0, 0, 1, 0]
  // CHECK: arith.constant -128 : i8
  // CHECK: tensor<1x3x3x1xi8> to tensor<1x4x4x1xi8>

  // The bias, for every pixel.
  // CHECK: [[BIAS:%.*]] = linalg.generic
  // CHECK-SAME: affine_map<(d0, d1, d2, d3) -> (d3)>

  // The exact sum: (x - -128) * w, weights being symmetric.
  // CHECK: [[SUM:%.*]] = linalg.generic
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), ((d2 * 2) + d5), d6)>
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
  // CHECK-SAME: outs([[BIAS]] : tensor<1x2x2x2xi32>)
  // CHECK: [[X:%.*]] = arith.extsi {{%.*}} : i8 to i32
  // CHECK: [[W:%.*]] = arith.extsi {{%.*}} : i8 to i32
  // CHECK: [[XC:%.*]] = arith.subi [[X]], {{%.*}} : i32
  // CHECK: [[P:%.*]] = arith.muli [[XC]], [[W]] : i32
  // CHECK: arith.addi {{%.*}}, [[P]] : i32

  // The rule, inlined: what depends on scales alone is a number by now.
  // CHECK: linalg.generic
  // CHECK-SAME: ins([[SUM]], {{%.*}} : tensor<1x2x2x2xi32>, tensor<2xi32>)
  // CHECK: [[P64:%.*]] = arith.muli {{%.*}}, {{%.*}} : i64
  // CHECK: [[HIGH64:%.*]] = fixed.shift_right [[P64]], {{%.*}} {rounding = half_up} : i64
  // CHECK: [[HIGH:%.*]] = fixed.saturate [[HIGH64]] : i64 to i32
  // CHECK: fixed.shift_right [[HIGH]], {{%.*}} {rounding = half_away} : i32
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: [[Q:%.*]] = fixed.saturate {{%.*}} : i32 to i8
  // CHECK: linalg.yield [[Q]] : i8
  // CHECK-NOT: qnn.conv2d
  %y = qnn.conv2d %x, %w, %b {stride = [2, 2], pad = [1, 0, 0, 1], dilation = [1, 1]}
    : (tensor<1x3x3x1x!in>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!out>
  return %y : tensor<1x2x2x2x!out>
}
