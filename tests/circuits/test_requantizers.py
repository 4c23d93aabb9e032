"""The circuit for all convolutions of a model: its rule, its ports, what is refused."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SIGNED_MODEL

import qlower
from qlower.circuits import cost
from qlower.circuits.requantizer import requantizer
from qlower.contract_pages.contract_differences import Disagreement
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

ADDITION = """
!x = !quant.uniform<i8:f32, 0.5:-3>
func.func @main(%a: tensor<1x4x!x>) -> tensor<1x4x!x> {
  %y = qnn.add %a, %a : (tensor<1x4x!x>, tensor<1x4x!x>) -> tensor<1x4x!x>
  return %y : tensor<1x4x!x>
}
"""


@pytest.fixture(scope="module")
def model() -> qlower.Model:
    return qlower.Model(parse_module(SIGNED_MODEL, "signed.mlir"))


def test_ports_of_the_convolutions_alone(model: qlower.Model) -> None:
    """A linear layer is not looked at where there are convolutions; sums of each
    channel have the bias: 0 to 255 times 64 or -32."""
    circuit = requantizer(model, load_contract("tflm"))
    assert (circuit.rule, circuit.layer, circuit.stages) == ("conv2d", "", 0)
    assert (circuit.name, circuit.contract) == ("tflm_conv2d", "tflm")
    accumulator, *others = circuit.arguments
    assert accumulator.name == "accumulator"
    assert (accumulator.low.tolist(), accumulator.high.tolist()) == (
        *([100, -8360], [16420, -200]),
    )
    assert not accumulator.parameter
    assert all(one.parameter and len(one.low) == 2 for one in others)
    assert "module tflm_conv2d" in circuit.text


def test_models_and_rules_without_one(model: qlower.Model) -> None:
    with pytest.raises(QlowerError) as caught:
        requantizer(model, load_contract("exact"))
    assert caught.value.message.startswith(
        "rule conv2d of contract exact has a step in floats, arith."
    )
    none = qlower.Model(parse_module(ADDITION, "add.mlir"))
    with pytest.raises(QlowerError) as caught:
        requantizer(none, load_contract("tflm"))
    assert caught.value.message == (
        "the model has no convolutions and no linear layers"
    )


def test_values_that_are_not_given(model: qlower.Model) -> None:
    """A rule that asks for what only the layer itself knows."""
    module = vars(import_module("qlower.circuits.requantizer"))
    contract = load_contract("tflm")
    sums = module["_Sums"]({}, np.zeros(2, np.int64), np.ones(2, np.int64))
    asked = next(v for v in contract.rule("conv2d").values if v != "accumulator")
    with pytest.raises(QlowerError) as caught:
        module["_circuit"](contract, "conv2d", [sums])
    assert caught.value.message == (
        f"rule conv2d of contract tflm asks for {asked}, which a requantizer isn't "
        "given"
    )


@pytest.mark.parametrize("is_there", [True, False])
def test_a_cost_with_and_without_yosys(
    is_there: bool, model: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    difference = Disagreement(10, 1, 1)
    inner: Any = vars(cost)["_cost"]
    monkeypatch.setattr(cost, "is_installed", lambda name: is_there)
    monkeypatch.setattr(cost, "area_of", lambda circuit: circuit.name)
    found = inner(model, "tflm", difference)
    assert (found.contract, found.why) == ("tflm", "")
    assert found.area == ("tflm_conv2d" if is_there else None)
    assert found.difference is difference
    none = inner(model, "exact", difference)
    assert (none.circuit, none.area) == (None, None)
    assert none.why.startswith("rule conv2d of contract exact has a step in floats")
