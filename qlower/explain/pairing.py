"""Two chains side by side, with corresponding steps in one row.

Contracts reach the same result by different steps: one multiplies floats, another
shifts. So steps are aligned by the result that would follow from them, and by what they
do, not by their position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qlower.observe.rows import SUM, Row, show_exact, show_value
from qlower.tables.table import Cell, Column, Table

UNPAIRED = -0.2
"""The cost of leaving a step alone."""

CLOSE = Fraction(1, 2**12)
"""Results so far that are the same but for float32's own roundings, in steps."""


@dataclass(frozen=True)
class Pair:
    """A step of each chain, or of one alone; `is_parting` is where they part."""

    left: Row | None
    right: Row | None
    is_parting: bool = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """The steps that there are."""
        return tuple(row for row in (self.left, self.right) if row is not None)

    @property
    def differs(self) -> bool:
        """Whether the values of two steps that do the same differ."""
        a, b = self.left, self.right
        return a is None or b is None or not _same_value(a, b) or a.how != b.how

    @property
    def is_sum(self) -> bool:
        """Whether it is about what the rule is given."""
        return any(row.name == SUM for row in self.rows)

    def both(self, texts: Sequence[str]) -> str:
        """The texts of both sides, given once if they are the same."""
        return " | ".join(dict.fromkeys(text for text in texts if text))


def pair_rows(
    left: Sequence[Row], right: Sequence[Row], exact: Fraction | None
) -> list[Pair]:
    """The steps of two chains in order, with as many pairs as possible; both start with
    the exact result."""
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left), -1, -1):
        for j in range(len(right), -1, -1):
            choices = [
                *([best[i + 1][j] + UNPAIRED] if i < len(left) else []),
                *([best[i][j + 1] + UNPAIRED] if j < len(right) else []),
            ]
            if i < len(left) and j < len(right):
                choices.append(best[i + 1][j + 1] + _likeness(left[i], right[j]))
            best[i][j] = max(choices, default=0.0)
    pairs: list[Pair] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            together = best[i + 1][j + 1] + _likeness(left[i], right[j])
            if best[i][j] == together:
                pairs.append(Pair(left[i], right[j]))
                i, j = i + 1, j + 1
                continue
        if i < len(left) and best[i][j] == best[i + 1][j] + UNPAIRED:
            pairs.append(Pair(left[i], None))
            i += 1
        else:
            pairs.append(Pair(None, right[j]))
            j += 1
    return _with_parting(pairs, exact)


def _likeness(a: Row, b: Row) -> float:
    """The evidence for two steps being one: foremost the result so far, then that
    both round to whole numbers or neither does, then the op and its place."""
    apart = _apart(a.so_far, b.so_far)
    is_given = a.name == b.name and _op(a) == _op(b) == "given"
    return (
        (2.0 if apart is not None and apart < CLOSE else 0.0)
        + (3.0 if is_given else 0.0)
        + (2.0 if a.place and a.place == b.place else 0.0)
        + (1.0 if _op(a) == _op(b) else 0.0)
        + (1.0 if _in_one_unit(a, b) else 0.0)
        + (0.0 if a.kind != b.kind else 1.5 if a.kind == "rounds" else 0.5)
        - (1.0 if a.kind != b.kind else 0.0)
        - (min(1.0, float(apart)) if apart is not None else 1.0)
    )


def _in_one_unit(a: Row, b: Row) -> bool:
    """Whether two values are nearly the same number."""
    if a.value is None or b.value is None:
        return False
    first, second = float(a.value), float(b.value)
    return abs(first - second) <= max(1.0, abs(first) / 16)


def _op(row: Row) -> str:
    return row.text.split(" ")[0]


def _same_value(a: Row, b: Row) -> bool:
    if a.value is None or b.value is None:
        return a.value is b.value
    return bool(a.value == b.value)


def _apart(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else abs(a - b)


def _with_parting(pairs: Sequence[Pair], exact: Fraction | None) -> list[Pair]:
    """The pairs, with the mark where they part.

    Where both take the same steps, that is the first that gives another value; else the
    one that brings the results so far apart the most.
    """
    steps = [n for n, pair in enumerate(pairs) if any(row.place for row in pair.rows)]
    is_alike = all(
        len(pairs[n].rows) == 2 and len({_op(row) for row in pairs[n].rows}) == 1
        for n in steps
    )
    sums = [n for n, pair in enumerate(pairs) if pair.differs and pair.is_sum]
    differing = sums + [n for n in steps if pairs[n].differs]
    if is_alike and differing:
        parting: int | None = differing[0]
    else:
        parting = _largest_step(pairs, exact)
    return [
        Pair(pair.left, pair.right, number == parting)
        for number, pair in enumerate(pairs)
    ]


def _largest_step(pairs: Sequence[Pair], exact: Fraction | None) -> int | None:
    left = right = exact
    before = Fraction(0)
    steps: list[tuple[Fraction, int]] = []
    for number, pair in enumerate(pairs):
        left = pair.left.so_far if pair.left else left
        right = pair.right.so_far if pair.right else right
        apart = _apart(left, right)
        if apart is not None:
            steps.append((apart - before, -number))
            before = apart
    largest, number = max(steps, default=(Fraction(0), 0))
    return -number if largest > 0 else None


def _short(number: Fraction | None) -> str:
    return "" if number is None else f"{float(number):.6g}"


def pair_table(pairs: Sequence[Pair], left: str, right: str) -> Table[Pair]:
    """The steps side by side."""

    def value(row: Row | None) -> Cell:
        return None if row is None or row.value is None else row.value.item()

    def shown(row: Row | None) -> str:
        return "" if row is None or row.value is None else show_value(row.value)

    def so_far(row: Row | None) -> str:
        return "" if row is None else _short(row.so_far)

    def both(of: Callable[[Row], str]) -> Callable[[Pair], Cell]:
        return lambda pair: pair.both([of(row) for row in pair.rows])

    columns: list[Column[Pair]] = [
        Column("", "parts", lambda p: p.is_parting, lambda p: ">" * p.is_parting),
        Column("step", "step", both(lambda row: row.name), right=False, rank=4),
        Column(None, "op", both(lambda row: row.text)),
        Column("what it does", "words", both(lambda row: row.words), least=24),
        Column(left, "left", lambda p: value(p.left), lambda p: shown(p.left)),
        Column(right, "right", lambda p: value(p.right), lambda p: shown(p.right)),
        Column("exact", "exact", both(lambda row: show_exact(row.exact)), rank=2),
        Column("rounding", "rounding", both(lambda row: row.how), least=9),
        Column(
            "result so far",
            "so_far",
            lambda p: p.both([so_far(p.left), so_far(p.right)]),
            rank=3,
        ),
        Column("where", "where", both(lambda row: row.place), right=False, rank=5),
    ]
    return Table("steps", pairs, columns, whole="--json")
