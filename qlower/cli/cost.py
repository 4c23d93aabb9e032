"""`qlower cost`: what contracts cost as circuits, beside how often they differ."""

from __future__ import annotations

import argparse

from qlower.cli.contracts import subject_of
from qlower.cli.options import add_command, add_import_options
from qlower.cli.output import add_format, add_plot, check_plot, print_table, write_plot
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status, progress
from qlower.diagnostics import QlowerError
from qlower.tables.json_text import json_text

EXAMPLE = """  qlower cost tflm tvm pow2-shift mine.mlir --model model.tflite=inputs.npz
  qlower cost tflm 'arithmetic: multiplier 16 bits' --model model.tflite --plot cost.svg

Cells and LUTs are counted by Yosys (apt install yosys). The first contract is the
yardstick of areas."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "measure contracts as circuits: cells, LUTs, and outputs that differ"
    parser = add_command(commands, common, "cost", summary, EXAMPLE)
    parser.add_argument(
        "contracts", nargs="+", metavar="CONTRACT", help="the contracts, or their files"
    )
    parser.add_argument(
        "--model",
        required=True,
        metavar="MODEL[=FILE]",
        help="the model whose layers say how wide a requantizer must be; the .npy or "
        ".npz file of its inputs (default: random codes)",
    )
    add_import_options(parser)
    parser.add_argument(
        "--against",
        default="exact",
        metavar="CONTRACT",
        help="what outputs are held against (default: exact)",
    )
    parser.add_argument(
        "--examples", type=int, metavar="COUNT", help="use the first COUNT inputs"
    )
    add_plot(parser, "areas and differences")
    add_format(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure, and print."""
    from qlower.circuits.cost import costs

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
    clear_status()
    if options.format == "json":
        print(json_text(found.to_dict()))
    else:
        print_table(found.table, options)
    write_plot(options, found)
    return 0
