"""The few instructions of Thumb that routines are made of, as machine code.

They are encoded as the Arm v7-M Architecture Reference Manual (chapter A7) writes them.
Registers are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SP, LR, PC = 13, 14, 15

UNEQUAL, NOT_NEGATIVE = 1, 5
"""Conditions of a branch."""


@dataclass
class Code:
    """Halfwords of instructions, in order."""

    halves: list[int] = field(default_factory=list[int])

    def wide(self, first: int, second: int) -> None:
        self.halves += first, second

    def load(self, to: int, base: int, offset: int) -> None:
        """LDR, T3."""
        self.wide(0xF8D0 | base, to << 12 | offset)

    def load_entry(self, to: int, table: int, number: int) -> None:
        """LDR of an entry of a table of words, T2."""
        self.wide(0xF850 | table, to << 12 | 2 << 4 | number)

    def store(self, of: int, base: int, offset: int) -> None:
        """STR, T3."""
        self.wide(0xF8C0 | base, of << 12 | offset)

    def load_byte(self, to: int, base: int, offset: int, *, signed: bool) -> None:
        """LDRSB or LDRB, T1 and T2."""
        self.wide((0xF990 if signed else 0xF890) | base, to << 12 | offset)

    def load_next(self, to: int, base: int, step: int = 4) -> None:
        """LDR of a word, T4; the base goes on by a step."""
        self.wide(0xF850 | base, to << 12 | 0xB00 | step)

    def load_next_byte(self, to: int, base: int, step: int) -> None:
        """LDRSB, T2; the base goes on by a step."""
        self.wide(0xF910 | base, to << 12 | 0xB00 | step)

    def load_next_two(self, to: int, other: int, base: int) -> None:
        """LDRD of two words, T1; the base goes on to the next ones."""
        self.wide(0xE8F0 | base, to << 12 | other << 8 | 2)

    def load_many(self, base: int, to: Sequence[int], *, moves: bool = False) -> None:
        """LDM, T2."""
        self.wide(0xE890 | moves << 5 | base, _mask(to))

    def store_many(self, base: int, of: Sequence[int], *, moves: bool = False) -> None:
        """STM, T2."""
        self.wide(0xE880 | moves << 5 | base, _mask(of))

    def move(self, to: int, of: int) -> None:
        """MOV, T1."""
        self.halves.append(0x4600 | to >> 3 << 7 | of << 3 | to & 7)

    def move_number(self, to: int, number: int) -> None:
        """MOV, T2, or MVN, T1, of -256 to 255."""
        first = 0xF04F if number >= 0 else 0xF06F
        self.wide(first, to << 8 | (number if number >= 0 else ~number))

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

    def multiply_halves(self, total: int, a: int, b: int, *, upper: bool) -> None:
        """SMLABB or SMLABT to a sum, T1: the lower half of a by a half of b."""
        self.wide(0xFB10 | a, total << 12 | total << 8 | upper << 4 | b)

    def jump(self, by: int) -> None:
        """ADD to the program counter, T2, and NOP: by bytes, from what follows."""
        self.halves += 0x4487 | by << 3, 0xBF00

    def branch(self, condition: int, target: int) -> None:
        """B, T3, to the halfword number `target`."""
        distance = target - len(self.halves) - 2
        sign = distance >> 20 & 1
        upper = distance >> 11
        first = 0xF000 | sign << 10 | condition << 6 | upper & 0x3F
        j1, j2 = upper >> 6 & 1, upper >> 7 & 1
        second = 0x8000 | j1 << 13 | j2 << 11 | distance & 0x7FF
        self.wide(first, second)


def _mask(registers: Sequence[int]) -> int:
    return sum(1 << register for register in registers)
