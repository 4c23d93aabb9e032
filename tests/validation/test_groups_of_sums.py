"""Sums of a cluster, played by a client that works at once; and counts of a chunk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.model.signature import TensorSpec
from qlower.validation.counts import Partial
from qlower.validation.sources import Chunk, Row, RowError
from qlower.validation.work import Task, add_partials

schedule: Any = import_module("qlower.validation.schedule")


class Future:
    def __init__(self, key: str, value: Any) -> None:
        self.key, self.value = key, value

    def result(self) -> Any:
        return self.value


class Client:
    """It counts what it is asked for, and the most that wait at a time."""

    def __init__(self, threads: int) -> None:
        self.calls: list[str] = []
        self.threads = threads
        self.pure: set[bool] = set()

    def nthreads(self) -> dict[str, int]:
        return {"a": self.threads, "b": 0}

    def submit(self, call: Callable[..., Any], *given: Any, pure: bool) -> Future:
        self.calls.append(call.__name__)
        self.pure.add(pure)

        def open(one: Any) -> Any:
            if isinstance(one, list):
                return [open(part) for part in one]
            return one.value if isinstance(one, Future) else one

        return Future(f"{len(self.calls)}", call(*map(open, given)))


class Queue:
    """Futures in order; `most` is how many waited."""

    most = 0

    def __init__(self) -> None:
        self.waiting: list[Future] = []

    def add(self, future: Future) -> None:
        self.waiting.append(future)
        type(self).most = max(self.most, len(self.waiting))

    def __iter__(self) -> Iterator[Future]:
        while self.waiting:
            yield self.waiting.pop(0)


@pytest.mark.parametrize(
    ("count", "threads", "groups", "sums", "most"),
    [
        (1, 1, [1], 0, 1),
        (8, 1, [8], 1, 1),
        (9, 1, [9], 3, 1),
        (64, 1, [64], 9, 1),
        (65, 1, [64, 1], 9, 2),
        (200, 16, [64, 64, 64, 8], 28, 2),
        (200, 24, [64, 64, 64, 8], 28, 3),
        (0, 1, [], 0, 0),
    ],
)
def test_chunks_are_summed_in_groups(
    count: int,
    threads: int,
    groups: list[int],
    sums: int,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight at a time, until one is left of 64; some groups wait for threads."""
    monkeypatch.setattr(Queue, "most", 0)
    fake = SimpleNamespace(as_completed=Queue)
    monkeypatch.setitem(sys.modules, "distributed", fake)
    chunks = [Chunk(n, n + 1) for n in range(count)] if count else []
    task = SimpleNamespace(run=lambda chunk: Partial(rows=chunk.stop - chunk.start))
    client = Client(threads)
    done = list(schedule._sums(client, ({}, task), iter(chunks)))
    assert [len(group) for group, _ in done] == groups
    assert [chunk for group, _ in done for chunk in group] == chunks
    assert [partial.rows for _, partial in done] == groups
    assert client.calls.count("add_partials") == sums
    assert client.calls.count("_run_here") == count
    assert client.calls[0] == "_handed_on"
    assert client.pure == {False}
    assert Queue.most == most


def test_a_worker_takes_the_code_of_its_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schedule, "machine", lambda: ("x", "y"))
    own = SimpleNamespace(run=lambda chunk: f"own {chunk}")
    fallback = SimpleNamespace(run=lambda chunk: f"any {chunk}")
    assert schedule._run_here(({("x", "y"): own}, fallback), 3) == "own 3"
    assert schedule._run_here(({("x", "z"): own}, fallback), 3) == "any 3"


SPEC = TensorSpec("y", (1, 3), "int8", (0.5,), (1,))


def shipped(*scores: int) -> Any:
    """A function whose scores are those, the first raised by its input."""

    def run(row: tuple[Any, ...], _: object) -> Any:
        found = np.array([scores], np.int8)
        found[0, 0] += row[0]
        return [found], {}

    return SimpleNamespace(function=SimpleNamespace(outputs=(SPEC,), run=run))


def work(*rows: Row | RowError, against: str | None = None, metric: Any = None) -> Any:
    source: Any = SimpleNamespace(rows=lambda chunk: iter(rows))
    functions = {"a": shipped(1, 2, 0), "b": shipped(0, 3, 0)}
    return Task(source, functions, against, metric)


def row(value: int, *classes: int) -> Any:
    return SimpleNamespace(inputs=(np.int8(value),), classes=frozenset(classes) or None)


def test_rows_that_fail_are_counted() -> None:
    """By their numbers in the set: those that can't be read, and wrong labels."""
    wrong = RowError("no picture")
    found = work(row(0, 1), wrong, row(0, 3), row(0, 2, 0), row(0, -1)).run(
        Chunk(7, 12)
    )
    assert found.rows == 5
    told = str(vars(found))
    assert "label 3 is not in [0, 3)" in told
    assert "label -1 is not in [0, 3)" in told
    assert "no picture" in told
    assert all(number in told for number in ("8", "9", "11"))
    assert set(found.counts) == {"a", "b"}
    nothing = work(wrong).run(Chunk(0, 1))
    assert (nothing.rows, dict(nothing.counts)) == (1, {})


def test_a_metric_gets_real_numbers() -> None:
    seen: list[Any] = []

    def metric(real: Any, classes: Any) -> dict[str, float]:
        seen.append((real[0].tolist(), sorted(classes or ())))
        return {"m": 1.0}

    work(row(2, 1), metric=metric).run(Chunk(0, 1))
    assert seen == [([[1.0, 0.5, -0.5]], [1]), ([[0.5, 1.0, -0.5]], [1])]


def test_partials_add_up() -> None:
    parts = [Partial(rows=n) for n in (1, 2, 4)]
    assert add_partials(parts).rows == 7
    assert add_partials([]).rows == 0
    assert [one.rows for one in parts] == [1, 2, 4]
