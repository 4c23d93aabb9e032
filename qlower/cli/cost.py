"""`qlower cost`: the cost of contracts as circuits, and how often they differ."""

from __future__ import annotations

import argparse

from qlower.circuits.cost import costs
from qlower.cli.compare import subject_of
from qlower.cli.output import check_plot, print_table, show, write_plot
from qlower.cli.progress import progress
from qlower.diagnostics import QlowerError
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Measure, and print."""
    if options.examples is not None and options.examples < 1:
        raise QlowerError(f"--examples must be at least 1, not {options.examples}")
    check_plot(options)
    found = costs(
        subject_of(options.model, options),
        options.contracts,
        options.against,
        examples=options.examples,
        progress=progress,
    )
    if options.format == "json":
        show(json_text(found.to_dict()))
    else:
        print_table(found.table, options)
    write_plot(options, found)
    return 0
