"""`qlower explore`: which arithmetics of a family are worth their area."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from qlower.cli.colour import complain
from qlower.cli.examples import (
    bar,
    check_work,
    cluster,
    lines_of,
    preprocessing_of,
)
from qlower.cli.given import model_of
from qlower.cli.output import check_plot, print_table, write_plot
from qlower.cli.progress import clear_status
from qlower.exploration.explore import plan
from qlower.exploration.explore import run as run_plan
from qlower.files.replacing import replacing
from qlower.tables.json_text import json_text
from qlower.validation.validate import prepare


def run(options: argparse.Namespace) -> int:
    """Walk, and print the front."""
    check_plot(options)
    check_work(options)
    job = prepare(
        model_of(options.model, options),
        options.data,
        contracts=[options.base],
        against=options.against,
        labels=None if options.labels is None else Path(options.labels),
        label_offset=options.label_offset,
        class_names=lines_of(options.class_names),
        preprocessing=preprocessing_of(options),
        limit=options.limit,
    )
    planned = plan(
        job,
        Path(options.model),
        base=options.base,
        choices=options.choice,
        points=options.points,
        unit=options.area,
        by=options.by,
    )
    clear_status()
    complain(f"note: {job.source.size:,} examples in {options.data}: {job.summary}")
    with (
        cluster(options.scheduler) as client,
        bar(options.points, "point") as advance,
    ):
        found = run_plan(
            planned,
            jobs=options.jobs or len(os.sched_getaffinity(0)),
            client=client,
            resume=None if options.resume is None else Path(options.resume),
            on_progress=advance,
        )
    if options.format == "json":
        print(json_text(found.to_dict()))
    else:
        print_table(found.table, options)
    write_plot(options, found)
    if options.report is not None:
        with replacing(Path(options.report)) as file:
            file.write(found.html().encode())
    return 0
