"""Walks over scalar code take the time of its operations, not of a tree of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower

STEPS = {
    "muli": "%v{n} = arith.muli %v{m}, %v{m} : i32",
    "addi": "%v{n} = arith.addi %v{m}, %v{m} : i32",
    "subi": "%v{n} = arith.subi %v{m}, %v{m} : i32",
    "maxsi": "%v{n} = arith.maxsi %v{m}, %v{m} : i32",
    "clamp": "%v{n} = arith.minsi %v{m}, %three : i32",
    "select": "%v{n} = arith.select %true, %v{m}, %v{m} : i32",
    "shift": "%v{n} = fixed.shift_right %v{m}, %three {{rounding = half_up}} : i32",
    "float": "%f{n} = arith.sitofp %v{m} : i32 to f32\n"
    "%g{n} = arith.addf %f{n}, %f{n} : f32\n"
    "%v{n} = fixed.convert %g{n} {{rounding = half_even}} : f32 to i32",
}


def contract(steps: Sequence[str], count: int) -> str:
    """A contract of `count` steps in turn, each of which takes the one before twice."""
    texts = itertools.islice(itertools.cycle(steps), count)
    steps = "\n".join(text.format(n=n + 1, m=n) for n, text in enumerate(texts))
    return f"""module attributes {{contract.base = "tflite"}} {{
func.func private @steps(%v0: i32) -> i32 {{
%three = arith.constant 3 : i32
%true = arith.constant true
{steps}
func.return %v{count} : i32
}}
func.func @linear(%accumulator: i32) -> i32 {{
%r = func.call @steps(%accumulator) : (i32) -> i32
%low = arith.maxsi %r, -128 : i32
%result = arith.minsi %low, 127 : i32
func.return %result : i32
}}
}}
"""


def compare(steps: Sequence[str], count: int, folder: Path) -> None:
    """Native code and the interpreter give the same bits."""
    path = folder / "own.mlir"
    path.write_text(contract(steps, count))
    (folder / "model.mlir").write_text(SMALL_MODEL)
    model = qlower.load(folder / "model.mlir")
    x = np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)
    found = qlower.jit(model, contract=str(path))(x)
    wanted = qlower.interpret(model, x, contract=str(path))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parts(5)
def test_values_that_are_used_twice(tmp_path: Path):
    """As a tree, eighty steps are 10^24 operations: a walk of it never ends."""
    followed = [STEPS[step] for step in ("muli", "addi", "subi", "select", "shift")]
    compare(followed, 80, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
def test_long_chains(step: str, tmp_path: Path):
    """Longer than Python's stack."""
    compare([STEPS[step]], 1200, tmp_path)
