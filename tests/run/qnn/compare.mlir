// CONTRACTS: tflite
// INPUT: -128 -97 -66 -35 -4 27 58 -3
// INPUT: -13 27 58 4
// EXPECT tflite: 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 1 1 1 1
!a = !quant.uniform<i8:f32, 0.05:-3>
!b = !quant.uniform<i8:f32, 0.025:4>
func.func @main(%x: tensor<2x4x!a>, %y: tensor<4x!b>) -> (tensor<2x4xi1>, tensor<2x4xi1>, tensor<2x4xi1>) {
  %0 = qnn.compare %x, %y {predicate = "lt"} : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4xi1>
  %1 = qnn.compare %x, %y {predicate = "eq"} : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4xi1>
  %2 = qnn.compare %x, %y {predicate = "ge"} : (tensor<2x4x!a>, tensor<4x!b>) -> tensor<2x4xi1>
  return %0, %1, %2 : tensor<2x4xi1>, tensor<2x4xi1>, tensor<2x4xi1>
}
