"""What the machine's peak and bandwidth are measured by: kernels that are seen to do
the products and reads that they are counted for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qlower.bench import bandwidth, peak
from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I32, POINTER, constant
from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.skeletons.products.choose import vector_step
from qlower.codegen.targets.resolve import Target, host_target, resolve_target
from qlower.model.signature import Array, Signature
from qlower.runtime.executable import Executable

BEHIND = 4096
"""Bytes after an arena that nothing may write."""


def run_in(memory: Array, emit: Callable[[Function], int]) -> int:
    """Run once what `emit` writes, in the memory given; the arena's size."""
    target = host_target()
    module = Module(target.triple, target.function_attributes)
    f = Function(module, ENTRY, [POINTER] * 3, [""] * 3, result=I32, internal=False)
    size = emit(f)
    f.finish(constant(I32, 0))
    code = (machine_code(str(module), target),)
    assert size + BEHIND <= memory.size
    Executable(CompiledObject(code, Signature((), ()), size, target)).run_in(
        memory, [], []
    )
    return size


def aligned(size: int) -> Array:
    """Zeros from a multiple of 64 bytes on."""
    whole = np.zeros(size + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]


@pytest.mark.parametrize("scalar", ["i8", "i16"])
def test_the_peak_is_of_products_that_are_made(
    scalar: str, monkeypatch: pytest.MonkeyPatch
):
    """Each tile's sums are those of the matrix product, `_REPEATS` times, and nothing
    is written behind them; its speed counts these products."""
    target = host_target()
    step = vector_step(target, scalar, signed=scalar == "i16")
    size = 1 if scalar == "i8" else 2
    depth = peak.DEPTH // size
    random = np.random.default_rng(0)
    counted: list[float] = []

    def seconds(given: Target, emit: Callable[[Function], int], calls: int) -> float:
        assert (given, calls) == (target, 60)
        columns = len(counted) + 1
        rows = max(1, (target.vector_registers - 3) // columns - 1)
        chunks = depth // step.depth
        w = random.integers(-3, 4, (columns, chunks, step.lanes, step.depth))
        x = random.integers(0, 4, (rows, depth))
        packed = b"".join(step.pack(one.astype(np.int8)) for one in w)
        given_bytes = packed + x.astype(f"<i{size}").tobytes()
        sums = 4 * rows * columns * step.lanes
        memory = aligned(len(given_bytes) + sums + BEHIND)
        memory[: len(given_bytes)] = np.frombuffer(given_bytes, np.uint8)
        assert run_in(memory, emit) == len(given_bytes) + sums
        found = memory[len(given_bytes) :][:sums].view("<i4")
        (order,) = step.positions(step.depth)
        shaped = x.reshape(rows, chunks, step.depth)[..., order]
        expected = 100 * np.einsum("rkd,ckld->rcl", shaped, w)
        np.testing.assert_array_equal(found, expected.reshape(-1))
        assert not memory[len(given_bytes) + sums :].any()
        counted.append(100.0 * rows * columns * step.lanes * depth)
        return 1.0 + columns % 3

    monkeypatch.setattr(peak, "least_seconds", seconds)
    monkeypatch.setattr(peak, "_tile_speed", lambda *_: 0.0)
    found = peak.measured_peak(target, scalar)
    assert len(counted) == 5
    speeds = [n / (1 + c % 3) / 1e9 for c, n in enumerate(counted, 1)]
    assert found == pytest.approx(max(speeds), rel=1e-12)


class Instructions:
    """Tile registers and memory as Intel's manual has them, in place of a builder."""

    def __init__(self, memory: Array) -> None:
        self.memory, self.registers = memory, dict[int, Array]()
        self.arguments, self.module = [0, 0, 0], self
        self.shapes = b""
        self.is_released = False

    def add_constant(self, data: bytes) -> bytes:
        return data

    def at(self, start: int, offset: int) -> int:
        return start + offset

    def scale(self, index: int, factor: int) -> int:
        return index * factor

    def loop(self, count: int, values: list[Any], step: Any) -> list[Any]:
        for index in range(count):
            values = step(index, values)
        return values

    def run(self, _: object, name: str, register: Any = 0, *given: Any) -> None:
        kind = name.rpartition(".")[2]
        if kind == "ldtilecfg":
            self.shapes = register
        elif kind == "tilerelease":
            self.is_released = True
        elif kind == "tilezero":
            self.registers[register] = np.zeros((16, 16), np.int64)
        elif kind == "tileloadd64":
            start, stride = given
            lines = [self.memory[start + n * stride :][:64] for n in range(16)]
            self.registers[register] = np.array(lines)
        elif kind == "tilestored64":
            start, stride = given
            for n, line in enumerate(self.registers[register]):
                own = line.astype("<i4").view(np.uint8)
                self.memory[start + n * stride :][:64] = own
        else:
            assert kind in ("tdpbusd", "tdpbuud")
            a, b = (self.registers[one].astype(np.int64) for one in given)
            turned = b.reshape(16, 16, 4).transpose(0, 2, 1).reshape(64, 16)
            self.registers[register] = self.registers[register] + a @ turned


def test_the_peak_of_tile_registers_is_of_products_that_are_made(
    monkeypatch: pytest.MonkeyPatch,
):
    """Two registers of activations times two of weights, 8 steps, 100 times."""
    target = resolve_target("x86_64-linux-gnu", "sapphirerapids")
    assert target.tiles is not None
    step_bytes = 4 * 1024
    memory = np.zeros(8 * step_bytes + 4 * 1024 + BEHIND, np.uint8)
    given = np.random.default_rng(0).integers(0, 4, (8, 4, 16, 64), np.uint8)
    memory[: given.size] = given.reshape(-1)
    machine: Any = Instructions(memory)
    monkeypatch.setattr(peak, "tile_instruction", machine.run)
    monkeypatch.setattr(peak, "constant", lambda _, number: number)
    monkeypatch.setattr(peak, "at", lambda f, offset: offset)
    size = peak.emit_tiles(machine, target.tiles)
    assert size == 8 * step_bytes + 4 * 1024
    a = given[:, :2].astype(np.int64)
    b = given[:, 2:].reshape(8, 2, 16, 16, 4).astype(np.int64)
    expected = 100 * np.einsum("srmki,sckni->rcmn", a.reshape(8, 2, 16, 16, 4), b)
    found = memory[8 * step_bytes : size].view("<i4").reshape(2, 2, 16, 16)
    np.testing.assert_array_equal(found, expected)
    assert not memory[size:].any()
    assert machine.is_released
    # palette 1, then columns in bytes of 8 registers from byte 16, rows from byte 48
    assert machine.shapes[0] == 1
    assert list(machine.shapes[16:32:2]) == [64] * 8
    assert list(machine.shapes[48:56]) == [16] * 8


def test_the_speed_of_tile_registers(monkeypatch: pytest.MonkeyPatch):
    """100 times 8 steps of four products of 16 x 64 with 64 x 16 bytes."""
    target = resolve_target("x86_64-linux-gnu", "sapphirerapids")

    def seconds(_: Target, emit: Callable[[Function], int], calls: int) -> float:
        module = Module(target.triple, target.function_attributes)
        f = Function(module, ENTRY, [POINTER] * 3, [""] * 3, result=I32, internal=False)
        emit(f)
        return 1e-3 if "tdpb" in str(module) else 1e3

    monkeypatch.setattr(peak, "least_seconds", seconds)
    speed = 100 * 8 * 4 * 16 * 64 * 16 / 1e-3 / 1e9
    assert peak.measured_peak(target, "i8") == pytest.approx(speed, rel=1e-12)
    assert peak.measured_peak(target, "i16") < 1  # they have no words


@pytest.mark.parametrize(("size", "repeats"), [(1 << 22, 1), (1398784, 2), (65536, 64)])
def test_the_bandwidth_is_of_bytes_that_are_read(
    size: int, repeats: int, monkeypatch: pytest.MonkeyPatch
):
    """Each of eight vectors ends as the exclusive or of all that are in its place."""
    target = host_target()
    width = target.vector_bits // 8
    random = np.random.default_rng(0)

    def seconds(given: Target, emit: Callable[[Function], int], calls: int) -> float:
        assert (given, calls) == (target, 12)
        memory = aligned(size + 8 * width + BEHIND)
        memory[:size] = random.integers(0, 256, size, np.uint8)
        before = memory[:size].copy()
        assert run_in(memory, emit) == size + 8 * width
        sums = np.bitwise_xor.reduce(before.reshape(-1, 8 * width), axis=0)
        found = memory[size:][: 8 * width]
        np.testing.assert_array_equal(found, sums * (repeats % 2))
        np.testing.assert_array_equal(memory[:size], before)
        assert not memory[size + 8 * width :].any()
        return 2e-3

    monkeypatch.setattr(bandwidth, "least_seconds", seconds)
    monkeypatch.setattr(bandwidth, "SIZES", (size,))
    speed = repeats * size / 2e-3 / 1e9
    found = bandwidth.measured_bandwidths(target)
    assert found == {size: pytest.approx(speed, rel=1e-12)}
