func.func @main(%x: tensor<2x6xi32>, %y: tensor<2x6xi32>, %p: tensor<2x6xi1>, %q: tensor<2x6xi1>) -> (tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi32>, tensor<2x6xi8>, tensor<2x1xi1>, tensor<1x6xi1>) {
  %0 = tosa.equal %x, %y : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
  %1 = tosa.greater %x, %y : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
  %2 = tosa.greater_equal %x, %y : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
  %3 = tosa.logical_and %p, %q : (tensor<2x6xi1>, tensor<2x6xi1>) -> tensor<2x6xi1>
  %4 = tosa.logical_or %p, %q : (tensor<2x6xi1>, tensor<2x6xi1>) -> tensor<2x6xi1>
  %5 = tosa.logical_xor %p, %q : (tensor<2x6xi1>, tensor<2x6xi1>) -> tensor<2x6xi1>
  %6 = tosa.logical_not %p : (tensor<2x6xi1>) -> tensor<2x6xi1>
  %7 = tosa.select %p, %x, %y : (tensor<2x6xi1>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi32>
  %8 = tosa.cast %p : (tensor<2x6xi1>) -> tensor<2x6xi8>
  %9 = tosa.reduce_all %p {axis = 1 : i32} : (tensor<2x6xi1>) -> tensor<2x1xi1>
  %10 = tosa.reduce_any %p {axis = 0 : i32} : (tensor<2x6xi1>) -> tensor<1x6xi1>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi1>, tensor<2x6xi32>, tensor<2x6xi8>, tensor<2x1xi1>, tensor<1x6xi1>
}
