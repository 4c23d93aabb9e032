"""Instructions of Thumb as GNU as 2.40 encodes them for a Cortex-M7."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from qlower.codegen.targets.thumb import LR, NOT_NEGATIVE, PC, SP, UNEQUAL, Code

ENCODINGS: dict[str, tuple[Callable[[Code], None], list[int]]] = {
    "ldr r1, [r2, #4]": (lambda c: c.load(1, 2, 4), [0xF8D2, 0x1004]),
    "ldr r12, [sp, #4095]": (lambda c: c.load(12, SP, 4095), [0xF8DD, 0xCFFF]),
    "ldr r3, [sp, r12, lsl #2]": (lambda c: c.load_entry(3, SP, 12), [0xF85D, 0x302C]),
    "ldr lr, [r1, r8, lsl #2]": (lambda c: c.load_entry(LR, 1, 8), [0xF851, 0xE028]),
    "str r1, [r2, #4]": (lambda c: c.store(1, 2, 4), [0xF8C2, 0x1004]),
    "str lr, [sp, #4095]": (lambda c: c.store(LR, SP, 4095), [0xF8CD, 0xEFFF]),
    "ldrsb r1, [r2, #7]": (
        lambda c: c.load_byte(1, 2, 7, signed=True),
        [0xF992, 0x1007],
    ),
    "ldrb lr, [r9, #4095]": (
        lambda c: c.load_byte(LR, 9, 4095, signed=False),
        [0xF899, 0xEFFF],
    ),
    "ldr r4, [r1], #4": (lambda c: c.load_next(4, 1), [0xF851, 0x4B04]),
    "ldr r12, [r11], #255": (lambda c: c.load_next(12, 11, 255), [0xF85B, 0xCBFF]),
    "ldrsb r4, [r1], #3": (lambda c: c.load_next_byte(4, 1, 3), [0xF911, 0x4B03]),
    "ldrd r2, r12, [r1], #8": (
        lambda c: c.load_next_two(2, 12, 1),
        [0xE8F1, 0x2C02],
    ),
    "ldm r3, {r4, r5, r11}": (lambda c: c.load_many(3, (4, 5, 11)), [0xE893, 0x0830]),
    "ldm r12!, {r4, r11, lr}": (
        lambda c: c.load_many(12, (4, 11, LR), moves=True),
        [0xE8BC, 0x4810],
    ),
    "stm r3, {r4, r5, r11}": (lambda c: c.store_many(3, (4, 5, 11)), [0xE883, 0x0830]),
    "stm r0!, {r4, r11, lr}": (
        lambda c: c.store_many(0, (4, 11, LR), moves=True),
        [0xE8A0, 0x4810],
    ),
    "ldm r2!, {r4, pc}": (
        lambda c: c.load_many(2, (4, PC), moves=True),
        [0xE8B2, 0x8010],
    ),
    "mov r1, r12": (lambda c: c.move(1, 12), [0x4661]),
    "mov r12, r1": (lambda c: c.move(12, 1), [0x468C]),
    "mov r7, r7": (lambda c: c.move(7, 7), [0x463F]),
    "mov r3, #0": (lambda c: c.move_number(3, 0), [0xF04F, 0x0300]),
    "mov r12, #255": (lambda c: c.move_number(12, 255), [0xF04F, 0x0CFF]),
    "mvn r3, #0": (lambda c: c.move_number(3, -1), [0xF06F, 0x0300]),
    "mvn lr, #255": (lambda c: c.move_number(LR, -256), [0xF06F, 0x0EFF]),
    "cmp r2, r12": (lambda c: c.compare(2, 12), [0x4562]),
    "cmp r12, r2": (lambda c: c.compare(12, 2), [0x4594]),
    "add r2, r12": (lambda c: c.add(2, 12), [0x4462]),
    "add r12, r2": (lambda c: c.add(12, 2), [0x4494]),
    "addw r3, sp, #16": (lambda c: c.add_number(3, SP, 16), [0xF20D, 0x0310]),
    "addw r12, r1, #255": (lambda c: c.add_number(12, 1, 255), [0xF201, 0x0CFF]),
    "subs r12, r12, #1": (lambda c: c.decrease(12), [0xF1BC, 0x0C01]),
    "subs r2, r2, #1": (lambda c: c.decrease(2), [0xF1B2, 0x0201]),
    "sxtb16 r3, r12": (
        lambda c: c.extend_signed(3, 12, odd=False),
        [0xFA2F, 0xF38C],
    ),
    "sxtb16 r12, r3, ror #8": (
        lambda c: c.extend_signed(12, 3, odd=True),
        [0xFA2F, 0xFC93],
    ),
    "smlad r4, r0, r12, r4": (lambda c: c.multiply(4, 0, 12), [0xFB20, 0x440C]),
    "smlad r12, r9, r1, r12": (lambda c: c.multiply(12, 9, 1), [0xFB29, 0xCC01]),
    "smlabb r4, r12, r5, r4": (
        lambda c: c.multiply_halves(4, 12, 5, upper=False),
        [0xFB1C, 0x4405],
    ),
    "smlabt r4, r12, r5, r4": (
        lambda c: c.multiply_halves(4, 12, 5, upper=True),
        [0xFB1C, 0x4415],
    ),
    "add pc, r3; nop": (lambda c: c.jump(3), [0x449F, 0xBF00]),
    "add pc, lr; nop": (lambda c: c.jump(LR), [0x44F7, 0xBF00]),
}


@pytest.mark.parametrize("text", ENCODINGS)
def test_an_instruction(text: str) -> None:
    write, wanted = ENCODINGS[text]
    code = Code()
    write(code)
    assert code.halves == wanted


@pytest.mark.parametrize(
    ("condition", "offset", "wanted"),
    [
        (UNEQUAL, -1048576, [0xF440, 0x8000]),
        (UNEQUAL, -600000, [0xF46D, 0xA420]),
        (UNEQUAL, -262144 - 8, [0xF47F, 0x8FFC]),
        (NOT_NEGATIVE, -4, [0xF57F, 0xAFFE]),
        (UNEQUAL, 1000, [0xF040, 0x81F4]),
        (UNEQUAL, 600002, [0xF052, 0x8BE1]),
        (UNEQUAL, 1048574, [0xF07F, 0xAFFF]),
    ],
)
def test_a_branch(condition: int, offset: int, wanted: list[int]) -> None:
    """By bytes from the end of what follows, to both ends of the range."""
    code = Code([0, 0, 0])
    code.branch(condition, len(code.halves) + 2 + offset // 2)
    assert code.halves == [0, 0, 0, *wanted]
