"""The parts that the page shows of a layer, as plain data: texts, and no numbers to
compute with. `page.js` has a function for each kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from qlower.diagnostics import printable
from qlower.interp.values import Array
from qlower.tables.table import Row, Table, counted

Block: TypeAlias = dict[str, object]

MOST_BARS = 64
"""The most bars of a histogram."""

TALLEST = 100
"""The height of its tallest bar."""

ALONG = 1_000
"""The length of a strip's line."""


def facts(title: str, rows: Iterable[tuple[str, str]]) -> Block:
    """Names and what they are."""
    shown = [[printable(name), printable(text)] for name, text in rows if text]
    return {"kind": "facts", "title": title, "rows": shown}


def table(table: Table[Row], title: str | None = None) -> Block:
    """A table as people read it, with its notes."""
    columns = [column for column in table.columns if column.title is not None]
    return {
        "kind": "table",
        "title": printable(table.title if title is None else title),
        "columns": [[printable(c.title or ""), c.is_right] for c in columns],
        "rows": [[printable(c.text(row)) for c in columns] for row in table.rows],
        "notes": [printable(note) for note in table.notes],
    }


def code(title: str, text: str, about: str = "") -> Block:
    """Text in its own lines."""
    lines = (printable(line) for line in text.split("\n"))
    return {"kind": "code", "title": title, "text": "\n".join(lines), "about": about}


def histogram(title: str, array: Array) -> Block | None:
    """The counts of elements by stored value; None for a tensor without numbers."""
    real = array.astype(np.float64).reshape(-1)
    real = real[np.isfinite(real)]
    if not real.size:
        return None
    least, greatest = float(real.min()), float(real.max())
    is_whole = array.dtype.kind in "iub"
    width = (greatest - least) / MOST_BARS
    if is_whole:
        width = max(1.0, float(np.ceil((greatest - least + 1) / MOST_BARS)))
    count = int((greatest - least) // width) + 1 if width else 1
    place = np.minimum((real - least) // (width or 1.0), count - 1).astype(np.int64)
    counts = np.bincount(place, minlength=count).tolist()
    highest = max(counts)
    bars = [
        [
            _range(least + n * width, width, is_whole),
            f"{size:,}",
            -(-size * TALLEST // highest),
        ]
        for n, size in enumerate(counts)
    ]
    about = (
        f"{counted(real.size, 'element')} from {least:g} to {greatest:g}, mean "
        f"{real.mean():.4g}"
    )
    return {"kind": "histogram", "title": title, "bars": bars, "about": about}


def _range(first: float, width: float, is_whole: bool) -> str:
    if is_whole and width == 1:
        return f"{first:g}"
    last = first + width - 1 if is_whole else first + width
    return f"{first:.6g} to {last:.6g}"


def strip(title: str, numbers: Sequence[float]) -> Block:
    """Positive numbers as marks on a logarithmic line, each with its text; `at` is
    where, from 0 to `ALONG`."""
    logarithms = [math.log(max(number, 1e-300)) for number in numbers]
    least, greatest = min(logarithms), max(logarithms)
    width = (greatest - least) or 1.0
    marks = [
        [round(ALONG * (place - least) / width), f"channel {channel}: {number:.6g}"]
        for channel, (number, place) in enumerate(zip(numbers, logarithms, strict=True))
    ]
    about = f"{len(numbers):,} from {min(numbers):.6g} to {max(numbers):.6g}"
    return {"kind": "strip", "title": title, "marks": marks, "about": about}


def elements(title: str, about: str, items: Sequence[Block]) -> Block:
    """Elements to choose from, each with blocks of its own."""
    return {"kind": "elements", "title": title, "about": about, "items": list(items)}


def maps(title: str, items: Sequence[Block]) -> Block:
    """Pictures of tensors to choose from."""
    return {"kind": "maps", "title": title, "items": list(items)}
