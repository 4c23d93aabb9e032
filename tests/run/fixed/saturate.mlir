// Both ends of signed and unsigned bytes.
// INPUT: -2147483648 -129 -128 -1 0 1 127 128 255 2147483647
// EXPECT: -128 -128 -128 -1 0 1 127 127 127 127
func.func @main(%x0: tensor<10xi32>) -> tensor<10xi8> {
  %empty = tensor.empty() : tensor<10xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<10xi32>) outs(%empty : tensor<10xi8>) {
  ^bb0(%a0: i32, %_: i8):
    %r = fixed.saturate %a0 : i32 to i8
    linalg.yield %r : i8
  } -> tensor<10xi8>
  return %y : tensor<10xi8>
}
// -----
// INPUT: -2147483648 -129 -128 -1 0 1 127 128 255 2147483647
// EXPECT: 0 0 0 0 0 1 127 -128 -1 -1
func.func @main(%x0: tensor<10xi32>) -> tensor<10xi8> {
  %empty = tensor.empty() : tensor<10xi8>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x0 : tensor<10xi32>) outs(%empty : tensor<10xi8>) {
  ^bb0(%a0: i32, %_: i8):
    %r = fixed.saturate %a0 {unsigned} : i32 to i8
    linalg.yield %r : i8
  } -> tensor<10xi8>
  return %y : tensor<10xi8>
}
