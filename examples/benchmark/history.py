"""Figures by commit, as ratios within a run: a CSV file, and a picture of it.

Compiling is told in yardsticks (yardstick.py), calls as how much longer LiteRT takes:
both can be compared where seconds of other days and machines can't.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

TITLES = ("commit", "date", "model", "compile_yardsticks", "litert_ratio")


@dataclass(frozen=True)
class Entry:
    """A model at a commit of a date: CPU seconds to compile over those of the
    yardstick, and LiteRT's time for a call over qlower's (None where it wasn't
    measured)."""

    commit: str
    date: str
    model: str
    compile: float
    litert: float | None


def read(path: Path) -> list[Entry]:
    """The entries of a file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Entry(
                row["commit"],
                row["date"],
                row["model"],
                float(row["compile_yardsticks"]),
                float(row["litert_ratio"]) if row["litert_ratio"] else None,
            )
            for row in csv.DictReader(file)
        ]


def add(path: Path, entries: Iterable[Entry]) -> None:
    """Put entries into a file, each in the place of an older one of its commit and
    model, ordered by date; and draw the file, as `.svg` beside it."""
    known = {(entry.commit, entry.model): entry for entry in read(path)}
    known |= {(entry.commit, entry.model): entry for entry in entries}
    rows = sorted(known.values(), key=lambda entry: entry.date)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TITLES)
        for row in rows:
            litert = "" if row.litert is None else f"{row.litert:.3f}"
            cells = (row.commit, row.date, row.model, f"{row.compile:.3f}", litert)
            writer.writerow(cells)
    draw(rows, path.with_suffix(".svg"))


def draw(rows: Sequence[Entry], path: Path) -> None:
    """Both figures against commits, a line a model."""
    from qlower.tables.plots import new_figure, save

    figure = new_figure(8, 3)
    left, right = figure.subplots(1, 2)
    commits = list(dict.fromkeys(row.commit for row in rows))
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model]
        places = [commits.index(row.commit) for row in own]
        left.plot(places, [row.compile for row in own], marker="o", label=model)
        right.plot(places, [row.litert or math.nan for row in own], marker="o")
    left.set_title("CPU time to compile, in yardsticks")
    right.set_title("LiteRT's time of a call over qlower's")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(len(commits)), commits, rotation=45)
    left.legend()
    save(figure, path)
