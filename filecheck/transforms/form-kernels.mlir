// RUN: %qopt %s -p form-kernels | %filecheck %s

// Padding is a copy into a filled tensor. Bias, reduction and requantization are one nest:
// its dimensions are n, h, w, o and, inside, kh, kw, c.
// CHECK-LABEL: func.func @conv2d
// CHECK-NEXT:    %w = arith.constant
// CHECK-NEXT:    %b = arith.constant
// CHECK-NEXT:    %shift = arith.constant
// CHECK-NEXT:    %padded = kernel.copy %x[0, 0, 0, 0] [1, 4, 4, 1] [1, 1, 1, 1] into fill(-128 : i8)[0, 1, 1, 0] [1, 1, 1, 1] : tensor<1x4x4x1xi8> into tensor<1x6x6x1xi8>
// CHECK-NEXT:    %y = kernel.nest contraction parallel [1, 4, 4, 2] reduction [3, 3, 1]
// CHECK-SAME:      maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3)>,
// CHECK-SAME:            affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, (d1 + d4), (d2 + d5), d6)>,
// CHECK-SAME:            affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>,
// CHECK-SAME:            affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3)>,
// CHECK-SAME:            affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>]
// CHECK-SAME:      ins(%b, %padded, %w, %shift : tensor<2xi32>, tensor<1x6x6x1xi8>, tensor<2x3x3x1xi8>, tensor<2xi32>) init {
// CHECK-NEXT:    ^bb0(%bias: i32, %a: i8, %f: i8, %s: i32):
// CHECK-NEXT:      kernel.yield %bias : i32
// CHECK-NEXT:    } body {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %[[A:.*]]: i8, %[[F:.*]]: i8, %{{.*}}: i32, %[[SUM:.*]]: i32):
// CHECK-NEXT:      %a32 = arith.extsi %[[A]] : i8 to i32
// CHECK-NEXT:      %f32 = arith.extsi %[[F]] : i8 to i32
// CHECK-NEXT:      %zero_point = arith.constant -128 : i32
// CHECK-NEXT:      %centred = arith.subi %a32, %zero_point : i32
// CHECK-NEXT:      %product = arith.muli %centred, %f32 : i32
// CHECK-NEXT:      %next = arith.addi %[[SUM]], %product : i32
// CHECK-NEXT:      kernel.yield %next : i32
// CHECK-NEXT:    } epilogue {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %{{.*}}: i8, %{{.*}}: i8, %[[SHIFT:.*]]: i32, %[[ACC:.*]]: i32):
// CHECK-NEXT:      %r = fixed.shift_right %[[ACC]], %[[SHIFT]] {rounding = half_up} : i32
// CHECK-NEXT:      %q = fixed.saturate %r : i32 to i8
// CHECK-NEXT:      kernel.yield %q : i8
// CHECK-NEXT:    } -> tensor<1x4x4x2xi8>
// CHECK-NEXT:    func.return %y : tensor<1x4x4x2xi8>
func.func @conv2d(%x: tensor<1x4x4x1xi8>) -> tensor<1x4x4x2xi8> {
  %w = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F101112"> : tensor<2x3x3x1xi8>
  %b = arith.constant dense<[7, -7]> : tensor<2xi32>
  %shift = arith.constant dense<[4, 5]> : tensor<2xi32>
  %zero_point = arith.constant -128 : i32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    %pad = arith.constant -128 : i8
    tensor.yield %pad : i8
  } : tensor<1x4x4x1xi8> to tensor<1x6x6x1xi8>
  %empty = tensor.empty() : tensor<1x4x4x2xi32>
  %start = linalg.generic {
    indexing_maps = [affine_map<(n, h, w, o) -> (o)>, affine_map<(n, h, w, o) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%b : tensor<2xi32>) outs(%empty : tensor<1x4x4x2xi32>) {
  ^bb0(%bias: i32, %_: i32):
    linalg.yield %bias : i32
  } -> tensor<1x4x4x2xi32>
  %acc = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, o, kh, kw, c) -> (n, h + kh, w + kw, c)>,
      affine_map<(n, h, w, o, kh, kw, c) -> (o, kh, kw, c)>,
      affine_map<(n, h, w, o, kh, kw, c) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
  } ins(%padded, %w : tensor<1x6x6x1xi8>, tensor<2x3x3x1xi8>) outs(%start : tensor<1x4x4x2xi32>) {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %centred = arith.subi %a32, %zero_point : i32
    %product = arith.muli %centred, %f32 : i32
    %next = arith.addi %sum, %product : i32
    linalg.yield %next : i32
  } -> tensor<1x4x4x2xi32>
  %empty8 = tensor.empty() : tensor<1x4x4x2xi8>
  %y = linalg.generic {
    indexing_maps = [
      affine_map<(n, h, w, o) -> (n, h, w, o)>, affine_map<(n, h, w, o) -> (o)>,
      affine_map<(n, h, w, o) -> (n, h, w, o)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%acc, %shift : tensor<1x4x4x2xi32>, tensor<2xi32>) outs(%empty8 : tensor<1x4x4x2xi8>) {
  ^bb0(%v: i32, %s: i32, %_: i8):
    %r = fixed.shift_right %v, %s {rounding = half_up} : i32
    %q = fixed.saturate %r : i32 to i8
    linalg.yield %q : i8
  } -> tensor<1x4x4x2xi8>
  return %y : tensor<1x4x4x2xi8>
}

