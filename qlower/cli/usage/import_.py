"""Usage of `qlower import`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_import_options
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser

SUMMARY = "read a model and write it as qnn text"

EXAMPLE = """  qlower import model.tflite -o model.mlir
  qlower import model.tflite | less
  qlower import model.tflite --generic -o netron.mlir
  qlower import --check zoo/ other.tflite

With --check, exits with 0 if all can be imported and compiled, otherwise with 1."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="a .tflite, .onnx, .pt2, .param, .espdl or .mlir file, or - for MLIR text "
        "from standard input; with --check several, or folders of them",
    )
    add_import_options(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="list for each model whether it can be imported and compiled, and every "
        "obstacle",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the .mlir file to write, - for standard output (default)",
    )
    parser.add_argument(
        "--generic",
        action="store_true",
        help="write the generic form, which tools such as Netron read; it shows the "
        "layers' names as locations",
    )
    add_format(parser)
