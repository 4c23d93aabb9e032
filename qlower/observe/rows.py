"""The steps of a chain as rows of a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from xdsl.dialects import arith

from qlower.interp.values import Array
from qlower.observe.chain import Chain
from qlower.observe.exact import fraction
from qlower.observe.words import MODES, gloss
from qlower.tables.table import Cell, Column, Table

WIDENING = (arith.ExtSIOp, arith.ExtUIOp, arith.ExtFOp)
"""Ops that are exact whatever they are given."""

SUM = "sum"
"""The row about accumulators that aren't the exact sum and bias."""

BEFORE = "rounded before"
"""The note on a ratio of scales that isn't the exact one."""

TIE = ", tie"
"""The addition to the mode of a step that rounds a tie."""

SMALLEST_TOLD = Fraction(1, 2**40)
"""The least error of a compile-time step that is shown, in steps of the result."""


@dataclass(frozen=True)
class Row:
    """One step: its value, the exact value, the error that it adds and the result so
    far, both in steps of the result.

    `text` is the op with its operands, `words` the same for people. `how` says how it
    changed the number, `half_up, tie`. A plain row leaves a number as it is, or is
    about a value that is computed, exactly, when a model is compiled.
    """

    name: str
    text: str
    words: str
    value: Array | None
    exact: Fraction | None
    how: str
    error: Fraction | None
    so_far: Fraction | None
    place: str
    is_runtime: bool
    is_plain: bool

    @property
    def kind(self) -> str:
        """The step's effect on the number: it "rounds" to whole numbers, "computes",
        "clamps", "saturates", "wraps", or shows a value that was "rounded before"."""
        how = self.how.partition(",")[0]
        if not how or how.startswith("float"):
            return "computes"
        return how if how in ("clamps", "saturates", "wraps", BEFORE) else "rounds"

    @property
    def is_tie(self) -> bool:
        """Whether it rounds a tie."""
        return self.how.endswith(TIE)

    def to_dict(self) -> dict[str, Cell]:
        """Plain data; exact numbers as fractions."""
        return {column.key: column.value(self) for column in COLUMNS if column.key}


def rows_of(chain: Chain) -> list[Row]:
    """Every step of a chain, after what its given values were rounded by before."""
    rows: list[Row] = []
    meant, given, start = chain.meant, chain.given, chain.exact_values[-1]
    if given != meant:
        rows.append(_before(SUM, "products and bias", chain.before, meant, given))
    if abs(_error(given, start) or 0) >= SMALLEST_TOLD:
        rows.append(_before("ratio", "made of the scales", BEFORE, given, start))
    names = _Names(chain)
    return [*rows, *(_row(chain, number, names) for number in range(len(chain.steps)))]


def _before(
    name: str,
    text: str,
    how: str,
    before: Fraction | None,
    after: Fraction | None,
) -> Row:
    error = _error(before, after)
    return Row(name, text, text, None, None, how, error, after, "", True, False)


def _error(before: Fraction | None, after: Fraction | None) -> Fraction | None:
    return None if before is None or after is None else after - before


def _row(chain: Chain, number: int, names: _Names) -> Row:
    step, error = chain.steps[number], chain.errors[number]
    how = chain.rounding(number) if error else ""
    if "half" in how and (rounded := chain.rounds(number)) is not None:
        how += TIE if rounded.denominator == 2 else ""
    operands = _operands(chain, number, names)
    return Row(
        names.of(number),
        "given"
        if step.op is None
        else f"{step.op.name} {', '.join(operands)}".rstrip(),
        _words(chain, number, operands),
        step.value,
        chain.exact_values[number],
        how,
        error,
        chain.so_far[number],
        step.place,
        step.is_runtime,
        _is_plain(chain, number),
    )


def _is_plain(chain: Chain, number: int) -> bool:
    """Whether a step is exact, and leaves a number as it is or is made at compile
    time."""
    if not chain.steps[number].is_runtime:
        error = chain.errors[number]
        return not error or abs(error) < SMALLEST_TOLD
    return _source(chain, number) is not None


def _source(chain: Chain, number: int) -> int | None:
    """The operand that a step, computed at run time, passes on as it is."""
    step = chain.steps[number]
    if step.op is None or chain.errors[number]:
        return None
    runtime = [n for n in step.operands if chain.steps[n].is_runtime]
    if isinstance(step.op, WIDENING):
        return runtime[0]
    value = fraction(step.value)
    same = (n for n in runtime if fraction(chain.steps[n].value) == value)
    return next(same, None)


