// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi cpu=cortex-m4 optimize=ram},split-layers' | %filecheck %s
// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi cpu=cortex-m4},split-layers' | %filecheck %s --check-prefix=WHOLE

// A layer with 32 channels for each pixel, and a maximum of 3 rows by 2 columns, whose
// border is padded: of the large result, only the rows that a band needs are there. Of
// the first band, the row above is border; a row that two bands need is computed twice.
// CHECK-LABEL: func.func @main
// CHECK: [[WIDE:%.*]] = kernel.nest map parallel [1, 2, 4, 32] maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
// CHECK: [[PADDED:%.*]] = kernel.copy [[WIDE]][0, 0, 0, 0] [1, 2, 4, 32] [1, 1, 1, 1] into fill(-128 : i8)[0, 1, 0, 0] {{.*}} into tensor<1x3x4x32xi8>
// CHECK: [[BAND:%.*]] = kernel.nest window parallel [1, 1, 2, 32] reduction [3, 2] {{.*}} ins([[PADDED]] : tensor<1x3x4x32xi8>)
// CHECK: [[JOINED:%.*]] = kernel.copy [[BAND]][0, 0, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1] into empty[0, 0, 0, 0]
// CHECK: [[NEXT:%.*]] = kernel.nest map parallel [1, 3, 4, 32] maps [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + 1), d2, 0)>
// CHECK: kernel.copy [[NEXT]][0, 0, 0, 0] [1, 3, 4, 32] [1, 1, 1, 1] into fill(-128 : i8)[0, 0, 0, 0] {{.*}} into tensor<1x3x4x32xi8>
// CHECK: into [[JOINED]][0, 1, 0, 0]
// WHOLE: kernel.nest map parallel [1, 32, 4, 32]
// WHOLE: kernel.nest window parallel [1, 16, 2, 32]
func.func @main(%x: tensor<1x32x4x1xi8>) -> tensor<1x16x2x32xi8> {
  %wide = kernel.nest map parallel [1, 32, 4, 32] maps [affine_map<(n, y, x, c) -> (n, y, x, 0)>, affine_map<(n, y, x, c) -> (n, y, x, c)>] ins(%x : tensor<1x32x4x1xi8>) epilogue {
  ^bb0(%v: i8):
    kernel.yield %v : i8
  } -> tensor<1x32x4x32xi8>
  %padded = kernel.copy %wide[0, 0, 0, 0] [1, 32, 4, 32] [1, 1, 1, 1] into fill(-128 : i8)[0, 1, 0, 0] [1, 1, 1, 1] : tensor<1x32x4x32xi8> into tensor<1x33x4x32xi8>
  %y = kernel.nest window parallel [1, 16, 2, 32] reduction [3, 2] maps [affine_map<(n, y, x, c, i, j) -> (n, y * 2 + i, x * 2 + j, c)>, affine_map<(n, y, x, c, i, j) -> (n, y, x, c)>] ins(%padded : tensor<1x33x4x32xi8>) init {
  ^bb0(%v: i8):
    %least = arith.constant -128 : i8
    kernel.yield %least : i8
  } body {
  ^bb0(%v: i8, %most: i8):
    %next = arith.maxsi %most, %v : i8
    kernel.yield %next : i8
  } epilogue {
  ^bb0(%v: i8, %most: i8):
    kernel.yield %most : i8
  } -> tensor<1x16x2x32xi8>
  return %y : tensor<1x16x2x32xi8>
}
