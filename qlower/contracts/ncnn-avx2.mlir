// The arithmetic of ncnn's int8 layers on x86 CPUs with AVX2 and FMA and without AVX-512 (ncnn
// 1.0.20261020): as `ncnn`, but each channel's own convolution has no FMA.
// # Formula
// depthwise_conv2d: `y = r2(F(a(F(F(acc u) + b)) t_y))` with every kernel; all else as `ncnn`.
// # Ties
// As `ncnn`.
// # Not matched
// - With `use_packing_layout`, as `ncnn`.
// # Checked against
// ncnn live on AVX2 (AMD EPYC), `tests/contracts/test_phone_systems_live.py`: 2.2 million outputs,
// more than half of them ties or near ties: no mismatch, where `ncnn` has 27,901.
// # Sources
// - As `ncnn`.

module attributes {contract.family = "ncnn", contract.base = "ncnn",
    contract.summary = "ncnn before AVX-512: depthwise products and biases round twice"} {

func.func private @has_own_kernel() -> i1 replaces {
  %result = arith.constant false
}

}
