"""`qlower report`: a model as a page to look at."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.given import given_model, layer_contracts, matched_layers
from qlower.cli.inputs import check_inputs, given_arrays
from qlower.cli.layer_gate import check_layers
from qlower.cli.output import show
from qlower.cli.progress import progress
from qlower.files.replacing import replacing, replacing_files
from qlower.frontends.load import as_model
from qlower.report.make import make_report
from qlower.report.report import Report
from qlower.sides.make_side import UnknownSide
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Look at the model, and write what was asked for."""
    if options.output is None and options.model_explorer is None:
        raise UsageError("nothing to write", help="-o FILE or --model-explorer DIR")
    for option in ("fail_below", "junit"):
        if getattr(options, option) is not None and options.against is None:
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"{name} needs --against", help="--against B")
    if options.verify and options.against is None:
        raise UsageError("--verify is about two contracts", help="--against CONTRACT")

    said: list[str] = []
    with ExitStack() as stack:  # what can't be written is refused before the work
        page = folder = None
        explorer = Path(options.model_explorer or "")
        if options.output is not None:
            page = stack.enter_context(replacing(Path(options.output)))
        if options.model_explorer is not None:
            folder = stack.enter_context(replacing_files(explorer))
        report = _report(options)
        if page is not None:
            size = page.write(report.html().encode())
            said.append(f"{options.output}: {size / 1e6:.1f} MB")
        if folder is not None:
            for name, text in report.explorer_files().items():
                (folder / name).write_text(text)
                said.append(str(explorer / name))
    if options.json:
        show(json_text(report.to_dict()))
    else:
        show("\n".join(said))
    found = report.difference
    is_bad = found is not None and check_layers(options, found) is False
    return ExitCode.FOUND if is_bad else 0


def _report(options: argparse.Namespace) -> Report:
    check_inputs(options)
    model = as_model(given_model(options))
    given = given_arrays(model.inputs, options) if options.input else {}
    try:
        return make_report(
            model,
            *given.values(),
            contract=options.contract,
            against=options.against,
            random=options.random or 0,
            layer_contracts=layer_contracts(options.layer_contract),
            native=not options.no_native,
            verify=options.verify,
            match=matched_layers(options.match),
            progress=progress,
        )
    except UnknownSide as error:
        raise UsageError(error.message, help=error.help) from error
