"""Which tests reach a line of the product: recorded once, for any number of mutants."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import mean

import pytest
from mutation.attempt import import_libraries, in_process
from mutation.draw import CONTRACTS, room_of
from mutation.probes.blocks import block_of
from mutation.sites import Mutant

PROBES = Path(__file__).with_name("probes")
COLLECTED = "collected.json"
"""The names of all tests, those of every turn and long ones."""

Place = tuple[str, str, int]
"""A file, a function of it, and a block of the function."""

Key = tuple[float, float, bool, float]
"""What tests are ordered by, those first that are likely to fail and short."""

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

NAMED = 30
"""How much less of the product a test seems to reach for each word of the changed
file's path in its name: cases of one function, such as FileCheck's, may have nothing
else in common."""

SHORT = 0.05
"""Seconds that no test is without: those of starting it."""


def record(
    tree: Path,
    work: Path,
    tests: Sequence[str],
    long: Sequence[str],
    seconds: float,
    jobs: int,
) -> Path:
    """Run each file of tests in a copy of the tree, for at most that many seconds of
    CPU, as many at a time as there are jobs, and return the file of what
    `probes/reach.py` wrote. Files that have run before don't again while their own
    texts are the same: the product may have changed. Of cases that run in turns those
    of the default turn do; the names of all are collected. Files below `long` run their
    long tests and every case."""
    reach, done = work / "reach.jsonl", work / "recorded.json"
    known: dict[str, str] = json.loads(done.read_text()) if done.exists() else {}
    files = {
        str(path.relative_to(tree)): sha256(path.read_bytes()).hexdigest()
        for test in tests
        for path in [tree / test, *(tree / test).rglob("test_*.py")]
        if path.is_file() and path.stem not in NO_JUDGES
    }
    changed = [file for file, digest in files.items() if known.get(file) != digest]
    _keep(reach, lambda test: test.partition("::")[0] not in changed)
    context = multiprocessing.get_context("fork")
    if changed:
        with context.Pool(jobs, _start_recording, (tree, work, reach)) as pool:
            named = pool.apply_async(_collect, (tree, tests, work / COLLECTED))
            run = partial(_record_file, tree, tuple(long), seconds)
            for file in pool.imap_unordered(run, sorted(changed), chunksize=1):
                known[file] = files[file]
                done.write_text(json.dumps(known))
            named.get()
    return reach


def _keep(reach: Path, is_kept: Callable[[str], bool]) -> None:
    """Leave out lines of other tests."""
    lines = reach.read_text().splitlines(keepends=True) if reach.exists() else []
    kept = [line for line in lines if is_kept(json.loads(line)[0])]
    reach.write_text("".join(kept))


def _start_recording(tree: Path, work: Path, reach: Path) -> None:
    """Import what tests do, with probes in the product."""
    os.nice(5)
    sys.path[:0] = [str(PROBES), str(tree), str(tree / "tests")]
    sys.pycache_prefix = str(work / "compiled")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ["QLOWER_REACH"], os.environ["QLOWER_TREE"] = str(reach), str(tree)
    import_libraries()
    importlib.import_module("blocks").start()
    # What a first import of the product reaches belongs to no test.
    importlib.import_module("qlower.api")
    importlib.import_module("blocks").taken()


def _record_file(tree: Path, long: tuple[str, ...], seconds: float, file: str) -> str:
    arguments = ["-p", "reach", file, *(["--long"] if file.startswith(long) else [])]
    in_process(tree, partial(_run, tree, arguments), seconds)
    return file


def _collect(tree: Path, tests: Sequence[str], names: Path) -> None:
    """Write the names of all tests of every turn, and whether they are long."""
    # Without this mode files of one name in two folders are not collected.
    options = ["-o", "addopts=", "--import-mode=importlib"]
    arguments = ["--collect-only", *options, "--long", *tests]
    in_process(tree, partial(_run, tree, arguments, [_Names(names)]), 600)


class _Names:
    """A plug-in that writes what was collected."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        names = {
            item.nodeid: item.get_closest_marker("long") is not None
            for item in session.items
        }
        self._file.write_text(json.dumps(names))


def _run(tree: Path, arguments: Sequence[str], plugins: Sequence[object] = ()) -> str:
    # What this process reached as it was forked belongs to no test.
    importlib.import_module("blocks").taken()
    # For processes that a test starts, which record, too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(PROBES), str(tree)])
    return str(pytest.main(["-p", "no:cacheprovider", *arguments], plugins))


