"""Compiled models in an emulator: where their arrays lie, and which there are none
for; instructions in blocks; cycles by the manual's tables."""

from __future__ import annotations

import struct
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.emulation.aarch64 import AARCH64
from qlower.emulation.arm_m import ARM_M
from qlower.emulation.cortex_m_cycles import block_cycles
from qlower.emulation.emulator import EmulatedExecutable
from qlower.emulation.riscv import RISCV32, RISCV64
from qlower.frontends.load import named
from qlower.text.parsing import parse_module

pytest.importorskip("unicorn", reason="unicorn is not installed")

IMAGE = np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1)


@cache
def compiled(triple: str) -> CompiledObject:
    model = named(parse_module(SMALL_MODEL), None)
    return Compilation(model, target=resolve_target(triple)).code


@cache
def scores() -> Any:
    return qlower.interpret(named(parse_module(SMALL_MODEL), None), IMAGE)


@pytest.mark.parts(2)
@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "riscv32-none-elf"])
def test_arrays_lie_against_pages_that_are_not_there(triple: str) -> None:
    run = EmulatedExecutable(compiled(triple))
    place: Any = vars(EmulatedExecutable)["_place"]
    for at_end in (True, False, True):
        (found,) = run([IMAGE], at_end=at_end)
        np.testing.assert_array_equal(found, scores())
        lengths = [4, 3, 5000, 16]
        addresses, pages = place(run, lengths, at_end)
        starts, sizes = zip(*pages, strict=True)
        assert sizes == (4096, 4096, 8192, 4096)
        for number, (address, start) in enumerate(zip(addresses, starts, strict=True)):
            moved = sizes[number] - lengths[number] if at_end and number < 2 else 0
            assert address == start + moved
        for start, size in pages:
            run.emulator.unmap(start, size)
    with pytest.raises(QlowerError):
        run([IMAGE.astype(np.int16)])
    given, output = IMAGE.copy(), np.zeros_like(scores())
    call = run.bind([given], [output])
    given[:] = 0
    call()
    zeros = qlower.interpret(named(parse_module(SMALL_MODEL), None), given)
    np.testing.assert_array_equal(output, zeros)
    given[:] = IMAGE
    call()
    np.testing.assert_array_equal(output, scores())


@pytest.mark.parametrize(
    ("triple", "widens", "data", "there"),
    [
        ("aarch64-linux-gnu", False, None, True),
        ("aarch64-linux-gnu", True, None, False),
        ("armv7a-linux-gnueabihf", False, None, False),
        ("wasm32-unknown-unknown", False, b"\0asm", False),
    ],
)
def test_targets_that_have_an_emulator(
    triple: str, widens: bool, data: bytes | None, there: bool
) -> None:
    target = SimpleNamespace(triple=triple, widens_in_memory=widens)
    code = compiled("aarch64-linux-gnu").object_bytes if data is None else data
    given: Any = SimpleNamespace(target=target, object_bytes=code)
    has: Any = vars(import_module("qlower.emulation.emulator"))["_has_emulator"]
    assert has(given) is there
    other = bytearray(code)
    if data is None:
        struct.pack_into("<H", other, 0x12, 62)  # x86-64
        given.object_bytes = bytes(other)
        assert not has(given)
    with pytest.raises(QlowerError) as caught:
        EmulatedExecutable(given)
    assert caught.value.message == f"there is no emulator for {triple}"
    assert caught.value.help == "--target: AArch64, thumbv7em, riscv64 or riscv32im"


@pytest.mark.parametrize(
    ("processor", "halves", "count"),
    [
        (AARCH64, [0, 0, 0xFFFF, 0xFFFF], 2),
        (RISCV64, [0x8082, 0x0003, 0, 0x0002, 0x0001], 4),
        (RISCV32, [0xFFFF, 0, 0xFFFC], 2),
        (ARM_M, [0xE7FF, 0xE800, 0, 0xFFFF, 0, 0x4770], 4),
        (ARM_M, [], 0),
    ],
)
def test_instructions_of_two_bytes_or_four(
    processor: Any, halves: list[int], count: int
) -> None:
    assert processor.count(struct.pack(f"<{len(halves)}H", *halves)) == count


