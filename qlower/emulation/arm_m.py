"""Cortex-M4 under emulation, with the runtime functions that compilers bring along."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from qlower.emulation.compiler_runtime import ARM_RUNTIME
from qlower.emulation.cortex_m_cycles import TAKEN, block_cycles
from qlower.emulation.image import Fixup
from qlower.emulation.processor import Processor


def _relocate(image: bytearray, fixups: Sequence[Fixup], code: Sequence[range]) -> None:
    """ "ELF for the Arm Architecture", 5.6: addends are in what is changed."""
    for fixup in fixups:
        at = fixup.at
        upper, lower = struct.unpack_from("<HH", image, at)
        match fixup.kind:
            case 2:  # ABS32
                word = (upper | lower << 16) + fixup.value
                upper, lower = word & 0xFFFF, word >> 16 & 0xFFFF
            case 10 | 30:  # THM_CALL, THM_JUMP24
                distance = fixup.distance - 4
                assert -(1 << 24) <= distance < 1 << 24
                sign = distance >> 24 & 1
                first, second = (distance >> bit & 1 ^ sign ^ 1 for bit in (23, 22))
                upper = upper & 0xF800 | sign << 10 | distance >> 12 & 0x3FF
                lower = (
                    lower & 0xD000 | first << 13 | second << 11 | distance >> 1 & 0x7FF
                )
            case 42:  # PREL31, of tables for unwinding: nothing reads them
                continue
            case 47 | 48:  # THM_MOVW_ABS_NC, THM_MOVT_ABS
                half = upper << 12 & 0xF000 | upper << 1 & 0x800
                half |= lower >> 4 & 0x700 | lower & 0xFF
                value = fixup.value + (half ^ 0x8000) - 0x8000
                half = value >> (16 if fixup.kind == 48 else 0) & 0xFFFF
                upper = upper & 0xFBF0 | half >> 12 | half >> 1 & 0x400
                lower = lower & 0x8F00 | half << 4 & 0x7000 | half & 0xFF
            case _:
                raise fixup.unknown()
        struct.pack_into("<HH", image, at, upper, lower)


ARM_M = Processor(
    architecture="ARM",
    modes=("THUMB", "MCLASS"),
    cpu="ARM_CORTEX_M4",
    arguments=("R0", "R1", "R2", "R3"),
    link="LR",
    result="R0",
    pointer="I",
    return_code=bytes.fromhex("7047"),
    relocate=_relocate,
    is_thumb=True,
    library=ARM_RUNTIME,
    cycles=block_cycles,
    taken=TAKEN,
)
