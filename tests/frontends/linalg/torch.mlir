// A linear layer as torch-mlir prints it, with its weights at the end of the file.
#map = affine_map<(d0, d1) -> (d1)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
module attributes {torch.debug_module_name = "Net"} {
  ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
  func.func @forward(%arg0: tensor<1x4xi8>) -> tensor<1x2xi32> attributes {llvm.emit_c_interface} {
    %c0_i32 = arith.constant 0 : i32
    %c7_i32 = arith.constant 7 : i32
    %cst = arith.constant dense_resource<w> : tensor<4x2xi8>
    %cst_0 = arith.constant dense<[5, -6]> : tensor<2xi32>
    %0 = tensor.empty() : tensor<1x2xi32>
    %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<1x2xi32>) -> tensor<1x2xi32>
    %2 = linalg.quantized_matmul ins(%arg0, %cst, %c7_i32, %c0_i32 : tensor<1x4xi8>, tensor<4x2xi8>, i32, i32) outs(%1 : tensor<1x2xi32>) -> tensor<1x2xi32>
    %3 = linalg.generic {indexing_maps = [#map1, #map, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %cst_0 : tensor<1x2xi32>, tensor<2xi32>) outs(%0 : tensor<1x2xi32>) {
    ^bb0(%in: i32, %in_1: i32, %out: i32):
      %4 = arith.addi %in, %in_1 : i32
      linalg.yield %4 : i32
    } -> tensor<1x2xi32>
    return %3 : tensor<1x2xi32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x010000000102030405060708"
    }
  }
#-}
