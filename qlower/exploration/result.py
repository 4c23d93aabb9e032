"""The result of a walk: the front as a table, all points as data and in a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qlower.contracts.family import Arithmetic
from qlower.exploration.walk import Figures, front
from qlower.files.replacing import writing
from qlower.tables.plots import BLUE, GREY, RED, new_figure, save
from qlower.tables.table import NOTHING, Column, Table, Tabled
from qlower.validation.counts import Counts

UNITS = {"luts": "LUTs", "cells": "cells", "bits": "bits of wires"}

QUALITIES = {
    "top1": "top-1 accuracy",
    "agreement": "examples whose largest output agrees",
    "equal": "equal outputs",
}


@dataclass(frozen=True)
class Point:
    """An arithmetic, the name of its contract, what was counted; `figures` is None if
    the contract refuses the model."""

    number: int
    arithmetic: Arithmetic
    contract: str
    counts: Counts
    figures: Figures | None

    @property
    def choices(self) -> str:
        """Choices other than the usual ones."""
        return self.contract.partition("; ")[2]


@dataclass(frozen=True, repr=False)
class Exploration(Tabled[Point]):
    """The points of a walk, in its order."""

    base: str
    against: str | None
    by: str
    unit: str
    points: Sequence[Point]

    @cached_property
    def front(self) -> Sequence[Point]:
        """The points that no other one beats, the largest first."""
        known = {one.number: one.figures for one in self.points if one.figures}
        return [self.points[number] for number in front(known)]

    @property
    def table(self) -> Table[Point]:
        """A line for each point of the front."""
        refused = sum(one.figures is None for one in self.points)
        notes = [
            f"{len(self.front)} of {len(self.points)} arithmetics that no other beats "
            f"in {QUALITIES[self.by]}, {UNITS[self.unit]} and bits; base {self.base}"
            + (f"; {refused} refuse the model" if refused else ""),
        ]
        if self.against is not None:
            notes.append(f"held against {self.against}")
        return Table("front", self.front, self._columns(), notes=notes)

    def to_dict(self) -> dict[str, object]:
        """Plain data: every point, and the numbers of those on the front."""
        columns = self._columns()
        return {
            "base": self.base,
            "against": self.against,
            "by": self.by,
            "unit": self.unit,
            "front": [one.number for one in self.front],
            "points": Table("points", self.points, columns).records(),
        }

    def _columns(self) -> list[Column[Point]]:
        columns: list[Column[Point]] = [
            Column(None, "contract", lambda row: row.contract),
            Column("arithmetic", "choices", lambda row: row.choices, right=False),
        ]
        if any(row.counts.labelled for row in self.points):
            columns.append(_share("top-1", "top1", lambda c: (c.top1, c.labelled)))
        if self.against is not None:
            columns += [
                _share(
                    "argmax agrees", "agreement", lambda c: (c.agreeing, c.compared)
                ),
                _share(
                    "equal outputs",
                    "equal",
                    lambda c: (
                        c.output.elements - c.output.differing,
                        c.output.elements,
                    ),
                ),
            ]
        return [
            *columns,
            Column(
                UNITS[self.unit],
                "area",
                lambda row: None if row.figures is None else row.figures.area,
            ),
            Column(
                "bits" if self.unit != "bits" else None,
                "bits",
                lambda row: None if row.figures is None else row.figures.bits,
            ),
        ]

    def html(self) -> str:
        """A page with the picture, the front and all points, which loads nothing."""
        with TemporaryDirectory() as folder:
            picture = Path(folder) / "front.svg"
            self.plot(picture)
            svg = picture.read_text()
        every = Table("all arithmetics", self.points, self._columns())
        tables = "".join(
            f"<h2>{one.title}</h2>{one.render('html')}" for one in (self.table, every)
        )
        style = "body{font-family:sans-serif;max-width:60em;margin:auto}svg{width:100%}"
        return (
            "<!doctype html><meta charset=utf-8><title>qlower explore</title>"
            f"<style>{style}</style><h1>Arithmetics that are worth their area</h1>"
            f"{svg[svg.index('<svg') :]}{tables}\n"
        )

    def plot(self, path: Path) -> None:
        """Draw all points, and the front with some names."""
        figure = new_figure(6.4, 4.0)
        axes: Any = figure.subplots()  # pyright: ignore[reportUnknownMemberType]

        def place(point: Point) -> tuple[int, float]:
            assert point.figures is not None
            return point.figures.area, 100 * point.figures.quality

        known = [one for one in self.points if one.figures is not None]
        for points, mark, colour in (
            (known, ".", GREY),
            (self.front, "o", BLUE),
            (known[:1], "s", RED),
        ):
            places = [place(one) for one in points]
            axes.plot(
                [x for x, _ in places], [y for _, y in places], mark, color=colour
            )
        small = {"textcoords": "offset points", "fontsize": 6}
        last, apart = math.inf, 0.06 * max((place(one)[0] for one in known), default=0)
        for point in self.front:  # names that would lie on each other are left out
            if last - place(point)[0] > apart:
                axes.annotate(point.choices, place(point), (6, -3), **small)
                last = place(point)[0]
        if known:
            axes.annotate("the base", place(known[0]), (4, -10), **small)
        axes.set_xlabel(f"{UNITS[self.unit]} of a requantizer")
        axes.set_ylabel(f"{QUALITIES[self.by]} in %")
        axes.set_xlim(0)
        with writing(path):
            save(figure, path)


def _share(
    title: str, key: str, parts: Callable[[Counts], tuple[int, int]]
) -> Column[Point]:
    def value(row: Point) -> float | None:
        hits, of = parts(row.counts)
        return hits / of if of else None

    def show(row: Point) -> str:
        found = value(row)
        return NOTHING if found is None else f"{found:.2%}"

    return Column(title, key, value, show)
