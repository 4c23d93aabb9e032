"""Cycles of Cortex-M4, estimated from its instructions.

The table is that of the processor's Technical Reference Manual: 1 for data processing,
multiplications and most floats; 2 for a load, 1 less directly after another load or
where nothing waits for its address; 1 plus the number of registers for loads and stores
of several; 2 more for a branch that is taken; 1 more where an address is computed just
before; about 7 for a division. It leaves out wait states and caches of flash, and other
masters of the bus. On NUCLEO-L4R5ZI at 120 MHz, the published times of CMSIS-NN are 1.2
to 1.4 times what the table gives for its code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TAKEN = 2
"""Cycles more of a branch that is taken, to refill the pipeline."""

_DIVISION, _FLOAT_DIVISION, _FUSED = 7, 14, 3


@dataclass(frozen=True)
class _Instruction:
    """Cycles of an instruction by itself; whether it is a lone load, or a store; the
    register that it makes, and those of its address, as bits."""

    cycles: int
    loads: bool = False
    stores: bool = False
    makes: int = 0
    address: int = 0


def block_cycles(code: bytes) -> int:
    """Cycles of a block whose last instruction, if it is a branch, isn't taken."""
    total = 0
    before: _Instruction | None = None
    for now in _instructions(code):
        total += now.cycles
        if before is not None and (now.loads or now.stores):
            waits = bool(before.makes & now.address)
            if before.loads and now.loads and not waits:
                total -= 1
            elif waits and not before.loads:
                total += 1
        before = now
    return total


def _instructions(code: bytes) -> Iterator[_Instruction]:
    at = 0
    while at < len(code):
        first = int.from_bytes(code[at : at + 2], "little")
        at += 2
        if first >> 11 < 0b11101:
            yield _narrow(first)
        else:
            yield _wide(first, int.from_bytes(code[at : at + 2], "little"))
            at += 2


def _narrow(word: int) -> _Instruction:
    """An instruction of 16 bits: the manual's table A5.2."""
    low, middle, high = word & 7, word >> 3 & 7, word >> 6 & 7
    loads = bool(word >> 11 & 1)
    match word >> 12:
        case 0b0100 if word >> 11 == 0b01001:  # from the literal pool
            return _Instruction(2, loads=True, makes=1 << (word >> 8 & 7))
        case 0b0100 if word >> 8 == 0b01000111:
            return _Instruction(1)
        case 0b0101:
            return _access(word >> 9 & 7 >= 3, low, 1 << middle | 1 << high)
        case 0b0110 | 0b0111 | 0b1000:
            return _access(loads, low, 1 << middle)
        case 0b1001:  # at the stack pointer
            return _access(loads, word >> 8 & 7, 1 << 13)
        case 0b1011 if word >> 9 & 3 == 2:  # push, pop
            return _Instruction(1 + (word & 0x1FF).bit_count())
        case 0b1011 if word >> 8 & 5 == 1:  # compare with zero
            return _Instruction(1)
        case 0b1100:
            return _Instruction(1 + (word & 0xFF).bit_count())
        case 0b1101 | 0b1110:
            return _Instruction(1)
        case 0b0000 | 0b0001 | 0b0010 | 0b0011 | 0b0100 | 0b1010:
            wide = word >> 12 in (0b0010, 0b0011, 0b1010)
            return _Instruction(1, makes=1 << (word >> 8 & 7 if wide else low))
        case _:
            return _Instruction(1)


def _access(loads: bool, register: int, address: int) -> _Instruction:
    """A lone load or store."""
    makes = 1 << register if loads else 0
    return _Instruction(2 if loads else 1, loads, not loads, makes, address)


def _wide(first: int, second: int) -> _Instruction:
    """An instruction of 32 bits: the manual's tables A5.3."""
    base, register = 1 << (first & 15), second >> 12 & 15
    loads = bool(first >> 4 & 1)
    if first >> 9 == 0b1110100:
        if not first >> 6 & 1:
            return _Instruction(1 + second.bit_count())
        if first >> 4 == 0xE8D and second >> 5 == 0b11110000000:  # table branch
            return _Instruction(1)
        return _Instruction(3)  # two registers
    if first >> 9 == 0b1110110:  # floats in memory
        several = not first >> 8 & 1 or first >> 5 & 1
        return _Instruction(1 + (second & 0xFF) if several else 2)
    if first >> 8 == 0b11101110:  # floats
        operation = first >> 4 & 0xB
        if operation == 0b1000 and second >> 4 & 1 == 0:
            return _Instruction(_FLOAT_DIVISION)
        fused = operation in (0b0000, 0b0001, 0b1001, 0b1010) and not second >> 4 & 1
        return _Instruction(_FUSED if fused else 1)
    if first >> 11 == 0b11110 and second >> 15:
        return _Instruction(1)
    if first >> 9 == 0b1111100:
        address = base
        if not first >> 7 & 1 and not second >> 11 & 1:
            address |= 1 << (second & 15)  # and a register
        return _access(loads, register, address)
    if first >> 4 in (0xFB9, 0xFBB):
        return _Instruction(_DIVISION)
    return _Instruction(1, makes=1 << (second >> 8 & 15))
