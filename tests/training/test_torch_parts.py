"""Parts of `qlower.torch` by themselves: a float network's way to a module, layers that
round nothing, and ranges that end at zero."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.diagnostics import QlowerError
from qlower.model.layers import layers
from qlower.model.weights import WeightSpec, weight_specs
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
emulation: Any = import_module("qlower.torch.emulation")
evaluation: Any = import_module("qlower.torch.evaluation")
devices: Any = import_module("qlower.torch.device")
quantizing: Any = import_module("qlower.torch.quantizing")
straight: Any = import_module("qlower.torch.straight_through")
surrogates: Any = import_module("qlower.torch.surrogates")


class Fx:
    """`prepare_fx` and `convert_fx`, which note what they are given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def prepare_fx(self, source: Any, mapping: object, example: Any) -> Any:
        self.calls.append(("prepare", (source.training, mapping, example)))

        def prepared(*inputs: Any) -> None:
            self.calls.append(("run", (inputs, torch.is_grad_enabled())))

        prepared_any: Any = prepared
        prepared_any.named_modules = lambda: [("l", source)]
        node = SimpleNamespace(op="call_module", target="l")
        prepared_any.graph = SimpleNamespace(nodes=[node])
        return prepared

    def convert_fx(self, prepared: Any) -> str:
        self.calls.append(("convert", None))
        return "converted"


