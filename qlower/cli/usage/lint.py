"""Usage of `qlower lint`: its options and help."""

SUMMARY = "find layers whose sums can overflow or saturate"

EXAMPLE = """  qlower lint model.tflite --accumulator-bits 24
  qlower lint model.mlir --contract pytorch-fbgemm-avx2
  qlower lint model.mlir --pairs --input images.npy --json

Pairs of products are always looked at: they are findings if the contract, or the same
system on another machine, multiplies in pairs, or if no contract is given; otherwise a
sentence names the layers that other systems would saturate.

Exits with 0 where there is no finding, with 1 where there is one."""

OPTIONS = """
@model
--accumulator-bits N int  the width of the device's accumulators, 2 to 63 (default: that
    of the contract's register, if it states one, or 32)
--pairs  count pairs of products that leave 16 bits (x86 without VNNI) as findings also
    under contracts of systems that never multiply in pairs
--input [NAME=]FILE several  also count how often it happens for the inputs of this .npy
    or .npz file
@contract
@format plain
@junit
"""
