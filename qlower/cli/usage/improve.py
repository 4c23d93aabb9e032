"""Usage of `qlower improve`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_contract, add_model, add_timing
from qlower.cli.output import add_format, add_plot
from qlower.cli.parser import ArgumentParser, add_number
from qlower.cli.usage.examples import add_data

METHODS = ("equalize", "ranges", "gains", "rounding", "biases")
"""The methods of `qlower.improvement`, in its order."""


SUMMARY = "recover accuracy without training, and find the layers that cost it"

EXAMPLE = """  qlower improve model.tflite --data inputs.npy -o better.tflite
  qlower improve model.tflite --data inputs.npy --contract tflm --float float.onnx
  qlower improve model.onnx --data inputs.npz --labels labels.npy --methods biases

Nothing is trained, and labels are only counted. Methods, in this order:
  equalize  give channels of adjacent layers weights of like ranges
  ranges    choose the ranges of results
  gains     choose scales of weights by which the device multiplies as is meant
  rounding  learn for each weight whether it is rounded up or down (AdaRound)
  biases    move biases by the mean error of results

Each is kept if the contract's own integers come nearer to the real network on examples
that it wasn't fitted to. Exits with 0, also where nothing helps."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    add_data(parser, "examples without labels, as for `qlower validate`")
    parser.add_argument(
        "--float",
        dest="float_model",
        metavar="FILE",
        help="the float model (.tflite, .onnx, .pt2) whose weights were quantized "
        "(default: the real values of the stored weights)",
    )
    parser.add_argument(
        "--methods",
        default=",".join(METHODS),
        metavar="A,B,...",
        help="what is tried (default: all)",
    )
    parser.add_argument(
        "--labels", metavar="FILE", help="the right classes, to show top-1 accuracy"
    )
    add_number(
        parser,
        "--limit",
        "N",
        "the first N examples only (default: 1024)",
        default=1024,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the better model: .mlir, or the format of MODEL's file",
    )
    add_plot(parser, "which layers hurt")
    add_contract(parser)
    add_format(parser)
    add_timing(parser)