@pytest.mark.parametrize("mapping", [None, "mine"])
def test_the_steps_of_an_emulation(
    mapping: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Observers see all of the calibration; the module has the float weights, of a copy
    of the network, and its own threads and contract."""
    fx = Fx()
    given: list[object] = []
    taken = SimpleNamespace(
        weight=torch.nn.Parameter(torch.zeros(2, 3)),
        bias=torch.nn.Parameter(torch.zeros(2)),
    )

    def module(model: object, contract: str, *, threads: int) -> object:
        given.append((model, contract, threads))
        return SimpleNamespace(layers={"l": taken})

    def from_fx(converted: object, *example: object) -> object:
        given.append((converted, len(example)))
        return "model"

    monkeypatch.setattr(emulation, "import_module", lambda _name: fx)
    monkeypatch.setattr(emulation, "_default_mapping", lambda: "default")
    monkeypatch.setattr(emulation, "from_fx", from_fx)
    monkeypatch.setattr(emulation, "Module", module)
    network = torch.nn.Linear(3, 2).train()
    a, b, c = (torch.full((1, 3), float(n)) for n in range(3))
    found = emulation.emulate(
        network, "exact", iter([a, (b, c)]), qconfig_mapping=mapping, threads=3
    )
    assert found.layers["l"] is taken
    assert given == [("converted", 1), ("model", "exact", 3)]
    assert [name for name, _ in fx.calls] == ["prepare", "run", "run", "convert"]
    assert fx.calls[0][1] == (False, mapping or "default", (a,))
    assert [call for _, call in fx.calls[1:3]] == [((a,), False), ((b, c), False)]
    assert network.training
    assert torch.equal(taken.weight, network.weight)
    assert torch.equal(taken.bias, network.bias)
    with pytest.raises(QlowerError) as caught:
        emulation.emulate(network, "exact", [])
    assert caught.value.message == "calibration is empty; at least one input is needed"


def test_the_observers_of_an_emulation() -> None:
    """Histograms of 8 bits for activations, and a range for each channel of weights."""
    chosen: Any = vars(emulation)["_default_mapping"]().global_qconfig
    activation, weight = chosen.activation(), chosen.weight()
    assert type(activation).__name__ == "HistogramObserver"
    assert (activation.quant_min, activation.quant_max) == (0, 255)
    assert type(weight).__name__ == "PerChannelMinMaxObserver"
    assert weight.ch_axis == 0


def test_a_device_is_not_mapped() -> None:
    with pytest.raises(QlowerError) as caught:
        straight.DeviceFunction.vmap(None, (0,), torch.zeros(2))
    assert caught.value.message == "torch.vmap can't map over a device"
    assert caught.value.help == (
        "a set of inputs runs in one step: give it to the module itself"
    )


TYPES = """
!x = !quant.uniform<i8:f32, 0.5:3>
!low = !quant.uniform<i8:f32, 0.5:-128>
!high = !quant.uniform<i8:f32, 0.5:127>
!axis = !quant.uniform<i8:f32:1, {0.5:-128, 0.5:-128}>
"""


def operation(line: str) -> Any:
    """The one layer of a module."""
    text = f"{TYPES}func.func @main({line.partition('|')[0]}) {{\n"
    found = layers(parse_module(f"{text}  {line.partition('|')[2]}\n  return\n}}"))
    return next(iter(found))


def test_the_devices_real_numbers_have_the_gradient_of_the_real_layer() -> None:
    real = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    device = torch.tensor([1.5, -2.5])
    op = operation(
        "%x: tensor<2x!x>|%y = qnn.dequantize %x : (tensor<2x!x>)->tensor<2xf32>"
    )
    found = vars(evaluation)["_with_result"](op.results[0], real, device, None)
    assert (found.tolist(), found.dtype) == ([1.5, -2.5], torch.float64)
    (slope,) = torch.autograd.grad((found * torch.tensor([3.0, 5.0])).sum(), real)
    assert slope.tolist() == [3, 5]
    device += 1
    assert found.tolist() == [1.5, -2.5]


def test_a_result_has_its_types_scale_or_a_trained_one() -> None:
    op = operation("%x: tensor<2x!x>|%y = qnn.relu %x : (tensor<2x!x>) -> tensor<2x!x>")
    real = torch.tensor([1.0, 90.0], requires_grad=True)
    stored = torch.tensor([5, 127], dtype=torch.int8)
    replaced = vars(evaluation)["_with_result"]
    found = replaced(op.results[0], real, stored, None)
    assert found.tolist() == [1, 62]
    (slope,) = torch.autograd.grad(found.sum(), real)
    assert slope.tolist() == [1, 0]
    scale = torch.tensor(0.25, requires_grad=True)
    assert replaced(op.results[0], real, stored, scale).tolist() == [0.5, 31]


def test_the_devices_layers_have_no_gradient_of_their_own() -> None:
    run = vars(evaluation)["_Run"]
    ctx = SimpleNamespace(needs_input_grad=(False, False, True))
    assert run.backward(ctx, torch.ones(1)) == (None, None, None)


@pytest.mark.parametrize(
    ("type", "found"),
    [
        ("!x", [-2.0, 0.0, 3.0]),
        ("!low", [0.0, 0.0, 3.0]),
        ("!high", [-2.0, 0.0, 0.0]),
        ("f32", [-2.0, 0.0, 3.0]),
    ],
)
def test_a_range_that_ends_at_zero_cuts(type: str, found: list[float]) -> None:
    t = f"tensor<3x{type}>"
    op = operation(f"%x: {t}|%y = qnn.reshape %x : ({t}) -> {t}")
    real = torch.tensor([-2.0, 0.0, 3.0])
    assert surrogates.cut_at_zero(op.results[0], real).tolist() == found


def test_ranges_of_channels_do_not_cut() -> None:
    t = "tensor<1x2x!axis>"
    op = operation(f"%x: {t}|%y = qnn.reshape %x : ({t}) -> {t}")
    real = torch.tensor([[-2.0, 3.0]])
    assert surrogates.cut_at_zero(op.results[0], real) is real


IMAGE = "tensor<2x3x4x!x>"


@pytest.mark.parametrize(
    ("axes", "keep", "result"),
    [
        ("[1]", False, "2x4"),
        ("[0, 2]", False, "3"),
        ("[2, 0]", True, "1x3x1"),
        ("[0, 1, 2]", False, ""),
    ],
)
def test_products_along_axes(axes: str, keep: bool, result: str) -> None:
    kept = ", keep_dims" if keep else ""
    shape = f"{result}x" if result else ""
    op = operation(
        f"%x: {IMAGE}|%y = qnn.product %x {{axes = {axes}{kept}}} : "
        f"({IMAGE}) -> tensor<{shape}!x>"
    )
    x = torch.arange(24, dtype=torch.float64).reshape(2, 3, 4) / 8 + 0.5
    wanted = x
    for axis in sorted(map(int, axes.strip("[]").split(",")), reverse=True):
        wanted = wanted.log().sum(axis, keepdim=keep).exp()
    (found,) = surrogates.surrogate(op, [x])
    assert found.shape == tuple(map(int, filter(None, result.split("x"))))
    assert torch.allclose(found, wanted)


def test_parts_and_activations_of_surrogates() -> None:
    x = torch.arange(8.0).reshape(2, 4)
    half = "tensor<2x2x!x>"
    op = operation(
        f"%x: tensor<2x4x!x>|%y:2 = qnn.split %x {{axis = 1}} : (tensor<2x4x!x>) -> "
        f"({half}, {half})"
    )
    found = surrogates.surrogate(op, [x])
    assert [part.tolist() for part in found] == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    cuts = {"relu": [0, 3, 9], "relu6": [0, 3, 6], "relu_n1_to_1": [-1, 1, 1]}
    for activation, wanted in cuts.items():
        t = "tensor<3x!x>"
        op = operation(
            f'%x: {t}|%y = qnn.add %x, %x {{activation = "{activation}"}} : '
            f"({t}, {t}) -> {t}"
        )
        given = torch.tensor([-1.5, 1.5, 4.5])
        (found,) = surrogates.surrogate(op, [given, given])
        assert found.tolist() == wanted


LINEAR = """
!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5}>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {
  %w = qnn.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %b = arith.constant dense<[7, -3]> : tensor<2xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x2x!x>, tensor<2x2x!w>, tensor<2xi32>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}
