// vectors for conv: run with +vectors=FOLDER
module conv_tb;
  localparam int LATER = 0;
  localparam int CHANNELS = 2;
  string folder, file;
  logic [2047:0] head;
  int word, last, given, seen, faults;
  bit done;
  int accumulator_file;
  int result_file;
  logic [15:0] accumulator;
  logic [0:0] channel;
  logic [7:0] result;
  logic [63:0] bits;
  logic [7:0] wanted [0:LATER];
  wire [7:0] got = 8'($signed(result));
  bit valid [0:LATER];

  conv dut (.*);

  initial begin
    if (!$value$plusargs("vectors=%s", folder)) folder = ".";
    file = $sformatf("%0s/accumulator.hex", folder);
    accumulator_file = $fopen(file, "r");
    if (accumulator_file == 0) begin
      $display("FAIL conv: no file %0s", file);
      $fatal(1);
    end
    last = $fgets(head, accumulator_file);
    file = $sformatf("%0s/output.hex", folder);
    result_file = $fopen(file, "r");
    if (result_file == 0) begin
      $display("FAIL conv: no file %0s", file);
      $fatal(1);
    end
    last = $fgets(head, result_file);
    for (int n = 0; n <= LATER; n++) valid[n] = 0;
    while (!done || given > seen) begin
      for (int n = LATER; n > 0; n--) begin
        wanted[n] = wanted[n - 1];
        valid[n] = valid[n - 1];
      end
      valid[0] = 0;
      if (!done) begin
        word = $fscanf(accumulator_file, "%h", bits);
        if (word != 1) done = 1;
        accumulator = bits[15:0];
        word = $fscanf(result_file, "%h", bits);
        if (word != 1) done = 1;
        wanted[0] = bits[7:0];
        if (!done) begin
          channel = 1'(given % CHANNELS);
          given++;
          valid[0] = 1;
        end
      end
      #1;
      if (valid[LATER]) begin
        if (got !== wanted[LATER]) begin
          faults++;
          if (faults <= 10)
            $display("vector %0d: result %0h, expected %0h, inputs in hexadecimal: accumulator %0h, channel %0h", seen, got, wanted[LATER], accumulator, channel);
        end
        seen++;
      end
    end
    if (given == 0) $display("FAIL conv: no vectors");
    else if (faults == 0)
      $display("PASS conv: %0d vectors", given);
    else $display("FAIL conv: %0d of %0d differ", faults, given);
    if (given == 0 || faults > 0) $fatal(1);
    $finish;
  end
endmodule
