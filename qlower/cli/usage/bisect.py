"""Usage of `qlower bisect`: its options and help."""

from __future__ import annotations

from qlower.cli.options import (
    add_contract,
    add_machine,
    add_model,
    add_observers,
    add_passes,
)
from qlower.cli.parser import ArgumentParser

SUMMARY = "find where native code and the interpreter part"

EXAMPLE = """  qlower bisect model.tflite image.npy
  qlower bisect model.mlir left=a.npy right=b.npy --cpu x86-64-v3

Exits with 0 if native code and interpreter give the same bits. Otherwise exits with 1
and prints the first kernel that differs, with the proof, fusion or schedule that causes
it."""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    parser.add_argument(
        "input",
        nargs="+",
        metavar="[NAME=]INPUT",
        help="an .npy file, or an .npz file with one array, of stored values, for each "
        "input of the model",
    )
    add_contract(parser)
    add_machine(parser)
    add_passes(parser)
    add_observers(parser)
