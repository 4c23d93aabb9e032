module later (input clk, input signed [7:0] x, output reg positive);
  reg signed [13:0] p;
  always @(posedge clk) begin
    p <= x * 14'sd27;
    positive <= p > 100;
  end
endmodule
