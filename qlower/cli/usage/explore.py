"""Usage of `qlower explore`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_import_options
from qlower.cli.output import add_format, add_plot
from qlower.cli.parser import ArgumentParser, add_number, add_repeatable
from qlower.cli.usage.examples import add_data, add_labels, add_preprocessing, add_work

SUMMARY = "find the arithmetics that are worth their area on a set of examples"

EXAMPLE = """  qlower explore model.tflite --data x.npz --against exact --plot front.svg
  qlower explore model.tflite --data x.npy --labels y.npy --resume walk.json
  qlower explore model.tflite --data x.npy --against tflite --area cells \\
      --choice multiplier=8,10,12 --choice rounding=half_up,floor

The walk varies the multiplier's bits and rounding (2 bits are a power of two), the
rounding of results, a first rounding, the accumulator, and where the zero point is
added. It begins with what differs from the base in one choice, and goes on from the
best. The table has the arithmetics that no other beats in quality, area and bits."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument("model", metavar="MODEL", help="a model's file")
    add_import_options(parser)
    add_data(parser, "examples, as `qlower validate` takes them")
    parser.add_argument(
        "--against",
        metavar="REFERENCE",
        help="the reference for outputs: a contract, litert or onnxruntime, or a "
        ".tflite or .onnx file",
    )
    parser.add_argument(
        "--base",
        default="tflite",
        metavar="CONTRACT",
        help="the contract of all other operations (default: tflite)",
    )
    add_number(
        parser,
        "--points",
        "N",
        "arithmetics to look at, at most (default: 500)",
        default=500,
    )
    add_repeatable(
        parser,
        "--choice",
        "CHOICE=VALUE,...",
        "only these values of multiplier, rounding, first, accumulator or "
        "zero_point (repeatable)",
    )
    parser.add_argument(
        "--by",
        choices=("top1", "agreement", "equal"),
        help="rank by top-1 accuracy (default with labels), by examples whose largest "
        "output is that of --against, or by equal outputs (default)",
    )
    parser.add_argument(
        "--area",
        choices=("luts", "cells", "bits"),
        help="the area of a requantizer: LUTs or cells by Yosys, or bits of its wires "
        "(default: luts if Yosys is installed, else bits)",
    )
    add_labels(parser)
    add_preprocessing(parser)
    add_work(parser, "processes", "figures")
    add_plot(parser, "all points and the front")
    parser.add_argument(
        "--report",
        metavar="FILE.html",
        help="write a page with the picture, the front and all points",
    )
    add_format(parser)
