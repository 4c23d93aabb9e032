"""`qlower explore`: which arithmetics of a family are worth their area."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from qlower.cli.colour import complain
from qlower.cli.examples import bar, cluster, described, prepare_job
from qlower.cli.output import print_table, show, write_plot
from qlower.cli.progress import clear_status
from qlower.exploration.explore import plan
from qlower.exploration.explore import run as run_plan
from qlower.files.replacing import replacing
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Walk, and print the front."""
    job = prepare_job(options, [options.base])
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
    complain(f"note: {described(job, options.data)}")
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
        show(json_text(found.to_dict()))
    else:
        print_table(found.table, options)
    write_plot(options, found)
    if options.report is not None:
        with replacing(Path(options.report)) as file:
            file.write(found.html().encode())
    return 0
