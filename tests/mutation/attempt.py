"""One mutant and its tests, in a process that has imported what it can."""

from __future__ import annotations

import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from mutation.draw import ROOT
from mutation.sites import Mutant
from support.lanes import EVERY_TURN, TURN_VARIABLE

LIBRARIES = (
    *("numpy", "xdsl.ir", "xdsl.parser", "xdsl.interpreter", "xdsl.dialects.builtin"),
    *("xdsl.dialects.linalg", "xdsl.dialects.scf", "llvmlite.binding", "flatbuffers"),
    *("onnx", "tflite", "torch"),
)
"""Modules that most tests import; none of them starts a thread by that."""

STARTING = 30
"""Seconds of CPU besides the tests'."""

LONGEST_WAIT = 60
"""Seconds on the clock without a process that runs or could."""


def copy_tree(tree: Path) -> Path:
    """A copy of what git tracks or would, to be changed."""
    shutil.rmtree(tree, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    return tree


def import_libraries() -> None:
    """Import what no mutant is in."""
    for name in LIBRARIES:
        # Without one its tests skip themselves.
        with suppress(ImportError):
            importlib.import_module(name)


@contextmanager
def changed(tree: Path, mutant: Mutant) -> Generator[None]:
    """The tree with the mutant."""
    path = tree / mutant.file
    text = path.read_text()
    _write(path, mutant.apply(text))
    try:
        yield
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    # Bytecode is looked up by a file's time and size.
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def in_process(tree: Path, work: Callable[[], str], seconds: float) -> str:
    """What a function returns in a process of its own that has `tree` as its folder;
    "timeout" after that many seconds of CPU, its children's included, or if all wait
    for what never comes, "died" if the process did."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            limit = int(seconds) + STARTING
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            os.chdir(tree)
            sys.path[:0] = [str(tree), str(tree / "tests")]
            os.environ["PYTHONPATH"] = str(tree)
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    os.close(writer)
    status = _ended(child, seconds + STARTING)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        answer = file.read()
    if answer:
        return answer
    by_limit = status is None or os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
    return "timeout" if by_limit else "died"


def _ended(child: int, seconds: float) -> int | None:
    """The status of a process that ended, nothing if it used that much CPU or waits.
    The clock says little where others use the machine."""
    looked = moved = time.monotonic()
    before = 0.0
    while before < seconds and looked - moved < LONGEST_WAIT:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            return code
        time.sleep(0.02)
        if time.monotonic() - looked > 1:
            looked = time.monotonic()
            used, is_ready = _session(child)
            if is_ready or used > before:
                before, moved = used, looked
    return None


def _session(leader: int) -> tuple[float, bool]:
    """Seconds of CPU of the processes that one started, and whether any could run."""
    ticks, is_ready = 0, False
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                ticks += sum(map(int, fields[11:15]))
                is_ready |= fields[0] in "RD"
    return ticks / os.sysconf("SC_CLK_TCK"), is_ready


class _First:
    """A plug-in that keeps the name of the first test that fails."""

    failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


FEW = 6
"""Tests that are collected first: most mutants fail one of them, and files of tests
take long to import."""


def first_failing(tests: Sequence[str]) -> str:
    """The first of the tests that fails, "collection" if they can't be collected; or
    that all passed. For a process of its own."""
    os.environ[TURN_VARIABLE] = EVERY_TURN
    for some in filter(None, (tests[:FEW], tests[FEW:])):
        first = _First()
        arguments = ["-x", "-q", "--long", "-p", "no:cacheprovider", *some]
        if pytest.main(arguments, plugins=[first]):
            return f"failed {first.failed or 'collection'}"
    return "passed"
