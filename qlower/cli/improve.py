"""`qlower improve`: accuracy recovered without training."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from qlower.cli.exit_codes import ExitCode
from qlower.cli.given import given_model, layer_contracts
from qlower.cli.output import check_plot, print_table, show, write_plot
from qlower.diagnostics import QlowerError
from qlower.frontends.load import as_model
from qlower.process.extras import install_line
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Improve, print the tables, and write what was asked for."""
    if find_spec("torch") is None:
        raise QlowerError("qlower improve needs PyTorch", help=install_line("torch"))
    from qlower.improvement.improve import improve

    check_plot(options)
    if options.limit < 1:
        raise QlowerError(f"--limit {options.limit}: at least 1")
    contracts = [options.contract] if options.contract else []
    model = as_model(given_model(options), contracts)
    output = None if options.output is None else Path(options.output)
    if output is not None:
        suffix = "" if model.path is None else model.path.suffix
        if output.suffix not in (".mlir", suffix):
            raise QlowerError(
                f"--output {options.output!r} ends with neither .mlir nor {suffix}"
            )
    found = improve(
        model,
        options.data,
        contract=options.contract,
        float_model=options.float_model,
        methods=[name for name in options.methods.split(",") if name],
        labels=options.labels,
        layer_contracts=layer_contracts(options.layer_contract),
        limit=options.limit,
    )
    if options.format == "json":
        show(json_text(found.to_dict()))
    else:
        print_table(found.table, options)
        print()
        print_table(found.layer_table(), options)
        print()
        print_table(found.choice_table(), options)
    if output is not None:
        found.save(output)
        if options.format == "plain":
            show(f"{output} is written")
    write_plot(options, found)
    return ExitCode.DONE
