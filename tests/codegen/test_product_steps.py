"""Steps that multiply runs of activations with weights, each by itself: this processor
computes what their instructions are defined to, and the sums are exact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.machines.product_steps import STEPS, run_steps

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I32, I64, POINTER, Type, Value, constant
from qlower.codegen.skeletons.products.matrix import MatrixStep
from qlower.codegen.skeletons.products.step import (
    Activations,
    DotStep,
    SummingStep,
)
from qlower.codegen.targets.resolve import host_target

ROW_BYTES = 256
"""From the activations of one run to those of the next."""


class Runs:
    """Code for runs of several lengths, with all that it reads and writes in turn."""

    def __init__(self, step: DotStep, scalar: str, *, signed: bool) -> None:
        self.step, self.signed = step, signed
        target = host_target()
        self.module = Module(target.triple, target.function_attributes)
        types = [POINTER] * 3
        self.f = Function(self.module, "f", types, [""] * 3, internal=False)
        self.width = Type(scalar).bits // 8
        self.x, self.w, self.out = bytearray(), bytearray(), 0
        self.expected: list[list[int]] = []
        self.type = np.dtype(f"{'i' if signed else 'u'}{self.width}")
        self.random = np.random.default_rng(step.depth)

    def place(self, number: int, base: int) -> Value:
        return self.f.at(self.f.arguments[base], constant(I64, number))

    def store(self, value: Value) -> None:
        self.f.store(value, self.place(self.out, 2), 4)
        self.out += 4 * value.type.lanes

    def add(self, length: int) -> None:
        """The sums of a run, and the sum of its activations where a step has it."""
        f, step = self.f, self.step
        ends = np.iinfo(self.type)
        x = self.random.integers(ends.min, ends.max + 1, (step.rows, length), self.type)
        x[:, -1] = ends.min
        low, high = step.weight_range
        low, high = max(low, -128), min(high, 127)
        w = self.random.integers(low, high + 1, (step.lanes, length), np.int64)
        w[-1, -1] = high
        begin, weights = len(self.x), len(self.w)
        for row in x:
            self.x += row.tobytes().ljust(ROW_BYTES, b"\x55")
        positions = step.positions(length)
        packed = np.where(positions < 0, 0, w[:, positions]).swapaxes(0, 1)
        for chunk in packed:
            found = step.pack(chunk)
            assert len(found) == step.chunk_bytes
            self.w += found
        self.w += bytes(-len(self.w) % 64 + 64)
        lanes = step.lanes
        type = Type("i32", lanes) if lanes > 1 else I32
        total = step.spread(f, f.load(type, self.place(weights, 1), 4))
        zero = np.frombuffer(self.w[weights : weights + 4 * lanes], np.int32)
        ones = f.splat(constant(I32, 0), lanes) if lanes > 1 else constant(I32, 0)
        is_summing = isinstance(step, SummingStep)
        chunk_number = 0
        for first in range(0, length, step.run_length):
            size = min(step.run_length, length - first)
            at = [
                self.place(begin + row * ROW_BYTES + first * self.width, 0)
                for row in range(step.rows)
            ]
            loaded = step.load_activations(f, Activations(at, size, self.signed, first))
            parts = range(0, size, step.depth)
            assert len(loaded) == len(parts)
            for chunk, start in zip(loaded, parts, strict=True):
                part, before = min(step.depth, size - start), first + start
                address = self.place(weights + chunk_number * step.chunk_bytes, 1)
                factors = step.load_weights(f, address, step.products(part, before))
                (total,) = step.multiply_all(f, [total], [chunk], [factors])
                if isinstance(step, SummingStep):
                    summed = step.ready(f, step.ones(part, before))
                    ones = step.multiply(f, ones, chunk, summed)
                chunk_number += 1
        assert chunk_number == len(positions)
        excess = x.astype(np.int64) + step.activation_bias(self.signed)
        for row, sums in zip(excess, step.collect(f, total), strict=True):
            self.store(sums)
            self.expected.append((zero + row @ w.T).tolist())
        if is_summing:
            self.store(ones)
            self.expected.append([int(excess.sum())] * lanes)

    def check(self) -> None:
        self.f.finish()
        run = run_steps(self.module, self.step)
        arrays = [
            aligned(bytes(self.x)),
            aligned(bytes(self.w)),
            aligned(bytes(self.out)),
        ]
        run(*(array.ctypes.data for array in arrays))
        found = arrays[2].view(np.int32).tolist()
        for sums in self.expected:
            assert found[: len(sums)] == sums
            found = found[len(sums) :]


def aligned(data: bytes) -> NDArray[np.uint8]:
    memory = np.zeros(len(data) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    memory[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return memory[start : start + len(data)]


SIGNS = {"matrices": [True], "unsigned matrices": [False]}
"""Of steps for activations of one sign; words are signed."""


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("name", "signed"),
    [
        (name, signed)
        for name, (_, scalar) in STEPS.items()
        for signed in SIGNS.get(name, [True, False] if scalar == "i8" else [True])
    ],
)
def test_runs(name: str, signed: bool) -> None:
    """Of every rest beside none and one whole load."""
    step, scalar = STEPS[name]
    runs = Runs(step, scalar, signed=signed)
    length = step.run_length
    least = step.depth if isinstance(step, MatrixStep) else 1
    longer = length + 1, length + 3, 2 * length + 2
    for count in (*range(least, length + 1), *longer):
        runs.add(count)
    runs.check()
