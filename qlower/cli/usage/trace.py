"""Usage of `qlower trace`: its options and help."""

from __future__ import annotations

from qlower.cli.options import add_contract, add_inputs, add_model
from qlower.cli.output import add_json
from qlower.cli.parser import ArgumentParser

SUMMARY = "show every rounding on the way to one element"

EXAMPLE = """  qlower trace model.tflite --input image.npy --at conv1[0,3,4,7]
  qlower trace model.mlir --random --at 2[0,5] --contract tvm --products"""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    parser.add_argument(
        "--at",
        required=True,
        metavar="LAYER[n,h,w,c]",
        help="an element of a layer's result, the layer by number, name or glob; axes "
        "may be named in any order: conv1[n=0,c=7,h=3,w=4]",
    )
    add_inputs(parser)
    add_contract(parser)
    parser.add_argument(
        "--given",
        action="append",
        metavar="NAME=VALUE",
        help="also show what the element would be with another value of its rule, such "
        "as output_scale=0.0040 (repeatable)",
    )
    parser.add_argument(
        "--products",
        action="store_true",
        help="also show the products that are summed",
    )
    parser.add_argument(
        "--all-steps",
        action="store_true",
        help="also show steps that change nothing, and what is computed when a model "
        "is compiled",
    )
    add_json(parser)
