"""Lines of Python in the product, by room, now and at each release.

    python tests/size_budget.py [--record VERSION] [--since REVISION]

A line is a line of a `.py` file that git tracks below `qlower`, blank or not. The maker
of the site (`qlower/docs`) isn't counted. `--record` adds the present sizes to
`sizes.csv`. With `--since`, the second column counts lines that stand from a revision
or replace lines that stood then (`line_ages.py`), the third what was added to them.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from line_ages import git, line_weights

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("sizes.csv")
LOOSE = "(loose modules)"
PRODUCT = ("qlower/", "dialects/")
"""The dialects have stood in a folder of their own."""

NOT_PRODUCT = "docs"


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


def as_old_as(revision: str) -> Counter[str]:
    """Lines by room that stand from a revision or replace lines that stood then."""
    weights = line_weights(
        revision,
        lambda name: (
            name.startswith(PRODUCT) and not name.startswith(f"qlower/{NOT_PRODUCT}/")
        ),
    )
    counted: Counter[str] = Counter()
    for room, name in files():
        counted[room] += round(sum(weights.get(name, ())))
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
    now, releases = sizes(), recorded()
    if options.since:
        print(render(now, options.since, as_old_as(options.since)))
        return
    if options.record:
        with RECORD.open("a", newline="") as file:
            rows = sorted((options.record, *entry) for entry in now.items())
            csv.writer(file, lineterminator="\n").writerows(rows)
    release, then = list(releases.items())[-1]
    print(render(now, release, then))


if __name__ == "__main__":
    main()
