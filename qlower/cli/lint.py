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
    from qlower.report.lint import Finding

EXAMPLE = """  qlower lint model.tflite --accumulator-bits 24
  qlower lint model.mlir --contract pytorch-fbgemm-avx2
  qlower lint model.mlir --pairs --input images.npy --json

Pairs of products are always looked at: they are findings if the contract, or the same
system on another machine, multiplies in pairs, or if no contract is given; otherwise a
sentence names the layers that other systems would saturate.

Exits with 0 where there is no finding, with 1 where there is one."""


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
        help="count pairs of products that leave 16 bits (x86 without VNNI) as "
        "findings also under contracts of systems that never multiply in pairs",
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
    from qlower.report.lint import (
        PAIRS,
        lint,
        lint_table,
        not_looked_at,
        saturates_elsewhere,
    )

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
    contract = options.contract or module_contract(compilation.model.module)
    found = lint(
        compilation.model,
        options.contract,
        bits=options.accumulator_bits,
        pairs=True,
        values=_values(compilation, options.input) if options.input else (),
    )
    elsewhere: list[Finding] = []
    model = compilation.model
    is_safe = contract is not None and not saturates_elsewhere(model, contract)
    if is_safe and not options.pairs:
        own = lint(compilation.model, options.contract, bits=options.accumulator_bits)
        kept = {row.layer for row in own if row.what == PAIRS}
        is_own = [row.what != PAIRS or row.layer in kept for row in found]
        elsewhere = [row for row, own in zip(found, is_own, strict=True) if not own]
        found = [row for row, own in zip(found, is_own, strict=True) if own]
    table = lint_table(found, elsewhere, not_looked_at(compilation.model))
    print_table(table, options)
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
