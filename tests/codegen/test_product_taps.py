"""Steps that multiply windows, whose lanes have their own numbers; and what the steps
say of memory, registers and time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.machines.product_steps import STEPS, run_steps

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, POINTER, Type, Value, constant
from qlower.codegen.skeletons.products.step import StepCost, VectorStep
from qlower.codegen.targets.resolve import host_target

WINDOWS = {
    name: (step, scalar)
    for name, (step, scalar) in STEPS.items()
    if isinstance(step, VectorStep) and step.lanes > 1
}


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", WINDOWS)
def test_taps(name: str) -> None:
    """One vector a tap, of as many as a chunk has products, and fewer."""
    step, scalar = WINDOWS[name]
    target, lanes = host_target(), step.lanes
    width = Type(scalar).bits // 8
    module = Module(target.triple, target.function_attributes)
    f = Function(module, "f", [POINTER] * 3, [""] * 3, internal=False)
    x_base, w_base, out = f.arguments
    random = np.random.default_rng(lanes)
    x, w = bytearray(), bytearray()
    expected: list[list[int]] = []

    def at(base: Value, number: int) -> Value:
        return f.at(base, constant(I64, number))

    for signed in (True, False) if scalar == "i8" else (True,):
        type = np.dtype(f"{'i' if signed else 'u'}{width}")
        ends = np.iinfo(type)
        for taps in range(1, step.depth + 1):
            numbers = random.integers(ends.min, ends.max + 1, (taps, lanes), type)
            weights = np.zeros((lanes, step.depth), np.int64)
            weights[:, :taps] = random.integers(-128, 128, (lanes, taps))
            loaded = [
                f.load(Type(scalar, lanes), at(x_base, len(x) + n * lanes * width), 1)
                for n in range(taps)
            ]
            used = step.products(taps, 0)
            factors = step.load_weights(f, at(w_base, len(w)), used)
            # beyond the taps there are weights of 0, or none
            chunk = step.interleave(f, loaded, signed)[: len(step.ready(f, factors))]
            total = f.splat(constant(Type("i32"), 5), lanes)
            total = step.multiply(f, total, chunk, step.ready(f, factors)[: len(chunk)])
            f.store(total, at(out, 4 * lanes * len(expected)), 4)
            x += numbers.tobytes()
            w += step.pack(weights).ljust(256, b"\0")
            excess = numbers.T.astype(np.int64) + step.activation_bias(signed)
            expected.append(((excess * weights[:, :taps]).sum(1) + 5).tolist())
    f.finish()
    run = run_steps(module, step)
    # an address that all vectors of weights may have
    memory = np.zeros(len(w) + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    memory[begin : begin + len(w)] = np.frombuffer(w, np.uint8)
    numbers, found = np.frombuffer(x, np.uint8), np.zeros((len(expected), lanes), "i4")
    run(numbers.ctypes.data, memory.ctypes.data + begin, found.ctypes.data)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("cost", "chunk", "time"),
    [
        # loads, vectors of weights, pixels and vectors of channels
        (StepCost(), (3.0, 2, 4, 2), 8.0),
        (StepCost(load=0.5, weight=0.25, row=2.0), (3.0, 2, 4, 2), 8 + 1.5 + 0.5 + 8),
        (StepCost(shared=2.0), (3.0, 2, 4, 2), 10.0),
        (StepCost(shared=1.0), (3.0, 2, 4, 2), 8.0),
        (StepCost(latency=9.0), (3.0, 2, 4, 2), 9.0),
        (StepCost(latency=7.0), (3.0, 2, 4, 2), 8.0),
        (StepCost(late=0.5, fixed=3.0), (3.0, 2, 4, 2), 8 + 2.5 + 3),
    ],
)
def test_times(cost: StepCost, chunk: tuple[float, int, int, int], time: float) -> None:
    assert cost.of_chunk(*chunk) == time


PLANS = {
    # registers of 4 rows by 3 vectors with 2 loads, loads of each size, products of the
    # last numbers of a run after 4 others and of a run by itself, and chunks' bytes
    "singles": (15, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 32),
    "wide singles": (15, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 32),
    "splat scalars": (10, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 32),
    "narrow scalars": (15, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 2),
    "selected singles": (21, [1, 2, 3, 1, 2, 3, 4, 1], [1, 2, 3, 4], [1, 2, 3, 4], 32),
    "pairs": (16, [1] * 4, [4] * 4, [1, 3, 4, 4], 32),
    "extended pairs": (16, [1] * 4, [4] * 4, [1, 3, 4, 4], 32),
    "loaded pairs": (17, [1, 1, 2, 1, 2, 2, 3, 1], [2, 2], [1, 2], 16),
    "paired words": (15, [1, 1], [1, 2], [1, 2], 16),
    "unsigned bytes": (15, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 16),
    "selected signed bytes": (
        *(21, [1, 1, 1, 1, 2, 2, 2, 1, 2, 2, 2, 2, 3, 3, 3, 1]),
        *([1, 2, 3, 4], [1, 2, 3, 4], 16),
    ),
    "matrices": (
        *(20, [1, 1, 1, 1, 2, 2, 2, 1, 2, 2, 2, 2, 3, 3, 3, 1]),
        *([*range(1, 9)], [*range(1, 9)], 32),
    ),
    "whole bytes": (10, [1] * 16, [*range(1, 17)], [*range(1, 17)], 16),
    "whole words": (10, [1] * 8, [*range(1, 9)], [*range(1, 9)], 8),
    "halves": (22, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 8),
    "extended halves": (22, [1] * 4, [1, 2, 3, 4], [1, 2, 3, 4], 4),
    "halves of nibbles": (
        *(30, [1, 1, 1, 1, 2, 2, 2, 2], [*range(1, 9)], [*range(1, 9)], 4),
    ),
    "nibbles": (18, [1] * 4 + [2] * 4, [*range(1, 9)], [*range(1, 9)], 16),
    "selected nibbles": (
        *(24, [1, 1, 1, 1, 2, 2, 2, 1, 2, 2, 2, 2, 3, 3, 3, 1]),
        *([*range(1, 9)], [*range(1, 9)], 16),
    ),
    "summed nibbles": (18, [1] * 4 + [2] * 4, [*range(1, 9)], [*range(1, 9)], 16),
}


@pytest.mark.parametrize("name", PLANS)
def test_plans(name: str) -> None:
    step, _ = STEPS[name]
    registers, loads, last, alone, chunk_bytes = PLANS[name]
    assert step.registers(4, 3, 2) == registers
    sizes = range(1, step.run_length + 1)
    assert [step.activation_loads(size) for size in sizes] == loads
    parts = range(1, step.depth + 1)
    assert [step.products(size, 4) for size in parts] == last
    assert [step.products(size, 0) for size in parts] == alone
    assert step.chunk_bytes == chunk_bytes


def test_orders() -> None:
    """Of two activations and three weights, or three and two."""
    by_rows = [(x, w) for x in range(2) for w in range(3)]
    assert STEPS["singles"][0].order(2, 3) == by_rows
    assert STEPS["nibbles"][0].order(2, 3) == by_rows
    pairs = STEPS["pairs"][0]
    assert pairs.order(2, 3) == [(x, w) for w in range(3) for x in range(2)]
    assert pairs.order(2, 2) == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert pairs.order(3, 2) == [(x, w) for x in range(3) for w in range(2)]


@pytest.mark.parametrize(
    ("count", "least", "most", "extends"),
    [
        *((16, -128, 127, False), (17, -128, 127, True)),
        *((17, -129, 127, False), (17, -128, 128, False)),
    ],
)
def test_weights_that_are_kept_as_bytes(
    count: int, least: int, most: int, extends: bool
) -> None:
    """Where they are bytes, and would be more than 32 as words."""
    step, _ = STEPS["pairs"]
    weights = np.zeros(count, np.int64)
    weights[0], weights[-1] = least, most
    limited = replace(step, dot=replace(step.dot, widens_beyond=32))
    assert limited.holding(weights) == replace(limited, extends=extends)
    assert step.holding(weights) == step
    bytes_ = STEPS["signed bytes"][0]
    assert bytes_.holding(weights) is bytes_
