"""Lines of Python in the product, by room, now and at each release.

    python tests/size_budget.py [--record VERSION]

A line is a line of a `.py` file that git tracks below `qlower`, blank or not. The maker
of the site (`qlower/docs`) isn't counted. `--record` adds the present sizes to
`sizes.csv`.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("sizes.csv")
LOOSE = "(loose modules)"
NOT_PRODUCT = "docs"


def sizes() -> Counter[str]:
    """Lines by room in the working tree."""
    command = ["git", "ls-files", "-z", "--", "qlower/*.py"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    counted: Counter[str] = Counter()
    for name in filter(None, listed.stdout.split("\0")):
        _, *rooms, _ = Path(name).parts
        room = rooms[0] if rooms else LOOSE
        if room != NOT_PRODUCT and (ROOT / name).exists():
            counted[room] += len((ROOT / name).read_bytes().splitlines())
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
    options = parser.parse_args(arguments)
    now, releases = sizes(), recorded()
    if options.record:
        with RECORD.open("a", newline="") as file:
            rows = sorted((options.record, *entry) for entry in now.items())
            csv.writer(file, lineterminator="\n").writerows(rows)
    release, then = list(releases.items())[-1]
    print(render(now, release, then))


if __name__ == "__main__":
    main()
