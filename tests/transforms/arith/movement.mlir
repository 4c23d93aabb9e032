// Concatenation, strided slices with and without unit axes, padding, reshapes.
func.func @main(%a: tensor<2x3xi8>, %b: tensor<2x5xi8>) -> (tensor<2x8xi8>, tensor<3xi8>, tensor<4x4xi8>, tensor<2x8xi8>, tensor<2x3xi8>) {
  %empty = tensor.empty() : tensor<2x8xi8>
  %first = tensor.insert_slice %a into %empty[0, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<2x8xi8>
  %both = tensor.insert_slice %b into %first[0, 3] [2, 5] [1, 1] : tensor<2x5xi8> into tensor<2x8xi8>
  %row = tensor.extract_slice %both[1, 1] [1, 3] [1, 2] : tensor<2x8xi8> to tensor<3xi8>
  %over = tensor.insert_slice %row into %both[0, 2] [1, 3] [1, 2] : tensor<3xi8> into tensor<2x8xi8>
  %square = tensor.expand_shape %a [[0], [1, 2]] output_shape [2, 3, 1] : tensor<2x3xi8> into tensor<2x3x1xi8>
  %flat = tensor.collapse_shape %square [[0, 1, 2]] : tensor<2x3x1xi8> into tensor<6xi8>
  %pair = tensor.expand_shape %flat [[0, 1]] output_shape [3, 2] : tensor<6xi8> into tensor<3x2xi8>
  %padded = tensor.pad %pair low[1, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    %value = arith.constant 7 : i8
    tensor.yield %value : i8
  } : tensor<3x2xi8> to tensor<4x4xi8>
  return %both, %row, %padded, %over, %a : tensor<2x8xi8>, tensor<3xi8>, tensor<4x4xi8>, tensor<2x8xi8>, tensor<2x3xi8>
}
