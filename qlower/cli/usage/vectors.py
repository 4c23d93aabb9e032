"""Usage of `qlower vectors`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_contract, add_model
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser

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


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the folder to write"
    )
    parser.add_argument(
        "--layer",
        default="*",
        metavar="LAYER",
        help="only these layers: a number, a name or a glob (default: all)",
    )
    parser.add_argument(
        "--files",
        default=",".join(FILES),
        metavar="LIST",
        help="the kinds to write, of npy, hex and c (default: all)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of drawn inputs (default: 0)"
    )
    add_format(parser)
    add_contract(parser)
