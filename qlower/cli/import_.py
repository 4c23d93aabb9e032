"""`qlower import`: a model of another system as MLIR text."""

from __future__ import annotations

import argparse

from qlower.cli.options import add_command, add_model, given_model
from qlower.cli.parser import ArgumentParser, Commands

EXAMPLE = """  qlower import model.tflite -o model.mlir
  qlower import model.tflite | less
  qlower import model.tflite --generic -o netron.mlir"""


def register(commands: Commands, common: ArgumentParser) -> None:
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
        help="the .mlir file to write, - for standard output (default)",
    )
    parser.add_argument(
        "--generic",
        action="store_true",
        help="write the generic form, which tools such as Netron read, without the "
        "locations that have the layers' names",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load and print: with locations, in which layers' names live, or generic."""
    from qlower.files.replacing import write_text
    from qlower.frontends.load import as_model
    from qlower.model.printing import exact_module, generic_module

    model = given_model(options)
    written = generic_module if options.generic else exact_module
    write_text(options.output, lambda: written(as_model(model).module))
    return 0
