"""Operators of TOSA in text, in every executor, beside the TOSA reference model.

A module in `tosa/` returns the result of each of its operations.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.tosa import has_reference_model, run_reference_model
from support.systems.recordings import make_executors

import qlower
from qlower.interp.values import Array

pytestmark = pytest.mark.skipif(
    not has_reference_model(), reason="tosa-tools is not installed"
)

MODULES = sorted((Path(__file__).parent / "tosa").glob("*.mlir"))

ROUNDS = 4
"""Sets of inputs for each module."""


@pytest.mark.parts(7)
@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_operators(path: Path):
    model = qlower.load(path)
    executors = make_executors(model, None, MODULES.index(path))
    choice = np.random.default_rng(MODULES.index(path))
    for _ in range(ROUNDS):
        inputs = [draw(s.name, s.shape, s.dtype, choice) for s in model.inputs]
        expected = run_reference_model(path.read_text(), inputs)
        for name, executor in executors.items():
            outputs, _ = executor.run(inputs, {})
            for i, (found, wanted) in enumerate(zip(outputs, expected, strict=True)):
                np.testing.assert_array_equal(found, wanted, f"{name}, result {i}")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_operators_interpreted(path: Path):
    model = qlower.load(path)
    choice = np.random.default_rng(1000 + MODULES.index(path))
    inputs = [draw(s.name, s.shape, s.dtype, choice) for s in model.inputs]
    found = qlower.interpret(model, *inputs)
    expected = run_reference_model(path.read_text(), inputs)
    results = found if isinstance(found, tuple) else (found,)
    for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(result, wanted, f"result {i}")


def draw(
    name: str, shape: tuple[int, ...], dtype: str, choice: np.random.Generator
) -> Array:
    """Elements of any size, but for those for which TOSA has no result: what is called
    `divisor`, `places`, `rows` or `order` is used as such, what is called `ranks` has
    few different numbers."""
    if dtype == "float32":
        real = choice.standard_normal(shape) * 10 ** choice.uniform(-3, 2)
        return (np.round(real) if name == "ranks" else real).astype(np.float32)
    if dtype == "bool":
        return choice.integers(0, 2, shape).astype(np.bool_)
    if name in ("places", "rows"):
        return choice.integers(0, 32 if name == "places" else 5, shape).astype(np.int32)
    if name == "order":
        return choice.permuted(np.arange(5, dtype=np.int32))[: shape[-1]].reshape(shape)
    # Sums of three have to fit.
    size = choice.integers(1, np.iinfo(dtype).bits - 2)
    drawn = choice.integers(-(1 << size), 1 << size, shape).astype(dtype)
    return np.where(drawn == 0, 1, drawn) if name == "divisor" else drawn
