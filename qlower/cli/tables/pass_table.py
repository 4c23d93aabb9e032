"""The passes that `qlower-opt` applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.passes import ModulePass, get_pass_option_infos

from qlower.tables.table import Column, Table


@dataclass(frozen=True)
class PassSummary:
    """A pass, the package it is from, its options with their defaults, and what it does
    in a sentence."""

    name: str
    package: str
    options: tuple[str, ...]
    what: str | None

    @staticmethod
    def of(name: str, step: type[ModulePass]) -> PassSummary:
        """Look at the class of a pass.

        A dataclass without a docstring has its signature in that place.
        """
        text = (step.__doc__ or "").strip()
        options = tuple(
            info.name
            if info.default_value in (None, "none")
            else f"{info.name}={info.default_value}"
            for info in get_pass_option_infos(step)
        )
        is_told = text and not text.startswith(f"{step.__name__}(")
        paragraph = " ".join(text.partition("\n\n")[0].split())
        what = paragraph.partition(". ")[0].rstrip(".") if is_told else None
        return PassSummary(name, step.__module__.split(".")[0], options, what)


def pass_table(
    passes: Mapping[str, Callable[[], type[ModulePass]]],
) -> Table[PassSummary]:
    """A line for each pass, qlower's own before those of other packages."""
    rows = [PassSummary.of(name, find()) for name, find in passes.items()]
    rows.sort(key=lambda row: (row.package != "qlower", row.package, row.name))
    columns: list[Column[PassSummary]] = [
        Column("pass", "pass", lambda row: row.name, right=False),
        Column("from", "package", lambda row: row.package, right=False),
        Column("options", "options", lambda row: row.options, least=16),
        Column("what it does", "what", lambda row: row.what, least=24),
    ]
    return Table("passes", rows, columns)
