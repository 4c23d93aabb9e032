"""The list of contracts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qlower.contracts.headers import Header
from qlower.tables.table import Column, Table, Tabled


@dataclass(frozen=True, repr=False)
class Contracts(Tabled[Header]):
    """Contracts by what they say of themselves."""

    headers: Sequence[Header]

    @property
    def table(self) -> Table[Header]:
        """A line for each contract."""
        columns: list[Column[Header]] = [
            Column("contract", "name", lambda row: row.name, right=False),
            Column("what it is", "summary", lambda row: row.summary, least=40),
            Column("family", "family", lambda row: row.family, right=False, rank=2),
            Column("base", "base", lambda row: row.base, right=False, rank=1),
        ]
        return Table("contracts", self.headers, columns)
