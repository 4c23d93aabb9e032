module scale (input signed [9:0] acc, input channel, input en, output signed [8:0] q);
  wire signed [15:0] p = channel ? acc * 16'sd11 : acc * 16'sd27;
  wire signed [15:0] s = p + 16'sd16;
  wire signed [10:0] r = s >>> 5;
  assign q = en ? (r > 127 ? 127 : r < -128 ? -128 : r[8:0]) : 9'd0;
endmodule
