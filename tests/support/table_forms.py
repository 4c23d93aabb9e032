"""How the columns of a table are laid out, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qlower.tables.table import Column, Table


def forms(table: Table[Any]) -> Sequence[str]:
    """Each column that people see: its title, the side that it is aligned to, the least
    width to which it is narrowed, the rank by which it is hidden, whether its texts
    stay in one line, and whether it sums."""
    return [form(column) for column in table.columns if column.title is not None]


def form(column: Column[Any]) -> str:
    """How a column that people see is laid out, in words."""
    parts = [column.title or "", "right" if column.is_right else "left"]
    parts += [f"cut to {column.least}"] if column.least is not None else []
    parts += [f"rank {column.rank}"] if column.rank else []
    parts += ["one line"] if not column.wraps else []
    return ", ".join([*parts, *(["sums"] if column.sums else [])])


def keyed_forms(table: Table[Any]) -> Sequence[str]:
    """The key of each column, or that it has none, and how people see it, if they
    do."""
    return [
        f"{column.key or 'no key'}: "
        f"{'not for people' if column.title is None else form(column)}"
        for column in table.columns
    ]
