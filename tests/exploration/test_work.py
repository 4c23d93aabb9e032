"""A walk's own bookkeeping, with points that are counted by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.contracts.family import Arithmetic
from qlower.diagnostics import QlowerError
from qlower.exploration import explore, walk
from qlower.exploration.explore import Plan, run
from qlower.exploration.walk import AXES, Figures, generations
from qlower.exploration.work import AREA, BITS, REFUSED, PointsTask
from qlower.validation.counts import Counts, Partial, Signal
from qlower.validation.sources import Chunk
from qlower.validation.validate import prepare

work: Any = import_module("qlower.exploration.work")


def points_task(names: Sequence[str]) -> PointsTask:
    source: Any = None
    return PointsTask(Path("m"), names, source, None, None, "bits")


def test_points_are_counted_and_refusals_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rows can't be used is the same for all points: the first one's counts."""

    def point(_: PointsTask, name: str) -> tuple[Counts, Partial]:
        if name.startswith("bad"):
            raise QlowerError("refused")
        failures = Partial(failed=len(name), failures=[(1, name)], not_finite=2)
        return Counts(examples=len(name)), failures

    monkeypatch.setattr(PointsTask, "_point", point)
    task = points_task(["a", "bad", "ccc", "dddd"])
    task.prepare()
    whole = task.run(Chunk(0, 4))
    assert whole.rows == 4
    assert {name: one.examples for name, one in whole.counts.items()} == {
        **{"a": 1, "bad": 0, "ccc": 3, "dddd": 4},
    }
    assert whole.counts["bad"].custom == {REFUSED: 1}
    assert (whole.failed, whole.failures, whole.not_finite) == (1, [(1, "a")], 2)
    part = task.run(Chunk(2, 3))
    assert (part.rows, [*part.counts]) == (1, ["ccc"])
    assert (part.failed, part.failures, part.not_finite) == (0, [], 0)
    first = points_task(["bad", "a"]).run(Chunk(0, 1))
    assert (first.failed, first.failures) == (0, [])


