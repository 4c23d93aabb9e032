"""Options of `qlower verify` that are for --rtl only."""

from __future__ import annotations

import argparse

from qlower.cli.exit_codes import UsageError

_OPTIONS = ("top", "rule", "port", "value", "channel", "latency")
"""Options for --rtl only."""


def refuse_rtl_options(options: argparse.Namespace) -> None:
    """Refuse options for --rtl where that isn't given."""
    for name in _OPTIONS:
        if getattr(options, name) not in (None, []):
            raise UsageError(f"--{name} is for --rtl FILE")
