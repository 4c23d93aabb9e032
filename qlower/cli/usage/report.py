"""Usage of `qlower report`: its options and help."""

from __future__ import annotations

from qlower.cli.options import (
    add_contract,
    add_inputs,
    add_layer_gate,
    add_match,
    add_model,
)
from qlower.cli.parser import ArgumentParser

SUMMARY = "write a page that shows a model, its differences and its roundings"

EXAMPLE = """  qlower report model.tflite -o report.html
  qlower report model.tflite --against tflite-xnnpack --input image.npy -o report.html
  qlower report model.tflite --against device.npz --input image.npy -o report.html
  qlower report model.tflite --model-explorer graph/

The page is one file that needs no network: the graph of the network, coloured by what
differs, by time, or by what is cut; a layer opens to pictures of its tensors, the
rounding steps of some elements, its scales, ranges and proof, and its IR.

Exits with 1 where --fail-below is missed by some layer."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the .html file to write"
    )
    parser.add_argument(
        "--model-explorer",
        metavar="DIR",
        help="a folder to write graph.json and node data for Model Explorer to",
    )
    parser.add_argument(
        "--against",
        metavar="B",
        help="the other side: a contract, an executor, a live "
        "system, a dump or a float model, as in `qlower diff`",
    )
    add_match(parser)
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also decide which layers are the same by both contracts for all inputs",
    )
    parser.add_argument(
        "--no-native",
        action="store_true",
        help="generate no machine code: the page has neither times nor LLVM IR, and "
        "the same command writes the same file",
    )
    add_layer_gate(parser, "; the page is written all the same")
    add_inputs(parser)
    add_contract(parser)
