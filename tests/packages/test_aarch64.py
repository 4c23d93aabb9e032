"""Packages for AArch64: with and without a C library, emulated and under qemu."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_models import conv2d, pad
from support.layers.small_model import SMALL_MODEL
from support.values.stored import random_stored

import qlower
from qlower.codegen.program.interface import STATUS_CODES
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.emulation.elf import read_object
from qlower.emulation.emulator import BUFFERS, EmulatedExecutable, Emulator
from qlower.packages.link import compiler_driver

LEVELS = {"baseline": "", "dotprod": "+dotprod", "i8mm": "+dotprod,+i8mm"}

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None
    or shutil.which("aarch64-linux-gnu-gcc") is None,
    reason="needs qemu-aarch64 and aarch64-linux-gnu-gcc",
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    return path


@pytest.fixture
def image() -> np.ndarray:
    return np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)


@pytest.mark.parts(2)
@pytest.mark.parametrize("name", ["conv2d", "pad"])
def test_bare_metal_needs_no_library(name: str, tmp_path: Path):
    """Copies and fills, which else are calls, are loops."""
    data = {"conv2d": conv2d(padding=0), "pad": pad()}[name]
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    model = qlower.load(path)
    target = resolve_target("aarch64-none-elf", "cortex-a53")
    compiled = Compilation(model, "tflite", target).code
    assert read_object(compiled.object_bytes).external_symbols == set()
    spec = model.inputs[0]
    x = np.random.default_rng(0).integers(-128, 128, spec.shape).astype(np.int8)
    (got,) = EmulatedExecutable(compiled)([x])
    np.testing.assert_array_equal(got, qlower.interpret(model, x))


def test_bare_metal_has_no_shared_library(small: Path, tmp_path: Path):
    compiled = qlower.compile(small, target="aarch64-none-elf")
    with pytest.raises(qlower.QlowerError, match="is bare metal"):
        compiled.save(tmp_path / "out", emit=["shared"])
    assert not (tmp_path / "out").exists()


def test_entry_point_checks_its_arguments(small: Path, image: np.ndarray):
    compiled = qlower.compile(small, target="aarch64-none-elf")
    assert read_object(compiled.object.object_bytes).external_symbols == set()
    interface = compiled.interface
    emulator = Emulator(compiled.object.object_bytes)
    emulator.map(BUFFERS, 4096 + interface.arena_bytes)
    x, y, arena = BUFFERS, BUFFERS + 64, BUFFERS + 4096
    emulator.write(x, image.tobytes())
    identity, size = interface.identity, interface.arena_bytes
    for status, arguments in {
        "ERROR_VERSION": (identity ^ 1, x, y, arena, size),
        "ERROR_NULL": (identity, 0, y, arena, size),
        "ERROR_ARENA_SIZE": (identity, x, y, arena, size - 1),
        "ERROR_ARENA_ALIGNMENT": (identity, x, y, arena + 1, size),
    }.items():
        assert emulator.call(interface.entry, *arguments) == STATUS_CODES[status][0]
        assert not any(emulator.read(y, 4096 - 64 + size))
    assert arena % interface.arena_alignment == 0
    assert emulator.call(interface.entry, identity, x, y, arena, size) == 0
    expected = qlower.interpret(small, image)
    assert isinstance(expected, np.ndarray)
    assert struct.unpack("3B", emulator.read(y, 3)) == tuple(expected.ravel())


@pytest.mark.parts(18)
@needs_qemu
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("level", LEVELS)
def test_example_program_under_qemu(level: str, dtype: str, tmp_path: Path):
    path, out = tmp_path / "model.tflite", tmp_path / "out"
    path.write_bytes(conv2d(dtype=dtype, per_axis=dtype == "int8"))
    triple = "aarch64-linux-gnu"
    compiled = qlower.compile(path, target=triple, features=LEVELS[level])
    compiled.save(out, emit=["obj", "header", "shared", "c-example"])
    # weights of uint8 may be out of the range that a product of matrices takes
    best = {"int8": "smmla", "uint8": "sudot"}[dtype]
    product = {"baseline": "smlal", "dotprod": "sdot", "i8mm": best}[level]
    assert re.search(rf"\b{product}\b", compiled.text("asm"))
    command = [*compiler_driver(triple), "-std=c99", "-Wall", "-Werror", "-static"]
    parts = [out / "main.c", out / "model.o", "-o", out / "program"]
    subprocess.run([*command, *map(str, parts)], check=True)
    (spec,) = compiled.interface.signature.inputs
    x = random_stored(spec.shape, signed=dtype == "int8")
    (out / "x.bin").write_bytes(x.tobytes())
    run = ["qemu-aarch64", "-cpu", "max", "program", "x.bin", "y.bin"]
    subprocess.run(run, check=True, cwd=out)
    expected = qlower.interpret(path, x)
    assert isinstance(expected, np.ndarray)
    got = np.fromfile(out / "y.bin", dtype).reshape(expected.shape)
    np.testing.assert_array_equal(got, expected)
