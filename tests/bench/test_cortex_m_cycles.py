"""The model of Cortex-M4's cycles, on sequences from its manual's rules."""

from __future__ import annotations

import struct

import pytest

from qlower.emulation.cortex_m_cycles import block_cycles


def code(*halves: int) -> bytes:
    return struct.pack(f"<{len(halves)}H", *halves)


LOAD_R0_R1 = 0x6808  # ldr r0, [r1]
LOAD_R2_R3 = 0x681A  # ldr r2, [r3]
LOAD_R2_R0 = 0x6802  # ldr r2, [r0]
STORE_R0_R1 = 0x6008  # str r0, [r1]
ADD_R1_R2 = 0x1889  # adds r1, r1, r2
SMLAD = 0xFB21, 0x3002  # smlad r0, r1, r2, r3
LOAD_WIDE = 0xF8D1, 0x0000  # ldr.w r0, [r1]
LOAD_INDEXED = 0xF851, 0x0002  # ldr.w r0, [r1, r2]
LOAD_STEPPING = 0xF851, 0x0B02  # ldr r0, [r1], #2
LOAD_BEHIND = 0xF8D1, 0x0002  # ldr.w r0, [r1, #2]
ADD_R2_R3 = 0x18D2  # adds r2, r2, r3
LOAD_PAIR = 0xE9D1, 0x0200  # ldrd r0, r2, [r1]
DIVIDE = 0xFB91, 0xF0F2  # sdiv r0, r1, r2
FLOAT_FUSED = 0xEEA0, 0x0A20  # vfma.f32 s0, s0, s1
FLOAT_DIVIDE = 0xEE80, 0x0A20  # vdiv.f32 s0, s0, s1
FLOAT_LOAD = 0xED91, 0x0A00  # vldr s0, [r1]


@pytest.mark.parametrize(
    ("halves", "cycles"),
    [
        ((ADD_R1_R2,), 1),
        (SMLAD, 1),
        ((LOAD_R0_R1,), 2),
        ((LOAD_R0_R1, LOAD_R2_R3), 3),  # the second is pipelined
        ((LOAD_R0_R1, LOAD_R2_R0), 4),  # unless its address is what was loaded
        ((ADD_R1_R2, LOAD_R0_R1), 4),  # and waits for what was computed
        ((ADD_R1_R2, STORE_R0_R1), 3),
        ((STORE_R0_R1, LOAD_R2_R3), 3),
        (LOAD_WIDE, 2),
        ((ADD_R1_R2, *LOAD_INDEXED), 4),  # each register of the address
        ((ADD_R2_R3, *LOAD_INDEXED), 4),
        ((ADD_R2_R3, *LOAD_STEPPING), 3),  # no register has the low bits of an offset
        ((ADD_R2_R3, *LOAD_BEHIND), 3),
        ((ADD_R1_R2, *LOAD_BEHIND), 4),
        (LOAD_PAIR, 3),
        ((0xB5F0,), 6),  # push {r4-r7, lr}
        ((0xE8BD, 0x8FF0), 10),  # pop.w {r4-r11, pc}
        (DIVIDE, 7),
        (FLOAT_FUSED, 3),
        (FLOAT_DIVIDE, 14),
        (FLOAT_LOAD, 2),
        ((0xD1FE,), 1),  # bne: what a branch that is taken adds is counted apart
    ],
)
def test_cycles(halves: tuple[int, ...], cycles: int) -> None:
    assert block_cycles(code(*halves)) == cycles
