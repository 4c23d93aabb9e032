"""One side's steps for an element, as a line of numbers and as a sentence.

Numbers are those before the zero point is added, since roundings depend on their sign
and ties are halves of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from qlower.observe.chain import Chain
from qlower.observe.exact import fraction
from qlower.observe.rows import BEFORE, SUM, Row, rows_of, show_exact
from qlower.observe.words import MODES, NEAREST, show_beside_tie, side_of_tie

SHOWN = Fraction(1, 2**8)
"""An error that is shown whatever it does, in steps of the result."""

FEW = 3
"""Roundings that are shown even where they change nothing."""

ROUNDS = "rounds"

ACTS = {
    "computes": "computes in {how}",
    "clamps": "clamps",
    "saturates": "saturates",
    "wraps": "wraps",
}
"""The action of a side in a step of that kind, in words."""


@dataclass(frozen=True)
class Move:
    """A step that decides what is stored, and the number after it."""

    row: Row
    number: Fraction

    @property
    def act(self) -> str:
        """The step in words."""
        row = self.row
        how = mode_of(row)
        if row.name == SUM:
            pairs = "saturates pairs of products"
            return pairs if "pairs" in how else ACTS.get(how, f"has the {how}")
        if row.kind == BEFORE:
            return "rounds the ratio of the scales"
        if row.kind == ROUNDS:
            return ROUNDS if row.is_runtime else "rounds a constant"
        return ACTS[row.kind].format(how=how)

    @property
    def remark(self) -> str:
        """The step's rounding, where it rounds."""
        mode = mode_of(self.row)
        words = MODES.get(mode)
        if self.act != ROUNDS or words is None:
            return ""
        if self.row.is_tie:
            return f"a tie, {in_words(mode)}"
        return "to the nearest" if words.startswith(NEAREST) else words


def zero_point(chain: Chain) -> int:
    """The number added after the last rounding: the zero point, or 0 where the rule has
    none or rounds numbers that include it."""
    given = (s for s in chain.steps if s.op is None and s.name == "output_zero_point")
    zero = next((int(step.value) for step in given), 0)
    for row in reversed(rows_of(chain)):
        if row.kind == ROUNDS and row.is_runtime and row.error:
            value = None if row.value is None else fraction(row.value)
            return 0 if value == row.so_far else zero
    return zero


def moves(chain: Chain) -> list[Move]:
    """The steps that change the number visibly, or the way in which it rounds; a step
    that makes a tie changes that, however little it adds."""
    is_stored = chain.result.dtype.kind in "iu"
    zero = zero_point(chain)
    rows = [row for row in rows_of(chain) if not row.is_plain and row.error]
    rounding = [row for row in rows if row.kind == ROUNDS and row.is_runtime]
    shown = rounding if len(rounding) <= FEW else rounding[-1:]
    found: list[Move] = []
    before = chain.exact
    for row in rows:
        if row.so_far is None or row.error is None:
            continue
        after = row.so_far - zero
        start = before if before is None else before - zero
        decides = start is None or side_of_tie(start) != side_of_tie(after)
        is_shown = any(row is one for one in shown)
        is_told = decides or is_shown if is_stored else row.name == SUM
        if abs(row.error) >= SHOWN or is_told:
            found.append(Move(row, after))
        before = row.so_far
    return found


def path(chains: Sequence[Chain], exact: Fraction | None) -> str:
    """A side's numbers in a line: `exact 37.5 -> 38 (half_up, tie, tvm.mlir:111)`."""
    parts: list[str] = []
    if exact is not None:
        zero = zero_point(chains[-1])
        before = f" before the zero point {zero}" if zero else ""
        parts.append(f"exact {_show_start(exact - zero)}{before}")
    parts += [
        f"{show_beside_tie(move.number)} "
        f"({', '.join(filter(None, (move.row.how, move.row.place)))})"
        for chain in chains
        for move in moves(chain)
    ]
    return " -> ".join(parts)


def sentence(sides: Sequence[tuple[str, Chain]]) -> str:
    """The steps of each side, by its name, from the exact number on, in words."""
    zeros = {zero_point(chain) for _, chain in sides}
    clauses: list[str] = []
    for name, chain in sides:
        zero = zero_point(chain)
        when = _when(zero, max(zeros, key=abs)) if len(zeros) > 1 else ""
        clauses.append(f"{name}{when} {', then '.join(_acts(chain))}")
    together = zeros.pop() if len(zeros) == 1 else 0
    before = f"before the zero point {together} is added: " if together else ""
    return f"{before}{'; '.join(clauses)}"


def _when(zero: int, added: int) -> str:
    if zero:
        return f", before the zero point {zero} is added,"
    return f", with the zero point {added} added,"


def last_mode(chain: Chain) -> str | None:
    """The mode of the last rounding, `half_up`; None where nothing is rounded."""
    modes = [mode_of(move.row) for move in moves(chain) if move.act == ROUNDS]
    return modes[-1] if modes else None


def mode_of(row: Row) -> str:
    """The mode of a step that rounds."""
    return row.how.partition(",")[0]


def in_words(mode: str) -> str:
    """The direction in which a mode rounds ties, or all numbers if it doesn't round to
    nearest."""
    return MODES.get(mode, mode).removeprefix(f"{NEAREST}ties ")


def _acts(chain: Chain) -> Iterator[str]:
    """The steps of a side, with the numbers before and after; roundings are counted."""
    assert chain.exact is not None
    number = _show_start(chain.exact - zero_point(chain))
    found = moves(chain)
    if not found:
        yield f"keeps {number}"
    for act, group in groupby(found, key=lambda move: move.act):
        steps = list(group)
        numbers = [number, *(show_beside_tie(move.number) for move in steps)]
        remark = f" ({steps[-1].remark})" if steps[-1].remark else ""
        times = f" {_times(len(steps))}" if act == ROUNDS else ""
        yield f"{act}{times}: {' -> '.join(numbers)}{remark}"
        number = numbers[-1]


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _show_start(exact: Fraction) -> str:
    """The number with ten digits, or with enough to show its side of a tie."""
    shown = show_exact(exact)
    same = side_of_tie(Fraction(shown)) == side_of_tie(exact)
    return shown if same else show_beside_tie(exact)
