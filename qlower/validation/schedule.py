"""Chunks on threads, on any executor of `concurrent.futures`, or on a Dask cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeAlias

from qlower.codegen.targets.resolve import host_target
from qlower.diagnostics import QlowerError
from qlower.validation.counts import Partial
from qlower.validation.sources import Chunk
from qlower.validation.work import Work, add_partials, run_chunk

Finished: TypeAlias = tuple[list[Chunk], Partial]

_Tasks: TypeAlias = tuple[Mapping[tuple[str, str], Work], Work]

_LOGGERS = ("distributed", "tornado")
"""The first parts of the names of Dask's loggers."""

_GROUP = 8
"""Chunks, or sums of chunks, that a cluster adds up in one step."""


def on_threads(
    task: Work, chunks: Iterable[Chunk], jobs: int | None
) -> Iterator[Finished]:
    """Each chunk's counts as they come, from threads: native code holds no lock."""
    task.prepare()
    count = jobs or len(os.sched_getaffinity(0))
    if count == 1:
        for chunk in chunks:
            yield [chunk], task.run(chunk)
        return
    with ThreadPoolExecutor(count) as executor:
        yield from on_executor(task, chunks, executor, 2 * count)


def on_executor(
    task: Work, chunks: Iterable[Chunk], executor: Executor, window: int = 64
) -> Iterator[Finished]:
    """Each chunk's counts as they come; at most `window` chunks wait at a time."""
    left = iter(chunks)
    running: dict[Future[Partial], Chunk] = {}
    try:
        while True:
            for chunk in islice(left, window - len(running)):
                running[executor.submit(run_chunk, task, chunk)] = chunk
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield [running.pop(future)], future.result()
    finally:
        for future in running:
            future.cancel()


def cluster_machines(client: Any) -> set[tuple[str, str]]:
    """The CPU and features of each machine that works for a Dask client."""
    with _connected():
        found: Mapping[str, tuple[str, str]] = client.run(machine, on_error="ignore")
    return set(found.values())


def machine() -> tuple[str, str]:
    """This machine's CPU and features, as `resolve_target` takes them."""
    target = host_target()
    return target.cpu, target.features


def on_cluster(
    client: Any,
    tasks: Mapping[tuple[str, str], Work],
    fallback: Work,
    chunks: Iterable[Chunk],
) -> Iterator[Finished]:
    """Sums of chunks as they come from a Dask cluster, reduced there as a tree.

    A worker takes the code for its machine, or `fallback`'s, which runs on all. What a
    lost worker had is done again by others; only whole sums are counted here. Raises
    QlowerError when the scheduler is lost.
    """
    with _connected():
        yield from _sums(client, (dict(tasks), fallback), chunks)


@contextmanager
def _connected() -> Generator[None]:
    """Raises QlowerError when the scheduler is lost while the block runs, which says
    all that Dask's own log of that, with its tracebacks, would."""
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    loggers = (logging.getLogger(name) for name in [*logging.root.manager.loggerDict])
    own = [log for log in loggers if log.name.partition(".")[0] in _LOGGERS]
    handlers = {handler for log in own for handler in log.handlers}
    for handler in handlers:
        handler.addFilter(_is_no_error)
    try:
        yield
    except (CommClosedError, FutureCancelledError) as error:
        raise QlowerError(
            f"the connection to the scheduler was lost: {error}",
            help="with --resume FILE, a run goes on from what was counted before",
        ) from error
    finally:
        for handler in handlers:
            handler.removeFilter(_is_no_error)


def _is_no_error(record: logging.LogRecord) -> bool:
    return record.levelno != logging.ERROR


def _sums(client: Any, tasks: _Tasks, chunks: Iterable[Chunk]) -> Iterator[Finished]:
    from distributed import as_completed

    # a result, unlike what is scattered, is made again when its worker is lost
    shared = client.submit(_handed_on, tasks, pure=False)
    left = iter(chunks)

    def submit() -> tuple[Any, list[Chunk]] | None:
        group = list(islice(left, _GROUP * _GROUP))
        if not group:
            return None
        parts = [client.submit(_run_here, shared, chunk, pure=False) for chunk in group]
        while len(parts) > 1:
            parts = [
                client.submit(add_partials, parts[i : i + _GROUP], pure=False)
                for i in range(0, len(parts), _GROUP)
            ]
        return parts[0], group

    running: dict[str, list[Chunk]] = {}
    queue: Any = as_completed()

    def refill() -> None:
        # two groups for each of the workers' threads keep all of them busy
        while len(running) < max(2, sum(client.nthreads().values()) // _GROUP):
            submitted = submit()
            if submitted is None:
                return
            running[submitted[0].key] = submitted[1]
            queue.add(submitted[0])

    refill()
    for future in queue:
        partial = future.result()
        yield running.pop(future.key), partial
        refill()


def _handed_on(shared: _Tasks) -> _Tasks:
    return shared


def _run_here(shared: _Tasks, chunk: Chunk) -> Partial:
    """Count a chunk with the code for the machine that this is."""
    tasks, fallback = shared
    return tasks.get(machine(), fallback).run(chunk)
