"""Usage of `qlower vectors`: its options and help."""

SUMMARY = "write test vectors that exercise every rounding of a device"

EXAMPLE = """  qlower vectors model.tflite -o vectors
  qlower vectors model.mlir -o vectors --layer conv1 --contract ./my_npu.mlir

Each layer has a folder with input, weight, bias, accumulator and output, as .npy, as
.hex for $readmemh, and as C arrays in vectors.h, whose names begin with the layer's.
Its layer.json has strides, padding, scales, zero points, bounds and each constant of
the lowered arithmetic; multipliers and shifts are arrays, too.

Inputs of convolutions and linear layers are chosen so that every rounding of every
channel sees a tie, the nearest sums on both sides of it, both signs and both
saturations, where some input reaches them."""

FILES = ("npy", "hex", "c")

OPTIONS = f"""
@model
-o, --output DIR required  the folder to write
--layer LAYER = *  only these layers: a number, a name or a glob (default: all)
--files LIST = {",".join(FILES)}  the kinds to write, of npy, hex and c (default: all)
--seed int = 0  the seed of drawn inputs (default: 0)
@format plain
@contract
"""
