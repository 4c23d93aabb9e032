"""Sums by machine code for Cortex-M4: numpy's, and nothing beyond an input is read."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.layers.windows import Window, build
from support.machines.native import compile_text, guarded_runs, levels

from qlower.codegen.nests.nest import analyse
from qlower.codegen.skeletons.choose import Skeleton, Skeletons
from qlower.codegen.skeletons.contraction.widened import WidenedPlan
from qlower.codegen.skeletons.depthwise.routine import RoutinePlan
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.codegen.targets.thumb import LR, PC, SP, UNEQUAL, Code
from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module

CORTEX_M4 = levels()["cortex-m4"]
SMALL = CORTEX_M4.optimized("size")

DENSE = Window(1, 1, 64, 16)
POINTS = Window(5, 3, 16, 8)
IMAGE = Window(7, 6, 8, 12, (3, 3), zero_x=-128)

CONTRACTIONS = [
    *(replace(DENSE, channels=channels) for channels in (3, 4, 19, 20, 47, 48)),
    *(replace(DENSE, outputs=outputs, zero_x=5) for outputs in (5, 9, 33)),
    *(replace(POINTS, width=width, unsigned_x=True, zero_x=7) for width in (1, 2, 4)),
    *(replace(POINTS, outputs=outputs) for outputs in (3, 6, 7)),
    *(replace(POINTS, every_x=x, every_w=w) for x in (-128, 127) for w in (-128, 127)),
    IMAGE,
    replace(IMAGE, channels=3, stride=(2, 2)),
    replace(IMAGE, channels=7, dilation=(2, 1), unsigned_x=True, zero_x=200),
    replace(IMAGE, groups=2, kernel=(2, 5)),
]

DEEP = Window(9, 8, 8, 8, (3, 3), groups=8, depthwise=True)
PADDED = replace(DEEP, padding=(1, 1, 1, 1), border=-128, zero_x=-128)

WINDOWS = [
    *(replace(DEEP, kernel=(height, width)) for height, width in ((1, 8), (5, 5))),
    *(replace(DEEP, kernel=(2, width), zero_x=3) for width in (1, 2, 4, 6, 7)),
    *(replace(DEEP, channels=n, outputs=n, groups=n) for n in (2, 3, 33, 70)),
    *(replace(PADDED, width=width) for width in (4, 5, 7, 13, 21)),
    *(replace(PADDED, stride=stride) for stride in ((2, 2), (1, 3))),
    replace(PADDED, kernel=(5, 5), padding=(2, 2, 2, 2), stride=(2, 2)),
    replace(PADDED, kernel=(7, 7), padding=(3, 3, 3, 3), width=12, border=7),
    replace(PADDED, dilation=(2, 2), unsigned_x=True, zero_x=200, border=-56),
    replace(DEEP, unsigned_w=True, zero_w=128, every_x=-128),
    replace(DEEP, every_x=-128, every_w=-128),
]


def skeleton(text: str, target: Target = CORTEX_M4) -> Skeleton:
    """How the module's nest is run."""
    (nest,) = (op for op in parse_module(text).walk() if isinstance(op, NestOp))
    analysed = analyse(nest)
    return Skeletons(target, analysed).of(analysed, None)


@pytest.mark.parts(16)
@pytest.mark.parametrize("target", [CORTEX_M4, SMALL], ids=lambda t: t.optimize)
@pytest.mark.parametrize("case", [*CONTRACTIONS, *WINDOWS], ids=str)
def test_sums(case: Window, target: Target) -> None:
    text, x, want = build(case, seed=case.channels)
    plan = RoutinePlan if case.depthwise else WidenedPlan
    assert isinstance(skeleton(text, target), plan)
    for (found,) in guarded_runs(compile_text(text, target), [x]):
        np.testing.assert_array_equal(found.reshape(want.shape), want)


