"""The options of `qlower verify --rtl`."""

from __future__ import annotations

import argparse

from qlower.cli.exit_codes import UsageError
from qlower.cli.parser import add_number, section

_OPTIONS = ("top", "rule", "port", "value", "channel", "latency")
"""Options for --rtl only."""


def add_rtl(parser: argparse.ArgumentParser) -> None:
    """Add the options of --rtl."""
    group = section(parser, "Verilog")
    group.add_argument(
        "--rtl",
        metavar="FILE",
        help="a Verilog file with a module of your own, to be compared with a layer of "
        "MODEL, or with a rule of a contract given for MODEL (needs Yosys and an SMT "
        "solver)",
    )
    group.add_argument("--top", metavar="NAME", help="with --rtl: the module")
    group.add_argument(
        "--rule", metavar="RULE", help="with --rtl and a contract: its rule"
    )
    group.add_argument(
        "--port",
        action="append",
        metavar="PORT=VALUE",
        help="with --rtl: what a port carries: accumulator, input, lhs, rhs, a "
        "constant such as multiplier or shift, channel, result; or an integer that it "
        "is held at (repeatable; default: the value of the port's name)",
    )
    group.add_argument(
        "--value",
        action="append",
        metavar="NAME=NUMBER",
        help="with --rtl and a contract: a constant's number (repeatable; default: any "
        "that the rule can have)",
    )
    add_number(
        group,
        "--channel",
        "N",
        "with --rtl: only this channel, whose constants the module has inside",
    )
    add_number(
        group,
        "--latency",
        "N",
        "with --rtl: the result is N cycles of the clock after the inputs (default: 0)",
    )


def refuse_rtl_options(options: argparse.Namespace) -> None:
    """Refuse options for --rtl where that isn't given."""
    for name in _OPTIONS:
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} is for --rtl FILE")
