"""The options of `qlower compile --emit systemverilog`."""

from __future__ import annotations

import argparse

from qlower.cli.exit_codes import UsageError
from qlower.cli.parser import add_number, section

CIRCUIT_KINDS = frozenset(("systemverilog", "comb", "gates"))
"""The outputs that are circuits."""

CIRCUIT_OPTIONS = {
    "layer": None,
    "rules": None,
    "constants": None,
    "stages": 0,
    "accumulator_bits": None,
    "unsigned": False,
}
"""Options for circuits only, and what they are where they aren't given."""


def add_circuits(parser: argparse.ArgumentParser) -> None:
    """Add the options of circuits."""
    group = section(parser, "circuits")
    group.add_argument(
        "--layer",
        metavar="LAYER",
        help="only these layers: a number, a name or a glob (default: all)",
    )
    group.add_argument(
        "--constants",
        choices=("inside", "ports"),
        help="constants that differ from channel to channel are looked up by the input "
        "`channel`, or are inputs themselves (default: inside)",
    )
    group.add_argument(
        "--rules",
        metavar="RULE,...",
        help="of a contract given for MODEL: only these rules (default: all of "
        "integers)",
    )
    add_number(
        group,
        "--accumulator-bits",
        "N",
        "of a contract given for MODEL: the width of accumulators, 2 to 32 "
        "(default: 32)",
    )
    group.add_argument(
        "--unsigned",
        action="store_true",
        help="of a contract given for MODEL: stored integers are uint8, not int8",
    )
    add_number(
        group,
        "--stages",
        "N",
        "pipeline each module: its result is N cycles of `clk` later, 1 to 64 "
        "(default: 0, no clock)",
        default=0,
    )


def refuse_circuit_options(options: argparse.Namespace) -> None:
    """Refuse options for circuits where none are emitted."""
    for name, default in CIRCUIT_OPTIONS.items():
        if getattr(options, name) != default:
            raise UsageError(
                f"--{name.replace('_', '-')} is for --emit systemverilog or comb"
            )
