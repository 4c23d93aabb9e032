// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK-LABEL: func.func @linear
// CHECK-NEXT:    %y = kernel.nest contraction parallel [4, 8] reduction [16] maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%x, %w, %b : tensor<4x16xi8>, tensor<8x16xi8>, tensor<8xi32>) init {
// CHECK-NEXT:    ^bb0(%a: i8, %f: i8, %bias: i32):
// CHECK-NEXT:      kernel.yield %bias : i32
// CHECK-NEXT:    } body {
// CHECK:           kernel.yield %next : i32
// CHECK-NEXT:    } epilogue {
// CHECK:           kernel.yield %q : i8
// CHECK-NEXT:    } -> tensor<4x8xi8> in [#kernel.output<0>] scratch #kernel.scratch<64, 512>
func.func @linear(%x: tensor<4x16xi8>, %w: tensor<8x16xi8>, %b: tensor<8xi32>) -> tensor<4x8xi8> {
  %y = kernel.nest contraction parallel [4, 8] reduction [16]
    maps [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (o, k)>,
          affine_map<(r, o, k) -> (o)>, affine_map<(r, o, k) -> (r, o)>]
    ins(%x, %w, %b : tensor<4x16xi8>, tensor<8x16xi8>, tensor<8xi32>)
    init {
    ^bb0(%a: i8, %f: i8, %bias: i32):
      kernel.yield %bias : i32
    } body {
    ^bb0(%a: i8, %f: i8, %bias: i32, %sum: i32):
      %a32 = arith.extsi %a : i8 to i32
      %f32 = arith.extsi %f : i8 to i32
      %product = arith.muli %a32, %f32 : i32
      %next = arith.addi %sum, %product : i32
      kernel.yield %next : i32
    } epilogue {
    ^bb0(%a: i8, %f: i8, %bias: i32, %sum: i32):
      %q = fixed.saturate %sum : i32 to i8
      kernel.yield %q : i8
    } -> tensor<4x8xi8> in [#kernel.output<0>] scratch #kernel.scratch<64, 512>
  return %y : tensor<4x8xi8>
}

// How the code is cut.
// CHECK-LABEL: func.func @scheduled
// CHECK:         } schedule #kernel.tile<4, 1> -> tensor<4x8xi8>
func.func @scheduled(%x: tensor<4x16xi8>, %w: tensor<8x16xi8>, %b: tensor<8xi32>) -> tensor<4x8xi8> {
  %y = kernel.nest contraction parallel [4, 8] reduction [16]
    maps [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (o, k)>,
          affine_map<(r, o, k) -> (o)>, affine_map<(r, o, k) -> (r, o)>]
    ins(%x, %w, %b : tensor<4x16xi8>, tensor<8x16xi8>, tensor<8xi32>)
    init {
    ^bb0(%a: i8, %f: i8, %bias: i32):
      kernel.yield %bias : i32
    } body {
    ^bb0(%a: i8, %f: i8, %bias: i32, %sum: i32):
      %a32 = arith.extsi %a : i8 to i32
      %f32 = arith.extsi %f : i8 to i32
      %product = arith.muli %a32, %f32 : i32
      %next = arith.addi %sum, %product : i32
      kernel.yield %next : i32
    } epilogue {
    ^bb0(%a: i8, %f: i8, %bias: i32, %sum: i32):
      %q = fixed.saturate %sum : i32 to i8
      kernel.yield %q : i8
    } schedule #kernel.tile<4, 1> -> tensor<4x8xi8>
  return %y : tensor<4x8xi8>
}

// CHECK-LABEL: func.func @in_tile_registers
// CHECK:         } schedule #kernel.tile_registers -> tensor<4x8xi8>
func.func @in_tile_registers(%x: tensor<4x16xi8>, %w: tensor<8x16xi8>, %b: tensor<8xi32>) -> tensor<4x8xi8> {
  %y = kernel.nest contraction parallel [4, 8] reduction [16]
    maps [affine_map<(r, o, k) -> (r, k)>, affine_map<(r, o, k) -> (o, k)>,
          affine_map<(r, o, k) -> (o)>, affine_map<(r, o, k) -> (r, o)>]
    ins(%x, %w, %b : tensor<4x16xi8>, tensor<8x16xi8>, tensor<8xi32>)
    init {
    ^bb0(%a: i8, %f: i8, %bias: i32):
      kernel.yield %bias : i32
    } body {
    ^bb0(%a: i8, %f: i8, %bias: i32, %sum: i32):
      %a32 = arith.extsi %a : i8 to i32
      %f32 = arith.extsi %f : i8 to i32
      %product = arith.muli %a32, %f32 : i32
      %next = arith.addi %sum, %product : i32
      kernel.yield %next : i32
    } epilogue {
    ^bb0(%a: i8, %f: i8, %bias: i32, %sum: i32):
      %q = fixed.saturate %sum : i32 to i8
      kernel.yield %q : i8
    } schedule #kernel.tile_registers -> tensor<4x8xi8>
  return %y : tensor<4x8xi8>
}

// A table, the counter of a loop, two results, attributes of others.
// CHECK-LABEL: func.func @lookup
// CHECK-NEXT:    %y, %z = kernel.nest map parallel [3, 5] maps [affine_map<(d0, d1) -> (((d0 * 2) + 1), d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] ins(%x : tensor<7x5xi8>) tables(%table : tensor<256xi8>) epilogue {
// CHECK:           %row = kernel.index 0 : index
// CHECK:           kernel.yield %entry, %row : i8, index
// CHECK-NEXT:    } -> tensor<5x3xi8>, tensor<3x5xindex> in [#kernel.arena<0>, #kernel.arena<64>] attributes {note = "kept"}
func.func @lookup(%x: tensor<7x5xi8>, %table: tensor<256xi8>) -> tensor<5x3xi8> {
  %y, %z = kernel.nest map parallel [3, 5]
    maps [affine_map<(i, j) -> (i * 2 + 1, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>]
    ins(%x : tensor<7x5xi8>) tables(%table : tensor<256xi8>)
    epilogue {
    ^bb0(%v: i8):
      %wide = arith.extui %v : i8 to i32
      %index = arith.index_cast %wide : i32 to index
      %entry = tensor.extract %table[%index] : tensor<256xi8>
      %row = kernel.index 0 : index
      kernel.yield %entry, %row : i8, index
    } -> tensor<5x3xi8>, tensor<3x5xindex> in [#kernel.arena<0>, #kernel.arena<64>] attributes {note = "kept"}
  return %y : tensor<5x3xi8>
}

// No inputs and no loops.
// CHECK-LABEL: func.func @constant
// CHECK-NEXT:    %y = kernel.nest map parallel [] maps [affine_map<() -> ()>] epilogue {
// CHECK:         } -> tensor<f32>
func.func @constant() -> tensor<f32> {
  %y = kernel.nest map parallel [] maps [affine_map<() -> ()>] epilogue {
    %one = arith.constant 1.0 : f32
    kernel.yield %one : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: func.func @copies
// CHECK-NEXT:    %slice = kernel.copy %x[0, 4] [2, 8] [1, 2] into empty[0, 0] [1, 1] : tensor<2x32xi8> into tensor<2x8xi8>
// CHECK-NEXT:    %padded = kernel.copy %slice[0, 0] [2, 8] [1, 1] into fill(-128 : i8)[1, 1] [2, 1] : tensor<2x8xi8> into tensor<4x10xi8> in [#kernel.arena<128>]
// CHECK-NEXT:    %inserted = kernel.copy %slice[0, 0] [2, 8] [1, 1] into %padded[0, 2] [1, 1] : tensor<2x8xi8> into tensor<4x10xi8> in [#kernel.arena<128>]
func.func @copies(%x: tensor<2x32xi8>) -> tensor<4x10xi8> {
  %slice = kernel.copy %x[0, 4] [2, 8] [1, 2] into empty[0, 0] [1, 1]
    : tensor<2x32xi8> into tensor<2x8xi8>
  %padded = kernel.copy %slice[0, 0] [2, 8] [1, 1] into fill(-128 : i8)[1, 1] [2, 1]
    : tensor<2x8xi8> into tensor<4x10xi8> in [#kernel.arena<128>]
  %inserted = kernel.copy %slice[0, 0] [2, 8] [1, 1] into %padded[0, 2] [1, 1]
    : tensor<2x8xi8> into tensor<4x10xi8> in [#kernel.arena<128>]
  return %inserted : tensor<4x10xi8>
}

// As long as the first value is true.
// CHECK-LABEL: func.func @open
// CHECK-NEXT:    %m, %h = kernel.scan while carried(%more, %x : tensor<1xi1>, tensor<8xf32>) {
// CHECK:         } -> tensor<1xi1>, tensor<8xf32>
func.func @open(%more: tensor<1xi1>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %m, %h = kernel.scan while carried(%more, %x : tensor<1xi1>, tensor<8xf32>) {
    func.func private @step(%a: tensor<1xi1>, %b: tensor<8xf32>) -> (tensor<1xi1>, tensor<8xf32>) {
      return %a, %b : tensor<1xi1>, tensor<8xf32>
    }
  } -> tensor<1xi1>, tensor<8xf32>
  return %h : tensor<8xf32>
}

// A function for each step.
// CHECK-LABEL: func.func @steps
// CHECK-NEXT:    %h, %y = kernel.scan 4 reversed carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
// CHECK-NEXT:      func.func private @step(%a: tensor<8xf32>, %b: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>) attributes {kernel.arena_bytes = 0 : i64} {
// CHECK-NEXT:        func.return %a, %b : tensor<8xf32>, tensor<2xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    } -> tensor<8xf32>, tensor<4x2xf32> in [#kernel.output<0>, #kernel.arena<0>] scratch #kernel.scratch<64, 96>
func.func @steps(%x: tensor<8xf32>, %s: tensor<4x2xf32>) -> tensor<8xf32> {
  %h, %y = kernel.scan 4 reversed carried(%x : tensor<8xf32>) over(%s : tensor<4x2xf32>) {
    func.func private @step(%a: tensor<8xf32>, %b: tensor<2xf32>) -> (tensor<8xf32>, tensor<2xf32>)
        attributes {kernel.arena_bytes = 0 : i64} {
      return %a, %b : tensor<8xf32>, tensor<2xf32>
    }
  } -> tensor<8xf32>, tensor<4x2xf32> in [#kernel.output<0>, #kernel.arena<0>] scratch #kernel.scratch<64, 96>
  return %h : tensor<8xf32>
}