def test_without_unicorn(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "unicorn", None)
    with pytest.raises(QlowerError, match="is run by unicorn, which isn't installed"):
        AARCH64.start()


LOAD, ADD, MOVE = 0x6808, 0x1889, 0x2200  # ldr r0, [r1]; adds r1, r1, r2; movs r2, 0

CYCLES: dict[str, tuple[list[int], int]] = {
    "literal": ([0x4A01], 2),
    "literal, then its address": ([0x4901, LOAD], 4),
    "literal, then another": ([0x4A01, LOAD], 3),
    "bx": ([0x4770], 1),
    "ldr r0, [r1, r2]": ([0x5888], 2),
    "str r0, [r1, r2]": ([0x5088], 1),
    "ldrsb r0, [r1, r2]": ([0x5688], 2),
    "strb r0, [r1, r2]": ([0x5488], 1),
    "strh r0, [r1, r2]": ([0x5288], 1),
    "index computed": ([MOVE, 0x5888], 4),
    "store's index computed": ([MOVE, 0x5088], 3),
    "byte": ([0x7808], 2),
    "byte stored": ([0x7008], 1),
    "half": ([0x8808], 2),
    "half stored": ([0x8008], 1),
    "at sp": ([0x9801], 2),
    "to sp": ([0x9001], 1),
    "pop {r0-r7, pc}": ([0xBDFF], 10),
    "push {r0}": ([0xB401], 2),
    "cbz": ([0xB108], 1),
    "stm": ([0xC107], 4),
    "ldm": ([0xC9FF], 9),
    "b": ([0xE000], 1),
    "svc": ([0xDF00], 1),
    "adds r1, #1": ([0x3101, LOAD], 4),
    "adds r0, #1": ([0x3001, LOAD], 3),
    "cmp r1": ([0x2900], 1),
    "add r1, sp": ([0xA901, LOAD], 4),
    "lsls r1": ([0x0049, LOAD], 4),
    "mul r1": ([0x4351, LOAD], 4),
    "nop": ([0xBF00, LOAD], 3),
    "load, load": ([LOAD, 0x6811], 3),
    "load, store": ([LOAD, 0x6011], 3),
    "load, store of its address": ([0x6811, 0x6008], 3),
    "store, store": ([0x6008, 0x6011], 2),
    "ldm.w {r0-r3}": ([0xE891, 0x000F], 5),
    "tbb": ([0xE8D0, 0xF001], 1),
    "strd": ([0xE9C1, 0x0200], 3),
    "vldm": ([0xEC91, 0x0A04], 5),
    "vpush": ([0xED2D, 0x8B08], 9),
    "vstr": ([0xED81, 0x0A00], 2),
    "vadd": ([0xEE30, 0x0A20], 1),
    "vmla": ([0xEE00, 0x0A20], 3),
    "vfnma": ([0xEE90, 0x0A20], 3),
    "vmul": ([0xEE20, 0x0A20], 1),
    "vmov": ([0xEE00, 0x0A10], 1),
    "vdiv": ([0xEE80, 0x0A20], 14),
    "vmov to core": ([0xEE90, 0x0A10], 1),
    "bl": ([0xF000, 0xF800], 1),
    "movw r1": ([0xF240, 0x0100, LOAD], 4),
    "movw r0": ([0xF240, 0x0000, LOAD], 3),
    "strb.w": ([0xF881, 0x0000], 1),
    "store r0, [r1, r2, lsl]": ([MOVE, 0xF841, 0x0002], 3),
    "store r0, [r1], #2": ([MOVE, 0xF841, 0x0B02], 2),
    "load r1.w, then its address": ([0xF8D2, 0x1000, LOAD], 4),
    "udiv": ([0xFBB1, 0xF0F2], 7),
    "smull": ([0xFB81, 0x0203], 1),
    "nothing": ([], 0),
}


@pytest.mark.parametrize("name", CYCLES)
def test_cycles_of_blocks(name: str) -> None:
    halves, cycles = CYCLES[name]
    assert block_cycles(struct.pack(f"<{len(halves)}H", *halves)) == cycles
