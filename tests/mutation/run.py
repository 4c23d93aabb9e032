"""Change one expression of the product at a time, and see whether a test fails.

    python tests/mutation/run.py [--seed N] [--count N] [--rooms contracts,runtime]

Mutants are drawn from all rooms of `qlower`, as many from each. All tests run once, and
record which blocks of the product each reaches (`record.py`); with the same `--work`
only files of tests that have changed do so again. Each mutant is put into a
copy of the tree, where the tests that reach it run in a forked process, the likeliest
to fail first, until one does; a rule of a contract is first evaluated on the layers of
`test_rule_answers` (`pinned.py`). Most mutants of Python are put into a process that
has imported the product (`plant.py`). A test that failed runs again without the mutant,
and counts only if it passes then.

A mutant may do what its user may: as root, one has replaced /dev/null by a file.

The result is a table by room and the survivors. `--work DIR` keeps all of it, and goes
on there; survivors that weren't shown all their tests are tried again when `--seconds`
is larger. The exit code is 1 if fewer than `--least` percent of a room's mutants were
killed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from mutation import pinned  # noqa: E402
from mutation.attempt import (  # noqa: E402
    changed,
    copy_tree,
    first_failing,
    import_libraries,
    in_process,
)
from mutation.draw import CONTRACTS, draw, room_of, told  # noqa: E402
from mutation.plant import forget_product, import_product, plant  # noqa: E402
from mutation.record import Reach, record  # noqa: E402
from mutation.sites import Mutant  # noqa: E402

KILLED = ("failed", "timeout", "died")
UNPLANTED = "unplanted"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `how` it ended ("passed" if no test failed), the first
    test that failed, and how many of how many tests it was shown to."""

    number: int
    how: str
    test: str
    shown: int
    of: int

    @property
    def is_killed(self) -> bool:
        return self.how in KILLED

    @property
    def outcome(self) -> str:
        """Killed, survived all tests that reach it, or neither."""
        if self.is_killed:
            return "killed"
        is_decided = self.how == "passed" and self.shown == self.of
        return "survived" if is_decided else "undecided"


@dataclass(frozen=True)
class Task:
    number: int
    mutant: Mutant
    tests: Sequence[str]
    of: int
    seconds: float
    apart: Sequence[str] = ()
    """Those of the tests that start processes, which import the product anew."""


_tree = Path()
_passing: set[str] = set()
"""Of this worker: its tree, and tests that pass in it without a mutant."""


def start_worker(work: Path, kind: str) -> None:
    """Make a worker's tree, and import what mutants of that kind leave as it is."""
    global _tree
    # It would be tested in place of the tree's.
    assert "qlower" not in sys.modules, "the product is imported already"
    os.nice(5)
    _tree = copy_tree(work / f"tree-{os.getpid()}")
    import_libraries()
    if kind == CONTRACTS:
        pinned.prepare(_tree)
    else:
        import_product(_tree)


def try_mutant(task: Task) -> Verdict:
    """Show a mutant to its tests in this worker's tree, and what fails to the tree as
    it was: a function of tests that fails there, too, is left out."""
    while (verdict := _with_mutant(task)).is_killed and not _is_honest(verdict, task):
        function = verdict.test.partition("[")[0]
        left, apart = (
            [test for test in tests if test.partition("[")[0] != function]
            for tests in (task.tests, task.apart)
        )
        if len(left) == len(task.tests):
            return _verdict(task, f"unreliable {verdict.test}", verdict.shown)
        task = replace(task, tests=left, apart=apart)
    return verdict


def _with_mutant(task: Task) -> Verdict:
    if not task.mutant.file.endswith(".mlir"):
        work = partial(_planted, task)
        answer = in_process(_tree, work, 3 * task.seconds) if task.tests else "passed"
        if answer == "passed" and task.apart:
            anew = partial(_failing_anew, task.apart)
            with changed(_tree, task.mutant):
                answer = in_process(_tree, anew, 3 * task.seconds)
        if answer != UNPLANTED:
            return _verdict(task, answer, len(task.tests))
    with changed(_tree, task.mutant):
        return _shown(task)


def _planted(task: Task) -> str:
    """The first failing of the task's tests with the mutant in the product that this
    process has imported."""
    try:
        plant(_tree, task.mutant)
    except (LookupError, ValueError):
        return UNPLANTED
    return first_failing(task.tests)


def _failing_anew(tests: Sequence[str]) -> str:
    forget_product()
    return first_failing(tests)


def _shown(task: Task) -> Verdict:
    answer = "passed"
    failing = _failing_anew
    if task.mutant.file.endswith(".mlir"):
        failing = pinned.first_failing_anew
        work = partial(pinned.first_differing, task.mutant)
        answer = in_process(_tree, work, task.seconds)
    if answer != "passed" or not task.tests:
        return _verdict(task, answer, 0)
    answer = in_process(_tree, partial(failing, task.tests), 3 * task.seconds)
    return _verdict(task, answer, len(task.tests))


def _verdict(task: Task, answer: str, shown: int) -> Verdict:
    how, _, test = answer.partition(" ")
    return Verdict(task.number, how, test, shown, task.of)


def _is_honest(verdict: Verdict, task: Task) -> bool:
    """Whether what failed passes without the mutant."""
    if verdict.test in _passing:
        return True
    if not verdict.shown:
        work = partial(pinned.first_differing, task.mutant, verdict.test)
    elif verdict.test.startswith("tests/"):
        work = partial(first_failing, [verdict.test])
    else:
        work = partial(first_failing, task.tests)
    if in_process(_tree, work, 3 * task.seconds) != "passed":
        return False
    if verdict.shown and verdict.test.startswith("tests/"):
        _passing.add(verdict.test)
    return True


