"""Lines of Python in the product, by room, now and at each release.

    python tests/size_budget.py [--record VERSION] [--since REVISION]

A line is a line of a `.py` file that git tracks below `qlower`, blank or not. The maker
of the site (`qlower/docs`) isn't counted. `--record` adds the present sizes to
`sizes.csv`. `--since` counts by `git blame` the lines that are older than a revision,
those from commits since that made the product no larger, and those that were added
to it; lines that moved or were indented are as old as before. It takes minutes.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("sizes.csv")
LOOSE = "(loose modules)"
NOT_PRODUCT = "docs"


def git(*arguments: str) -> str:
    """What git prints here."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def files() -> Iterator[tuple[str, str]]:
    """The product's files, each after its room."""
    for name in git("ls-files", "--", "qlower/*.py").splitlines():
        _, *rooms, _ = Path(name).parts
        room = rooms[0] if rooms else LOOSE
        if room != NOT_PRODUCT and (ROOT / name).exists():
            yield room, name


def sizes() -> Counter[str]:
    """Lines by room in the working tree."""
    counted: Counter[str] = Counter()
    for room, name in files():
        counted[room] += len((ROOT / name).read_bytes().splitlines())
    return counted


def ages(revision: str) -> Mapping[str, Counter[str]]:
    """Lines by room: `before` a revision, from commits since that `kept` the product's
    size or shrank it, and `added`."""
    changes = Counter({"0" * 40: 1})  # what isn't committed is new
    log = git("log", "--format=%H", "--numstat", f"{revision}..", "--", "qlower/*.py")
    commit = ""
    for line in filter(None, log.splitlines()):
        added, *removed = line.split("\t")
        if not removed:
            commit = line
            changes[commit] = 0
        elif not removed[1].startswith(f"qlower/{NOT_PRODUCT}/"):
            changes[commit] += int(added) - int(removed[0])
    counted = {age: Counter[str]() for age in ("before", "kept", "added")}
    for room, name in files():
        for line in git("blame", "-w", "-M", "-C", "-s", "-l", name).splitlines():
            change = changes.get(line.split()[0])
            age = "before" if change is None else "added" if change > 0 else "kept"
            counted[age][room] += 1
    return counted


def recorded() -> dict[str, Counter[str]]:
    """Lines by room for each release that was recorded, the latest last."""
    releases: dict[str, Counter[str]] = {}
    with RECORD.open(newline="") as file:
        for row in csv.DictReader(file):
            releases.setdefault(row["release"], Counter())[row["room"]] = int(
                row["lines"]
            )
    return releases


def render(now: Counter[str], release: str, then: Counter[str]) -> str:
    """A table of all rooms, the largest first, and their sum."""
    rooms = sorted(now.keys() | then.keys(), key=lambda room: (-now[room], room))
    rows = [(room, now[room], then[room]) for room in rooms]
    rows.append(("all", now.total(), then.total()))
    lines = [f"{'lines of Python':<18}{'now':>8}{release:>8}{'change':>8}"]
    lines += [f"{room:<18}{a:>8,}{b:>8,}{a - b:>+8,}" for room, a, b in rows]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", metavar="VERSION", help="the release that this is")
    parser.add_argument("--since", metavar="REVISION", help="tell older lines apart")
    options = parser.parse_args(arguments)
    if options.since:
        for age, counted in ages(options.since).items():
            rooms = ", ".join(f"{room} {n:,}" for room, n in counted.most_common())
            print(f"{age}: {counted.total():,} lines\n  {rooms}")
        return
    now, releases = sizes(), recorded()
    if options.record:
        with RECORD.open("a", newline="") as file:
            rows = sorted((options.record, *entry) for entry in now.items())
            csv.writer(file, lineterminator="\n").writerows(rows)
    release, then = list(releases.items())[-1]
    print(render(now, release, then))


if __name__ == "__main__":
    main()
