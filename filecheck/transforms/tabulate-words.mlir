// RUN: %qopt %s -p 'set-target{triple=x86_64-linux-gnu cpu=x86-64-v3},tabulate-words' | %filecheck %s
// RUN: %qopt %s -p 'set-target{triple=thumbv7em-none-eabi cpu=cortex-m4},tabulate-words' | %filecheck %s --check-prefix=SMALL

// An interpolation of 16 bits becomes one look-up where there is memory for all results; a function
// that only the interpreter computes does anywhere.
// CHECK-LABEL: func.func @interpolated
// CHECK: %[[ALL:.*]] = arith.constant dense<{{.*}}> : tensor<65536xi16>
// CHECK: kernel.nest
// CHECK: tensor.extract %[[ALL]]
// CHECK-NOT: arith.muli
// SMALL-LABEL: func.func @interpolated
// SMALL-NOT: tensor<65536xi16>
// SMALL: arith.muli
// CHECK-LABEL: func.func @sine
// CHECK-NOT: math.sin
// SMALL-LABEL: func.func @sine
// SMALL: tensor<65536xi16>
// SMALL-NOT: math.sin
#id = affine_map<(d0) -> (d0)>
func.func @interpolated(%x: tensor<4xi16>) -> tensor<4xi16> {
  %entries = arith.constant dense<[0, 300, 700]> : tensor<3xi32>
  %y = kernel.nest map parallel [4] maps [#id, #id] ins(%x : tensor<4xi16>) tables(%entries : tensor<3xi32>) epilogue {
  ^bb0(%0: i16):
    %wide = arith.extsi %0 : i16 to i32
    %half = arith.constant 32768 : i32
    %place = arith.addi %wide, %half : i32
    %fifteen = arith.constant 15 : i32
    %index = arith.shrui %place, %fifteen : i32
    %one = arith.constant 1 : i32
    %next = arith.addi %index, %one : i32
    %i = arith.index_cast %index : i32 to index
    %j = arith.index_cast %next : i32 to index
    %low = tensor.extract %entries[%i] : tensor<3xi32>
    %high = tensor.extract %entries[%j] : tensor<3xi32>
    %mask = arith.constant 32767 : i32
    %fraction = arith.andi %place, %mask : i32
    %rise = arith.subi %high, %low : i32
    %product = arith.muli %rise, %fraction : i32
    %more = arith.shrsi %product, %fifteen : i32
    %sum = arith.addi %low, %more : i32
    %result = arith.trunci %sum : i32 to i16
    kernel.yield %result : i16
  } -> tensor<4xi16>
  return %y : tensor<4xi16>
}

func.func @sine(%x: tensor<4xi16>) -> tensor<4xi16> {
  %y = kernel.nest map parallel [4] maps [#id, #id] ins(%x : tensor<4xi16>) epilogue {
  ^bb0(%0: i16):
    %wide = arith.sitofp %0 : i16 to f32
    %sine = math.sin %wide : f32
    %many = arith.constant 30000.0 : f32
    %scaled = arith.mulf %sine, %many : f32
    %rounded = fixed.convert %scaled {rounding = half_away} : f32 to i16
    kernel.yield %rounded : i16
  } -> tensor<4xi16>
  return %y : tensor<4xi16>
}
