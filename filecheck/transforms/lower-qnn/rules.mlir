// RUN: %qopt %s --split-input-file -p 'lower-qnn,canonicalize,cse,dce' | %filecheck %s

// A uint8 input is widened by its own sign; the fused activation narrows the range:
// real 0 is stored as 10, real 6 as 10 + 60.

!u = !quant.uniform<u8:f32, 0.1:10>
module attributes {qnn.contract = "tflite"} {
  // CHECK-LABEL: func.func @add
  func.func @add(%a: tensor<2x3x!u>, %b: tensor<3x!u>) -> tensor<2x3x!u> {
    // CHECK: affine_map<(d0, d1) -> (d1)>
    // CHECK: arith.extui {{%.*}} : i8 to i32
    // CHECK: arith.extui {{%.*}} : i8 to i32
    // CHECK-COUNT-2: arith.shli
    // CHECK: arith.maxsi {{%.*}}, [[LOW:%.*]] : i32
    // CHECK: arith.minsi {{%.*}}, [[HIGH:%.*]] : i32
    // CHECK: fixed.saturate {{%.*}} {unsigned} : i32 to i8
    %y = qnn.add %a, %b {activation = "relu6"} : (tensor<2x3x!u>, tensor<3x!u>) -> tensor<2x3x!u>
    return %y : tensor<2x3x!u>
  }
}

// -----

// Functions of one stored value become tables.

!q = !quant.uniform<i8:f32, 0.05:3>
!p = !quant.uniform<i8:f32, 0.00390625:-128>
module attributes {qnn.contract = "tflite"} {
  // CHECK-LABEL: func.func @sigmoid
  func.func @sigmoid(%x: tensor<4x!q>) -> tensor<4x!p> {
    // CHECK: [[TABLE:%.*]] = arith.constant dense<{{.*}}> : tensor<256xi8>
    // CHECK: [[CODE:%.*]] = arith.extui {{%.*}} : i8 to i32
    // CHECK: [[INDEX:%.*]] = arith.index_cast [[CODE]] : i32 to index
    // CHECK: tensor.extract [[TABLE]][[[INDEX]]] : tensor<256xi8>
    %y = qnn.sigmoid %x : (tensor<4x!q>) -> tensor<4x!p>
    return %y : tensor<4x!p>
  }
}

// -----

// LiteRT's int8 fully connected kernel multiplies in float64 and rounds once.

!q = !quant.uniform<i8:f32, 0.05:3>
!w = !quant.uniform<i8:f32, 0.02>
module {
  // CHECK-LABEL: func.func @linear
  func.func @linear(%x: tensor<1x2x!q>) -> tensor<1x3x!q> {
    %w = qnn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!w>
    // CHECK: linalg.fill
    // CHECK-NOT: fixed.shift_right
    // CHECK: [[REAL:%.*]] = arith.sitofp {{%.*}} : i32 to f64
    // CHECK: [[SCALED:%.*]] = arith.mulf [[REAL]], {{%.*}} : f64
    // CHECK: fixed.convert [[SCALED]] {rounding = half_away} : f64 to i32
    %y = qnn.linear %x, %w {contract = "tflite"} : (tensor<1x2x!q>, tensor<3x2x!w>) -> tensor<1x3x!q>
    return %y : tensor<1x3x!q>
  }
}

// -----

// A mean is a sum of stored integers; 1/6 is folded into the multiplier.

!q = !quant.uniform<i8:f32, 0.05:3>
module attributes {qnn.contract = "tflite"} {
  // CHECK-LABEL: func.func @mean
  func.func @mean(%x: tensor<1x2x3x4x!q>) -> tensor<1x4x!q> {
    // CHECK: linalg.generic
    // CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction", "reduction"]
    // CHECK: arith.addi
    // CHECK: linalg.generic
    // CHECK: arith.subi {{%.*}}, {{%.*}} : i32
    // CHECK: fixed.shift_right {{%.*}} {rounding = half_away} : i32
    %y = qnn.mean %x {axes = [1, 2]} : (tensor<1x2x3x4x!q>) -> tensor<1x4x!q>
    return %y : tensor<1x4x!q>
  }
}

// -----

// Averages divide by the taps inside the image: 2 at the padded edge, 4 elsewhere.

!q = !quant.uniform<i8:f32, 0.05:3>
module attributes {qnn.contract = "tflite"} {
  // CHECK-LABEL: func.func @avg_pool2d
  func.func @avg_pool2d(%x: tensor<1x3x2x1x!q>) -> tensor<1x2x1x1x!q> {
    // CHECK: arith.constant dense<[4, 2]> : tensor<2xi32>
    // CHECK: arith.divsi
    %y = qnn.avg_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 1, 0, 0]}
      : (tensor<1x3x2x1x!q>) -> tensor<1x2x1x1x!q>
    return %y : tensor<1x2x1x1x!q>
  }
}

// -----

// Only inputs whose parameters differ are rescaled.

!u = !quant.uniform<u8:f32, 0.1:10>
!v = !quant.uniform<u8:f32, 0.2:10>
module attributes {qnn.contract = "tflite"} {
  // CHECK-LABEL: func.func @concat
  func.func @concat(%a: tensor<1x2x!u>, %b: tensor<1x3x!v>) -> tensor<1x5x!u> {
    // CHECK: tensor.insert_slice %a into {{%.*}}[0, 0] [1, 2] [1, 1]
    // CHECK: arith.mulf {{%.*}}, {{%.*}} : f32
    // CHECK: arith.addf {{%.*}}, {{%.*}} : f32
    // CHECK: fixed.convert {{%.*}} {rounding = half_away} : f32 to i32
    // CHECK: tensor.insert_slice {{%.*}} into {{%.*}}[0, 2] [1, 3] [1, 1]
    %y = qnn.concat %a, %b {axis = 1} : (tensor<1x2x!u>, tensor<1x3x!v>) -> tensor<1x5x!u>
    return %y : tensor<1x5x!u>
  }
}

// -----

// quant's own casts are the borders of the model.

!q = !quant.uniform<i8:f32, 0.05:3>
module attributes {qnn.contract = "tflite"} {
  // CHECK-LABEL: func.func @casts
  func.func @casts(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: arith.divf
    // CHECK: fixed.convert {{%.*}} {rounding = half_away} : f32 to i32
    %q = quant.qcast %x : tensor<4xf32> to tensor<4x!q>
    // CHECK: arith.truncf {{%.*}} : f64 to f32
    %y = quant.dcast %q : tensor<4x!q> to tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