"""


def linear_specs() -> tuple[WeightSpec, WeightSpec]:
    weight, bias = weight_specs(parse_module(LINEAR))
    return weight, bias


def test_weights_with_the_gradient_of_scales() -> None:
    """Each channel's own; trained ones take the place of the type's for the real
    values, not for what is stored. A bias is divided in float64."""
    weight, bias = linear_specs()
    real = torch.tensor([[0.3, -0.5], [40.0, 2.0]], requires_grad=True)
    stored, found = quantizing.quantized_parameter(weight, real)
    assert (stored.tolist(), stored.dtype) == ([[1, -2], [80, 4]], torch.int8)
    assert (found.tolist(), found.dtype) == ([[0.25, -0.5], [40, 2]], torch.float32)
    trained = torch.tensor([0.5, 0.25], requires_grad=True)
    stored, found = quantizing.quantized_parameter(weight, real, trained)
    assert stored.tolist() == [[1, -2], [80, 4]]
    assert found.tolist() == [[0.5, -1.0], [20, 1]]
    slopes = torch.autograd.grad(found.sum(), [real, trained])
    assert [slope.shape for slope in slopes] == [(2, 2), (2,)]
    stored, found = quantizing.quantized_parameter(bias, torch.tensor([0.9, -0.7]))
    assert (stored.tolist(), stored.dtype) == ([7, -3], torch.int32)
    assert found.tolist() == pytest.approx([0.875, -0.75])
    assert found.dtype == torch.float32


def test_parameters_without_scales_stay_as_they_are() -> None:
    weight, _ = linear_specs()
    plain = replace(weight, scales=(), zero_points=())
    real = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    stored, found = quantizing.quantized_parameter(plain, real)
    assert found is real
    assert stored.dtype == torch.int8
    assert not stored.requires_grad


def test_jax_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays: Any = import_module("qlower.torch.arrays")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(arrays, "import_module", missing)
    with pytest.raises(QlowerError) as caught:
        arrays.jax_function(SimpleNamespace())
    assert caught.value.message == "jax_function needs JAX"
    assert caught.value.help == "pip install jax"
