"""`qlower import`: a model of another system as MLIR text."""

from __future__ import annotations

import argparse
import os

from qlower.cli.colour import complain
from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.given import import_options, model_of
from qlower.cli.output import print_table
from qlower.files.replacing import write_text
from qlower.frontends.load import as_model
from qlower.model.contract_files import text_in


def run(options: argparse.Namespace) -> int:
    """Load and print, with locations, in which layers' names live."""
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
