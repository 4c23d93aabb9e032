"""Packages for processors besides x86-64 and AArch64, under emulation."""

from __future__ import annotations

import re
import struct
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import models_directory
from support.layers.small_model import SMALL_MODEL
from support.machines.machines import start, words

import qlower
from qlower.cli import main
from qlower.codegen.program.interface import STATUS_CODES
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.emulation.elf import read_object
from qlower.emulation.emulator import EmulatedExecutable, Emulator

TRIPLES = [
    *("riscv64-linux-gnu", "riscv32im-unknown-none-elf"),
    *("thumbv7em-none-eabi", "wasm32-unknown-unknown"),
]
MACHINES = [
    *((triple, None) for triple in TRIPLES),
    ("thumbv7em-none-eabihf", "cortex-m4"),
    ("thumbv8m.main-none-eabi", "cortex-m33"),
    ("thumbv8m.base-none-eabi", "cortex-m23"),
    ("thumbv7m-none-eabi", "cortex-m3"),
    ("thumbv6m-none-eabi", "cortex-m0plus"),
]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    return path


@pytest.mark.parts(8)
@pytest.mark.parametrize(("triple", "cpu"), MACHINES)
def test_entry_point_checks_its_arguments(triple: str, cpu: str | None, small: Path):
    compiled = qlower.compile(small, target=triple, cpu=cpu)
    interface = compiled.interface
    machine, base = start(compiled.object.object_bytes)
    x, y, arena = base, base + 64, base + 4096
    image = np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)
    machine.write(x, image.tobytes())
    identity, size = interface.identity, interface.arena_bytes
    for status, arguments, given in (
        ("ERROR_VERSION", (identity ^ 1, x, y, arena), size),
        ("ERROR_NULL", (identity, 0, y, arena), size),
        ("ERROR_ARENA_SIZE", (identity, x, y, arena), size - 1),
        ("ERROR_ARENA_ALIGNMENT", (identity, x, y, arena + 1), size),
    ):
        passed = words(triple, *arguments, size=given)
        assert machine.call(interface.entry, *passed) == STATUS_CODES[status][0]
        assert not any(machine.read(y, 4096 - 64 + size))
    assert arena % interface.arena_alignment == 0
    aligned = {int(text) for text in re.findall(r"align (\d+)", compiled.text("llvm"))}
    assert max(aligned) <= interface.arena_alignment
    passed = words(triple, identity, x, y, arena, size=size)
    assert machine.call(interface.entry, *passed) == 0
    expected = qlower.interpret(small, image)
    assert isinstance(expected, np.ndarray)
    assert struct.unpack("3B", machine.read(y, 3)) == tuple(expected.ravel())


@pytest.mark.parts(3)
@pytest.mark.parametrize("triple", TRIPLES)
def test_the_command_says_what_it_is(
    triple: str, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "out"
    assert main(["compile", str(small), "-o", str(out), "--target", triple]) == 0
    name = triple.split("-")[0].removesuffix("im")
    warning = f"warning: target {resolve_target(triple).triple} is experimental\n"
    is_tuned = triple.startswith("thumb")
    assert capsys.readouterr().err == ("" if is_tuned else warning)
    assert (out / "small.o").is_file()
    assert f'SMALL_TARGET "{name}' in (out / "small.h").read_text()


def test_firmware_that_passes_floats_in_registers(small: Path):
    """A linker takes only objects that say the same, and the header says it earlier."""
    hard = qlower.compile(small, target="thumbv7em-none-eabihf", cpu="cortex-m4")
    soft = qlower.compile(small, target="thumbv7em-none-eabi", cpu="cortex-m4")
    passes_in_registers = ".eabi_attribute\t28, 1"
    assert passes_in_registers in hard.text("asm")
    assert passes_in_registers not in soft.text("asm")
    assert "#ifdef __ARM_PCS_VFP\n#error" in soft.text("header")
    assert "#ifndef __ARM_PCS_VFP\n#error" in hard.text("header")


def test_modules_are_linked_by_their_user(small: Path, tmp_path: Path):
    compiled = qlower.compile(small, target="wasm32-unknown-unknown")
    with pytest.raises(qlower.QlowerError, match="is bare metal"):
        compiled.save(tmp_path / "out", emit=["shared"])


@pytest.mark.long
@pytest.mark.parametrize("name", ["kws_dscnn_int8", "ic_resnet8_int8"])
def test_whole_models_without_an_operating_system(name: str):
    """RV32IM as virtual machines that prove what they ran have it."""
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    target = resolve_target("riscv32im-unknown-none-elf")
    compiled = Compilation(path, "tflm").for_target(target).object
    assert not read_object(compiled.object_bytes).external_symbols
    run, wanted = EmulatedExecutable(compiled), qlower.jit(path, contract="tflm")
    for x in np.load(path.with_name("inputs.npz"))["x"][:3, None]:
        np.testing.assert_array_equal(run([x])[0], wanted(x))


@pytest.mark.parametrize("at_end", [True, False])
def test_arrays_lie_against_pages_that_cannot_be_touched(at_end: bool) -> None:
    """Two arrays and an arena, whole pages for each, and a page between; an arena
    starts where its pages do."""
    mapped: list[tuple[int, int]] = []

    def map(start: int, length: int) -> int:
        size = -(-length // 4096) * 4096
        mapped.append((start, size))
        return size

    emulator: Any = SimpleNamespace(map=map)
    emulator.map_buffers = partial(vars(Emulator)["map_buffers"], emulator)
    signature = SimpleNamespace(arguments=(0,), results=(0,))
    executable: Any = SimpleNamespace(emulator=emulator, signature=signature)
    place = vars(EmulatedExecutable)["_place"]
    addresses, pages = place(executable, [100, 4097, 64], at_end)
    assert pages == mapped
    (a, first), (b, second), (c, third) = mapped
    assert (first, second, third) == (4096, 8192, 4096)
    assert (b, c) == (a + first + 4096, b + second + 4096)
    if at_end:
        assert addresses == [a + 4096 - 100, b + 8192 - 4097, c]
    else:
        assert addresses == [a, b, c]
