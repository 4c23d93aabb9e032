"""Usage of `qlower cost`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_import_options
from qlower.cli.output import add_format, add_plot
from qlower.cli.parser import ArgumentParser, add_number

SUMMARY = "measure contracts as circuits: cells, LUTs, and outputs that differ"

EXAMPLE = """  qlower cost tflm tvm pow2-shift mine.mlir --model model.tflite=inputs.npz
  qlower cost tflm 'arithmetic: multiplier 16 bits' --model model.tflite --plot cost.svg

Cells and LUTs are counted by Yosys (apt install yosys). The first contract is the
yardstick of areas."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument(
        "contracts", nargs="+", metavar="CONTRACT", help="the contracts, or their files"
    )
    parser.add_argument(
        "--model",
        required=True,
        metavar="MODEL[=FILE]",
        help="the model whose layers say how wide a requantizer must be; the .npy or "
        ".npz file of its inputs (default: random codes)",
    )
    add_import_options(parser)
    parser.add_argument(
        "--against",
        default="exact",
        metavar="CONTRACT",
        help="what outputs are compared with (default: exact)",
    )
    add_number(parser, "--examples", "COUNT", "use the first COUNT inputs")
    add_plot(parser, "areas and differences")
    add_format(parser)
