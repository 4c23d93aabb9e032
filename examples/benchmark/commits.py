"""Two commits side by side: seconds to compile a model, and microseconds to run it.

python examples/benchmark/commits.py BEFORE AFTER MODEL... [--rounds N] [--history FILE]

Commits are named as git does; `.` is the working tree. Each round measures every commit
in a process of its own, in turns, without cache; CPU seconds of compiling are those of
the whole process up to the first call. What is compared are ratios within a round: a
shared machine changes its speed from minute to minute. --history appends the ratios to
a CSV file.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

WORKING_TREE = "."
ROOT = Path(__file__).resolve().parents[2]
CALL_SECONDS = 0.2
"""Calls are repeated for so long, after as many that aren't measured."""


@dataclass(frozen=True)
class Figures:
    """CPU seconds until a model is compiled, and the shortest call in microseconds."""

    compile: float
    call: float


@dataclass(frozen=True)
class Row:
    """A model's figures by commit, a list of rounds for each."""

    model: str
    before: Sequence[Figures]
    after: Sequence[Figures]

    def median(self, name: str, figures: Sequence[Figures]) -> float:
        return statistics.median(getattr(one, name) for one in figures)

    def ratio(self, name: str) -> float:
        """The median over the rounds of AFTER's figure over BEFORE's."""
        pairs = zip(self.before, self.after, strict=True)
        return statistics.median(getattr(b, name) / getattr(a, name) for a, b in pairs)


def measure(model: str) -> Figures:
    """What a measured process does, with the qlower that it finds."""
    import numpy as np

    import qlower
    from qlower.model.random_inputs import random_input

    run = qlower.jit(model)
    compiled = time.process_time()
    random = np.random.default_rng(0)
    call = run.bind(*(random_input(spec, random) for spec in run.inputs))
    least = float("inf")
    for is_measured in (False, True):
        end = time.perf_counter() + CALL_SECONDS
        while (start := time.perf_counter()) < end:
            call()
            if is_measured:
                least = min(least, time.perf_counter() - start)
    return Figures(compiled, least * 1e6)


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
    head = "| model | compile, CPU s | | x | call, us | | x |"
    lines = [head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        cells = [row.model]
        for name, digits in (("compile", 2), ("call", 1)):
            pair = (row.median(name, row.before), row.median(name, row.after))
            cells += [f"{number:.{digits}f}" for number in pair]
            cells.append(f"{row.ratio(name):.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def append(path: Path, commits: Sequence[str], rows: Sequence[Row]) -> None:
    """Add the ratios to the history; a new file gets a line of titles."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(["before", "after", "model", "compile", "call"])
        for row in rows:
            ratios = (f"{row.ratio(name):.3f}" for name in ("compile", "call"))
            writer.writerow([*commits, row.model, *ratios])


def short_name(commit: str) -> str:
    """The commit's abbreviated hash."""
    if commit == WORKING_TREE:
        return commit
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", commit]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stdout.strip() or commit


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
    parser.add_argument("--history", type=Path, help="append the ratios to this file")
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
        append(options.history, names, rows)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(vars(measure(sys.argv[2]))))
    else:
        sys.exit(main())
