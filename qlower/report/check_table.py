"""Which models can be read, and why others can't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qlower.diagnostics import QlowerError
from qlower.frontends.check import Checked
from qlower.report.table import Column, Table, counted


@dataclass(frozen=True)
class _Line:
    """One problem of a model; None for a model that can be read."""

    checked: Checked
    problem: QlowerError | None
    place: int | None
    is_first: bool


def check_table(checked: Sequence[Checked]) -> Table[_Line]:
    """A line for each problem, or for each model without one."""
    lines = [
        _Line(model, problem, place, index == 0)
        for model in checked
        for index, (problem, place) in enumerate(
            zip(model.problems or (None,), model.places or (None,), strict=True)
        )
    ]
    good = sum(not model.problems for model in checked)
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
            Column("imports", "imports", lambda line: line.problem is None),
            Column(None, "line", lambda line: line.place),
            Column(
                "reason",
                "reason",
                lambda line: None if line.problem is None else line.problem.message,
                right=False,
            ),
            Column(
                None,
                "help",
                lambda line: None if line.problem is None else line.problem.help,
            ),
        ],
        notes=[f"{good} of {counted(len(checked), 'model')} can be imported"],
    )
