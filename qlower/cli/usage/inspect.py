"""Usage of `qlower inspect`: its options and help."""

from __future__ import annotations

from qlower.cli.options import (
    add_contract,
    add_full_names,
    add_model,
    add_observers,
    add_passes,
    add_target,
    add_tune,
)
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser

SUMMARY = "show a model at any level"

EXAMPLE = """  qlower inspect model.tflite --stats
  qlower inspect model.tflite --at arith --layer conv_1
  qlower inspect model.tflite --at asm --target aarch64-linux-gnu --cpu cortex-a76"""


LEVELS = ("qnn", "arith", "kernel", "llvm", "asm")


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    parser.add_argument(
        "--at", choices=LEVELS, default="qnn", help="the level (default: qnn)"
    )
    parser.add_argument(
        "--layer",
        metavar="LAYER",
        help="show this layer only: its number or name as --stats has them, its full "
        "name, or a glob such as 'conv*' for several",
    )
    parser.add_argument(
        "--constants",
        action="store_true",
        help="print long constants in full (at the qnn, arith and kernel level), with "
        "--layer also those that it reads, as a model of its own (at the qnn and arith "
        "level)",
    )
    add_full_names(parser)
    parser.add_argument(
        "--stats",
        action="store_true",
        help="a table of layers: shapes, scales, accumulator range, proved epilogue, "
        "work and bytes",
    )
    add_format(parser)
    add_contract(parser)
    add_tune(parser)
    add_target(parser)
    add_passes(parser)
    add_observers(parser)
