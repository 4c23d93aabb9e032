"""`qlower bisect`: where native code and the interpreter part."""

from __future__ import annotations

import argparse

from qlower.cli.exit_codes import ExitCode
from qlower.cli.options import (
    add_command,
    add_contract,
    add_machine,
    add_model,
    add_observers,
    add_passes,
    make_compilation,
)
from qlower.cli.output import show
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status, progress
from qlower.tables.table import counted

EXAMPLE = """  qlower bisect model.tflite image.npy
  qlower bisect model.mlir left=a.npy right=b.npy --cpu x86-64-v3

Exits with 0 if native code and interpreter give the same bits. Otherwise exits with 1
and prints the first kernel that differs, with the proof, fusion or schedule that causes
it."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "find where native code and the interpreter part"
    parser = add_command(commands, common, "bisect", summary, EXAMPLE)
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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare on each input of a set, and search by the first that differs."""
    from qlower.cli.inputs import assign_inputs, read_inputs
    from qlower.compilation.bisection import bisect
    from qlower.model.input_sets import input_set

    given = read_inputs(options.input)
    compilation = make_compilation(options)
    specs = compilation.model.inputs
    runs = input_set(specs, assign_inputs(specs, given)).runs
    for number in progress(range(len(runs)), "bisect"):
        fault = bisect(compilation, runs[number])
        if fault is not None:
            clear_status()
            show(f"input {number}: {fault}" if len(runs) > 1 else str(fault))
            return ExitCode.FOUND
    clear_status()
    inputs = f" for {counted(len(runs), 'input')}" if len(runs) > 1 else ""
    show(f"native code and interpreter give the same bits{inputs}")
    return 0
