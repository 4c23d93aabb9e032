// The sum of a channel's weights in float32, as MNN adds it: results next to a tie.
// CONTRACTS: mnn
// INPUT: 57 113 97 2 112
// EXPECT mnn: 53 4 10 -51 -28 59 52 -57 0 -1 22 -47
!a = !quant.uniform<i8:f32, 0.05:3>
!c = !quant.uniform<i8:f32, 0.07:-5>
!w = !quant.uniform<i8<-127:127>:f32, 0.011>
func.func @main(%x: tensor<1x1x1x5x!a>) -> tensor<1x1x1x12x!c> {
  %w = qnn.constant dense<"0x797895F41BC9E1204D15AD2D5FB90BD76790FA65EEA44A767B6EDF3B78136D17AEF71CCE34E971B52A98A305FF00FE5B00DD7562DAB4BAAB06132466"> : tensor<12x1x1x5xi8> -> tensor<12x1x1x5x!w>
  %b = arith.constant dense<[-2.9220499992370605, 1.3029999732971191, -4.852400302886963, -8.466650009155273, -6.609149932861328, -0.8788500428199768, 1.8820502758026123, 0.4815000295639038, 10.230400085449219, -2.170450210571289, -1.4296003580093384, -7.820899963378906]> : tensor<12xf32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]} : (tensor<1x1x1x5x!a>, tensor<12x1x1x5x!w>, tensor<12xf32>) -> tensor<1x1x1x12x!c>
  return %y : tensor<1x1x1x12x!c>
}
