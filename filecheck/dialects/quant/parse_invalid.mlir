// RUN: %qopt %s --split-input-file --verify-diagnostics --parsing-diagnostics | %filecheck %s

// CHECK: error: unexpected decimal integer literal for a floating point value; write a decimal point
"test.op"() {type = !quant.uniform<i8:f32, 1>} : () -> ()

// -----

// CHECK: error: unexpected decimal integer literal for a floating point value; write a decimal point
"test.op"() {type = !quant.uniform<i8:f32, 1e-50>} : () -> ()

// -----

// CHECK: error: scale -5.000000e-02 out of expressed type range [1.401298e-45, 3.402823e+38]
"test.op"() {type = !quant.uniform<i8:f32, -0.05>} : () -> ()

// -----

// CHECK: error: scale 0.000000e+00 out of expressed type range [1.401298e-45, 3.402823e+38]
"test.op"() {type = !quant.uniform<i8:f32, 0.0>} : () -> ()

// -----

// CHECK: error: scale 3.000000e+40 out of expressed type range [1.401298e-45, 3.402823e+38]
"test.op"() {type = !quant.uniform<i8:f32, 3.0e40>} : () -> ()

// -----

// CHECK: error: scale 5.081185e-315 out of expressed type range [1.401298e-45, 3.402823e+38]
"test.op"() {type = !quant.uniform<i8:f32, 0x3D4CCCCD>} : () -> ()

// -----

// CHECK: error: unexpected decimal integer literal for a floating point value; write a decimal point
"test.op"() {type = !quant.uniform<i8:f32, 0xFFFFFFFFFFFFFFFFF>} : () -> ()

// -----

// CHECK: error: scale inf out of expressed type range [1.401298e-45, 3.402823e+38]
"test.op"() {type = !quant.uniform<i8:f32, 0x7FF0000000000000>} : () -> ()

// -----

// CHECK: error: scale nan out of expressed type range [1.401298e-45, 3.402823e+38]
"test.op"() {type = !quant.uniform<i8:f32, 0x7FF8000000000000>} : () -> ()

// -----

// CHECK: error: scale 7.000000e+04 out of expressed type range [5.960464e-08, 6.550400e+04]
"test.op"() {type = !quant.uniform<i8:f16, 70000.0>} : () -> ()

// -----

// CHECK: error: integer or float literal expected for a scale
"test.op"() {type = !quant.uniform<i8:f32, nan>} : () -> ()

// -----

// CHECK: error: illegal storage type size: 33
"test.op"() {type = !quant.uniform<i33:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type size: 0
"test.op"() {type = !quant.uniform<i0:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type size: 64
"test.op"() {type = !quant.uniform<i64:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type f8E5M2: expected i or u and a width
"test.op"() {type = !quant.uniform<f8E5M2:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type x8: expected i or u and a width
"test.op"() {type = !quant.uniform<x8:f32, 0.05>} : () -> ()

// -----

// CHECK: error: identifier expected of the storage type
"test.op"() {type = !quant.uniform<8:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type minimum: -200, the range of i8 is [-128, 127]
"test.op"() {type = !quant.uniform<i8<-200:127>:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type maximum: 128, the range of i8 is [-128, 127]
"test.op"() {type = !quant.uniform<i8<-128:128>:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage type minimum: -1, the range of u8 is [0, 255]
"test.op"() {type = !quant.uniform<u8<-1:255>:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal storage range [5, 5]: the minimum must be below the maximum
"test.op"() {type = !quant.uniform<i8<5:5>:f32, 0.05>} : () -> ()

// -----

// CHECK: error: expected ':'
"test.op"() {type = !quant.uniform<i8<5>:f32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal expressed type i32: expected f16, bf16, f32 or f64
"test.op"() {type = !quant.uniform<i8:i32, 0.05>} : () -> ()

// -----

// CHECK: error: illegal expressed type f128: expected f16, bf16, f32 or f64
"test.op"() {type = !quant.uniform<i8:f128, 0.05>} : () -> ()

// -----

// CHECK: error: expected ':'
"test.op"() {type = !quant.uniform<i8, 0.05>} : () -> ()

// -----

// CHECK: error: expected ','
"test.op"() {type = !quant.uniform<i8:f32>} : () -> ()

// -----

// CHECK: error: expected integer literal
"test.op"() {type = !quant.uniform<i8:f32, 0.05:0.5>} : () -> ()

// -----

// CHECK: error: expected integer literal
"test.op"() {type = !quant.uniform<i8:f32, 0.05:true>} : () -> ()

// -----

// CHECK: error: illegal quantized dimension: -1
"test.op"() {type = !quant.uniform<i8:f32:-1, {0.1}>} : () -> ()

// -----

// CHECK: error: expected one list of scales
"test.op"() {type = !quant.uniform<i8:f32:0, 0.1>} : () -> ()

// -----

// CHECK: error: expected floating point literal
"test.op"() {type = !quant.uniform<i8:f32:0, {}>} : () -> ()

// -----

// CHECK: error: integer or float literal expected for a scale
"test.op"() {type = !quant.uniform<i8:f32:0, {0.1,}>} : () -> ()

// -----

// CHECK: error: expected one list of scales
"test.op"() {type = !quant.uniform<i8:f32:0, {{0.1}, {0.2}}>} : () -> ()

// -----

// CHECK: error: expected a quantized dimension and its block size
"test.op"() {type = !quant.uniform<i8:f32:{}, {0.1}>} : () -> ()

// -----

// CHECK: error: illegal block size: 0
"test.op"() {type = !quant.uniform<i8:f32:{0:0}, {0.1}>} : () -> ()

// -----

// CHECK: error: illegal quantized dimension: -1
"test.op"() {type = !quant.uniform<i8:f32:{-1:1, 1:2}, {{0.1}}>} : () -> ()

// -----

// CHECK: error: lists of scales differ in length
"test.op"() {type = !quant.uniform<i8:f32:{0:1, 1:2}, {{0.1, 0.2}, {0.3}}>} : () -> ()

// -----

// CHECK: error: lists of scales differ in length
"test.op"() {type = !quant.uniform<i8:f32:{0:1, 1:2}, {{0.1, 0.2}, 0.3}>} : () -> ()

// -----

// CHECK: error: integer or float literal expected for a scale
"test.op"() {type = !quant.uniform<i8:f32, {0.1}>} : () -> ()

// -----

// CHECK: error: '>' expected
"test.op"() {type = !quant.uniform<i8:f32, 0.05} : () -> ()

// -----

// CHECK: error: '<' expected
"test.op"() {type = !quant.uniform} : () -> ()

// -----

// CHECK: error: illegal expressed type i8: expected f16, bf16, f32 or f64
"test.op"() {type = !quant.any<i8:i8>} : () -> ()

// -----

// CHECK: error: illegal range: 2.0:1.0
"test.op"() {type = !quant.calibrated<f32<2.0:1.0>>} : () -> ()

// -----

// CHECK: error: unexpected decimal integer literal for a floating point value; write a decimal point
"test.op"() {type = !quant.calibrated<f32<1:2>>} : () -> ()

// -----

// CHECK: error: !quant.quantile is not supported; use !quant.uniform
"test.op"() {type = !quant.quantile<i8:f16:f32, {-1.0,-0.9961}:{0.05}>} : () -> ()

// -----

// CHECK: error: 'quant.unknown' is not registered
"test.op"() {type = !quant.unknown<i8>} : () -> ()
