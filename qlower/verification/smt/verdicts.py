"""Solvers' verdicts on claims, next to qlower's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.tables.table import Column, Table, Tabled, counted
from qlower.verification.smt import solve
from qlower.verification.smt.claims import Claims


@dataclass(frozen=True)
class LayerAnswers:
    """The claims of a layer, qlower's verdict, and those of solvers with seconds."""

    layer: str
    claims: int
    verdict: str
    answers: Sequence[str]


@dataclass(frozen=True, repr=False)
class Answers(Tabled[LayerAnswers]):
    """The verdicts of `solvers`; `faults` are disagreements, claims left open, and
    values of a solver for which the interpreter doesn't differ; `replayed` are those
    for which it does."""

    solvers: Sequence[str]
    rows: Sequence[LayerAnswers]
    claims: int
    faults: Sequence[str]
    replayed: int

    @property
    def table(self) -> Table[LayerAnswers]:
        """A line for each layer."""

        def answer(number: int) -> Callable[[LayerAnswers], str]:
            return lambda row: row.answers[number]

        columns: list[Column[LayerAnswers]] = [
            Column("layer", "layer", lambda row: row.layer, least=12),
            Column("claims", "claims", lambda row: row.claims),
            Column("qlower", "qlower", lambda row: row.verdict, right=False),
            *(
                Column(f"{name}, s", name, answer(number), right=False)
                for number, name in enumerate(self.solvers)
            ),
        ]
        notes = [
            f"{counted(self.claims, 'claim')}; the interpreter confirmed "
            f"{counted(self.replayed, 'counterexample')} of solvers.",
            *self.faults,
        ]
        return Table("solvers", self.rows, columns, notes=notes)


def answers_of(
    claims: Claims,
    folder: Path,
    solvers: Sequence[str],
    limit: float,
    progress: Progress = no_progress,
) -> Answers:
    """Run solvers on claims that were written to a folder, `limit` seconds each.

    Every `sat` is replayed in the interpreter. Raises QlowerError if a solver isn't
    installed.
    """
    found = solve.find_solvers()
    missing = [name for name in solvers if name not in found]
    if missing:
        known = ", ".join(solve.PROGRAMS)
        raise QlowerError(
            f"there is no SMT solver {missing[0]} here, on PATH or in Python; "
            f"qlower knows {known}",
            help="pip install 'qlower[smt]'",
        )
    chosen = {name: found[name] for name in solvers or found}
    if not chosen:
        raise QlowerError(
            "there is no SMT solver here, on PATH or in Python",
            help="pip install 'qlower[smt]'",
        )
    rows = solve.solve(folder, chosen, limit, progress)
    faults = [*solve.disagreements(rows), *solve.undecided(rows)]
    replayed = 0
    by_name = {claim.name: claim for claim in claims}
    for row in rows:
        claim = by_name[row.file]
        for name, one in row.answers.items():
            if one.verdict != "sat":
                continue
            if claim.replay(one.values) is None:
                faults.append(f"{claim.name}: {name}'s values refute nothing")
            else:
                replayed += 1
    lines = solve.table(rows, list(chosen))[1:]
    layers = [LayerAnswers(line[0], int(line[1]), line[2], line[3:]) for line in lines]
    return Answers(list(chosen), layers, len(rows), faults, replayed)