@pytest.mark.parts(3)
@pytest.mark.parametrize("unit", ["bits", "luts", "cells"])
def test_a_point_is_run_on_all_rows_and_measured(
    unit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside what it is held against, unless that is itself."""
    path, images = tmp_path / "m.mlir", tmp_path / "x.npy"
    path.write_text(SMALL_MODEL)
    draw = np.random.default_rng(0)
    np.save(images, draw.integers(-128, 128, (40, 2, 2, 1), np.int8))
    monkeypatch.setattr(work, "luts_of", lambda _: 11)
    monkeypatch.setattr(work, "area_of", lambda _: SimpleNamespace(cells=22))
    own = "arithmetic: base tflite; multiplier 32 bits half_up"
    for against in ("exact", own):
        job = prepare(path, images, contracts=["tflite"], against=against, limit=35)
        task = PointsTask(path, [own], job.source, against, job.limit, unit)
        counts = task.run(Chunk(0, 1)).counts[own]
        assert counts.examples == 35
        # nothing is held against itself
        assert counts.output.elements == (35 * 3 if against == "exact" else 0)
        bits = counts.custom[BITS]
        assert bits == 102
        area = {"bits": 102, "luts": 11, "cells": 22}[unit]
        assert counts.custom == {AREA: area, BITS: 102}


def plan(points: int) -> Plan:
    job: Any = SimpleNamespace(
        source=None, against="exact", limit=None, key=lambda: {"rows": "8"}
    )
    return Plan(job, Path("m"), "tflite", AXES, points, "bits", "equal")


def counted(number: int) -> Counts:
    """Better with each point, and larger; the third is refused."""
    if number == 2:
        return Counts(custom={REFUSED: Fraction(1)})
    found = Counts(examples=4)
    found.output = Signal(elements=100, differing=50 - number % 50)
    found.custom = {AREA: Fraction(100 + number), BITS: Fraction(10)}
    return found


def test_a_walk_takes_up_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def finished(
        task: PointsTask, chunks: Sequence[Chunk], executor: object, client: object
    ) -> Iterator[tuple[list[Chunk], Partial]]:
        assert executor is None
        assert client is None
        for chunk in chunks:
            assert chunk.stop == chunk.start + 1
            asked.append(chunk.start)
            part = Partial(rows=1)
            part.counts[task.names[chunk.start]] = counted(chunk.start)
            yield [chunk], part

    monkeypatch.setattr(explore, "_finished", finished)
    state, seen = tmp_path / "state.json", list[int]()
    whole = run(plan(12))
    assert asked == list(range(12))
    asked.clear()
    first = len(next(generations(AXES, 10**6, dict)))
    assert len(run(plan(first + 3)).points) == first + 3
    asked.clear()
    part = run(plan(5), resume=state)
    assert asked == list(range(5))
    resumed = run(plan(12), resume=state, on_progress=seen.append)
    assert asked == list(range(12))
    assert seen == list(range(6, 13))
    assert resumed.to_dict() == whole.to_dict()
    assert part.to_dict()["points"] == whole.to_dict()["points"][:5]  # pyright: ignore
    assert [one.number for one in whole.points] == list(range(12))
    assert whole.points[2].figures is None
    assert whole.points[3].figures == Figures(0.53, 103, 10)
    assert (whole.base, whole.against, whole.by, whole.unit) == (
        *("tflite", "exact", "equal", "bits"),
    )


def test_processes_or_a_cluster_or_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    own: Any = vars(explore)
    made: list[tuple[int, str]] = []

    class Pool:
        def __init__(self, jobs: int, context: Any) -> None:
            made.append((jobs, context.get_start_method()))

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            made.append((0, "closed"))

    monkeypatch.setattr(explore, "ProcessPoolExecutor", Pool)
    with own["_workers"](1, None) as none:
        assert none is None
    with own["_workers"](3, object()) as none:
        assert none is None
    assert made == []
    with own["_workers"](2, None) as pool:
        assert isinstance(pool, Pool)
    assert made == [(2, "spawn"), (0, "closed")]
    calls: list[tuple[object, ...]] = []

    def noted(*given: object) -> None:
        calls.append(given)

    for name in ("on_cluster", "on_executor", "on_threads"):
        monkeypatch.setattr(explore, name, partial(noted, name))
    own["_finished"]("task", ["chunk"], "pool", "client")
    own["_finished"]("task", ["chunk"], "pool", None)
    own["_finished"]("task", ["chunk"], None, None)
    assert calls == [
        ("on_cluster", "client", {}, "task", ["chunk"]),
        ("on_executor", "task", ["chunk"], "pool", 16),
        ("on_threads", "task", ["chunk"], 1),
    ]


def test_neighbours_are_normal_points_with_one_other_choice() -> None:
    """The nearest values come first, in turn of the choices; choices that would make
    no difference are left out."""
    neighbours: Any = vars(walk)["_neighbours"]
    first = Arithmetic(**{name: values[0] for name, values in AXES.items()}).normal()
    found: list[Arithmetic] = list(neighbours(first, AXES))
    assert first not in found
    changed = [
        [name for name in AXES if getattr(one, name) != getattr(first, name)]
        for one in found
    ]
    assert all(len(names) == 1 for names in changed)
    every = sum(len(values) - 1 for values in AXES.values())
    assert len(found) == every
    # A number that is rounded first has its zero point after that.
    twice = list(neighbours(replace(first, first="half_up"), AXES))
    assert len(twice) == every - 1
    assert "inside" not in {one.zero_point for one in twice}
    for name, values in AXES.items():
        own = [getattr(one, name) for one in found if getattr(one, name) != values[0]]
        assert own == [value for value in values if value in own]
    turns = [names[0] for names in changed]
    assert turns[: len(set(turns))] == list(dict.fromkeys(turns))
