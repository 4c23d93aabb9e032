// RUN: %qlower inspect %s --at asm --target aarch64-linux-gnu | %filecheck %s

// What is one instruction of NEON becomes that instruction, and nothing beside it.

#same = affine_map<(d0) -> (d0)>
#constant = affine_map<(d0) -> (0)>
func.func @main(%x: tensor<64xi32>, %y: tensor<64xi32>, %amounts: tensor<64xi32>, %h: tensor<64xi16>)
    -> (tensor<64xi32>, tensor<64xi32>, tensor<64xi32>, tensor<64xi32>, tensor<64xi8>) {
  %out = tensor.empty() : tensor<64xi32>
  %bytes = tensor.empty() : tensor<64xi8>

  // CHECK-LABEL: rounded:
  // CHECK-NOT: {{smull|sqadd|sqdmulh}}
  // CHECK: sqrdmulh v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.4s
  // CHECK-NOT: {{smull|sqadd|sqdmulh}}
  %rounded = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<64xi32>, tensor<64xi32>) outs(%out : tensor<64xi32>) {
  ^bb0(%a: i32, %b: i32, %unused: i32):
    %c31 = arith.constant 31 : i64
    %a64 = arith.extsi %a : i32 to i64
    %b64 = arith.extsi %b : i32 to i64
    %product = arith.muli %a64, %b64 : i64
    %high = fixed.shift_right %product, %c31 {rounding = half_up} : i64
    %result = fixed.saturate %high : i64 to i32
    linalg.yield %result : i32
  } -> tensor<64xi32> loc("rounded")

  // CHECK-LABEL: floored:
  // CHECK-NOT: {{smull|sqrdmulh}}
  // CHECK: sqdmulh v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.4s
  // CHECK-NOT: {{smull|sqrdmulh}}
  %floored = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<64xi32>, tensor<64xi32>) outs(%out : tensor<64xi32>) {
  ^bb0(%a: i32, %b: i32, %unused: i32):
    %c31 = arith.constant 31 : i64
    %a64 = arith.extsi %a : i32 to i64
    %b64 = arith.extsi %b : i32 to i64
    %product = arith.muli %a64, %b64 : i64
    %high = fixed.shift_right %product, %c31 {rounding = floor} : i64
    %result = fixed.saturate %high : i64 to i32
    linalg.yield %result : i32
  } -> tensor<64xi32> loc("floored")

  // CHECK-LABEL: by_amounts:
  // CHECK: neg v{{[0-9]+}}.4s
  // CHECK: srshl v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.4s
  // CHECK-NOT: {{sshl|cmgt|cmeq|sqadd}}
  %by_amounts = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
      ins(%x, %amounts : tensor<64xi32>, tensor<64xi32>) outs(%out : tensor<64xi32>) {
  ^bb0(%a: i32, %amount: i32, %unused: i32):
    %c31 = arith.constant 31 : i32
    %legal = arith.andi %amount, %c31 : i32
    %result = fixed.shift_right %a, %legal {rounding = half_up} : i32
    linalg.yield %result : i32
  } -> tensor<64xi32> loc("by_amounts")

  // CHECK-LABEL: by_six:
  // CHECK-NOT: {{sshl|srshl|cmgt|cmeq|sqadd}}
  // CHECK: srshr v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, #6
  // CHECK-NOT: {{sshl|srshl|cmgt|cmeq|sqadd}}
  %by_six = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : tensor<64xi32>) outs(%out : tensor<64xi32>) {
  ^bb0(%a: i32, %unused: i32):
    %c6 = arith.constant 6 : i32
    %result = fixed.shift_right %a, %c6 {rounding = half_up} : i32
    linalg.yield %result : i32
  } -> tensor<64xi32> loc("by_six")

  // CHECK-LABEL: narrowed:
  // CHECK-NOT: {{smin|smax|xtn.*4h}}
  // CHECK: sqxtn v{{[0-9]+}}.8b, v{{[0-9]+}}.8h
  // CHECK-NOT: {{smin|smax|xtn.*4h}}
  %narrowed = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%h : tensor<64xi16>) outs(%bytes : tensor<64xi8>) {
  ^bb0(%a: i16, %unused: i8):
    %result = fixed.saturate %a : i16 to i8
    linalg.yield %result : i8
  } -> tensor<64xi8> loc("narrowed")
  return %rounded, %floored, %by_amounts, %by_six, %narrowed
      : tensor<64xi32>, tensor<64xi32>, tensor<64xi32>, tensor<64xi32>, tensor<64xi8>
}
