"""Change one expression of the product at a time, and see whether a test fails.

    python tests/mutation/run.py [--seed N] [--count N] [--rooms contracts,runtime]

Mutants are drawn from all rooms of `qlower`, as many from each. They are made in a copy
of the tree. The tests run once with a probe in each drawn expression, which finds those
that reach it. Each mutant then runs its tests, quick ones first, until one fails. The
result is a table by room and the survivors; `--work DIR` keeps it, and goes on there.
The exit code is 1 if fewer than `--least` percent of a room's mutants were killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutation.sites import Mutant, contract_mutants, python_mutants  # noqa: E402

PROBES = Path(__file__).with_name("probes")
CONTRACTS = "contracts"
NOT_PRODUCT = ("docs",)
"""Rooms that aren't drawn from."""

STARTING = 60
"""Seconds that pytest may take besides its tests."""


@dataclass(frozen=True)
class Options:
    seed: int
    count: int
    rooms: Sequence[str]
    tests: Sequence[str]
    seconds: float
    least: float
    work: Path


def room_of(file: str) -> str:
    """The folder below `qlower`, or the family of a contract's text."""
    path = Path(file)
    if path.suffix == ".mlir":
        return f"{CONTRACTS}: {path.stem.lstrip('_').split('-')[0]}"
    return path.parts[1] if len(path.parts) > 2 else "(loose modules)"


def all_mutants() -> dict[str, list[Mutant]]:
    """All mutants by room."""
    rooms: defaultdict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((ROOT / "qlower").rglob("*")):
        file = str(path.relative_to(ROOT))
        if path.suffix == ".py":
            rooms[room_of(file)] += python_mutants(file, path.read_text())
        elif path.suffix == ".mlir" and path.parent.name == CONTRACTS:
            rooms[room_of(file)] += contract_mutants(file, path.read_text())
    return {room: found for room, found in rooms.items() if room not in NOT_PRODUCT}


