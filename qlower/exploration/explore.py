"""The Pareto front of a family of arithmetics on a set of examples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, TypeAlias

from qlower.circuits.area import NO_YOSYS
from qlower.circuits.tools import is_installed
from qlower.contracts.family import Arithmetic
from qlower.diagnostics import QlowerError
from qlower.exploration.result import Exploration, Point
from qlower.exploration.walk import Figures, checked_axes, generations, name_of
from qlower.exploration.work import AREA, BITS, REFUSED, AreaUnit, PointsTask
from qlower.validation.counts import Counts
from qlower.validation.schedule import Finished, on_cluster, on_executor, on_threads
from qlower.validation.sources import Chunk
from qlower.validation.state import Progress
from qlower.validation.validate import Job
from qlower.validation.work import Work

Quality: TypeAlias = Literal["top1", "agreement", "equal"]


@dataclass(frozen=True)
class Plan:
    """A walk that is ready to begin: `points` of it at most, `by` what they are ranked
    by."""

    job: Job
    model: Path
    base: str
    axes: Mapping[str, Sequence[str]]
    points: int
    unit: AreaUnit
    by: Quality

    def key(self) -> dict[str, str]:
        """Everything that decides the figures, for resuming the walk."""
        axes = hashlib.sha256(repr(sorted(self.axes.items())).encode()).hexdigest()
        return {
            **self.job.key(),
            "the walk": f"{self.base} {axes} {self.unit} {self.by}",
        }


def plan(
    job: Job,
    model: Path,
    *,
    base: str = "tflite",
    choices: Sequence[str] = (),
    points: int = 500,
    unit: AreaUnit | None = None,
    by: Quality | None = None,
) -> Plan:
    """A walk through arithmetics on `base`, with a validation's rows and reference.

    `choices` restrict it (`walk.py`). Points are ranked `by` top-1 accuracy where rows
    have labels, else by the share of outputs that are equal to the reference's; their
    area is in `unit`, by default LUTs if Yosys is installed, else bits of wires.
    """
    if points < 1:
        raise QlowerError(f"{points} points: at least 1")
    if unit in ("luts", "cells") and not is_installed("yosys"):
        raise QlowerError(NO_YOSYS, help="--area bits needs no other program")
    if not job.source.identity:
        raise QlowerError("the rows of a stream can be read once, a walk needs more")
    has_labels = job.source.classes(0) is not None
    if by == "top1" and not has_labels:
        raise QlowerError("--by top1: the examples have no labels, see --labels")
    if by in ("agreement", "equal") and job.against is None:
        raise QlowerError(f"--by {by} needs --against")
    if not has_labels and job.against is None:
        raise QlowerError(
            "nothing says which outputs are good", help="--labels, or --against exact"
        )
    chosen = by or ("top1" if has_labels else "equal")
    found = unit or ("luts" if is_installed("yosys") else "bits")
    axes = checked_axes(choices)
    return Plan(job, model, base, axes, points, found, chosen)


def run(
    plan: Plan,
    *,
    jobs: int = 1,
    client: Any = None,
    resume: Path | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Exploration:
    """Walk in `jobs` processes, or on the workers of a Dask `client`: the points and
    their figures are the same."""
    progress = Progress({} if resume is None else plan.key(), resume)
    progress.load()
    names: list[str] = []
    walked: list[Arithmetic] = []

    def figures() -> Mapping[int, Figures]:
        found: dict[int, Figures] = {}
        for number, name in enumerate(names):
            own = _figures(progress.total.counts[name], plan.by)
            if own is not None:
                found[number] = own
        return found

    with _workers(jobs, client) as executor:
        try:
            for batch in generations(plan.axes, plan.points, figures):
                begin = len(names)
                walked += batch
                names += [name_of(one, plan.base) for one in batch]
                chunks = [
                    Chunk(number, number + 1)
                    for number in range(begin, len(names))
                    if number not in progress.done
                ]
                job = plan.job
                task = PointsTask(
                    plan.model, names, job.source, job.against, job.limit, plan.unit
                )
                for finished, partial in _finished(task, chunks, executor, client):
                    progress.take(finished, partial)
                    if on_progress is not None:
                        on_progress(progress.total.rows)
        finally:
            progress.save()
    counts = progress.total.counts
    rows = [
        Point(number, one, name, counts[name], _figures(counts[name], plan.by))
        for number, (one, name) in enumerate(zip(walked, names, strict=True))
    ]
    against = plan.job.against
    named = against if isinstance(against, str | None) else against.name
    return Exploration(plan.base, named, plan.by, plan.unit, rows)


def _figures(counts: Counts, by: Quality) -> Figures | None:
    """The figures of a point; None of one that is refused."""
    if REFUSED in counts.custom or not counts.examples:
        return None
    parts = {
        "top1": (counts.top1, counts.labelled),
        "agreement": (counts.agreeing, counts.compared),
        "equal": (
            counts.output.elements - counts.output.differing,
            counts.output.elements,
        ),
    }
    hits, of = parts[by]
    area, bits = int(counts.custom[AREA]), int(counts.custom[BITS])
    return Figures(hits / of if of else 1.0, area, bits)


@contextmanager
def _workers(jobs: int, client: Any) -> Generator[Executor | None]:
    """Processes, which compile at the same time as threads of one can't."""
    if client is not None or jobs == 1:
        yield None
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as executor:
        yield executor


def _finished(
    task: Work, chunks: Sequence[Chunk], executor: Executor | None, client: Any
) -> Iterator[Finished]:
    if client is not None:
        return on_cluster(client, {}, task, chunks)
    if executor is not None:
        return on_executor(task, chunks, executor, 16)
    return on_threads(task, chunks, 1)
