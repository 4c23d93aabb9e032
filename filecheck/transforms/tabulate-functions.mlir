// RUN: %qopt %s -p tabulate-functions | %filecheck %s

// A function that only the interpreter computes becomes a table where it stands between bytes.
// CHECK: %[[TABLE:.*]] = arith.constant dense<{{.*}}> : tensor<256xi8>
// CHECK: kernel.nest
// CHECK-NOT: math.sin
// CHECK: tensor.extract %[[TABLE]]
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %y = kernel.nest map parallel [4] maps [#id, #id] ins(%x : tensor<4xi8>) epilogue {
  ^bb0(%0: i8):
    %wide = arith.sitofp %0 : i8 to f32
    %sine = math.sin %wide : f32
    %many = arith.constant 100.0 : f32
    %scaled = arith.mulf %sine, %many : f32
    %rounded = fixed.convert %scaled {rounding = half_away} : f32 to i8
    kernel.yield %rounded : i8
  } -> tensor<4xi8>
  return %y : tensor<4xi8>
}