def draw(options: Options) -> list[Mutant]:
    """As many mutants of each room, no two of one line."""
    rooms = {
        room: mutants
        for room, mutants in all_mutants().items()
        if not options.rooms or any(room.startswith(name) for name in options.rooms)
    }
    drawn: list[Mutant] = []
    for index, (room, mutants) in enumerate(sorted(rooms.items())):
        share = len(range(index, options.count, len(rooms)))
        by_line: defaultdict[tuple[str, int], list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            by_line[mutant.file, mutant.line].append(mutant)
        chance = random.Random(f"{options.seed} {room}")
        lines = chance.sample(sorted(by_line), min(share, len(by_line)))
        drawn += [chance.choice(by_line[line]) for line in lines]
    return drawn


def copy_tree(options: Options) -> Path:
    """A copy of what git tracks, to be changed."""
    tree = options.work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    return tree


def pytest(
    tree: Path, arguments: Sequence[str], seconds: float | None, **variables: str
) -> int | None:
    """pytest's exit code in the copy, or None if it took longer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def find_tests(
    mutants: Sequence[Mutant], options: Options
) -> tuple[dict[int, set[str]], dict[str, float]]:
    """The tests that reach each mutant by its number, and the seconds of each test."""
    tree = copy_tree(options)
    edits: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, mutant in enumerate(mutants):
        if mutant.file.endswith(".py"):
            edits[mutant.file] += _probe(number, mutant)
    for file, found in edits.items():
        text = (tree / file).read_text()
        for position, new in sorted(found, reverse=True):
            text = text[:position] + new + text[position:]
        (tree / file).write_text(text)
    hits = options.work / "hits"
    hits.mkdir(exist_ok=True)
    times = options.work / "times.xml"
    path = os.pathsep.join([str(tree), str(PROBES)])
    arguments = [*options.tests, f"--junitxml={times}", "-o", "junit_family=xunit1"]
    pytest(tree, arguments, None, PYTHONPATH=path, QLOWER_PROBES=str(hits))
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(times).iter("testcase"):
        passed = not any(child.tag in ("failure", "error", "skipped") for child in case)
        if passed:
            name = f"{case.get('file')}::{case.get('name')}"
            seconds[name] = float(case.get("time") or 0)
    reached: defaultdict[int, set[str]] = defaultdict(set)
    for file in hits.iterdir():
        for line in file.read_text().splitlines():
            number, _, test = line.partition("\t")
            if test in seconds:
                reached[int(number)].add(test)
    return reached, seconds


def _probe(number: int, mutant: Mutant) -> list[tuple[int, str]]:
    """What is inserted where, so that the mutant's expression or statement is seen."""
    if mutant.old.startswith("raise"):
        return [(mutant.start, f"_probe({number}); ")]
    return [(mutant.start, f"(_probe({number}) or ("), (mutant.end, "))")]


def choose(
    tests: set[str], seconds: Mapping[str, float], room: str, most: float
) -> list[str]:
    """The room's own tests first, then quick ones, as many as there is time for."""
    chosen: list[str] = []
    own = f"tests/{room.partition(':')[0]}/"
    for test in sorted(tests, key=lambda t: (not t.startswith(own), seconds[t])):
        if seconds[test] <= most:
            chosen.append(test)
            most -= seconds[test]
    return chosen


def contract_tests(file: str, seconds: Mapping[str, float]) -> set[str]:
    """The tests of a contract's text, which no probe sees: recorded answers of its
    family, or of all for steps that families share, and tests named after it."""
    stem = Path(file).stem
    name, base = stem, stem
    while base and base != "_steps":
        name = base
        text = (ROOT / "qlower" / CONTRACTS / f"{base}.mlir").read_text()
        found = re.search(r'contract\.base = "([\w-]+)"', text)
        base = found[1] if found else ""
    short = stem.partition("-")[0]
    if stem.startswith("_"):
        short = "test_rule_answers" if stem == "_steps" else "test_libraries"
    pinned = f"test_rule_answers.py::test_answers[{name}]"
    return {
        test
        for test in seconds
        if test.startswith("tests/contracts/")
        and "test_contract_pages" not in test
        and (test.endswith(pinned) or short in test)
    }


def run(mutants: Sequence[Mutant], options: Options) -> dict[int, str]:
    """What became of each mutant by its number."""
    results = options.work / "results.jsonl"
    plan = options.work / "tests.json"
    if plan.exists():
        known = json.loads(plan.read_text())
        reached = {int(number): set(tests) for number, tests in known[0].items()}
        seconds: dict[str, float] = known[1]
    else:
        reached, seconds = find_tests(mutants, options)
        listed = {number: sorted(tests) for number, tests in reached.items()}
        plan.write_text(json.dumps([listed, seconds]))
    verdicts: dict[int, str] = {}
    if results.exists():
        rows = map(json.loads, results.read_text().splitlines())
        verdicts = {row["number"]: row["verdict"] for row in rows}
    tree = copy_tree(options)
    for number, mutant in enumerate(mutants):
        if number in verdicts:
            continue
        is_contract = mutant.file.endswith(".mlir")
        tests = (
            contract_tests(mutant.file, seconds)
            if is_contract
            else reached.get(number, set[str]())
        )
        chosen = choose(tests, seconds, room_of(mutant.file), options.seconds)
        verdicts[number] = try_mutant(tree, mutant, chosen, options)
        row = {"number": number, "verdict": verdicts[number], **asdict(mutant)}
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{verdicts[number]}  {_told(mutant)}", flush=True)
    return verdicts


def try_mutant(
    tree: Path, mutant: Mutant, tests: Sequence[str], options: Options
) -> str:
    """Whether one of the tests fails with the mutant."""
    if not tests:
        return "no tests"
    path = tree / mutant.file
    text = path.read_text()
    listed = options.work / "chosen.txt"
    listed.write_text("\n".join(tests))
    try:
        path.write_text(mutant.apply(text))
        arguments = ["-x", f"@{listed}"]
        seconds = 3 * options.seconds + STARTING
        code = pytest(tree, arguments, seconds, PYTHONDONTWRITEBYTECODE="1")
    finally:
        path.write_text(text)
    return "survived" if code == 0 else "killed"


def _told(mutant: Mutant) -> str:
    """A mutant in one line."""
    old, new = (" ".join(text.split()) for text in (mutant.old, mutant.new))
    return f"{mutant.file}:{mutant.line}: {old[:100]} -> {new[:100]}"


def report(mutants: Sequence[Mutant], verdicts: Mapping[int, str]) -> dict[str, float]:
    """Print killed and drawn mutants of each room; the percentages."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number, verdict in verdicts.items():
        counts[room_of(mutants[number].file)][verdict] += 1
    shares: dict[str, float] = {}
    print(f"{'room':30} {'killed':>7} {'survived':>9} {'no tests':>9}")
    for room, count in sorted(counts.items()):
        numbers = (count["killed"], count["survived"], count["no tests"])
        print(f"{room:30} {numbers[0]:7} {numbers[1]:9} {numbers[2]:9}")
        shares[room] = 100 * count["killed"] / count.total()
    killed = sum(count["killed"] for count in counts.values())
    print(f"{killed} of {len(verdicts)} mutants killed")
    return shares


def parse_arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--rooms", default="", help="first letters, by commas")
    parser.add_argument("--tests", default="tests", help="files, by commas")
    parser.add_argument("--seconds", type=float, default=20, help="of tests a mutant")
    parser.add_argument("--least", type=float, default=80, help="percent of a room")
    parser.add_argument("--work", type=Path, default=None)
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="mutants-"))
    work.mkdir(parents=True, exist_ok=True)
    rooms, tests = (
        list(filter(None, x.split(","))) for x in (given.rooms, given.tests)
    )
    numbers = given.seed, given.count
    return Options(*numbers, rooms, tests, given.seconds, given.least, work.resolve())


def main() -> int:
    options = parse_arguments()
    print(f"seed {options.seed}, in {options.work}")
    mutants = draw(options)
    verdicts = run(mutants, options)
    shares = report(mutants, verdicts)
    return int(any(share < options.least for share in shares.values()))


if __name__ == "__main__":
    sys.exit(main())
