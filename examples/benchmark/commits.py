"""Two commits side by side: seconds to compile a model, and microseconds to run it.

python examples/benchmark/commits.py BEFORE AFTER MODEL... [--rounds N] [--history FILE]

Commits are named as git does; `.` is the working tree. Each round measures every commit
in a process of its own, in turns, without cache; CPU seconds of compiling are those of
the whole process up to the first call. What is compared are ratios within a round: a
shared machine changes its speed from minute to minute. Of .tflite files each process
times LiteRT, too. --history puts both commits into a CSV file, and draws it
(history.py).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from history import Entry, add
from yardstick import yardstick

WORKING_TREE = "."
ROOT = Path(__file__).resolve().parents[2]
CALL_SECONDS = 0.2
"""Calls are repeated for so long, after as many that aren't measured."""


@dataclass(frozen=True)
class Figures:
    """CPU seconds until a model is compiled, and of the yardstick; the shortest call in
    microseconds, and LiteRT's (None where it can't run the model)."""

    compile: float
    call: float
    yardstick: float
    litert: float | None

    @property
    def compile_yardsticks(self) -> float:
        return self.compile / self.yardstick

    @property
    def litert_ratio(self) -> float:
        return float("nan") if self.litert is None else self.litert / self.call


@dataclass(frozen=True)
class Row:
    """A model's figures by commit, a list of rounds for each."""

    model: str
    before: Sequence[Figures]
    after: Sequence[Figures]

    def ratio(self, name: str) -> float:
        """The median over the rounds of AFTER's figure over BEFORE's."""
        pairs = zip(self.before, self.after, strict=True)
        return statistics.median(getattr(b, name) / getattr(a, name) for a, b in pairs)


def measure(model: str) -> Figures:
    """What a measured process does, with the qlower that it finds."""
    import numpy as np

    import qlower
    from qlower.bench.peers import Unavailable
    from qlower.bench.peers.litert import prepare
    from qlower.model.random_inputs import random_input

    run = qlower.jit(model)
    compiled = time.process_time()
    random = np.random.default_rng(0)
    inputs = [random_input(spec, random) for spec in run.inputs]
    calls: list[Callable[[], object]] = [run.bind(*inputs)]
    if model.endswith(".tflite"):
        with suppress(Unavailable):
            calls.append(prepare(Path(model), inputs, 1).call)
    ours, *peer = (least_microseconds(call) for call in calls)
    return Figures(compiled, ours, yardstick(), peer[0] if peer else None)


def least_microseconds(call: Callable[[], object]) -> float:
    """The shortest of some calls, after as many that aren't measured."""
    least = float("inf")
    for is_measured in (False, True):
        end = time.perf_counter() + CALL_SECONDS
        while (start := time.perf_counter()) < end:
            call()
            if is_measured:
                least = min(least, time.perf_counter() - start)
    return least * 1e6


def check_out(commit: str, folder: Path) -> Path:
    """A folder with the package as it is in a commit."""
    if commit == WORKING_TREE:
        return ROOT
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "qlower"]
    archive = subprocess.run(command, capture_output=True)
    if archive.returncode:
        raise SystemExit(archive.stderr.decode().strip())
    tar = folder / "archive.tar"
    tar.write_bytes(archive.stdout)
    with tarfile.open(tar) as files:
        files.extractall(folder, filter="data")
    return folder


def measured(package: Path, model: str) -> Figures:
    """The figures of a process that imports the package from a folder."""
    environment = {**os.environ, "PYTHONPATH": str(package), "QLOWER_CACHE_DIR": ""}
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", model]
    run = subprocess.run(
        command, env=environment, cwd=package, stdout=subprocess.PIPE, check=True
    )
    return Figures(**json.loads(run.stdout))


def render(rows: Sequence[Row]) -> str:
    """The rows in Markdown, with AFTER over BEFORE behind each pair."""
    head = "| model | compile, CPU s | | x | call, us | | x | LiteRT over it | |"
    lines = [head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        cells = [row.model]
        for name, digits in (("compile", 2), ("call", 1)):
            pair = (median(name, row.before), median(name, row.after))
            cells += [f"{number:.{digits}f}" for number in pair]
            cells.append(f"{row.ratio(name):.3f}")
        for figures in (row.before, row.after):
            cells.append(f"{median('litert_ratio', figures):.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def median(name: str, figures: Sequence[Figures]) -> float:
    """The median of a figure over the rounds."""
    return statistics.median(getattr(one, name) for one in figures)


def entry(commit: str, model: str, figures: Sequence[Figures]) -> Entry:
    """What the history keeps of a model at a commit."""
    litert = median("litert_ratio", figures)
    return Entry(
        commit,
        git("log", "-1", "--format=%cI", commit),
        model,
        median("compile_yardsticks", figures),
        None if math.isnan(litert) else litert,
    )


def git(*words: str) -> str:
    """What git says; nothing where it fails."""
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def short_name(commit: str) -> str:
    """The commit's abbreviated hash."""
    if commit == WORKING_TREE:
        return commit
    return git("rev-parse", "--short", commit) or commit


def model_name(path: str) -> str:
    """The file's stem, or the folder's name where all files are called `model`."""
    file = Path(path).resolve()
    return file.parent.name if file.stem == "model" else file.stem


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Two commits side by side.")
    parser.add_argument("before", metavar="BEFORE", help="the commit to compare with")
    parser.add_argument("after", metavar="AFTER", help="the commit that is compared")
    parser.add_argument("models", metavar="MODEL", nargs="+", help="model files")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each commit")
    parser.add_argument("--history", type=Path, help="put the figures in this file")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error(f"--rounds must be positive, not {options.rounds}")
    commits = [options.before, options.after]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        folders: list[Path] = []
        for number, commit in enumerate(commits):
            folder = Path(scratch, str(number))
            folder.mkdir()
            folders.append(check_out(commit, folder))
        for model in options.models:
            file = str(Path(model).resolve())
            rounds = [
                [measured(folder, file) for folder in folders]
                for _ in range(options.rounds)
            ]
            before, after = zip(*rounds, strict=True)
            rows.append(Row(model_name(model), before, after))
    names = [short_name(commit) for commit in commits]
    print(f"{names[1]} beside {names[0]}, medians of {options.rounds} rounds:\n")
    print(render(rows))
    if options.history is not None:
        add(
            options.history,
            [
                entry(name, row.model, figures)
                for row in rows
                for name, figures in zip(names, (row.before, row.after), strict=True)
                if name != WORKING_TREE
            ],
        )
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(vars(measure(sys.argv[2]))))
    else:
        sys.exit(main())
