// CONTRACTS: exact onnxruntime
// INPUT: 0 255 128 3 77 200 129 130
// INPUT: 1.5 -2 0.1 1e10 3
// EXPECT exact: -128 127 -9.600000381469727 -12.699999809265137 0 0 -18.75 -3.8249998092651367 -7.200000286102295 0 5 0.30000001192092896
// EXPECT onnxruntime: -128 127 -9.600000381469727 -12.699999809265137 0 0 -18.75 -3.8249998092651367 -7.200000286102295 0 5 0.30000001192092896
!a = !quant.uniform<u8:f32, 0.05:128>
!y = !quant.uniform<i8:f32, 0.3:-3>
// In float32 the order of a sum shows: 1e10 swallows what came before it.
func.func @main(%x: tensor<2x4x!a>, %w: tensor<5xf32>) -> (tensor<2x!y>, tensor<2x5xf32>) {
  %real = qnn.dequantize %x : (tensor<2x4x!a>) -> tensor<2x4xf32>
  %left, %right = qnn.split %real {axis = 1} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %wider = qnn.pad %right {low = [0, 1], high = [0, 0]} : (tensor<2x2xf32>) -> tensor<2x3xf32>
  %joined = qnn.concat %left, %wider {axis = 1} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x5xf32>
  %empty = tensor.empty() : tensor<2x5xf32>
  %scaled = linalg.generic {
    indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, c)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%joined, %w : tensor<2x5xf32>, tensor<5xf32>) outs(%empty : tensor<2x5xf32>) {
  ^bb0(%a: f32, %b: f32, %_: f32):
    %product = arith.mulf %a, %b : f32
    %most = arith.constant 5.0 : f32
    %bounded = arith.minimumf %product, %most : f32
    linalg.yield %bounded : f32
  } -> tensor<2x5xf32>
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<2xf32>
  %start = linalg.fill ins(%zero : f32) outs(%rows : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.generic {
    indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%scaled, %w : tensor<2x5xf32>, tensor<5xf32>) outs(%start : tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32, %before: f32):
    %next = math.fma %a, %b, %before : f32
    linalg.yield %next : f32
  } -> tensor<2xf32>
  %y = qnn.quantize %sum : (tensor<2xf32>) -> tensor<2x!y>
  return %y, %scaled : tensor<2x!y>, tensor<2x5xf32>
}
