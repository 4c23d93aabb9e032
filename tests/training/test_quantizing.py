"""Integers of real tensors: the types of parameters and of inputs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model.signature import TensorSpec
from qlower.model.weights import WeightSpec

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
own: Any = import_module("qlower.torch.quantizing")


@pytest.mark.parametrize(
    ("numbers", "type"),
    [
        (np.array([(1 << 23) - 1, -5], np.int32), "float32"),
        (np.array([1 << 23, 0], np.int32), "float64"),
        (np.array([1 - (1 << 23)], np.int32), "float32"),
        (np.array([-(1 << 23)], np.int32), "float64"),
        (np.array([-(1 << 31)], np.int32), "float64"),
        (np.array([-128], np.int8), "float32"),
        (np.array([], np.int32), "float32"),
        (np.array([1e30], np.float32), "float32"),
    ],
)
def test_types_of_parameters(numbers: Array, type: str) -> None:
    """A float32 number gives all smaller integers again."""
    steps = ((0.5,), (0,)) if numbers.dtype.kind == "i" else ((), ())
    limits = None, -(1 << 31), (1 << 31) - 1
    spec = WeightSpec("l", "bias", numbers, *steps, *limits, None, ("l",))
    found = own.initial_parameter(spec)
    assert found.dtype == getattr(torch, type)
    factor = 0.5 if numbers.dtype.kind == "i" else 1
    assert found.tolist() == (numbers * factor).tolist()


STORED = TensorSpec("x", (1, 3), "int8", (0.5,), (3,))
REAL = TensorSpec("x", (1, 3), "float32", (), ())


def test_inputs() -> None:
    """Real ones are rounded half to even, and clipped; stored ones are taken."""
    given = torch.tensor([[0.25, 0.75, 900.0]], dtype=torch.float16)
    stored, real = own.quantized_input(STORED, given)
    assert (stored.tolist(), stored.dtype) == ([[3, 5, 127]], torch.int8)
    assert (real.tolist(), real.dtype) == ([[0.0, 1.0, 62.0]], torch.float32)
    stored, real = own.quantized_input(STORED, torch.tensor([[3, -128, 5]]).char())
    assert stored.tolist() == [[3, -128, 5]]
    assert real.tolist() == [[0.0, -65.5, 1.0]]
    wide = torch.tensor([[0.25, 1.0, 2.0]], dtype=torch.float64)
    stored, real = own.quantized_input(REAL, wide)
    assert (stored.dtype, real.dtype) == (torch.float32, torch.float64)
    assert own.single(wide) is wide


def test_inputs_of_other_types() -> None:
    for spec, message in (
        (
            STORED,
            "input 'x' has type torch.int32; real values or stored ones of torch.int8"
            " are expected",
        ),
        (REAL, "input 'x' has type torch.int32, the model takes torch.float32"),
    ):
        with pytest.raises(QlowerError) as caught:
            own.quantized_input(spec, torch.zeros(1, 3, dtype=torch.int32))
        assert caught.value.message == message
