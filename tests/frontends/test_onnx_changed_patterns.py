"""Patterns of real operators that are changed at random are fused where ONNX Runtime
fuses them. $QLOWER_TEST_PATTERNS is how many are drawn."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from support.formats.onnx_reals import (
    CASES,
    SINCE,
    Reals,
    fused,
    fused_by_onnx_runtime,
)

from qlower.diagnostics import QlowerError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

COUNT = int(os.environ.get("QLOWER_TEST_PATTERNS", "400"))
NUMBERS = (0.0, 0.3, 0.5, 1.0, 1.702, 2.0, 1.4142135, 1e-5, 1e-12, -1.0)
SHAPES = ((), (1,), (1, 1), (1, 1, 1))
BINARY = ("Add", "Sub", "Mul", "Div", "Pow")

Change = Callable[[Reals, random.Random], None]


def swap(build: Reals, chance: random.Random) -> None:
    """The operands of a binary node."""
    node = chance.choice(build.nodes)
    if len(node.input) == 2:
        one, other = node.input
        node.input[:] = [other, one]


def exchange(build: Reals, chance: random.Random) -> None:
    """A binary operator for another."""
    node = chance.choice(build.nodes)
    if node.op_type in BINARY:
        node.op_type = chance.choice(BINARY)


def change_number(build: Reals, chance: random.Random) -> None:
    """A constant number for another, of another number of dimensions."""
    constant = chance.choice(build.constants)
    array = build.numpy.to_array(constant)
    if array.dtype == np.float32 and array.size == 1:
        value = chance.choice(
            (*NUMBERS, float(array.reshape(())), float(array.flat[0]))
        )
        given = np.full(chance.choice(SHAPES), value, np.float32)
        constant.CopyFrom(build.numpy.from_array(given, constant.name))


def change_row(build: Reals, chance: random.Random) -> None:
    """The dimensions of a constant row."""
    constant = chance.choice(build.constants)
    array = build.numpy.to_array(constant)
    if array.dtype == np.float32 and array.ndim == 1 and array.size > 1:
        given = array.reshape(chance.choice([(1, -1), (1, 1, -1)]))
        constant.CopyFrom(build.numpy.from_array(given, constant.name))


def take_as_input(build: Reals, chance: random.Random) -> None:
    """A constant becomes an input."""
    constant = chance.choice(build.constants)
    array = build.numpy.to_array(constant)
    if array.dtype == np.float32:
        build.constants.remove(constant)
        build.input(constant.name, array.shape)


def use(build: Reals, chance: random.Random) -> None:
    """A value in the middle is taken by another node, too."""
    build.output(build("Exp", chance.choice(build.nodes).output[0]))


def put_before(build: Reals, chance: random.Random) -> None:
    """An operator between an input and what takes it."""
    port = chance.choice(build.inputs)
    number = len(build.nodes)
    build(chance.choice(("Exp", "Erf", "Sqrt", "Sigmoid", "Relu")), port.name)
    if chance.random() < 0.5:
        build.nodes.pop()
        value = np.array(chance.choice(NUMBERS), np.float32)
        operands = port.name, build.constant(value, f"of {number}")
        build(chance.choice(BINARY), *operands)
    made = build.nodes.pop()
    for node in build.nodes:
        node.input[:] = [made.output[0] if n == port.name else n for n in node.input]
    assert len(build.nodes) == number
    build.nodes.insert(0, made)


def change_axis(build: Reals, chance: random.Random) -> None:
    """The axes of a mean that are attributes."""
    node = chance.choice(build.nodes)
    for attribute in node.attribute:
        if attribute.name == "axes":
            attribute.ints[:] = chance.choice([[-1], [2], [1], [-2], [1, 2], [0]])


CHANGES: tuple[Change, ...] = (
    *(swap, exchange, change_number, change_row, take_as_input, use, put_before),
    change_axis,
)
LEFT_OUT = ("two distances", "whose")
"""Cases with two equal nodes: where one is returned, ONNX Runtime chooses the node to
keep by an order of its own."""


def drawn(chance: random.Random) -> tuple[str, Reals]:
    case = chance.choice(
        [c for c in sorted(CASES) if not any(w in c for w in LEFT_OUT)]
    )
    build = Reals(chance.choice([SINCE - 1, SINCE]))
    build.output(CASES[case](build))
    words = [case, f"opset {build.opset}"]
    for _ in range(chance.randint(1, 3)):
        if build.constants and build.inputs:
            change = chance.choice(CHANGES)
            change(build, chance)
            words.append(change.__name__)
    return ", ".join(words), build


def completed(found: object) -> object:
    """With the epsilon that LayerNormalization has by default."""
    if not isinstance(found, tuple):
        return found
    operator, numbers, *operands = found
    if operator == "LayerNormalization":
        numbers = {"epsilon": np.float32(1e-5), **numbers}
    return operator, numbers, *map(completed, operands)


def all_completed(found: Mapping[str, object]) -> str:
    return repr({name: completed(value) for name, value in found.items()})


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_changed_patterns(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    compared = 0
    for _ in range(COUNT):
        words, build = drawn(chance)
        path = build.save(tmp_path / "model.onnx")
        try:
            expected = fused_by_onnx_runtime(path, tmp_path)
        except Exception:  # onnxruntime's own, of a graph that means nothing
            continue
        try:
            found = fused(path)
        except QlowerError as error:
            if "known" not in str(error):
                raise
            continue
        assert all_completed(found) == all_completed(expected), words
        compared += 1
    assert compared > COUNT // 2
