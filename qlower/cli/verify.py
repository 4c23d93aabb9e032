"""`qlower verify`: what holds for all inputs."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.options import (
    add_command,
    add_model,
    given_model,
    layer_contracts,
)
from qlower.cli.output import terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status, progress

EXAMPLE = """  qlower verify model.tflite --equal tflite tflite-ruy
  qlower verify model.tflite --equal tflite mine.mlir -o verdict.json --save inputs.npz

Each layer is decided by itself, for every input that it could be given:
  equal       the same bits for every accumulator, or every pair of stored integers
  differs     an input of the layer shows it, confirmed by interpreter and machine code
  undecided   and why

Exits with 0 where all is equal, with 1 where anything isn't."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "show for all inputs that contracts are the same, or where they differ"
    parser = add_command(commands, common, "verify", summary, EXAMPLE)
    add_model(parser)
    parser.add_argument(
        "--equal",
        nargs=2,
        metavar=("A", "B"),
        help="two contracts, by name or as .mlir files",
    )
    parser.add_argument(
        "--layer-contract",
        action="append",
        default=[],
        metavar="LAYER=NAME",
        help="another contract for some layers of both sides (repeatable)",
    )
    parser.add_argument(
        "--b-layer-contract",
        action="append",
        default=[],
        metavar="LAYER=NAME",
        help="another contract for some layers of B alone (repeatable)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the verdict as JSON to this file"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="write the counterexamples, inputs of layers, to this .npz file",
    )
    parser.add_argument("--json", action="store_true", help="write it all as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Decide, and tell."""
    from qlower.files.replacing import replacing
    from qlower.verification.equal import equal

    if options.equal is None:
        raise UsageError("say what is to be verified: --equal A B")
    with ExitStack() as stack:
        output, saved = (
            None if path is None else stack.enter_context(replacing(Path(path)))
            for path in (options.output, options.save)
        )
        first, second = options.equal
        found = equal(
            first,
            second,
            given_model(options),
            layer_contracts=layer_contracts(options.layer_contract),
            b_layer_contracts=layer_contracts(options.b_layer_contract),
            progress=progress,
        )
        text = json.dumps(found.to_dict(), indent=1)
        if output is not None:
            output.write(text.encode())
        if saved is not None:
            np.savez(saved, **found.inputs())
    clear_status()
    print(text if options.json else found.render(terminal_width()))
    return 0 if found.is_equal else ExitCode.FOUND
