"""`qlower lint`: layers whose sums can leave their width."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from qlower.cli.exit_codes import ExitCode
from qlower.cli.given import given_model, layer_contracts
from qlower.cli.inputs import assign_inputs, read_inputs
from qlower.cli.output import print_table, write_junit
from qlower.cli.tables.junit import Case
from qlower.inspection.linting import lint
from qlower.model.signature import Array, TensorSpec


def run(options: argparse.Namespace) -> int:
    """Print the findings."""
    found = lint(
        given_model(options),
        options.contract,
        accumulator_bits=options.accumulator_bits,
        pairs=options.pairs,
        inputs=(lambda specs: _inputs(specs, options)) if options.input else None,
        layer_contracts=layer_contracts(options.layer_contract),
    )

    def cases() -> list[Case]:
        if found.is_clean:
            return [Case("findings")]
        return [Case(f"{one.layer} {one.what}", str(one)) for one in found.findings]

    write_junit(options, cases)
    print_table(found.table, options)
    return 0 if found.is_clean else ExitCode.FOUND


def _inputs(
    specs: Sequence[TensorSpec], options: argparse.Namespace
) -> Mapping[str, Array]:
    return assign_inputs(specs, read_inputs(options.input))