def choose(mutant: Mutant, reach: Reach, seconds: float) -> tuple[list[str], int]:
    """Tests for a mutant, as many as there is time for, and of how many."""
    if mutant.file.endswith(".mlir"):
        stem = Path(mutant.file).stem.lstrip("_").partition("-")[0]
        candidates = reach.named(stem)
    else:
        candidates = reach.tests_of(mutant)
    chosen: list[str] = []
    for test in candidates:
        if reach.seconds[test] <= seconds:
            chosen.append(test)
            seconds -= reach.seconds[test]
    return chosen, len(candidates)


def run(mutants: Sequence[Mutant], options: Options) -> dict[int, Verdict]:
    """What became of each mutant by its number."""
    tree = copy_tree(options.work / "tree")
    tests = options.tests, options.long
    recorded = record(tree, options.work, *tests, options.each, options.jobs)
    reach = Reach(recorded, tree)
    results = options.work / f"results-{options.seed}.jsonl"
    verdicts: dict[int, Verdict] = {}
    if results.exists():
        for line in results.read_text().splitlines():
            row = json.loads(line)
            verdict = Verdict(
                **{name: row.pop(name) for name in Verdict.__annotations__}
            )
            # The product may have changed, and with it what is drawn.
            if row == asdict(mutants[verdict.number]):
                verdicts[verdict.number] = verdict
    tasks: list[Task] = []
    for number, mutant in enumerate(mutants):
        room = room_of(mutant.file)
        if options.rooms and not any(room.startswith(name) for name in options.rooms):
            continue
        tests, of = choose(mutant, reach, options.seconds)
        known = verdicts.get(number)
        if (
            known is None
            or known.how == "unreliable"
            or (not known.is_killed and len(tests) > known.shown)
        ):
            apart = [test for test in tests if test in reach.starting]
            tasks.append(Task(number, mutant, tests, of, options.seconds, apart))
    # So that those that are done at any time are of all rooms.
    random.Random(options.seed).shuffle(tasks)
    for verdict in _tried(tasks, options):
        mutant = mutants[verdict.number]
        verdicts[verdict.number] = verdict
        with results.open("a") as file:
            file.write(json.dumps({**asdict(verdict), **asdict(mutant)}) + "\n")
        shown = f"{verdict.shown} of {verdict.of}"
        print(f"{verdict.how} {told(mutant)} [{shown}: {verdict.test}]", flush=True)
    return verdicts


def _tried(tasks: Sequence[Task], options: Options) -> Iterator[Verdict]:
    """Verdicts as they are found, of contracts first."""
    context = multiprocessing.get_context("fork")
    for kind in (CONTRACTS, "python"):
        of_kind = [
            task
            for task in tasks
            if task.mutant.file.endswith(".mlir") == (kind == CONTRACTS)
        ]
        arguments = (options.work, kind)
        jobs = min(options.jobs, len(of_kind))
        if jobs:
            with context.Pool(jobs, start_worker, arguments) as pool:
                yield from pool.imap_unordered(try_mutant, of_kind, chunksize=1)


def report(
    mutants: Sequence[Mutant], verdicts: Mapping[int, Verdict]
) -> dict[str, float]:
    """Print how the mutants of each room ended, and those of all contracts' texts; the
    percentages of the rooms that were killed."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for number, verdict in verdicts.items():
        room = room_of(mutants[number].file)
        names = [room, f"{CONTRACTS}:"] if ":" in room else [room]
        for name in [*names, "all"]:
            counts[name][verdict.outcome] += 1
    shares: dict[str, float] = {}
    outcomes = ("killed", "survived", "undecided")
    print(f"{'room':30} " + " ".join(f"{name:>9}" for name in outcomes))
    for room, count in sorted(counts.items()):
        shares[room] = 100 * count["killed"] / count.total()
        row = " ".join(f"{count[name]:9}" for name in outcomes)
        print(f"{room:30} {row} {shares[room]:5.0f} %")
    for number, verdict in sorted(verdicts.items()):
        if not verdict.is_killed:
            print(f"{verdict.outcome}: {told(mutants[number])}")
    return shares


@dataclass(frozen=True)
class Options:
    seed: int
    count: int
    rooms: Sequence[str]
    tests: Sequence[str]
    long: Sequence[str]
    seconds: float
    each: float
    least: float
    jobs: int
    work: Path


def parse_arguments() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument(
        "--rooms", default="", help="of the drawn ones, by their first letters"
    )
    parser.add_argument("--tests", default="tests", help="files, by commas")
    parser.add_argument(
        "--long", default="", help="of them, files or folders with their long tests"
    )
    parser.add_argument("--seconds", type=float, default=20, help="of tests a mutant")
    parser.add_argument("--each", type=float, default=600, help="of a recorded file")
    parser.add_argument("--least", type=float, default=80, help="percent of a room")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path, default=None)
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="mutants-"))
    work.mkdir(parents=True, exist_ok=True)
    rooms, tests, long = (
        list(filter(None, x.split(","))) for x in (given.rooms, given.tests, given.long)
    )
    return Options(
        *(given.seed, given.count, rooms, tests, long),
        *(given.seconds, given.each, given.least, given.jobs, work.resolve()),
    )


def main() -> int:
    options = parse_arguments()
    print(f"seed {options.seed}, in {options.work}")
    mutants = draw(options.seed, options.count)
    verdicts = run(mutants, options)
    shares = report(mutants, verdicts)
    return int(any(share < options.least for share in shares.values()))


if __name__ == "__main__":
    sys.exit(main())