// The tensor that only tells the window's size goes; reduction loops move to the end.
// CHECK-LABEL: func.func @max_pool2d
// CHECK-NEXT:    %y = kernel.nest window parallel [3, 3] reduction [2, 2]
// CHECK-SAME:      maps [affine_map<(d0, d1, d2, d3) -> (((d0 * 2) + d2), ((d1 * 2) + d3))>,
// CHECK-SAME:            affine_map<(d0, d1, d2, d3) -> (d0, d1)>] ins(%x : tensor<6x6xi8>) init {
// CHECK-NEXT:    ^bb0(%a: i8):
// CHECK-NEXT:      %[[LOWEST:.*]] = arith.constant -128 : i8
// CHECK-NEXT:      kernel.yield %[[LOWEST]] : i8
func.func @max_pool2d(%x: tensor<6x6xi8>) -> tensor<3x3xi8> {
  %lowest = arith.constant -128 : i8
  %window = tensor.empty() : tensor<2x2xi8>
  %empty = tensor.empty() : tensor<3x3xi8>
  %start = linalg.fill ins(%lowest : i8) outs(%empty : tensor<3x3xi8>) -> tensor<3x3xi8>
  %y = linalg.generic {
    indexing_maps = [affine_map<(kh, kw, h, w) -> (h * 2 + kh, w * 2 + kw)>, affine_map<(kh, kw, h, w) -> (kh, kw)>, affine_map<(kh, kw, h, w) -> (h, w)>],
    iterator_types = ["reduction", "reduction", "parallel", "parallel"]
  } ins(%x, %window : tensor<6x6xi8>, tensor<2x2xi8>) outs(%start : tensor<3x3xi8>) {
  ^bb0(%a: i8, %_: i8, %best: i8):
    %next = arith.maxsi %a, %best : i8
    linalg.yield %next : i8
  } -> tensor<3x3xi8>
  return %y : tensor<3x3xi8>
}

