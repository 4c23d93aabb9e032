// The arithmetic of OpenVINO's CPU plug-in on x86 with AVX-512 VNNI (OpenVINO 2026.4.1), in linear
// layers of few rows that follow each other: as `openvino`, but one kernel computes them all.
// # Formula
// With the names of `openvino`:
// - linear: `y = rne(F(F(a(F(F(n w) + b)) i_y) - F(lo_y i_y)))`
// # Ties
// As `openvino`.
// # Operands
// As `openvino`.
// # Quirks
// - One thread computes two or more linear layers so that follow each other, with nothing but
//   functions of one element between them, if each has at most 8 rows, 256 inputs and 256
//   outputs and no size is left open: the graph that runs has a `Subgraph` for them. Two threads
//   compute one row as `openvino` does.
// # Not matched
// - As `openvino`.
// # Checked against
// OpenVINO 2026.4.1 live, `tests/contracts/test_phone_systems_live.py`: 300,000 outputs of drawn layers,
// and 655,360 chosen ones: 395,797 are ties or within 2^-14 steps of one. No mismatch;
// mutants with one step changed differ. `openvino` differs in one of eight chosen ones.
// # Sources
// Files of openvinotoolkit/openvino:
// - src/common/snippets/src/pass/mlp_seq_tokenization.cpp, fq_decomposition.cpp

module attributes {contract.family = "OpenVINO", contract.base = "openvino",
    contract.summary = "OpenVINO (VNNI), linear layers of few rows in a sequence"} {

func.func @linear(%accumulator: i32) -> i32 {
  %sum, %unused = func.call @linear_sum(%accumulator) : (i32) -> (f32, i1)
  %real = func.call @real(%sum) : (f32) -> f32
  %active = arith.maximumf %real, %activation_min : f32
  %low, %high = func.call @output_range() : () -> (f32, f32)
  %scale, %shift = func.call @scale_and_shift(%low, %high) : (f32, f32) -> (f32, f32)
  %scaled = arith.mulf %active, %scale : f32
  %subtracted = arith.mulf %low, %scale : f32
  %steps = arith.subf %scaled, %subtracted : f32
  %result = func.call @store(%steps) : (f32) -> i32
}

}
