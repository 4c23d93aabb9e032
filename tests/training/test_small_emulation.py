"""Float weights that a quantized module takes over: their order, layouts and refusals;
and operations that a device refuses."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.diagnostics import QlowerError
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
own: Any = vars(import_module("qlower.torch.emulation"))
devices: Any = import_module("qlower.torch.device")

LAYOUTS = {
    # PyTorch's shape, and the dimensions in qlower's order
    "linear": ((2, 3), (0, 1)),
    "convolution": ((2, 3, 4, 5), (0, 2, 3, 1)),
    "depthwise": ((6, 1, 4, 5), (1, 2, 3, 0)),
}


def layer(*shape: int, bias: int = 2) -> Any:
    weight = torch.nn.Parameter(torch.zeros(shape))
    return SimpleNamespace(weight=weight, bias=torch.nn.Parameter(torch.zeros(bias)))


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("with_bias", [True, False])
def test_weights_are_taken_in_their_order(kind: str, with_bias: bool) -> None:
    shape, order = LAYOUTS[kind]
    weight = torch.randn(shape)
    turned = weight.permute(order)
    bias = torch.tensor([1.0, 2.0]) if with_bias else None
    taken = layer(*turned.shape)
    own["_take_weights"](SimpleNamespace(layers={"a": taken}), [(weight, bias)])
    assert torch.equal(taken.weight.detach(), turned)
    assert taken.bias.tolist() == ([1, 2] if with_bias else [0, 0])


def test_weights_that_do_not_fit() -> None:
    take = own["_take_weights"]
    module = SimpleNamespace(layers={"a": layer(2, 3), "b": layer(2, 3)})
    weight = torch.zeros(2, 3), None
    with pytest.raises(QlowerError) as caught:
        take(module, [weight])
    assert caught.value.message == (
        "the quantized network has 2 layers with weights, the float one has 1"
    )
    assert caught.value.help == (
        "convolutions and linear layers must be modules, not functions"
    )
    for shape in ((3, 2), (2, 3, 1), (2, 3, 1, 1)):
        with pytest.raises(QlowerError) as caught:
            take(module, [weight, (torch.zeros(shape), None)])
        assert caught.value.message == (
            f"the weights of b have shape [2, 3], the float ones {list(shape)}"
        )


def test_weights_of_a_graph_in_its_order() -> None:
    """Each time that a module is called, with its activation or without."""
    conv, linear = torch.nn.Conv2d(1, 2, 3), torch.nn.Linear(4, 2, bias=False)
    joined, other = torch.nn.Sequential(conv, torch.nn.ReLU()), torch.nn.ReLU()
    modules = {"c": joined, "l": linear, "o": other, "": torch.nn.Module()}
    calls = (
        *(("placeholder", "c"), ("call_module", "l"), ("call_function", "l")),
        *(("call_module", "o"), ("call_module", "c"), ("call_module", "l")),
    )
    nodes = [SimpleNamespace(op=op, target=target) for op, target in calls]
    prepared = SimpleNamespace(
        named_modules=modules.items, graph=SimpleNamespace(nodes=nodes)
    )
    found = own["_float_weights"](prepared)
    assert [tuple(weight.shape) for weight, _ in found] == [
        (2, 4),
        (2, 1, 3, 3),
        (2, 4),
    ]
    assert [bias is None for _, bias in found] == [True, False, True]
    assert torch.equal(found[1][0], conv.weight)
    assert torch.equal(found[1][1], conv.bias)
    assert not found[1][0].requires_grad
    with torch.no_grad():
        conv.weight += 1
    assert not torch.equal(found[1][0], conv.weight)


REFUSED = {
    "%y = qnn.arg_max %x {axis = 1} : (tensor<1x2x!x>) -> tensor<1xi32>": (
        "qnn.arg_max has no gradient here"
    ),
    "%y = qnn.requantize %x : (tensor<1x2x!x>) -> tensor<1x2x!p>": (
        "the result of qnn.requantize has elements !quant.uniform<i8:f32:1"
    ),
    "%y = qnn.relu %x : (tensor<1x2x!x>) -> tensor<1x2x!x>": "",
    "%y = qnn.dequantize %x : (tensor<1x2x!x>) -> tensor<1x2xf32>": "",
}


@pytest.mark.parametrize("line", REFUSED)
def test_operations_of_a_device(line: str) -> None:
    text = (
        "!x = !quant.uniform<i8:f32, 0.5>\n!p = !quant.uniform<i8:f32:1, {0.5, 0.25}>\n"
        f"func.func @main(%x: tensor<1x2x!x>) {{\n  {line}\n  return\n}}"
    )
    (op,) = layers(parse_module(text))
    message = REFUSED[line]
    if not message:
        devices.check_supported(op)
        return
    with pytest.raises(QlowerError) as caught:
        devices.check_supported(op)
    assert caught.value.message.startswith(message)
    assert caught.value.location == op.location
