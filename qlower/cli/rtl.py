"""`qlower verify --rtl`: an engineer's own Verilog and a contract."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.circuits.rtl.subject import layer_subject, rule_subject
from qlower.circuits.rtl.verify import Subject, verify_rtl
from qlower.cli.circuits import is_contract_name
from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.given import given_model, name_values
from qlower.cli.output import show, terminal_width
from qlower.cli.progress import progress
from qlower.files.replacing import replacing
from qlower.tables.json_text import json_text


def run_rtl(options: argparse.Namespace) -> int:
    """Compare and print the verdict."""
    if options.top is None:
        raise UsageError("--rtl needs --top NAME, the module to compare")
    if options.save is not None or options.junit is not None:
        raise UsageError(
            "--save and --junit don't go with --rtl; -o writes the verdict"
        )
    latency = options.latency or 0
    if not 0 <= latency <= 64:
        raise UsageError(f"--latency must be in [0, 64], not {latency}")
    limit = 60.0 if options.time_limit is None else options.time_limit
    found = verify_rtl(
        Path(options.rtl),
        options.top,
        _subject(options),
        ports=dict(name_values("--port", options.port or ())),
        channel=options.channel,
        latency=latency,
        seconds=limit,
        solver=options.solvers,
        progress=progress,
    )
    text = json_text(found.to_dict())
    if options.output is not None:
        with replacing(Path(options.output)) as output:
            output.write(text.encode())
    show(text if options.json else found.render(terminal_width()))
    return 0 if found.holds else ExitCode.FOUND


def _subject(options: argparse.Namespace) -> Subject:
    if is_contract_name(options.model):
        if options.rule is None or options.layer is not None:
            raise UsageError(f"{options.model} is a contract: say --rule RULE")
        values: dict[str, int] = {}
        for name, number in name_values("--value", options.value or ()):
            try:
                values[name] = int(number, 0)
            except ValueError as error:
                raise UsageError(f"--value {name}: {number!r} is no integer") from error
        bits = options.accumulator_bits
        return rule_subject(
            options.model, options.rule, values, accumulator_bits=bits or 32
        )
    if options.rule is not None or options.value:
        raise UsageError("--rule and --value are for a contract in the place of MODEL")
    if options.layer is None:
        raise UsageError("--rtl needs --layer LAYER, what the module computes")
    return layer_subject(given_model(options), options.contract, options.layer)
