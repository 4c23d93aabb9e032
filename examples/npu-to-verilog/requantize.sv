// The rescaling of an NPU, written by hand: a 24-bit accumulator, a 15-bit multiplier, a
// shifter that drops bits, the zero point, and saturation to 8 bits.
module requantize (
  input  signed [23:0] accumulator,
  input         [14:0] multiplier,
  input          [4:0] shift,
  output signed  [7:0] result
);
  wire signed [39:0] product = accumulator * $signed({1'b0, multiplier});
  wire signed [39:0] shifted = product >>> shift;
  wire signed [39:0] sum = shifted - 40'sd128;
  assign result = sum < -128 ? -8'sd128 : sum > 127 ? 8'sd127 : sum[7:0];
endmodule
