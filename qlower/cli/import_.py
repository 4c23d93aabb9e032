"""`qlower import`: a model of another system as MLIR text."""

from __future__ import annotations

import argparse

from qlower.cli.options import Commands, add_command, add_model

EXAMPLE = """  qlower import model.tflite -o model.mlir
  qlower import model.tflite | less"""


def register(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, common, "import", "read a model and write it as qnn text", EXAMPLE
    )
    add_model(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the .mlir file to write (default: standard output)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load, and print with locations, in which the layers' names live."""
    from qlower.files.replacing import write_text
    from qlower.frontends.load import load
    from qlower.text.printing import exact_module

    write_text(options.output, lambda: exact_module(load(options.model).module))
    return 0
