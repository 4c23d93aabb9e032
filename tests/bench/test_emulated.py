"""Instructions under emulation: which kernel they are counted for."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from support.table_forms import forms

from qlower.bench import emulated
from qlower.bench.emulated import KernelCount, count_kernels, count_table
from qlower.codegen.program.compiled import ENTRY
from qlower.emulation.aarch64 import AARCH64
from qlower.emulation.arm_m import ARM_M
from qlower.emulation.processor import Processor
from qlower.emulation.riscv import RISCV64

COUNTS = [
    KernelCount("conv", "contraction", 1000, 2500, 4000, 64),
    KernelCount("copy", "copy", 0, 480, 600, 0),
    KernelCount("(calls)", "", 0, 20, 40, 16),
]


class Emulator:
    """Symbols, and blocks of instructions of two bytes that run in turn."""

    symbols: ClassVar[Mapping[str, int]] = {
        **{"": 0x10, "$t": 0x18, ENTRY: 0x21, "helper": 0x41},
        **{"conv": 0x61, "copy": 0x81},
    }
    blocks = (
        *((0x20, 4), (0x60, 8), (0x64, 2), (0x40, 6)),  # conv calls helper
        *((0x64, 2), (0x22, 2), (0x80, 10), (0x48, 2), (0x24, 6), (0x08, 2)),
    )
    processor = SimpleNamespace(count=lambda code: len(code) // 2, cycles=len, taken=3)

    def on_blocks(self, hook: Any) -> None:
        self.hook = hook

    def read(self, address: int, size: int) -> bytes:
        return bytes(size)

    def run(self, _: object) -> None:
        for address, size in self.blocks:
            self.hook(None, address, size, None)


def test_a_routine_is_counted_for_the_kernel_that_calls_it(
    monkeypatch: pytest.MonkeyPatch,
):
    emulator = Emulator()

    class Executable:
        def __init__(self, _: object) -> None:
            self.emulator = emulator

        def __call__(self, inputs: object) -> None:
            emulator.run(inputs)

    monkeypatch.setattr(emulated, "EmulatedExecutable", Executable)
    kernels = [
        SimpleNamespace(name=name, layer=name, family="f", products=products)
        for name, products in (("conv", 5), ("copy", 0))
    ]
    compiled: Any = SimpleNamespace(
        kernels=kernels, signature=SimpleNamespace(arguments=())
    )
    found = count_kernels(compiled)
    # conv: 8 + 2 + 6 + 2 bytes; copy: 10 + 2; calls: 4 + 2 + 6, and 2 before all names
    assert [(one.layer, one.instructions) for one in found] == [
        *(("conv", 9), ("copy", 6), ("(calls)", 7)),
    ]
    # a byte a cycle, and 3 where control goes elsewhere: 4, 2 and 3 times
    assert [one.cycles for one in found] == [18 + 12, 12 + 6, 14 + 9]
    assert [one.code for one in found] == [32, 0, 32]
    assert [one.each for one in found] == [1.8, None, None]
    assert [one.products for one in found] == [5, 0, 0]


def test_the_bytes_of_a_function_are_those_of_its_first_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others that share it have none; nor has one whose function isn't there."""

    def executable(_: object) -> Any:
        def run(inputs: object) -> None:
            emulator.run(inputs)

        emulator = Emulator()
        run.emulator = emulator  # pyright: ignore[reportFunctionMemberAccess]
        return run

    monkeypatch.setattr(emulated, "EmulatedExecutable", executable)
    kernels = [
        SimpleNamespace(name=name, layer="l", family="f", products=1)
        for name in ("conv", "conv", "none")
    ]
    compiled: Any = SimpleNamespace(
        kernels=kernels, signature=SimpleNamespace(arguments=())
    )
    assert [one.code for one in count_kernels(compiled)] == [32, 0, 0, 32]


def test_the_table_of_instructions():
    table = count_table(COUNTS)
    lines = [line.split() for line in table.render("plain").splitlines()]
    assert [" ".join(line) for line in lines if "-" not in line[0]] == [
        "layer kernel instructions cycles share MAC per MAC code",
        "conv contraction 2,500 4,000 83.3% 1,000 2.50 64",
        "copy copy 480 600 16.0% - 0",
        "(calls) 20 40 0.7% - 16",
        "total 3,000 4,640 1,000 80",
    ]
    assert forms(table) == [
        *(
            "layer, left, cut to 12",
            "kernel, left, rank 2",
            "instructions, right, sums",
        ),
        *("cycles, right, sums", "share, right", "MAC, right, sums"),
        *("per MAC, right", "code, right, rank 1, sums"),
    ]
    assert table.records()[1] == {
        **{"layer": "copy", "family": "copy", "instructions": 480},
        **{"cycles": 600, "code": 0},
        **{"products": None, "instructions_per_product": None},
    }
    nothing = count_table([KernelCount("a", "copy", 0, 0, None, 0)])
    assert "0.0%" in nothing.render("plain")
    assert "cycles" not in nothing.render("plain")


@pytest.mark.parametrize(
    ("processor", "halves", "count"),
    [
        (ARM_M, [0xBF00, 0xF3AF, 0x8000, 0xE800, 0, 0xE7FE], 4),  # from 0xE800 on wide
        (RISCV64, [0x0001, 0x0013, 0, 0x0002], 3),  # wide where both low bits are set
        (AARCH64, [0x201F, 0xD503, 0x201F, 0xD503], 2),
    ],
)
def test_instructions_of_two_bytes_or_four(
    processor: Processor, halves: list[int], count: int
) -> None:
    assert processor.count(struct.pack(f"<{len(halves)}H", *halves)) == count
