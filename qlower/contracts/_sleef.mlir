// The exponential of ATen's vectors, Sleef_expf8_u10 and Sleef_expf16_u10, of
// sleef/src/libm/sleefsimdsp.c: x = q ln(2) + s with q whole, a polynomial of s by FMAs, and two
// powers of 2. It defines no rule.

module attributes {contract.base = "_mlas"} {

// Beyond the bounds the result is 0 or infinite.
func.func private @expf_u10(%x: f32) -> f32 {
  %not_low = arith.maximumf %x, -104.0 : f32
  %bounded = arith.minimumf %not_low, 100.0 : f32
  %ratio = arith.mulf %bounded, 1.4426950408889634 : f32
  %q = fixed.convert %ratio {rounding = half_even} : f32 to i32
  %whole = arith.sitofp %q : i32 to f32
  %less = math.fma %whole, -0.693145751953125, %bounded : f32
  %s = math.fma %whole, -1.428606765330187e-06, %less : f32
  %square = arith.mulf %s, %s : f32
  %p4 = math.fma 0.00019852761761285365, %s, 0.0013930435525253415 : f32
  %p3 = math.fma %p4, %s, 0.008333360776305199 : f32
  %p2 = math.fma %p3, %s, 0.041666485369205475 : f32
  %p1 = math.fma %p2, %s, 0.1666666716337204 : f32
  %above = math.fma %p1, %s, 0.5 : f32
  %rest = math.fma %square, %above, %s : f32
  %y = arith.addf 1.0, %rest : f32
  %result = func.call @times_power_of_two(%y, %q) : (f32, i32) -> f32
}

}
