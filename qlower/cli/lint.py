"""`qlower lint`: layers whose sums can leave their width."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qlower.cli.exit_codes import ExitCode
from qlower.cli.options import (
    add_command,
    add_contract,
    add_model,
    given_model,
    layer_contracts,
)
from qlower.cli.output import add_format, print_table
from qlower.cli.parser import ArgumentParser, Commands
from qlower.diagnostics import QlowerError

if TYPE_CHECKING:
    from qlower.compilation import Compilation
    from qlower.model.signature import Array

EXAMPLE = """  qlower lint model.tflite --accumulator-bits 24
  qlower lint model.mlir --contract pytorch-fbgemm-avx2
  qlower lint model.mlir --pairs --input images.npy --json

Exits with 0 where there is nothing to find, with 1 where there is."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "find layers whose sums can overflow or saturate"
    parser = add_command(commands, common, "lint", summary, EXAMPLE)
    add_model(parser)
    parser.add_argument(
        "--accumulator-bits",
        type=int,
        default=32,
        metavar="N",
        help="the width of the device's accumulators, 2 to 63 (default: 32)",
    )
    parser.add_argument(
        "--pairs",
        action="store_true",
        help="look for pairs of products that leave 16 bits (x86 without VNNI) under "
        "contracts with exact products, too",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="also count how often it happens for the inputs of this .npy or .npz file",
    )
    add_contract(parser)
    add_format(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the findings."""
    from qlower.compilation import Compilation
    from qlower.dialects.qnn.attributes import module_contract
    from qlower.report.lint import lint, lint_table

    if not 2 <= options.accumulator_bits <= 63:
        raise QlowerError(
            f"--accumulator-bits must be in [2, 63], not {options.accumulator_bits}"
        )
    chosen = layer_contracts(options.layer_contract)
    compilation = Compilation(
        given_model(options), options.contract, with_layers=True, layer_contracts=chosen
    )
    if module_contract(compilation.model.module) is not None:
        # what layers take is what the model itself computes
        compilation = replace(compilation, contract=None)
    found = lint(
        compilation.model,
        options.contract,
        bits=options.accumulator_bits,
        pairs=options.pairs,
        values=_values(compilation, options.input) if options.input else (),
    )
    print_table(lint_table(found), options)
    return ExitCode.FOUND if found else 0


def _values(
    compilation: Compilation, arguments: Sequence[str]
) -> list[Mapping[str, Array]]:
    """What inputs and layers are, for each of the inputs in the files."""
    from qlower.cli.inputs import assign_inputs, read_inputs
    from qlower.model.input_sets import input_set

    specs = compilation.model.inputs
    inputs = input_set(specs, assign_inputs(specs, read_inputs(arguments)))
    function = compilation.function()
    return [{**run, **function.run([], run)[1]} for run in inputs.runs]