class _Names:
    """The names of a chain's steps, each once: a step that passes a number on is called
    as the one that it has it from."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._names: list[str] = []
        used: set[str] = set()
        for step in chain.steps:
            name = f"%{step.name}"
            candidates = itertools.chain(
                [name], map(f"{name}_{{}}".format, itertools.count(1))
            )
            self._names.append(next(free for free in candidates if free not in used))
            used.add(self._names[-1])

    def of(self, number: int) -> str:
        """The step's own name."""
        return self._names[number]

    def seen(self, number: int) -> str:
        """The name of the step that people see in its place."""
        while (source := _source(self._chain, number)) is not None:
            number = source
        return self._names[number]


def _operands(chain: Chain, number: int, names: _Names) -> list[str]:
    """The operands of a step: those computed at run time by name, others by value."""
    return [
        names.seen(n) if chain.steps[n].is_runtime else show_value(chain.steps[n].value)
        for n in chain.steps[number].operands
    ]


def _words(chain: Chain, number: int, operands: Sequence[str]) -> str:
    """The step for people; what is computed when a model is compiled says so."""
    step = chain.steps[number]
    if step.op is None:
        return f"given: {step.name}"
    varies = [chain.steps[operand].is_runtime for operand in step.operands]
    is_swapped = len(varies) == 2 and varies == [False, True]
    text = gloss(step.op, operands, is_swapped=is_swapped)
    if number in chain.nudges and chain.rounding(number) in MODES:
        text = f"{text.rpartition(', ')[0]}, {MODES[chain.rounding(number)]}"
    if step.is_runtime:
        return text
    return " ".join(["constant", *operands[:1]]) + f": {text}"


def show_value(value: Array) -> str:
    """An integer in full, a float with as many digits as identify it."""
    return str(value).lower() if value.dtype == bool else str(value)


def show_exact(exact: Fraction | None) -> str:
    """A whole number in full, another one to ten digits."""
    if exact is None:
        return ""
    if exact.denominator == 1:
        return str(exact.numerator)
    return f"{float(exact):.10g}"


def show_error(error: Fraction | None) -> str:
    """The error with its sign; an empty text for none."""
    return f"{float(error):+.3g}" if error else ""


def ratio(exact: Fraction | None) -> str | None:
    """An exact number for programs: `75/2`."""
    return None if exact is None else str(exact)


def _exact_column(
    title: str, key: str, exact: Callable[[Row], Fraction | None], rank: int
) -> Column[Row]:
    """An exact number: a ratio for programs, ten digits for people."""
    return Column(
        title,
        key,
        lambda row: ratio(exact(row)),
        lambda row: show_exact(exact(row)),
        rank=rank,
    )


COLUMNS: tuple[Column[Row], ...] = (
    Column("step", "step", lambda row: row.name, right=False, rank=4),
    Column(None, "op", lambda row: row.text),
    Column("what it does", "words", lambda row: row.words, least=24),
    Column(
        "value",
        "value",
        lambda row: None if row.value is None else row.value.item(),
        lambda row: "" if row.value is None else show_value(row.value),
    ),
    _exact_column("exact", "exact", lambda row: row.exact, rank=2),
    Column("rounding", "rounding", lambda row: row.how, least=9),
    Column(
        "adds",
        "error",
        lambda row: None if row.error is None else float(row.error),
        lambda row: show_error(row.error),
    ),
    _exact_column("result so far", "so_far", lambda row: row.so_far, rank=3),
    Column("where", "where", lambda row: row.place, right=False, rank=5),
    Column(None, "at_run_time", lambda row: row.is_runtime),
)


def chain_table(chain: Chain, *, all_steps: bool = False) -> Table[Row]:
    """The steps that round, cut or compute; with `all_steps` also those that leave a
    number as it is, and what is computed when a model is compiled."""
    rows = [row for row in rows_of(chain) if all_steps or not row.is_plain]
    notes = ["adds: the error of a rounding, in steps of the result."]
    if len(rows) < len(chain.steps):
        notes[0] += " Steps that change nothing are left out."
    return Table(f"rule {chain.rule}", rows, COLUMNS, notes=notes, whole="--json")
