"""`qlower identify`: whose arithmetic made given outputs."""

from __future__ import annotations

import argparse
import json

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.options import add_command, add_inputs, add_model, given_model
from qlower.cli.output import terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status, progress

EXAMPLE = """  qlower identify device.npz model.tflite --input images.npy
  qlower identify litert model.tflite --random

A dump has outputs of the whole model, or of its layers: .npz (as of --save-layers),
.npy, a folder, Polygraphy's .json, ONNX Runtime's .tensorproto or .pb; or it is a live
system, as for `qlower diff`. Each layer gets what the dump has of those before it.

Exits with 0 where a contract explains all outputs, with 1 where none does."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "find whose arithmetic made given outputs"
    parser = add_command(commands, common, "identify", summary, EXAMPLE)
    parser.add_argument("dump", metavar="DUMP", help="the outputs, or what gives them")
    add_model(parser)
    add_inputs(parser)
    parser.add_argument(
        "--contract",
        default="",
        metavar="A,B,...",
        help="those that are tried, by name or as .mlir files (default: all)",
    )
    parser.add_argument(
        "--no-verify",
        action="store_true",
        help="don't decide whether those that explain the same do so for all inputs",
    )
    parser.add_argument("--json", action="store_true", help="write it all as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare with all contracts, and tell which it is."""
    from qlower.cli.inputs import given_arrays
    from qlower.explain.sides import UnknownSide
    from qlower.frontends.load import as_model
    from qlower.identification.identify import identify

    model = as_model(given_model(options))
    inputs = given_arrays(model.inputs, options).values()
    try:
        found = identify(
            options.dump,
            model,
            *inputs,
            contracts=[name for name in options.contract.split(",") if name] or None,
            verify=not options.no_verify,
            progress=progress,
        )
    except UnknownSide as error:
        raise UsageError(error.message, help=error.help) from error
    clear_status()
    if options.json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        print(found.render(terminal_width()))
    return 0 if found.is_found else ExitCode.FOUND
