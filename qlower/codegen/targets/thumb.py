"""Machine code of Thumb routines whose registers are all assigned by hand.

Eight sums, two pointers and four operands are the 14 registers that there are. LLVM
spills some of them, and llvmlite has no assembler for Arm: so the few instructions are
encoded here, as the Arm v7-M Architecture Reference Manual (chapter A7) writes them.

A routine multiplies rows of 16-bit activations by bytes. Activations come as words: of
four consecutive ones the first and the third, then the second and the fourth. A word of
weights has those two numbers for two channels, which alternate, so that a sign
extension of its even bytes serves one channel and that of its odd bytes the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from qlower.codegen.llvm.routine import Routine

_SP, _LR, _PC = 13, 14, 15
_SUMS = range(4, 12)
_POINTER, _WEIGHTS = 0, 1
_FREE = 2, 3, 12, _LR

_KEPT = 16
"""Where the caller's registers are kept, bytes from the stack pointer: after four
arguments."""
_SUMS_AT, _X_AT, _STARTS_AT = _KEPT + 36, _KEPT + 40, _KEPT + 44
_STACK_BYTES = _KEPT + 48

_EQUAL, _UNEQUAL = 0, 1


@dataclass
class _Code:
    """Halfwords of instructions, in order."""

    halves: list[int] = field(default_factory=list[int])

    def wide(self, first: int, second: int) -> None:
        self.halves += first, second

    def load(self, to: int, base: int, offset: int) -> None:
        """LDR, T3."""
        self.wide(0xF8D0 | base, to << 12 | offset)

    def store(self, of: int, base: int, offset: int) -> None:
        """STR, T3."""
        self.wide(0xF8C0 | base, of << 12 | offset)

    def load_next(self, to: int, base: int) -> None:
        """LDR of a word, T4; the base goes on to the next one."""
        self.wide(0xF850 | base, to << 12 | 0xB04)

    def load_next_two(self, to: int, other: int, base: int) -> None:
        """LDRD of two words, T1; the base goes on to the next ones."""
        self.wide(0xE8F0 | base, to << 12 | other << 8 | 2)

    def load_many(self, base: int, to: Sequence[int], *, moves: bool = False) -> None:
        """LDM, T2."""
        self.wide(0xE890 | moves << 5 | base, _mask(to))

    def store_many(self, base: int, of: Sequence[int]) -> None:
        """STM, T2."""
        self.wide(0xE880 | base, _mask(of))

    def move(self, to: int, of: int) -> None:
        """MOV, T1."""
        self.halves.append(0x4600 | to >> 3 << 7 | of << 3 | to & 7)

    def compare(self, a: int, b: int) -> None:
        """CMP, T2."""
        self.halves.append(0x4500 | a >> 3 << 7 | b << 3 | a & 7)

    def add(self, to: int, other: int) -> None:
        """ADD of another register, T2."""
        self.halves.append(0x4400 | to >> 3 << 7 | other << 3 | to & 7)

    def add_number(self, to: int, of: int, number: int) -> None:
        """ADDW, T4."""
        self.wide(0xF200 | of, to << 8 | number)

    def decrease(self, register: int) -> None:
        """SUBS by 1, T3."""
        self.wide(0xF1B0 | register, register << 8 | 1)

    def extend_signed(self, to: int, of: int, *, odd: bool) -> None:
        """SXTB16 of the even or the odd bytes, T1."""
        self.wide(0xFA2F, 0xF080 | to << 8 | odd << 4 | of)

    def multiply(self, total: int, a: int, b: int) -> None:
        """SMLAD to a sum, T1."""
        self.wide(0xFB20 | a, total << 12 | total << 8 | b)

    def branch(self, condition: int, target: int, *, at: int | None = None) -> None:
        """B, T3, to the halfword number `target`; `at` one that was left free."""
        start = len(self.halves) if at is None else at
        distance = target - start - 2
        sign = distance >> 20 & 1
        upper = distance >> 11
        first = 0xF000 | sign << 10 | condition << 6 | upper & 0x3F
        j1, j2 = upper >> 6 & 1, upper >> 7 & 1
        second = 0x8000 | j1 << 13 | j2 << 11 | distance & 0x7FF
        if at is None:
            self.wide(first, second)
        else:
            self.halves[at : at + 2] = first, second


def _mask(registers: Sequence[int]) -> int:
    return sum(1 << register for register in registers)


def _two_rows(code: _Code) -> None:
    """Two activations of each of two rows by as many weights of four channels."""
    x, other, even, odd = _FREE
    code.load_next_two(x, other, _POINTER)
    for first in (0, 2):
        code.load_next(odd, _WEIGHTS)
        code.extend_signed(even, odd, odd=False)
        code.extend_signed(odd, odd, odd=True)
        for channel, weights in ((first, even), (first + 1, odd)):
            code.multiply(_SUMS[channel], x, weights)
            code.multiply(_SUMS[4 + channel], other, weights)


def _one_row(code: _Code) -> None:
    """Two activations by as many weights of eight channels."""
    x, *words, even = _FREE
    code.load_next(x, _POINTER)
    for first in (0, 4):
        code.load_next_two(*words, _WEIGHTS)
        for channel, odd in zip((first, first + 2), words, strict=True):
            code.extend_signed(even, odd, odd=False)
            code.extend_signed(odd, odd, odd=True)
            code.multiply(_SUMS[channel], x, even)
            code.multiply(_SUMS[channel + 1], x, odd)


def _routine(
    name: str, rows: int, columns: int, products: Callable[[_Code], None]
) -> Routine:
    """The code for all columns of channels: see `Routine`."""
    code = _Code()
    first, second = _FREE[2:]
    code.add_number(first, _SP, _KEPT)
    code.store_many(first, (*_SUMS, _LR))
    for register, place in enumerate((_SUMS_AT, _X_AT, None, _STARTS_AT)):
        if place is not None:
            code.store(register, _SP, place)
    code.move(_WEIGHTS, 2)
    column = len(code.halves)
    code.load(first, _SP, _STARTS_AT)
    code.load_many(first, _SUMS[:columns], moves=True)
    code.store(first, _SP, _STARTS_AT)
    for row in range(1, rows):
        for channel in range(columns):
            code.move(_SUMS[row * columns + channel], _SUMS[channel])
    code.load(_POINTER, _SP, _X_AT)
    for end, steps in ((0, Routine.MANY // 2), (4, Routine.FEW // 2)):
        code.load(second, _SP, end)
        code.compare(_POINTER, second)
        skip = len(code.halves)
        code.wide(0, 0)
        loop = len(code.halves)
        for _ in range(steps):
            products(code)
        code.load(second, _SP, end)
        code.compare(_POINTER, second)
        code.branch(_UNEQUAL, loop)
        code.branch(_EQUAL, len(code.halves), at=skip)
    code.load(first, _SP, _SUMS_AT)
    code.store_many(first, _SUMS[:columns])
    if rows == 2:
        code.load(second, _SP, 12)
        code.add(second, first)
        code.store_many(second, _SUMS[columns:])
    code.add_number(first, first, 4 * columns)
    code.store(first, _SP, _SUMS_AT)
    code.load(first, _SP, 8)
    code.decrease(first)
    code.store(first, _SP, 8)
    code.branch(_UNEQUAL, column)
    code.add_number(first, _SP, _KEPT)
    code.load_many(first, (*_SUMS, _PC))
    return Routine(name, rows, columns, tuple(code.halves), _STACK_BYTES)


PAIRS_OF_ROWS = _routine("_sums_of_two_rows", 2, 4, _two_rows)
SINGLE_ROWS = _routine("_sums_of_a_row", 1, 8, _one_row)
