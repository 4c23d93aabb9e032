// Real operations between upstream's casts: by the contract's rules of quantizing, and one
// rounding for each sum and product.
!x = !quant.uniform<i8:f32, 0.05:3>
!y = !quant.uniform<u8:f32, 0.1:128>
#loops = affine_map<(d0, d1) -> (d0, d1)>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<2x4x!x>) -> (tensor<2x3x!y>, tensor<2x3xi8>) {
    %weight = arith.constant dense<[[0.5, -1.25, 3.0], [0.125, 2.0, 1.0], [1.5, 0.25, -0.75], [1.0, 1.0, 1.0]]> : tensor<4x3xf32>
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<2x3xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x3xf32>) -> tensor<2x3xf32>
    %real = quant.dcast %x : tensor<2x4x!x> to tensor<2x4xf32>
    %product = linalg.matmul ins(%real, %weight : tensor<2x4xf32>, tensor<4x3xf32>) outs(%init : tensor<2x3xf32>) -> tensor<2x3xf32>
    %relu = linalg.max ins(%product, %init : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) -> tensor<2x3xf32>
    %stored = quant.qcast %relu : tensor<2x3xf32> to tensor<2x3x!y>
    %bytes = tensor.empty() : tensor<2x3xi8>
    %unsigned = linalg.generic {indexing_maps = [#loops, #loops], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<2x3xf32>) outs(%bytes : tensor<2x3xi8>) {
    ^bb0(%number: f32, %out: i8):
      %byte = arith.fptoui %number : f32 to i8
      linalg.yield %byte : i8
    } -> tensor<2x3xi8>
    return %stored, %unsigned : tensor<2x3x!y>, tensor<2x3xi8>
  }
}