class Reach:
    """The tests that reach each block of the product, and their seconds of CPU."""

    def __init__(self, reach: Path, tree: Path) -> None:
        self._tree = tree
        self.seconds: dict[str, float] = {}
        self.starting: set[str] = set()
        """Those that start processes which import the product."""
        self._tests: defaultdict[Place, set[str]] = defaultdict(set)
        self._blocks: defaultdict[tuple[str, str], set[Place]] = defaultdict(set)
        self._breadth: defaultdict[str, int] = defaultdict(lambda: 1)
        # A worker has another tree: tests named after a path in this one aren't there.
        is_long = {
            test: long
            for test, long in json.loads((reach.parent / COLLECTED).read_text()).items()
            if str(reach.parent) not in test
        }
        for line in reach.read_text().splitlines():
            test, seconds, found = json.loads(line)
            if test not in is_long:
                continue  # Its parameters have changed.
            if seconds:
                self.seconds[test] = seconds
            else:
                self.starting.add(test)
            of_function = test.partition("[")[0]
            breadth = sum(len(b) for f in found.values() for b in f.values())
            self._breadth[of_function] = max(self._breadth[of_function], breadth)
            for file, functions in found.items():
                for function, blocks in functions.items():
                    places = {(file, function, block) for block in blocks}
                    self._blocks[file, function] |= places
                    for place in places:
                        self._tests[place].add(test)
        self._add_other_turns([test for test, long in is_long.items() if not long])

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
        """Those that reach the mutant's block; its function, if none of the block was
        recorded; its file, if none of the function was (it is new, or runs when it is
        imported). The likeliest to fail come first: tests that reach what few others do
        in its function and little of the product besides, or are named after its file
        or a folder of it, for as little time as possible; the second test of a function
        counts half, the third a third. Then come tests of its own room, quick ones, and
        last the other tests of their files."""
        file = mutant.file
        function, block = block_of((self._tree / file).read_text(), mutant.line)
        reaching = self._tests[file, function, block]
        around = self._blocks[file, function] or {
            place for place in self._tests if place[0] == file
        }
        score: defaultdict[str, float] = defaultdict(float)
        for other in around:
            for test in self._tests[other]:
                share = 1 / len(self._tests[other])
                score[test] += share / self._breadth[test.partition("[")[0]]
        # Few tests of a function are recorded; its others may reach the block, too.
        functions = {test.partition("[")[0] for test in reaching or score}
        others = (t for t in self.seconds if t.partition("[")[0] in functions)
        found = (reaching & self.seconds.keys()).union(others)
        # What a fixture of a whole file reaches was recorded for the first test alone.
        files = {test.partition("::")[0] for test in found}
        beside = {t for t in self.seconds if t.partition("::")[0] in files} - found
        own = f"tests/{room_of(file)}/"
        words = Path(file).with_suffix("").parts[2:]
        return [
            test
            for tests in (found, beside)
            for test in self._in_turn(tests, own, score, words)
        ]

    def named(self, stem: str) -> list[str]:
        """Tests of contracts and of front ends whose names hold a word that stands for
        the contract, those of contracts first."""
        # Steps of a library may be several files, as `_glibc_exponentials`.
        library = stem.partition("_")[0]
        words = (stem, *ALSO_NAMED.get(library, ()))
        found = {
            test
            for test in self.seconds
            if test.startswith((f"tests/{CONTRACTS}/", "tests/frontends/"))
            and any(word in test for word in words)
            and NO_JUDGE_OF_TEXT not in test
        }
        return self._in_turn(found, f"tests/{CONTRACTS}/", {}, ())

    def _in_turn(
        self,
        tests: set[str],
        own: str,
        score: Mapping[str, float],
        words: Sequence[str],
    ) -> list[str]:
        best: defaultdict[str, float] = defaultdict(float)
        for test, value in score.items():
            function = test.partition("[")[0]
            best[function] = max(best[function], value)

        def key(test: str) -> Key:
            worth = best[test.partition("[")[0]] * NAMED ** _times_named(test, words)
            is_other = not test.startswith(own)
            return -worth, -score.get(test, 0), is_other, self.seconds[test]

        turns: Counter[str] = Counter()
        chosen: list[tuple[float, int, Key, str]] = []
        for test in sorted(tests, key=lambda test: (key(test), test)):
            function, made = test.partition("[")[0], key(test)
            worth = made[0] / (1 + turns[function]) / (SHORT + self.seconds[test])
            chosen.append((worth, turns[function], made, test))
            turns[function] += 1
        return [test for *_, test in sorted(chosen)]


def _times_named(test: str, words: Sequence[str]) -> int:
    """How many of the words a test's name has, its folder left out. Plain words, which
    may mean something else, count in names of files alone."""
    file, _, case = test.partition("::")
    name = f"{Path(file).stem} {case}".replace("-", "_")
    files = " ".join([Path(file).stem, *re.findall(r"\S+\.mlir", name)])
    return sum(
        re.search(
            rf"(?<![a-z]){word}(?![a-z])", name if "_" in word.strip("_") else files
        )
        is not None
        for word in words
    )
