"""`qlower validate`: what contracts make of a set of examples."""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from qlower.cli.colour import complain
from qlower.cli.examples import bar, cluster, described, prepare_job
from qlower.cli.exit_codes import ExitCode
from qlower.cli.given import layer_contracts, matched_layers
from qlower.cli.output import print_table, show, write_junit, write_plot
from qlower.cli.progress import clear_status
from qlower.cli.tables.junit import Case
from qlower.diagnostics import QlowerError, warn
from qlower.sides.real_layers import count_real_layers, is_real_reference
from qlower.tables.json_text import json_text
from qlower.validation.gates import Gates
from qlower.validation.validate import Job
from qlower.validation.validate import run as run_job
from qlower.validation.work import Metric


def run(options: argparse.Namespace) -> int:
    """Check everything, say what a row holds, count, and print."""
    if options.signature is not None and options.against == "litert":
        raise QlowerError(
            "--against litert cannot be combined with --signature: LiteRT always runs "
            "the first one"
        )
    is_real = options.layers and is_real_reference(options.against)
    if options.match and not is_real:
        raise QlowerError("--match needs --layers, and --against a float model")
    job = prepare_job(
        options,
        [name for name in options.contract.split(",") if name],
        metric=None if options.metrics is None else load_metric(options.metrics),
        with_layers=options.layers and not is_real,
        layer_contracts=layer_contracts(options.layer_contract),
    )
    gates = Gates(
        options.min_top1,
        options.max_loss,
        options.min_agreement,
        options.fail_below,
    )
    gates.check(has_reference=options.against is not None)
    if options.max_loss == 1:
        warn("--max-loss 1 is 100 %, which no contract exceeds; one point is 1%")
    clear_status()
    complain(f"note: {described(job, options.data)}")
    with cluster(options.scheduler) as client, bar(_rows(job), "row") as advance:
        found = run_job(
            job,
            jobs=options.jobs,
            client=client,
            resume=None if options.resume is None else Path(options.resume),
            on_progress=advance,
        )
    if is_real:
        for note in count_real_layers(
            job, Path(options.against), found, matched_layers(options.match)
        ):
            complain(f"note: {note}")
    missed = gates.missed(found)
    sentences = [one for own in missed.values() for one in own]
    write_junit(options, lambda: [_case(*own) for own in missed.items()])
    if options.format == "json":
        show(json_text({**found.to_dict(), "missed": sentences}))
    else:
        print_table(found.table, options)
        if options.classes:
            print()
            print_table(found.class_table(), options)
        if options.layers:
            print()
            print_table(found.layer_table(), options)
    write_plot(options, found)
    for sentence in sentences:
        complain(f"error: {sentence}")
    is_useless = found.examples > 0 and found.failed == found.examples
    return ExitCode.WRONG_INPUT if is_useless or sentences else ExitCode.DONE


def _case(contract: str, missed: Sequence[str]) -> Case:
    """A contract passes where it reaches what is asked for."""
    return Case(contract, "; ".join(missed))


def load_metric(place: str) -> Metric:
    """The function NAME of FILE.py:NAME."""
    file, _, name = place.rpartition(":")
    path = Path(file)
    if path.suffix != ".py" or not name.isidentifier():
        raise QlowerError(f"--metrics {place!r} is not FILE.py:NAME")
    if not os.path.isfile(path):
        raise QlowerError(f"cannot read {path}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise QlowerError(f"cannot read {path}: {what}") from error
    function: object = getattr(module, name, None)
    if not callable(function):
        raise QlowerError(f"{path} has no function {name!r}")
    return cast("Metric", function)


def _rows(job: Job) -> int | None:
    """The number of rows that are read; None for a stream."""
    total = job.source.size
    if total is not None and job.limit is not None:
        total = min(total, job.limit)
    return total
