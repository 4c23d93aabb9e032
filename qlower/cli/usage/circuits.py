"""Options of `qlower compile` that are for circuits only."""

from __future__ import annotations

import argparse

from qlower.cli.exit_codes import UsageError

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


def refuse_circuit_options(options: argparse.Namespace) -> None:
    """Refuse options for circuits where none are emitted."""
    for name, default in CIRCUIT_OPTIONS.items():
        if getattr(options, name) != default:
            raise UsageError(
                f"--{name.replace('_', '-')} is for --emit systemverilog or comb"
            )
