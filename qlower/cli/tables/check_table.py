"""Models that can be read, and the obstacles in others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qlower.diagnostics import QlowerError, file_location, location_name
from qlower.frontends.check import Checked
from qlower.tables.table import Column, Table, counted


@dataclass(frozen=True)
class _Line:
    """One problem of a model; None for a model that can be read and compiled."""

    checked: Checked
    problem: QlowerError | None
    is_first: bool

    @property
    def place(self) -> int | None:
        """The line of the problem: in a binary file, the operator's number."""
        location = self.problem and file_location(self.problem.location)
        return location and location.line.data

    @property
    def reason(self) -> str | None:
        if self.problem is None:
            return None
        layer = location_name(self.problem.location)
        prefix = "" if layer is None else f"layer {layer!r}: "
        return f"{prefix}{self.problem.message}"


def check_table(checked: Sequence[Checked]) -> Table[_Line]:
    """A line for each problem, or for each model without one."""
    lines = [
        _Line(model, problem, index == 0)
        for model in checked
        for index, problem in enumerate(model.reasons or (None,))
    ]
    good = sum(not model.problems for model in checked)
    slow = sum(bool(model.without_code) for model in checked)
    notes = [f"{good} of {counted(len(checked), 'model')} can be imported"]
    if slow:
        notes.append(f"{slow} of these can't be compiled")
    return Table(
        "models",
        lines,
        [
            Column(
                "model",
                "model",
                lambda line: str(line.checked.path),
                show=lambda line: str(line.checked.path) if line.is_first else "",
                right=False,
            ),
            Column("imports", "imports", lambda line: not line.checked.problems),
            Column("compiles", "compiles", lambda line: line.problem is None),
            Column(None, "line", lambda line: line.place),
            Column(
                "reason",
                "reason",
                lambda line: line.reason,
                right=False,
            ),
            Column(
                None,
                "help",
                lambda line: None if line.problem is None else line.problem.help,
            ),
        ],
        notes=notes,
    )
