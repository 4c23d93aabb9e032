"""Sums of real numbers without any rounding, from where a contract starts them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from qlower.frontends.load import named
from qlower.observe.layer_run import run_layer
from qlower.text.parsing import parse_module

MODEL = """
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {{
  %w = arith.constant dense<[[3.0, 1.0e-9], [1.0, 2.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[1.0e9, -7.0]> : tensor<2xf32>
  %y = qnn.real_linear %x, %w{bias} {{contract = "{contract}"}}
    : (tensor<1x2xf32>, tensor<2x2xf32>{type}) -> tensor<1x2xf32> loc("y")
  return %y : tensor<1x2xf32>
}}"""


def meant(contract: str, given: list[float], *, has_bias: bool) -> tuple[str, Any]:
    """The rule of the second element, and its exact sum."""
    parts = {"bias": ", %b", "type": ", tensor<2xf32>"} if has_bias else {}
    text = MODEL.format(contract=contract, **({"bias": "", "type": ""} | parts))
    model = named(parse_module(text), None)
    x = np.array([given], np.float32)
    values = {model.inputs[0].name: x, "y": np.zeros((1, 2), np.float32)}
    found = run_layer(model, contract, "y", values).meant((0, 1))
    assert found is not None
    return found[0], found[1]["sum"].item()


@pytest.mark.parametrize(
    ("contract", "has_bias", "exact"),
    [
        ("tflite", False, 5),
        ("tflite", True, 5),
        ("onnxruntime", True, -2),
        ("onnxruntime", False, 5),
    ],
)
def test_sums_start_where_the_contract_says(
    contract: str, has_bias: bool, exact: int
) -> None:
    assert meant(contract, [1.0, 2.0], has_bias=has_bias) == ("real_linear", exact)


def test_nothing_is_rounded() -> None:
    tiny = float(np.float32(1e-30))
    _, found = meant("tflite", [1.0, tiny], has_bias=False)
    assert found == 1 + 2 * Fraction(tiny)
