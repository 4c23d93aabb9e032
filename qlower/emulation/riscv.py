"""RISC-V of 64 bits, and of 32 with a compiler's runtime, under emulation."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

from qlower.emulation.compiler_runtime import RISCV_RUNTIME
from qlower.emulation.image import Fixup
from qlower.emulation.processor import Processor

_CALL, _UPPER, _LOWER_LOAD, _LOWER_STORE = 19, 23, 24, 25


def _relocate(image: bytearray, fixups: Sequence[Fixup], code: Sequence[range]) -> None:
    """ "RISC-V ELF psABI": a lower part names the place of the upper one."""
    distances = {f.place: f.distance for f in fixups if f.kind == _UPPER}
    for fixup in fixups:
        match fixup.kind:
            case kind if kind in (_CALL, _UPPER):
                _add(image, fixup.at, fixup.distance + 0x800 & 0xFFFFF000)
                if kind == _CALL:
                    _add(image, fixup.at + 4, (fixup.distance & 0xFFF) << 20)
            case kind if kind == _LOWER_LOAD:
                _add(image, fixup.at, (distances[fixup.value] & 0xFFF) << 20)
            case kind if kind == _LOWER_STORE:
                low = distances[fixup.value]
                _add(image, fixup.at, (low >> 5 & 0x7F) << 25 | (low & 31) << 7)
            case _:
                raise fixup.unknown()


def _add(image: bytearray, at: int, bits: int) -> None:
    (word,) = struct.unpack_from("<I", image, at)
    struct.pack_into("<I", image, at, word | bits)


RISCV64 = Processor(
    architecture="RISCV",
    modes=("RISCV64",),
    cpu="RISCV64_ANY",
    arguments=tuple(f"A{index}" for index in range(8)),
    link="RA",
    result="A0",
    pointer="Q",
    return_code=bytes.fromhex("8280"),
    registers={"MSTATUS": 1 << 13},  # floating point is switched on
    relocate=_relocate,
)

RISCV32 = replace(
    RISCV64,
    modes=("RISCV32",),
    cpu="RISCV32_ANY",
    pointer="I",
    return_code=bytes.fromhex("67800000"),
    registers={},
    library=RISCV_RUNTIME,
)
