"""Models whose first dimension counts examples, and operations that mix them."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from training.test_improvement_steps import LONE, work

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec, weight_specs
from qlower.text.parsing import parse_module

pytest.importorskip("torch", reason="torch is not installed")


def test_models_whose_examples_cannot_be_counted_are_refused() -> None:
    """All values begin with a dimension of 1, which no operation mixes with others."""
    two = LONE.replace("tensor<1x", "tensor<2x")
    with pytest.raises(
        QlowerError, match="has values whose first dimension doesn't count examples"
    ):
        assert work(text=two).network
    mixed = LONE.replace("-> tensor<1x2x!z> {", "-> tensor<2x1x!z> {").replace(
        "return %0 : tensor<1x2x!z>",
        "%1 = qnn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<1x2x!z>) "
        "-> tensor<2x1x!z>\n  return %1 : tensor<2x1x!z>",
    )
    with pytest.raises(QlowerError, match="doesn't count examples"):
        assert work(text=mixed).network


MIXING = """
!x = !quant.uniform<i8:f32, 5.0e-01:-3>
func.func @main(%a: {a}, %b: {b}) -> {y} {{
  %y = {op}
  return %y : {y}
}}"""
T = "tensor<{}x!x>".format


@pytest.mark.parametrize(
    ("op", "a", "b", "y", "mixes"),
    [
        ("qnn.add %a, %b : ({a}, {b}) -> {y}", "1x3", "1x3", "1x3", False),
        ("qnn.add %a, %b : ({a}, {b}) -> {y}", "1x3", "3", "1x3", True),
        (
            "qnn.concat %a, %b {{axis = 0}} : ({a}, {b}) -> {y}",
            "1x3",
            "1x3",
            "2x3",
            True,
        ),
        (
            "qnn.concat %a, %b {{axis = 1}} : ({a}, {b}) -> {y}",
            "1x3",
            "1x3",
            "1x6",
            False,
        ),
        (
            "qnn.transpose %a {{perm = [0, 2, 1]}} : ({a}) -> {y}",
            "1x3x1",
            "1",
            "1x1x3",
            False,
        ),
        (
            "qnn.transpose %a {{perm = [2, 1, 0]}} : ({a}) -> {y}",
            "1x3x1",
            "1",
            "1x3x1",
            True,
        ),
        ("qnn.mean %a {{axes = [1]}} : ({a}) -> {y}", "1x3", "1", "1x1", False),
        ("qnn.mean %a {{axes = [0]}} : ({a}) -> {y}", "1x3", "1", "1x3", True),
        ("qnn.softmax %a : ({a}) -> {y}", "1x3", "1", "1x3", False),
        ("qnn.softmax %a : ({a}) -> {y}", "3", "1", "3", True),
        ("qnn.matmul %a, %b : ({a}, {b}) -> {y}", "1x2x3", "1x3x2", "1x2x2", False),
        ("qnn.matmul %a, %b : ({a}, {b}) -> {y}", "1x3", "3x2", "1x2", True),
    ],
)
def test_operations_that_mix_examples(
    op: str, a: str, b: str, y: str, mixes: bool
) -> None:
    types = {"a": T(a), "b": T(b), "y": T(y)}
    module = parse_module(MIXING.format(op=op.format(**types), **types))
    (made,) = (one for one in module.walk() if one.name.startswith("qnn."))
    inner = vars(import_module("qlower.torch.device"))["_mixes_examples"]
    assert inner(made) is mixes


def test_weights_are_quotients_of_float32_and_biases_of_float64() -> None:
    """0.35 / 0.1 is a tie in float32, which goes to the even 4, and less than one in
    float64, as 0.35 is float32's."""
    torch = import_module("torch")
    quantizing = import_module("qlower.torch.quantizing")
    text = LONE.replace("i8<-127:127>:f32, 2.5e-01", "i8<-127:127>:f32, 1.0e-01")
    weight, bias = weight_specs(parse_module(text))
    assert (weight.role, bias.role) == ("weight", "bias")
    real = torch.full(weight.stored.shape, 0.35)
    assert (real[0, 0] / np.float32(0.1)).item() == 3.5
    assert set(quantizing.stored_parameter(weight, real).flatten().tolist()) == {4}
    given = torch.full(bias.stored.shape, 0.15)
    found = quantizing.stored_parameter(bias, given)
    exact = 0.15000000596046448 / float(bias.scales[0])
    assert found.tolist() == [round(exact)] * 2


@pytest.mark.parametrize(
    ("stored", "type"),
    [
        (np.array([0, 1 - (1 << 23)], np.int32), "32"),
        (np.array([0, -(1 << 23)], np.int32), "64"),
        (np.zeros((2, 0), np.int8), "32"),
        (np.array([1e9], np.float32), "32"),  # a bias of real numbers is what it is
    ],
)
def test_codes_that_float32_would_round_are_float64(stored: Array, type: str) -> None:
    spec = SimpleNamespace(stored=stored, real=stored.astype(np.float64))
    parameter = import_module("qlower.torch.quantizing").initial_parameter(
        cast(WeightSpec, spec)
    )
    assert str(parameter.dtype) == f"torch.float{type}"
