"""Routines of Thumb whose registers are all assigned by hand.

Eight sums, two pointers and four operands are the 14 registers that there are. LLVM
spills some of them, and llvmlite has no assembler for Arm.

Rows of activations are words: of four consecutive ones the first and the third, then
the second and the fourth. A word of weights has those two numbers for two channels,
which alternate, so that a sign extension of its even bytes serves one channel and that
of its odd bytes the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256

from qlower.codegen.llvm.routine import Routine, RowsRoutine, WindowStep
from qlower.codegen.targets.thumb import LR, NOT_NEGATIVE, PC, SP, UNEQUAL, Code

_SUMS = range(4, 12)
_POINTER, _WEIGHTS = 0, 1
_FREE = 2, 3, 12, LR

_KEPT = 16
"""Where the caller's registers are kept, bytes from the stack pointer: after four
arguments."""

_STEPS = 16
"""Steps of two activations that are written out: a loop is entered where as many are
left as it needs to end with its last one."""

_SUMS_AT, _X_AT, _STARTS_AT = _KEPT + 36, _KEPT + 40, _KEPT + 44
_STACK_BYTES = _KEPT + 48


def _two_rows(code: Code) -> None:
    """Two activations of each of two rows by as many weights of four channels."""
    x, other, even, odd = _FREE
    # loads one after another take a cycle less than one of two words
    code.load_next(x, _POINTER)
    code.load_next(other, _POINTER)
    for first in (0, 2):
        code.load_next(odd, _WEIGHTS)
        code.extend_signed(even, odd, odd=False)
        code.extend_signed(odd, odd, odd=True)
        for channel, weights in ((first, even), (first + 1, odd)):
            code.multiply(_SUMS[channel], x, weights)
            code.multiply(_SUMS[4 + channel], other, weights)


def _one_row(code: Code) -> None:
    """Two activations by as many weights of eight channels."""
    x, *words, even = _FREE
    code.load_next(x, _POINTER)
    for first in (0, 4):
        code.load_next_two(words[0], words[1], _WEIGHTS)
        for channel, odd in zip((first, first + 2), words, strict=True):
            code.extend_signed(even, odd, odd=False)
            code.extend_signed(odd, odd, odd=True)
            code.multiply(_SUMS[channel], x, even)
            code.multiply(_SUMS[channel + 1], x, odd)


def _rows_routine(
    name: str, rows: int, columns: int, products: Callable[[Code], None]
) -> RowsRoutine:
    """The code for all columns of channels: see `RowsRoutine`."""
    code = Code()
    first, second = _FREE[2:]
    code.add_number(first, SP, _KEPT)
    code.store_many(first, (*_SUMS, LR))
    for register, place in enumerate((_SUMS_AT, _X_AT, None, _STARTS_AT)):
        if place is not None:
            code.store(register, SP, place)
    code.move(_WEIGHTS, 2)
    column = len(code.halves)
    code.load(first, SP, _STARTS_AT)
    code.load_many(first, _SUMS[:columns], moves=True)
    code.store(first, SP, _STARTS_AT)
    for row in range(1, rows):
        for channel in range(columns):
            code.move(_SUMS[row * columns + channel], _SUMS[channel])
    code.load(_POINTER, SP, _X_AT)
    code.load(second, SP, 4)
    code.jump(second)
    loop = len(code.halves)
    for _ in range(_STEPS):
        products(code)
    step_bytes = 2 * (len(code.halves) - loop) // _STEPS
    code.load(second, SP, 0)
    code.compare(_POINTER, second)
    code.branch(UNEQUAL, loop)
    code.load(first, SP, _SUMS_AT)
    code.store_many(first, _SUMS[:columns])
    if rows == 2:
        code.load(second, SP, 12)
        code.add(second, first)
        code.store_many(second, _SUMS[columns:])
    code.add_number(first, first, 4 * columns)
    code.store(first, SP, _SUMS_AT)
    code.load(first, SP, 8)
    code.decrease(first)
    code.store(first, SP, 8)
    code.branch(UNEQUAL, column)
    code.add_number(first, SP, _KEPT)
    code.load_many(first, (*_SUMS, PC))
    halves = tuple(code.halves)
    return RowsRoutine(name, halves, _STACK_BYTES, rows, columns, _STEPS, step_bytes)


PAIRS_OF_ROWS = _rows_routine("_sums_of_two_rows", 2, 4, _two_rows)
SINGLE_ROWS = _rows_routine("_sums_of_a_row", 1, 8, _one_row)


_WINDOW_SUMS, _WINDOW_WEIGHTS, _CHANNEL, _X = 0, 1, 2, 12
"""Registers of the routines of windows; a channel's number takes the place of how many
there are."""


def window_routine(
    lines: Sequence[Sequence[WindowStep]],
    columns: int,
    border: int,
    *,
    signed: bool,
    line_bytes: int,
) -> Routine:
    """The sums of a window for each of several channels: see `Halves.window`."""
    code = Code()
    pointer = 3
    taps = _taps(lines)
    factors = range(4, 4 + window_factors(taps))
    totals = _FREE_FOR_SUMS[-columns:]
    assert factors[-1] < totals[0]
    first_at, end_at = 4 * len(lines) - 4, 4 * len(lines)
    kept_at = end_at + 4
    _keep(code, kept_at)
    code.store(pointer, SP, first_at)
    with _over_channels(code, totals, end_at):
        for number, line in enumerate(lines):
            code.load(pointer, SP, 4 * number - 4 if number else first_at)
            code.add(pointer, _CHANNEL)
            _load_factors(code, factors, taps, line_bytes)
            for step in line:
                if step.offset is None:
                    code.move_number(_X, border)
                else:
                    code.load_byte(_X, pointer, step.offset, signed=signed)
                _multiply_step(code, step, totals, factors)
    return _returning(code, kept_at)


def small_window_routine(
    line: Sequence[WindowStep],
    lines: int,
    columns: int,
    border: int,
    *,
    signed: bool,
    line_bytes: int,
) -> Routine:
    """The sums of a window of equal lines, in a loop over these: see
    `Halves.small_window`."""
    code = Code()
    unit, pointer = 3, LR
    taps = _taps([line])
    factors = range(4, 4 + window_factors(taps))
    totals = _FREE_FOR_SUMS[:-1][-columns:]
    assert factors[-1] < totals[0]
    end_at, left_at, kept_at = 4 * lines, 4 * lines + 4, 4 * lines + 8
    _keep(code, kept_at)
    with _over_channels(code, totals, end_at):
        code.move_number(_X, lines - 1)
        code.store(_X, SP, left_at)
        begin = len(code.halves)
        code.load(_X, SP, left_at)
        code.load_entry(pointer, SP, _X)
        code.add(pointer, _CHANNEL)
        _load_factors(code, factors, taps, line_bytes)
        at = 0
        for step in line:
            if step.offset is None:
                code.move_number(_X, border)
            else:
                for _ in range(at, step.offset):
                    code.add(pointer, unit)
                at = step.offset
                code.load_byte(_X, pointer, 0, signed=signed)
            _multiply_step(code, step, totals, factors)
        code.load(_X, SP, left_at)
        code.decrease(_X)
        code.store(_X, SP, left_at)
        code.branch(NOT_NEGATIVE, begin)
    return _returning(code, kept_at)


def _keep(code: Code, kept_at: int) -> None:
    """Store the registers that the caller wants back on the stack."""
    code.add_number(_X, SP, kept_at)
    code.store_many(_X, (*range(4, 12), LR))


@contextmanager
def _over_channels(code: Code, totals: Sequence[int], end_at: int) -> Generator[None]:
    """A loop over channels around the block: `totals` begin with the channel's start,
    which lies before its weights, and are stored. The stack has their number at
    `end_at`."""
    code.store(_CHANNEL, SP, end_at)
    code.move_number(_CHANNEL, 0)
    loop = len(code.halves)
    code.load_next(totals[0], _WINDOW_WEIGHTS)
    for total in totals[1:]:
        code.move(total, totals[0])
    yield
    code.store_many(_WINDOW_SUMS, totals, moves=True)
    code.add_number(_CHANNEL, _CHANNEL, 1)
    code.load(_X, SP, end_at)
    code.compare(_CHANNEL, _X)
    code.branch(UNEQUAL, loop)


def _returning(code: Code, kept_at: int) -> Routine:
    """The routine of code that ends with what `_keep` stored."""
    code.add_number(_X, SP, kept_at)
    code.load_many(_X, (*range(4, 12), PC))
    return _named(code, kept_at + 36)


def _taps(lines: Sequence[Sequence[WindowStep]]) -> int:
    return max(tap for line in lines for step in line for _, tap in step.uses) + 1


def _load_factors(code: Code, factors: range, taps: int, line_bytes: int) -> None:
    """A line's weights as halves."""
    weights, x = 1, 12
    for first in range(0, taps, 4):
        even, odd = (
            factors[first // 2],
            factors[min(first // 2 + 1, len(factors) - 1)],
        )
        step = min(4, line_bytes - first)
        if taps - first == 1:
            code.load_next_byte(even, weights, step)
        else:
            code.load_next(x, weights, step)
            code.extend_signed(even, x, odd=False)
            code.extend_signed(odd, x, odd=True)


def _multiply_step(
    code: Code, step: WindowStep, totals: Sequence[int], factors: range
) -> None:
    """The products of an activation."""
    for column, tap in step.uses:
        factor = factors[tap // 4 * 2 + tap % 2]
        code.multiply_halves(totals[column], 12, factor, upper=tap % 4 >= 2)


def _named(code: Code, stack_bytes: int) -> Routine:
    halves = tuple(code.halves)
    name = sha256(repr(halves).encode()).hexdigest()[:12]
    return Routine(f"_sums_of_windows_{name}", halves, stack_bytes)


_FREE_FOR_SUMS = (4, 5, 6, 7, 8, 9, 10, 11, LR)


def window_factors(taps: int) -> int:
    """Registers for the weights of the taps of a line."""
    return taps // 4 * 2 + min(taps % 4, 2)


def window_columns(taps: int) -> int:
    """The number of sums that are in registers together with the weights of a line."""
    return len(_FREE_FOR_SUMS) - window_factors(taps)
