"""A network's real values, layer by layer, with a device and surrogates made here."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.frontends.load import named
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
evaluation: Any = import_module("qlower.torch.evaluation")

X, Y = "tensor<1x2x!x>", "tensor<2x1x!x>"
TEXT = f"""
!x = !quant.uniform<i8:f32, 5.000000e-01:3>
func.func @main(%a: {X}) -> ({Y}, tensor<2x1xf32>) {{
  %k = qnn.constant dense<[[5, -1]]> : tensor<1x2xi8> -> {X}
  %w = qnn.constant dense<[[1, 2]]> : tensor<1x2xi8> -> {X}
  %s = qnn.add %a, %k : ({X}, {X}) -> {X}
  %p = qnn.mul %s, %w : ({X}, {X}) -> {X}
  %r = qnn.reshape %p : ({X}) -> {Y}
  %y = qnn.dequantize %r : ({Y}) -> tensor<2x1xf32>
  return %r, %y : {Y}, tensor<2x1xf32>
}}
"""


@pytest.fixture
def device() -> Any:
    model = named(parse_module(TEXT), None)
    operations = tuple(layers(model.module))
    mul, reshape, dequantize = operations[1:]
    stored = {"s": [[7, 127]], "p": [[9, 4]], "y": [[3.25], [-1.0]]}
    types = {"y": np.float32}

    def run(inputs: Any, weights: Any) -> Any:
        given.append((inputs, weights))
        found = {
            name: np.array(v, types.get(name, np.int8)) for name, v in stored.items()
        }
        return None, found | {"r": None}

    given: list[Any] = []
    return SimpleNamespace(
        model=model,
        given=given,
        operations=operations,
        weights=["w"],
        weight_key=lambda spec: f"{spec}_key",
        weight_values=[mul.operands[1]],
        results=[reshape.results[0], dequantize.results[0]],
        names=dict(zip((op.results[0] for op in operations), "spry", strict=True)),
        result_keys={mul.results[0]: "p_key"},
        run=run,
    )


def surrogate(op: Any, values: Any) -> list[Any]:
    match op.name:
        case "qnn.add":
            return [values[0] + values[1]]
        case "qnn.mul":
            return [values[0] * values[1]]
        case "qnn.reshape":
            return [values[0].reshape(2, 1)]
        case _:
            return [values[0] * 1]


def test_results_that_rounding_changes(device: Any) -> None:
    replaced = vars(evaluation)["_replaced"]
    found = [
        "".join(device.names[one] for one in replaced(op)) for op in device.operations
    ]
    assert found == ["s", "p", "", "y"]
    constant = device.operations[0].operands[1].owner
    assert not replaced(constant)


def test_real_values_without_a_device(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants that aren't trained have the inputs' type."""
    monkeypatch.setattr(evaluation, "surrogate", surrogate)
    monkeypatch.setattr(evaluation, "real_input", lambda spec, x: x * 2)
    weights = torch.tensor([[10.0, 100.0]], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[1.5, -1.0]], dtype=torch.float64)
    found = evaluation.surrogate_outputs(device, [x], [weights], {})
    # The constant is [1, -2], by its scale and zero point.
    assert [one.tolist() for one in found] == [[[40.0], [-400.0]]] * 2
    assert {one.dtype for one in found} == {torch.float64}
    (slope,) = torch.autograd.grad(found[0].sum(), weights)
    assert slope.tolist() == [[4.0, -4.0]]


def test_the_devices_values_take_the_surrogates_places(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "surrogate", surrogate)
    asked: list[Any] = []

    def parameter(spec: Any, value: Any, scale: Any) -> Any:
        asked.append((spec, scale))
        return value.to(torch.int8), value

    monkeypatch.setattr(
        evaluation, "quantized_input", lambda spec, x: (x.to(torch.int8), x)
    )
    monkeypatch.setattr(evaluation, "quantized_parameter", parameter)
    x = torch.tensor([[1.0, 2.0]])
    weights = torch.tensor([[2.0, 3.0]], requires_grad=True)
    scale = torch.tensor(0.25, requires_grad=True)
    scales = {"w_key": "of w", "p_key": scale}
    found = evaluation.device_outputs(device, [x], [weights], scales)
    # (9 - 3) and (4 - 3) steps of the trained scale; dequantize's own numbers.
    assert [one.tolist() for one in found] == [[[1.5], [0.25]], [[3.25], [-1.0]]]
    assert asked == [("w", "of w")]
    ((inputs, stored),) = device.given
    assert [array.tolist() for array in inputs] == [[[1, 2]]]
    assert [array.tolist() for array in stored] == [[[2, 3]]]
    (slope,) = torch.autograd.grad(found[0].sum(), weights)
    # The sum is what the device has of it: (7 - 3) and (127 - 3) steps of 0.5.
    assert slope.tolist() == [[2.0, 62.0]]


def test_layers_of_the_device_are_constants_of_the_graph(device: Any) -> None:
    run = vars(evaluation)["_Run"]
    image = torch.zeros(1, 2, dtype=torch.int8)
    (found,) = run.forward(device, ["p"], 1, image)
    assert found.tolist() == [[9, 4]]
    assert [len(given) for given in device.given[0]] == [1, 0]
    marked: list[Any] = []
    ctx = SimpleNamespace(mark_non_differentiable=lambda *one: marked.extend(one))
    run.setup_context(ctx, (), (found,))
    assert marked == [found]
