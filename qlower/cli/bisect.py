"""`qlower bisect`: where native code and the interpreter part."""

from __future__ import annotations

import argparse

from qlower.cli.exit_codes import ExitCode
from qlower.cli.given import make_compilation
from qlower.cli.inputs import assign_inputs, read_inputs
from qlower.cli.output import show
from qlower.cli.progress import progress
from qlower.compilation.bisection import bisect
from qlower.model.input_sets import input_set
from qlower.tables.table import counted


def run(options: argparse.Namespace) -> int:
    """Compare on each input of a set, and search by the first that differs."""
    given = read_inputs(options.input)
    compilation = make_compilation(options)
    specs = compilation.model.inputs
    runs = input_set(specs, assign_inputs(specs, given)).runs
    for number in progress(range(len(runs)), "bisect"):
        fault = bisect(compilation, runs[number])
        if fault is not None:
            show(f"input {number}: {fault}" if len(runs) > 1 else str(fault))
            return ExitCode.FOUND
    inputs = f" for {counted(len(runs), 'input')}" if len(runs) > 1 else ""
    show(f"native code and interpreter give the same bits{inputs}")
    return 0
