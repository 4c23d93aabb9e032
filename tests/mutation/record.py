"""Which tests reach a line of the product: recorded once, for any number of mutants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import mean

from mutation.draw import CONTRACTS, room_of
from mutation.probes.blocks import block_of
from mutation.sites import Mutant
from support.lanes import EVERY_TURN, TURN_VARIABLE

PROBES = Path(__file__).with_name("probes")
COLLECTED = "collected.txt"
"""The names of all tests of the default lane, those of every turn."""

NO_JUDGES = ("test_rooms", "test_english", "test_release")
"""Tests of the product's text, which see any change of it."""

NO_JUDGE_OF_TEXT = "test_contract_pages"
"""Another one, of contracts' text; of the code that makes the pages it is a test."""

ALSO_NAMED = {
    "pytorch": ("pt2", "torch"),
    **{"onnxruntime": ("onnx",), "xnnpack": ("tflite",), "tflm": ("tflite",)},
    "vitis": ("dpu",),
    **dict.fromkeys(("eigen", "glibc"), ("libraries", "real_functions", "elementwise")),
    **dict.fromkeys(("mlas", "sleef"), ("libraries", "test_onnx", "pt2_operators")),
}
"""Other words in the names of tests that a contract's text is met by."""


def record(
    tree: Path,
    work: Path,
    tests: Sequence[str],
    long: Sequence[str],
    seconds: float,
    jobs: int,
) -> Path:
    """Run each file of tests in a copy of the tree, for at most that long, as many at a
    time as there are jobs, and return the file of what `probes/reach.py` wrote. Files
    that have run before don't again. Of cases that run in turns those of the default
    turn do; the names of all are collected. Files below `long` run their long tests and
    every case."""
    reach, done = work / "reach.jsonl", work / "recorded.txt"
    known = set(done.read_text().splitlines()) if done.exists() else set[str]()
    reach.touch()
    files = {
        str(path.relative_to(tree))
        for test in tests
        for path in [tree / test, *(tree / test).rglob("test_*.py")]
        if path.is_file() and path.stem not in NO_JUDGES
    }
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(PROBES), str(tree)]),
        "PYTHONPYCACHEPREFIX": str(work / "compiled"),
        "QLOWER_REACH": str(reach),
    }
    plugins = ["-p", "no:cacheprovider", "-p", "reach"]

    def run(file: str) -> None:
        command = [sys.executable, "-m", "pytest", *plugins, file]
        if file.startswith(tuple(long)):
            command.append("--long")
        # What the first tests of a file that takes longer reach is recorded.
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command,
                cwd=tree,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
            )
        with done.open("a") as names:
            names.write(f"{file}\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, sorted(files - known)))
    every = [sys.executable, "-m", "pytest", "--collect-only", "-m", "not long"]
    collected = subprocess.run(
        [*every, "-o", "addopts=", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env={**environment, TURN_VARIABLE: EVERY_TURN},
        capture_output=True,
        text=True,
    )
    names = (line for line in collected.stdout.splitlines() if "::" in line)
    (work / COLLECTED).write_text("\n".join(names))
    return reach


class Reach:
    """The tests that reach each block of the product, and their seconds of CPU."""

    def __init__(self, reach: Path, tree: Path) -> None:
        self._tree = tree
        self.seconds: dict[str, float] = {}
        self._tests: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for line in reach.read_text().splitlines():
            test, seconds, found = json.loads(line)
            if str(tree) in test:
                continue  # A worker's tree is elsewhere.
            if seconds:
                self.seconds[test] = seconds
            for file, blocks in found.items():
                for block in blocks:
                    self._tests[file, block].add(test)
        self._add_other_turns((reach.parent / COLLECTED).read_text().splitlines())

    def _add_other_turns(self, names: Sequence[str]) -> None:
        """Cases that didn't run take what those of their function took on average."""
        times: defaultdict[str, list[float]] = defaultdict(list)
        for test, seconds in self.seconds.items():
            times[test.partition("[")[0]].append(seconds)
        for name in names:
            known = times.get(name.partition("[")[0])
            if known is not None:
                self.seconds.setdefault(name, mean(known))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Those that reach the mutant's block, or its function if none of the block was
        recorded. The likeliest to fail come first: tests that reach what few others do
        in its function, then tests of its own room, then quick ones; and of each test
        function one before its others."""
        file = mutant.file
        block, around = block_of((self._tree / file).read_text(), mutant.line)
        reaching = self._tests[file, block]
        score: Counter[str] = Counter()
        for other in around:
            for test in self._tests[file, other]:
                score[test] += round(1000 / len(self._tests[file, other]))
        # Few tests of a function are recorded; its others may reach the block, too.
        functions = {test.partition("[")[0] for test in reaching or score}
        others = (t for t in self.seconds if t.partition("[")[0] in functions)
        found = (reaching & self.seconds.keys()).union(others)
        return self._in_turn(found, f"tests/{room_of(file)}/", score)

    def named(self, stem: str) -> list[str]:
        """Tests of contracts and of front ends whose names hold a word that stands for
        the contract, those of contracts first."""
        words = (stem, *ALSO_NAMED.get(stem, ()))
        found = {
            test
            for test in self.seconds
            if test.startswith((f"tests/{CONTRACTS}/", "tests/frontends/"))
            and any(word in test for word in words)
            and NO_JUDGE_OF_TEXT not in test
        }
        return self._in_turn(found, f"tests/{CONTRACTS}/", Counter())

    def _in_turn(self, tests: set[str], own: str, score: Counter[str]) -> list[str]:
        def key(test: str) -> tuple[int, bool, float]:
            return -score[test], not test.startswith(own), self.seconds[test]

        turns: Counter[str] = Counter()
        chosen: list[tuple[int, tuple[int, bool, float], str]] = []
        for test in sorted(tests, key=key):
            function = test.partition("[")[0]
            chosen.append((turns[function], key(test), test))
            turns[function] += 1
        return [test for *_, test in sorted(chosen)]
