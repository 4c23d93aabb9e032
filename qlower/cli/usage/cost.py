"""Usage of `qlower cost`: its options and help."""

SUMMARY = "measure contracts as circuits: cells, LUTs, and outputs that differ"

EXAMPLE = """  qlower cost tflm tvm pow2-shift mine.mlir --model model.tflite=inputs.npz
  qlower cost tflm 'arithmetic: multiplier 16 bits' --model model.tflite --plot cost.svg

Cells and LUTs are counted by Yosys (apt install yosys). The first contract is the
yardstick of areas."""

OPTIONS = """
contracts CONTRACT +  the contracts, or their files
--model MODEL[=FILE] required  the model whose layers say how wide a requantizer must
    be; the .npy or .npz file of its inputs (default: random codes)
@import-options
--against CONTRACT = exact  what outputs are compared with (default: exact)
--examples COUNT int  use the first COUNT inputs
@plot areas and differences
@format plain
"""
