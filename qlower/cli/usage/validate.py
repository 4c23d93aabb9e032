"""Usage of `qlower validate`: its options and help."""

from __future__ import annotations

import argparse

from qlower.cli.options import add_import_options, add_match, add_timing
from qlower.cli.output import add_format, add_junit, add_plot
from qlower.cli.parser import ArgumentParser, add_repeatable
from qlower.cli.usage.examples import add_data, add_labels, add_preprocessing, add_work

SUMMARY = "measure accuracy and agreement on a set of examples"

EXAMPLE = """  qlower validate model.tflite --data inputs.npz --labels labels.npy
  qlower validate model.tflite --data pictures/ --resize 256 --crop 224 \\
      --mean 127.5 --deviation 127.5 --contract tflite,pytorch-qnnpack
  qlower validate model.tflite --data x.npy --contract pow2-shift --against tflite
  qlower validate model.tflite --data set/ --scheduler tcp://10.0.0.1:8786

Exits with 1 where no example could be used, or a bound (--min-top1, --max-loss,
--min-agreement, --fail-below) is missed by some contract."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument("model", metavar="MODEL", help="a model's file")
    add_import_options(parser)
    add_data(
        parser,
        "an .npy, .npz or .parquet file, or a folder of these or of pictures; "
        "stored values, or real numbers that are then quantized; the first dimension "
        "counts examples",
    )
    parser.add_argument(
        "--contract",
        default="",
        metavar="A,B,...",
        help="one contract or more; all get the same rows, read once "
        "(default: the model's own)",
    )
    add_repeatable(
        parser,
        "--layer-contract",
        "LAYER=NAME",
        "another contract for some layers, as for `qlower run`",
    )
    parser.add_argument(
        "--against",
        metavar="REFERENCE",
        help="the reference for outputs: a contract; litert or onnxruntime, on the "
        "model's own file; or a .tflite, .onnx or .pt2 file, such as the float model",
    )
    add_labels(parser)
    add_preprocessing(parser)
    parser.add_argument(
        "--metrics",
        metavar="FILE.py:NAME",
        help="your own function, called with an example's outputs (real numbers) and "
        "its set of classes; returns named numbers, whose means are shown",
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="show which layer loses the signal; --against is a contract, or the file "
        "of a float model, whose tensors are matched by name, or else by shape and "
        "values",
    )
    add_match(parser)
    parser.add_argument(
        "--classes", action="store_true", help="show the accuracy of each class"
    )
    add_work(parser, "threads that share the examples", "counts")
    add_plot(parser, "the figures")
    for bound, what in BOUNDS.items():
        parser.add_argument(bound, type=share, metavar="SHARE", help=what)
    parser.add_argument(
        "--fail-below",
        type=float,
        metavar="DB",
        help="the least signal to noise against --against, in dB: of the output, and "
        "with --layers of each layer",
    )
    add_format(parser)
    add_junit(parser)
    add_timing(parser)


BOUNDS = {
    "--min-top1": "the least top-1 accuracy, such as 0.9 or 90%%",
    "--max-loss": "how far the top-1 accuracy may be below that of --against, such as "
    "0.005 or 0.5%%",
    "--min-agreement": "the least share of examples whose largest output is that of "
    "--against",
}
"""Options for what every contract has to reach."""


def share(text: str) -> float:
    """A share of 1, or in percent."""
    number = text.removesuffix("%")
    try:
        found = float(number) / (100 if number != text else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: 0.9, or 90%")
    return found
