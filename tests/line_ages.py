"""How much of the product is as old as a revision: `size_budget.py --since`.

Every line of the revision weighs 1, and each commit since then is followed. A line that
it takes out and puts in elsewhere keeps its weight. Its other new lines share what its
other removed lines weighed: old lines replaced by twice as many weigh a half each, old
lines replaced by fewer weigh 1. So a line that replaces an old one is old,
no matter which commit wrote it, and what a commit adds beyond that is new.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Weights = dict[str, list[float]]
"""The weights of each file's lines."""


def git(*arguments: str) -> str:
    """What git prints here."""
    command = ["git", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return run.stdout.decode(errors="replace")


@dataclass
class Change:
    """One file in one commit: its names before and after, and its hunks: the first line
    that was there, how many were, and those that are there now."""

    before: str
    after: str
    hunks: list[tuple[int, list[str], list[str]]] = field(
        default_factory=list[tuple[int, list[str], list[str]]]
    )


def changes(commit: str) -> Iterator[Change]:
    """What a commit changes in Python files."""
    change: Change | None = None
    text = git("show", "--format=", "-U0", "-M", "--no-color", commit, "--", "*.py")
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith("diff --git a/"):
            if change:
                yield change
            before, _, after = line.removeprefix("diff --git a/").partition(" b/")
            change = Change(before, after)
        elif change and (hunk := HUNK.match(line)):
            start, count, _, number = (
                int(1 if n is None else n) for n in hunk.groups()
            )
            taken = [next(lines)[1:] for _ in range(count)]
            put = [next(lines)[1:] for _ in range(number)]
            change.hunks.append((start - (count > 0), taken, put))
    if change:
        yield change


def line_weights(revision: str, is_product: Callable[[str], bool]) -> Weights:
    """The weight of each line of every Python file at HEAD."""
    weights: Weights = {}
    for name in git("ls-tree", "-r", "--name-only", revision).splitlines():
        if name.endswith(".py"):
            lines = git("show", f"{revision}:{name}").encode().splitlines()
            weights[name] = [float(is_product(name))] * len(lines)
    commits = git("rev-list", "--reverse", "--first-parent", f"{revision}..HEAD")
    for commit in commits.split():
        _follow(weights, list(changes(commit)), is_product)
    return weights


def _follow(
    weights: Weights, commit: Sequence[Change], is_product: Callable[[str], bool]
) -> None:
    taken: defaultdict[str, list[float]] = defaultdict(list)
    put: list[tuple[list[float], int, str]] = []
    after: Weights = {}
    for change in commit:
        old, new = weights.get(change.before, []), list[float]()
        place = 0
        for start, gone, here in change.hunks:
            new += old[place:start]
            place = start + len(gone)
            if is_product(change.before):
                for line, weight in zip(gone, old[start:place], strict=True):
                    taken[line.strip()].append(weight)
            if is_product(change.after):
                put += [
                    (new, len(new) + n, line.strip()) for n, line in enumerate(here)
                ]
            new += [0.0] * len(here)
        new += old[place:]
        after[change.after] = new
    for change in commit:
        weights.pop(change.before, None)
    weights |= after
    replacing: list[tuple[list[float], int]] = []
    for lines, index, text in put:
        if taken[text]:
            lines[index] = taken[text].pop(0)
        else:
            replacing.append((lines, index))
    left = [weight for same in taken.values() for weight in same]
    share = sum(left) / max(len(left), len(replacing), 1)
    for lines, index in replacing:
        lines[index] = share
