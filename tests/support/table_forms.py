"""How the columns of a table are laid out, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qlower.tables.table import Table


def forms(table: Table[Any]) -> Sequence[str]:
    """Each column that people see: its title, the side that it is aligned to, the least
    width to which it is cut, the rank by which it is hidden, and whether it sums."""
    found: list[str] = []
    for column in table.columns:
        if column.title is not None:
            parts = [column.title, "right" if column.right else "left"]
            parts += [f"cut to {column.least}"] if column.least is not None else []
            parts += [f"rank {column.rank}"] if column.rank else []
            parts += ["sums"] if column.sums else []
            found.append(", ".join(parts))
    return found
