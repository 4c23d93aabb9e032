// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

func.func @not_quantized(%x: tensor<4xf32>) {
  // CHECK: error: quant.qcast: i8 is not a !quant.uniform type
  %q = quant.qcast %x : tensor<4xf32> to tensor<4xi8>
  return
}

// -----

func.func @another_expressed_type(%x: tensor<4xf32>) {
  // CHECK: error: quant.qcast: element type f32 does not match the expressed type f16
  %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f16, 0.5>>
  return
}

// -----

func.func @another_shape(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: quant.dcast: shapes of tensor<5xf32> and tensor<4x!quant.uniform<i8:f32, 5.000000e-01>> differ
  %q = quant.dcast %x : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<5xf32>
  return
}

// -----

func.func @another_storage_type(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: quant.scast: element type i16 does not match the storage type i8
  %q = quant.scast %x : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<4xi16>
  return
}

// -----

func.func @no_quantized_side(%x: tensor<4xi8>) {
  // CHECK: error: quant.scast: i8 is not a !quant.uniform type
  %q = quant.scast %x : tensor<4xi8> to tensor<4xi8>
  return
}

// -----

func.func @scalar_per_axis(%x: f32) {
  // CHECK: error: quant.qcast: a scalar may only use per-tensor quantization
  %q = quant.qcast %x : f32 to !quant.uniform<i8:f32:0, {0.5}>
  return
}

// -----

func.func @axis_out_of_rank(%x: tensor<2xf32>) {
  // CHECK: error: quant.qcast: quantized dimension 1 is outside the rank 1
  %q = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32:1, {0.5, 0.5}>>
  return
}

// -----

func.func @wrong_number_of_scales(%x: tensor<3xf32>) {
  // CHECK: error: quant.qcast: quantized dimension size 3 does not match number of scales 2
  %q = quant.qcast %x : tensor<3xf32> to tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.5}>>
  return
}
