"""Tables: rows of one kind and their columns, for people and for programs.

A `Column` takes its cell from a row, which may be any object; `Table` has the rows, and
is written by `formats.py`:

    Table("layers", rows, [
        Column("MACs", "products", lambda row: row.products, sums=True),
        Column("layer", "layer", lambda row: row.name, least=12),
    ])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

Row = TypeVar("Row")

Cell: TypeAlias = str | bool | int | float | Sequence["str | int | float"] | None
"""A row's value in a column; None where there is nothing to show."""

Format: TypeAlias = Literal["plain", "markdown", "csv", "json", "html"]

FORMATS: tuple[Format, ...] = get_args(Format)

NOTHING = "-"
"""The text of an empty cell, for people."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table.

    `title` is for people, None where the column is for programs alone; `key` is for
    programs (CSV and JSON), None where the column is for people alone. `show` writes
    the cell for people, by default `show_cell`. Cells are aligned on the right, unless
    `right` is false or they are texts that have a `least`.

    Where a terminal is narrow, columns that have a `rank` are left out, the highest
    first, and texts that have a `least` go on in the next line after that many
    characters or more, between words; or, unless it `wraps`, are cut there, as longer
    words are. A column that `sums` has its sum in the table's last line.
    """

    title: str | None
    key: str | None
    value: Callable[[Row], Cell]
    show: Callable[[Row], str] | None = None
    right: bool = True
    sums: bool = False
    least: int | None = None
    wraps: bool = True
    rank: int = 0

    @property
    def head(self) -> str:
        """The title for people; empty where it is for programs alone."""
        return self.title or ""

    @property
    def is_right(self) -> bool:
        """Whether cells are aligned on the right."""
        return self.right and self.least is None

    def text(self, row: Row) -> str:
        """The row's cell as people read it."""
        return show_cell(self.value(row)) if self.show is None else self.show(row)


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows under columns.

    `total` names the last line, which has the sums; without it there is none. `legend`
    explains words that may occur in cells: those that do occur are listed below, after
    `notes`. `whole` is what shows the columns that a narrow terminal doesn't.
    """

    title: str
    rows: Sequence[Row]
    columns: Sequence[Column[Row]]
    total: str | None = None
    legend: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: Sequence[str] = ()
    whole: str = "--format csv"

    def render(self, format: Format = "plain", width: int | None = None) -> str:
        """The table as text; `width` is the terminal's, in characters, for "plain"."""
        from qlower.tables.formats import write

        return write(self, format, width)

    def records(self) -> list[dict[str, Cell]]:
        """Each row as plain data, by the columns' keys."""
        return [
            {c.key: c.value(row) for c in self.columns if c.key is not None}
            for row in self.rows
        ]

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return self.render("html")


class Tabled(ABC, Generic[Row]):
    """A result that people read as a table: its text and HTML are the table's."""

    @property
    @abstractmethod
    def table(self) -> Table[Row]:
        """The result's rows."""

    def to_dict(self) -> Mapping[str, object]:
        """Plain data."""
        return {"rows": self.table.records()}

    def render(self, width: int | None = None) -> str:
        """The text for a terminal that is `width` characters wide."""
        return self.table.render("plain", width)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table.render("html")


def show_cell(cell: Cell) -> str:
    """A cell for people: digits in groups, real numbers to four digits."""
    match cell:
        case None:
            return NOTHING
        case bool():
            return "yes" if cell else "no"
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:.4g}"
        case _:
            return ", ".join(map(show_cell, cell)) or NOTHING


def percentage(share: float, digits: int = 2) -> str:
    """A share, with more digits where these would make some of it none, or all."""
    text = f"{share:.{digits}%}"
    while 0 < share < 1 and float(text[:-1]) in (0, 100):
        digits += 1
        text = f"{share:.{digits}%}"
    return text


def counted(count: int, noun: str) -> str:
    """A number of things in words: `1 layer`, `2 layers`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
