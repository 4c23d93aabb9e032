// RUN: %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=cascadelake},match-signs' | %filecheck %s
// RUN: %qopt %s -p 'set-target{triple=aarch64-linux-gnu features="+dotprod"},match-signs' | %filecheck %s --check-prefix=SIGNED

// What is stored for products has its highest bit flipped: the map stores it so, padding
// too, the product has another zero point, and the other reader flips back. Argument and
// results stay.
// CHECK-LABEL: func.func @between
// CHECK:         kernel.nest map
// CHECK:           %[[BIT:.*]] = arith.constant -128 : i8
// CHECK-NEXT:      %[[STORED:.*]] = arith.xori %{{.*}}, %[[BIT]] : i8
// CHECK-NEXT:      kernel.yield %[[STORED]] : i8
// CHECK:         kernel.copy {{.*}} into fill(125 : i8)
// CHECK:         kernel.nest contraction
// CHECK:         } body {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: i8, %[[W:.*]]: i8, %{{.*}}: i32):
// CHECK-NEXT:      %[[X32:.*]] = arith.extui %[[X]] : i8 to i32
// CHECK-NEXT:      %{{.*}} = arith.extsi %[[W]] : i8 to i32
// CHECK-NEXT:      %{{.*}} = arith.constant -3 : i32
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 125 : i32
// CHECK-NEXT:      %{{.*}} = arith.subi %[[X32]], %[[ZERO]] : i32
// CHECK:         } epilogue {
// CHECK:           %[[BYTE:.*]] = arith.trunci
// CHECK-NEXT:      kernel.yield %[[BYTE]] : i8
// CHECK:         kernel.nest map
// CHECK-NEXT:    ^bb0(%[[Y:.*]]: i8):
// CHECK-NEXT:      %[[BIT:.*]] = arith.constant -128 : i8
// CHECK-NEXT:      %[[BACK:.*]] = arith.xori %[[Y]], %[[BIT]] : i8
// CHECK:           arith.maxsi %[[BACK]]

// Products of signed bytes are what they should be.
// SIGNED-LABEL: func.func @between
// SIGNED-NOT: xori
// SIGNED-NOT: extui
func.func @between(%x: tensor<1x2xi8>) -> (tensor<1x2xi8>, tensor<1x4xi8>) {
  %w = arith.constant dense<[[3, -7, 1, 0], [10, 20, 0, 1]]> : tensor<2x4xi8>
  %shifted = kernel.nest map parallel [1, 2]
    maps [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>]
    ins(%x : tensor<1x2xi8>) epilogue {
  ^bb0(%a: i8):
    %one = arith.constant 1 : i8
    %next = arith.addi %a, %one : i8
    kernel.yield %next : i8
  } -> tensor<1x2xi8>
  %padded = kernel.copy %shifted[0, 0] [1, 2] [1, 1] into fill(-3 : i8)[0, 1] [1, 1] : tensor<1x2xi8> into tensor<1x4xi8>
  %product = kernel.nest contraction parallel [1, 2] reduction [4]
    maps [affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>, affine_map<(n, o, i) -> (n, o)>]
    ins(%padded, %w : tensor<1x4xi8>, tensor<2x4xi8>) init {
  ^bb0(%a: i8, %f: i8):
    %zero = arith.constant 0 : i32
    kernel.yield %zero : i32
  } body {
  ^bb0(%a: i8, %f: i8, %sum: i32):
    %a32 = arith.extsi %a : i8 to i32
    %f32 = arith.extsi %f : i8 to i32
    %zero_point = arith.constant -3 : i32
    %centred = arith.subi %a32, %zero_point : i32
    %product = arith.muli %centred, %f32 : i32
    %next = arith.addi %sum, %product : i32
    kernel.yield %next : i32
  } epilogue {
  ^bb0(%a: i8, %f: i8, %acc: i32):
    %byte = arith.trunci %acc : i32 to i8
    kernel.yield %byte : i8
  } -> tensor<1x2xi8>
  %rectified = kernel.nest map parallel [1, 4]
    maps [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>]
    ins(%padded : tensor<1x4xi8>) epilogue {
  ^bb0(%a: i8):
    %zero = arith.constant 0 : i8
    %most = arith.maxsi %a, %zero : i8
    kernel.yield %most : i8
  } -> tensor<1x4xi8>
  func.return %product, %rectified : tensor<1x2xi8>, tensor<1x4xi8>
}
