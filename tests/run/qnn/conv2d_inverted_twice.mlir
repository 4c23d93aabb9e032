// CONTRACTS: openvino
// INPUT: -16 -29 -68 61 -114 -24 76 32 33
// EXPECT openvino: -128 -128 -128 18 -128 -128 -128 -128 -128 31 -128 -128 -102 -128 -128 70 -128 -128 -128 -128 -75 -59 -128 -128 -56 -114 -128 116 -128 -112 -128 -128 -128 26 -128 -128 -128 -128 -60 -74 -121 -128 -128 -128 -104 -30 -128 -128 -128 -128 -103 -31 -128 -128
// Near ties of OpenVINO's own: with a ReLU's zero point its scale is inverted twice, without which
// 31, -102, -75 and -114 would be one less.
!x = !quant.uniform<i8:f32, 0.0825965628027916:19>
!y = !quant.uniform<i8:f32, 0.14808470010757446:-128>
!w = !quant.uniform<i8:f32:0, {1.7928675413131714,0.44821691513061523,0.8964337706565857,0.8964337706565857,0.44821691513061523,0.44821691513061523}>
func.func @main(%x: tensor<1x3x3x1x!x>) -> tensor<1x3x3x6x!y> {
  %w = qnn.constant dense<"0xFFFE02FE02FE"> : tensor<6x1x1x1xi8> -> tensor<6x1x1x1x!w>
  %b = arith.constant dense<"0x21B711C1D326FBC09D06C73F29E88241D58050C07FEFECC0"> : tensor<6xf32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x3x3x1x!x>, tensor<6x1x1x1x!w>, tensor<6xf32>) -> tensor<1x3x3x6x!y>
  return %y : tensor<1x3x3x6x!y>
}