def test_aligned_words() -> None:
    """Weights of lines are whole words where a machine reads no others."""
    case = replace(PADDED, kernel=(5, 5), padding=(2, 2, 2, 2), channels=9, outputs=9)
    text, x, want = build(replace(case, groups=9), seed=1)
    aligned = resolve_target("thumbv7em-none-eabi", "cortex-m4", "+strict-align")
    sizes: list[int] = []
    for target in (CORTEX_M4, aligned):
        code = compile_text(text, target)
        sizes.append(sum(map(len, code.objects)))
        for (found,) in guarded_runs(code, [x]):
            np.testing.assert_array_equal(found.reshape(want.shape), want)
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    "case",
    [
        replace(POINTS, words=True),
        replace(POINTS, outputs=2),
        replace(POINTS, channels=1),
        replace(POINTS, unsigned_w=True, zero_w=0),
        replace(POINTS, channels=4096),
        replace(DEEP, words=True),
        replace(DEEP, width=12, kernel=(1, 9)),
        replace(DEEP, unsigned_w=True, zero_w=0),
    ],
    ids=str,
)
def test_no_routine(case: Window) -> None:
    """For words, few channels, short runs, weights beyond bytes and large frames."""
    text, x, want = build(case, seed=1)
    assert not isinstance(skeleton(text), WidenedPlan | RoutinePlan)
    for (found,) in guarded_runs(compile_text(text, CORTEX_M4), [x]):
        np.testing.assert_array_equal(found.reshape(want.shape), want)


def test_a_routine_is_there_once() -> None:
    """All nests that use it share its code."""
    text, _, _ = build(IMAGE, seed=1)
    code = compile_text(text, CORTEX_M4).llvm_text
    assert code.count("define internal void @_sums_of_two_rows(") == 1


def test_instructions_are_what_an_assembler_makes_of_them(tmp_path: Path) -> None:
    assembler = shutil.which("arm-none-eabi-as")
    if assembler is None:
        pytest.skip("needs arm-none-eabi-as")
    code = Code()
    code.load(9, SP, 4092)
    code.load_entry(LR, SP, 12)
    code.store(LR, SP, 8)
    code.load_byte(12, 3, 4095, signed=True)
    code.load_byte(1, 3, 0, signed=False)
    code.load_next(12, 1)
    code.load_next(12, 1, 3)
    code.load_next_byte(4, 1, 1)
    code.load_next_two(2, 12, 0)
    code.load_many(12, (4, 11, PC))
    code.load_many(12, (4, 11), moves=True)
    code.store_many(0, (4, LR))
    code.store_many(0, (4, LR), moves=True)
    code.move(1, 12)
    code.move_number(12, 255)
    code.move_number(3, -128)
    code.compare(0, LR)
    code.add(3, 2)
    code.add_number(12, SP, 16)
    code.decrease(12)
    code.extend_signed(12, 3, odd=False)
    code.extend_signed(4, LR, odd=True)
    code.multiply(10, 2, 12)
    code.multiply_halves(11, 12, 4, upper=False)
    code.multiply_halves(LR, 12, 4, upper=True)
    here = len(code.halves)
    code.branch(UNEQUAL, here + 300)
    code.branch(UNEQUAL, 0)
    code.jump(LR)
    source = f"""
        .syntax unified
        .thumb
        begin:
        ldr.w r9, [sp, #4092]
        ldr.w lr, [sp, r12, lsl #2]
        str.w lr, [sp, #8]
        ldrsb.w r12, [r3, #4095]
        ldrb.w r1, [r3]
        ldr r12, [r1], #4
        ldr r12, [r1], #3
        ldrsb r4, [r1], #1
        ldrd r2, r12, [r0], #8
        ldm.w r12, {{r4, r11, pc}}
        ldm.w r12!, {{r4, r11}}
        stm.w r0, {{r4, lr}}
        stm.w r0!, {{r4, lr}}
        mov r1, r12
        mov.w r12, #255
        mvn.w r3, #127
        cmp r0, lr
        add r3, r2
        addw r12, sp, #16
        subs.w r12, r12, #1
        sxtb16 r12, r3
        sxtb16 r4, lr, ror #8
        smlad r10, r2, r12, r10
        smlabb r11, r12, r4, r11
        smlabt lr, r12, r4, lr
        bne.w begin + {2 * here + 600}
        bne.w begin
        add pc, lr
        nop
    """
    (tmp_path / "code.s").write_text(source)
    command = [assembler, "-mcpu=cortex-m4", "-o", "code.o", "code.s"]
    subprocess.run(command, cwd=tmp_path, check=True)
    command = ["arm-none-eabi-objcopy", "-O", "binary", "code.o", "code.bin"]
    subprocess.run(command, cwd=tmp_path, check=True)
    halves = np.frombuffer((tmp_path / "code.bin").read_bytes(), "<u2")
    assert halves.tolist()[: len(code.halves)] == code.halves