// The table is an operand of its own. The transposition that follows changes the loops.
// CHECK-LABEL: func.func @lookup
// CHECK-NEXT:    %y = kernel.nest map parallel [5, 3] maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] ins(%x : tensor<3x5xi8>) tables(%table : tensor<256xi8>) epilogue {
// CHECK:           %row = kernel.index 1 : index
// CHECK:           tensor.extract %table[%index] : tensor<256xi8>
// CHECK-NOT:     kernel.nest
func.func @lookup(%x: tensor<3x5xi8>, %table: tensor<256xi8>) -> tensor<5x3xi8> {
  %empty = tensor.empty() : tensor<3x5xi8>
  %looked = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<3x5xi8>) outs(%empty : tensor<3x5xi8>) {
  ^bb0(%v: i8, %_: i8):
    %row = linalg.index 0 : index
    %wide = arith.index_cast %v : i8 to index
    %index = arith.addi %wide, %row : index
    %entry = tensor.extract %table[%index] : tensor<256xi8>
    linalg.yield %entry : i8
  } -> tensor<3x5xi8>
  %empty_t = tensor.empty() : tensor<5x3xi8>
  %y = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%looked : tensor<3x5xi8>) outs(%empty_t : tensor<5x3xi8>) {
  ^bb0(%v: i8, %_: i8):
    linalg.yield %v : i8
  } -> tensor<5x3xi8>
  return %y : tensor<5x3xi8>
}

// A value with two uses is computed once; a broadcast one too.
// CHECK-LABEL: func.func @used_twice
// CHECK:         %sum = kernel.nest row
// CHECK:         %both = kernel.nest map {{.*}} ins(%x, %sum : tensor<4x6xi32>, tensor<4xi32>)
func.func @used_twice(%x: tensor<4x6xi32>) -> (tensor<4x6xi32>, tensor<4xi32>) {
  %start = arith.constant dense<0> : tensor<4xi32>
  %sum = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x : tensor<4x6xi32>) outs(%start : tensor<4xi32>) {
  ^bb0(%v: i32, %acc: i32):
    %next = arith.addi %v, %acc : i32
    linalg.yield %next : i32
  } -> tensor<4xi32>
  %empty = tensor.empty() : tensor<4x6xi32>
  %both = linalg.generic {
    indexing_maps = [affine_map<(r, k) -> (r, k)>, affine_map<(r, k) -> (r)>, affine_map<(r, k) -> (r, k)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %sum : tensor<4x6xi32>, tensor<4xi32>) outs(%empty : tensor<4x6xi32>) {
  ^bb0(%v: i32, %s: i32, %_: i32):
    %r = arith.subi %v, %s : i32
    linalg.yield %r : i32
  } -> tensor<4x6xi32>
  return %both, %sum : tensor<4x6xi32>, tensor<4xi32>
}

// Concatenation is a chain of copies; a slice that drops an axis is a copy, reshaped.
// CHECK-LABEL: func.func @movement
// CHECK-NEXT:    %first = kernel.copy %a[0, 0] [2, 3] [1, 1] into empty[0, 0] [1, 1] : tensor<2x3xi8> into tensor<2x8xi8>
// CHECK-NEXT:    %both = kernel.copy %b[0, 0] [2, 5] [1, 1] into %first[0, 3] [1, 1] : tensor<2x5xi8> into tensor<2x8xi8>
// CHECK-NEXT:    %[[ROW:.*]] = kernel.copy %both[1, 1] [1, 3] [1, 2] into empty[0, 0] [1, 1] : tensor<2x8xi8> into tensor<1x3xi8>
// CHECK-NEXT:    %row = tensor.collapse_shape %[[ROW]] [[0 : i64, 1 : i64]] : tensor<1x3xi8> into tensor<3xi8>
// CHECK-NEXT:    func.return %both, %row
func.func @movement(%a: tensor<2x3xi8>, %b: tensor<2x5xi8>) -> (tensor<2x8xi8>, tensor<3xi8>) {
  %empty = tensor.empty() : tensor<2x8xi8>
  %first = tensor.insert_slice %a into %empty[0, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<2x8xi8>
  %both = tensor.insert_slice %b into %first[0, 3] [2, 5] [1, 1] : tensor<2x5xi8> into tensor<2x8xi8>
  %row = tensor.extract_slice %both[1, 1] [1, 3] [1, 2] : tensor<2x8xi8> to tensor<3xi8>
  return %both, %row : tensor<2x8xi8>, tensor<3xi8>
}
