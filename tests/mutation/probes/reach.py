"""Record which blocks of the product each test reaches: a plug-in of pytest.

`QLOWER_REACH` is the file that gets a line of JSON for each test that passed: its name,
its seconds of CPU and, by file and function, the blocks that at most two other tests of
the same function have reached in this run. Processes that a test starts add lines of
their own. `QLOWER_TREE` is the tree that is run.
"""

from __future__ import annotations

import resource
from collections import Counter

import pytest
from blocks import taken, write

MOST = 3
"""Tests of one function, whose parameters differ, that a block is recorded for."""

_seen: Counter[tuple[str, str, int]] = Counter()
_failed: set[str] = set()
_started = [0.0]


def _used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))


def pytest_runtest_logstart() -> None:
    _started[0] = _used()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    found = taken()
    if nodeid in _failed:
        return
    function = nodeid.partition("[")[0]
    new: dict[str, list[int]] = {}
    for file, lines in found.items():
        keys = [(function, file, line) for line in lines]
        new[file] = [key[2] for key in keys if _seen[key] < MOST]
        _seen.update(keys)
    write(nodeid, round(_used() - _started[0], 3), new)
