"""`qlower import`: a model of another system as MLIR text."""

from __future__ import annotations

import argparse
import os

from qlower.cli.colour import complain
from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.options import (
    add_command,
    add_import_options,
    import_options,
    model_of,
)
from qlower.cli.output import add_format, print_table
from qlower.cli.parser import ArgumentParser, Commands
from qlower.files.replacing import write_text

EXAMPLE = """  qlower import model.tflite -o model.mlir
  qlower import model.tflite | less
  qlower import model.tflite --generic -o netron.mlir
  qlower import --check zoo/ other.tflite

With --check, exits with 0 if all can be imported and compiled, otherwise with 1."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, common, "import", "read a model and write it as qnn text", EXAMPLE
    )
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="a .tflite, .onnx, .pt2 or .mlir file, or - for MLIR text from standard "
        "input; with --check several, or folders of them",
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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load and print, with locations, in which layers' names live."""
    from qlower.frontends.load import as_model
    from qlower.model.contract_files import text_in

    if options.check:
        if options.output != "-" or options.generic:
            raise UsageError("--check writes no model: without -o and --generic")
        return _check(options)
    if len(options.models) > 1:
        raise UsageError("one model is imported at a time; --check takes several")
    model = as_model(model_of(options.models[0], options))
    folder = os.path.dirname(options.output)
    write_text(
        options.output, lambda: text_in(model.module, folder, generic=options.generic)
    )
    for remark in model.remarks:
        complain(f"note: {remark}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from qlower.cli.tables.check_table import check_table
    from qlower.cli.tables.machine_code import check_machine_code
    from qlower.frontends.check import check_model, model_files

    given = import_options(options)
    checked = [
        check_machine_code(check_model(path, given))
        for path in model_files(options.models)
    ]
    print_table(check_table(checked), options)
    return ExitCode.FOUND if any(model.reasons for model in checked) else 0
