// RUN: %qopt %s | %filecheck %s
// RUN: %qopt %s | %qopt | %filecheck %s

// Types as upstream writes them, and how they are written back.


// Default storage range and zero point are not written.
// CHECK: type = !quant.uniform<i8:f32, 1.000000e+00>{{[}]}}
"test.op"() {type = !quant.uniform<i8<-128:127>:f32, 1.0:-0>} : () -> ()

// One of the bounds is narrowed.
// CHECK: type = !quant.uniform<i8<-127:127>:f32, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<i8<-127:127>:f32, 0.05>} : () -> ()
// CHECK: type = !quant.uniform<i8<-8:7>:f32, 5.000000e-02:-1>{{[}]}}
"test.op"() {type = !quant.uniform<i8<-8:7>:f32, 0.05:-1>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32, 5.000000e-02:-3>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 0.05:-3>} : () -> ()

// Unsigned storage.
// CHECK: type = !quant.uniform<u8:f32, 0.0039215688593685627:128>{{[}]}}
"test.op"() {type = !quant.uniform<u8:f32, 0.0039215688593685627:128>} : () -> ()
// CHECK: type = !quant.uniform<u8:f32, 5.000000e-02:128>{{[}]}}
"test.op"() {type = !quant.uniform<u8<0:255>:f32, 0.05:128>} : () -> ()
// CHECK: type = !quant.uniform<u4:f32, 1.000000e-01:7>{{[}]}}
"test.op"() {type = !quant.uniform<u4<0:15>:f32, 0.1:7>} : () -> ()

// si and ui are read as i and u.
// CHECK: type = !quant.uniform<i8:f32, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<si8:f32, 0.05>} : () -> ()
// CHECK: type = !quant.uniform<u8:f32, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<ui8:f32, 0.05>} : () -> ()

// All widths from 1 to 32.
// CHECK: type = !quant.uniform<i1:f32, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<i1:f32, 0.05>} : () -> ()
// CHECK: type = !quant.uniform<i4:f32, 1.000000e-01>{{[}]}}
"test.op"() {type = !quant.uniform<i4:f32, 0.1>} : () -> ()
// CHECK: type = !quant.uniform<i16:f32, 1.000000e-03>{{[}]}}
"test.op"() {type = !quant.uniform<i16:f32, 0.001>} : () -> ()
// CHECK: type = !quant.uniform<i32:f32, 9.990000e-04>{{[}]}}
"test.op"() {type = !quant.uniform<i32<-2147483648:2147483647>:f32, 9.99e-4>} : () -> ()
// CHECK: type = !quant.uniform<u32:f32, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<u32:f32, 0.05>} : () -> ()

// Expressed types.
// CHECK: type = !quant.uniform<i8:f16, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f16, 0.05>} : () -> ()
// CHECK: type = !quant.uniform<i8:bf16, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<i8:bf16, 0.05>} : () -> ()
// CHECK: type = !quant.uniform<i8:f64, 5.000000e-02>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f64, 0.05>} : () -> ()

// A double does not lose digits.
// CHECK: type = !quant.uniform<i8:f64, 0.10000000000000002>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f64, 0.1000000000000000125>} : () -> ()
// CHECK: type = !quant.uniform<i8:f64, 0.12345678901234566>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f64, 0.12345678901234566>} : () -> ()
// CHECK: type = !quant.uniform<i8:f64, 1.2345678901234568E-5>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f64, 1.2345678901234567e-05>} : () -> ()
// CHECK: type = !quant.uniform<i8:f64, 123456789.125>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f64, 123456789.125>} : () -> ()

// A scale is the double that is written, whatever the expressed type, as upstream.
// CHECK: type = !quant.uniform<i8:f32, 0.33333333999999998>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 0.33333334>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32, 1.0000001199999999>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 1.00000012>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32, 9.8039221484214067E-4>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 0.00098039221484214067>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32, 1.1754944000000001E-38>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 1.1754944e-38>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32, 0x4170000020000000>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 16777218.0>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32, 2.000000e-45>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 2.0e-45>} : () -> ()
// CHECK: type = !quant.uniform<i8:f16, 5.9604644775390625E-8>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f16, 5.9604644775390625e-08>} : () -> ()

// A hexadecimal scale is the bits of a double.
// CHECK: type = !quant.uniform<i8:f32, 5.000000e-01>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 0x3FE0000000000000>} : () -> ()

// The zero point is not bound to the storage range here.
// CHECK: type = !quant.uniform<i8:f32, 5.000000e-02:200>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32, 0.05:200>} : () -> ()

// Per axis.
// CHECK: type = !quant.uniform<i8:f32:0, {1.000000e-01,2.000000e-01:3}>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32:0, {0.1,0.2:3}>} : () -> ()
// CHECK: type = !quant.uniform<i8:f32:3, {1.000000e-01,2.000000e-01,3.000000e-01,4.000000e-01}>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32:3, {0.1, 0.2, 0.3, 0.4}>} : () -> ()
// CHECK: type = !quant.uniform<i8<-127:127>:f32:0, {1.000000e-02,2.000000e-02}>{{[}]}}
"test.op"() {type = !quant.uniform<i8<-127:127>:f32:0, {1.0e-2:0, 2.0e-2}>} : () -> ()
// CHECK: type = !quant.uniform<u8:f32:1, {1.000000e-01:128}>{{[}]}}
"test.op"() {type = !quant.uniform<u8:f32:1, {0.1:128}>} : () -> ()

// By blocks.
// CHECK: type = !quant.uniform<i8:f32:{0:1, 1:2}, {{[{][{]}}1.000000e-01, 2.000000e-01:3}, {3.000000e-01, 4.000000e-01}}>{{[}]}}
"test.op"() {type = !quant.uniform<i8:f32:{0:1, 1:2}, {{0.1, 0.2:3}, {0.3, 0.4}}>} : () -> ()

// White space.
// CHECK: type = !quant.uniform<i8:f32:0, {1.000000e-01:1,2.000000e-01:2}>{{[}]}}
"test.op"() {type = !quant.uniform<  i8 < -128 : 127 > : f32 : 0 , { 0.1 : 1 , 0.2 : 2 }  >} : () -> ()

// Types of values that no op computes with.
// CHECK: type = !quant.any<i8>{{[}]}}
"test.op"() {type = !quant.any<i8>} : () -> ()
// CHECK: type = !quant.any<i8:f32>{{[}]}}
"test.op"() {type = !quant.any<i8:f32>} : () -> ()
// CHECK: type = !quant.any<i8<-16:7>>{{[}]}}
"test.op"() {type = !quant.any<i8<-16:7>>} : () -> ()
// CHECK: type = !quant.any<u8<0:7>:f32>{{[}]}}
"test.op"() {type = !quant.any<u8<0:7>:f32>} : () -> ()
// CHECK: type = !quant.calibrated<f32<-0.998:1.232100e+00>>{{[}]}}
"test.op"() {type = !quant.calibrated<f32<-0.998:1.2321>>} : () -> ()
// CHECK: type = !quant.calibrated<f32<0.000000e+00:2.000000e+00>>{{[}]}}
"test.op"() {type = !quant.calibrated<f32<0.0:2.0>>} : () -> ()
