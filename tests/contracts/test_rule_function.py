"""Rules as functions of arrays, and contracts that a name describes."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.layers.device_layers import convolution
from support.values.near_ties import REFUSING
from xdsl.dialects.builtin import StringAttr

import qlower
from qlower.cli import main
from qlower.cli.usage.contracts import NEW_CHOICES
from qlower.contracts import contract_names, load_contract
from qlower.contracts.family import Arithmetic, arithmetic_text
from qlower.contracts.family.choices import CHOICES
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.interp.values import Array
from qlower.model.build import make_model, quantized
from qlower.model.random_inputs import random_inputs
from qlower.observe.layer_run import LayerRun, run_layer

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
LAYERS = {
    **{"conv2d_2": "conv2d", "pointwise": "conv2d"},
    **{"depthwise": "depthwise_conv2d", "logits": "linear"},
}
"""The rules of layers, of the digits' and of one that every contract takes."""


@cache
def inputs() -> dict[str, dict[str, Array]]:
    """Layers' inputs on a drawn image."""
    model = qlower.load(DIGITS)
    drawn = random_inputs(model.inputs, 3)
    found: dict[str, Array] = {}
    qlower.interpret(model, *drawn, contract="tflite", layers=found)
    return {name: {**found, model.inputs[0].name: drawn[0]} for name in LAYERS}


def constants_of(run: LayerRun) -> dict[str, Any]:
    """The scales and zero points of a layer, and what else its rule asks for."""
    op = run.op
    types = {"input": op.operands[0], "weight": op.operands[1], "output": op.results[0]}
    given: dict[str, Any] = {}
    for name, value in types.items():
        element = quantized_element(value.type)
        scales, zeros = list(element.scales), list(element.zero_points)
        is_one = len(scales) == 1
        given[f"{name}_scale"] = scales[0] if is_one else scales
        given[f"{name}_zero_point"] = zeros[0] if is_one else zeros
    rest = ("accumulator_min", "accumulator_max", "input_channels", "groups")
    rest += ("weight_sum",)
    rest += tuple(
        f"{what}_{side}"
        for what in ("kernel", "stride", "dilation", "pad")
        for side in ("height", "width", "top", "bottom", "left", "right")
    )
    evaluation = run.evaluations[-1]
    wanted = evaluation.rule.values
    return given | {n: evaluation.values[n] for n in rest if n in wanted}


@pytest.mark.parts(18)
@pytest.mark.parametrize(
    ("contract", "layer"),
    [
        *(
            (contract, "conv2d_2" if contract in REFUSING else "pointwise")
            for contract in contract_names()
        ),
        *itertools.product(("tflite", "onnxruntime"), ("depthwise", "logits")),
    ],
)
def test_a_rule_gives_what_the_layer_gives(contract: str, layer: str) -> None:
    model, values = qlower.load(DIGITS), inputs()[layer]
    if layer == "conv2d_2":
        model, image = convolution(contract)
        values = {model.inputs[0].name: image}
    run = run_layer(model, contract, layer, values)
    evaluation = run.evaluations[-1]
    store = qlower.rule(contract, LAYERS[layer])
    takes_bias = not {"bias", "real_bias"}.isdisjoint(evaluation.rule.values)
    activation = run.op.properties.get("activation")
    assert activation is None or isinstance(activation, StringAttr)
    found = store(
        np.broadcast_to(evaluation.values["accumulator"], run.result.shape),
        bias=run.bias if takes_bias else None,
        activation=None if activation is None else activation.data,
        **constants_of(run),
    )
    np.testing.assert_array_equal(found, run.result)


@pytest.mark.parts(3)
@pytest.mark.parametrize("contract", ["tflite", "pytorch-qnnpack"])
@pytest.mark.parametrize("kind", ["integer", "real"])
def test_a_bias_is_added_as_the_contract_does(contract: str, kind: str) -> None:
    run = run_layer(qlower.load(DIGITS), contract, "logits", inputs()["logits"])
    constants = constants_of(run)
    assert run.bias is not None
    assert run.exact_sums is not None
    step = np.array(constants["input_scale"]) * np.array(constants["weight_scale"])
    bias = run.bias if kind == "integer" else (run.bias * step).astype(np.float32)
    found = qlower.rule(contract, "linear")(run.exact_sums, bias=bias, **constants)
    np.testing.assert_array_equal(found, run.result)


@pytest.mark.parts(3)
@pytest.mark.parametrize("kind", ["AddOp", "SubOp", "MulOp"])
@pytest.mark.parametrize("contract", ["tflite", "exact", "tvm"])
def test_operations_on_two_elements(contract: str, kind: str) -> None:
    a, b, c = (quantized([64], s, z) for s, z in ((0.1, 3), (0.2, -7), (0.3, 11)))
    make = getattr(qnn, kind)
    model = make_model([a, b], lambda x, y: [make(x, y, c).result])
    drawn = random_inputs(model.inputs, 1)
    found = qlower.rule(contract, kind[:-2].lower())(
        *drawn,
        lhs_scale=0.1,
        lhs_zero_point=3,
        rhs_scale=0.2,
        rhs_zero_point=-7,
        output_scale=0.3,
        output_zero_point=11,
    )
    wanted = qlower.interpret(model, *drawn, contract=contract)
    np.testing.assert_array_equal(found, wanted)


def test_tensors_give_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    store = qlower.rule("tflite", "linear")
    scales: dict[str, Any] = {
        "input_scale": 0.02,
        "weight_scale": 0.01,
        "output_scale": 0.05,
    }
    sums = np.arange(-1000, 1000, 7)
    found = store(torch.tensor(sums), **scales)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), store(sums, **scales))


SCALES: dict[str, Any] = {"input_scale": 0.1, "weight_scale": 0.1, "output_scale": 0.1}
REFUSED: dict[str, dict[str, Any]] = {
    "asks for output_scale": {"output_scale": None},
    "no value 'input_scales'": {"input_scales": 1.0},
    "must be positive and finite": {"output_scale": -1.0},
    "dtype 'int4' is not one of": {"dtype": "int4"},
    "activation 'gelu' is not one of": {"activation": "gelu"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_values_are_named(message: str) -> None:
    given = {k: v for k, v in (SCALES | REFUSED[message]).items() if v is not None}
    with pytest.raises(qlower.QlowerError, match=message):
        qlower.rule("tflite", "linear")(np.array([1]), **given)


def test_wrong_arrays_are_named() -> None:
    store = qlower.rule("tflite", "linear")
    with pytest.raises(qlower.QlowerError, match="float64, integers are needed"):
        store(np.array([1.5]), **SCALES)
    with pytest.raises(qlower.QlowerError, match="takes accumulator"):
        store(np.array([1]), np.array([1]), **SCALES)
    with pytest.raises(qlower.QlowerError, match="input 300 is not int8"):
        qlower.rule("tflite", "requantize")(np.array([300]), input_scale=1.0)
    with pytest.raises(qlower.QlowerError, match="no operation 'conv'"):
        qlower.rule("tflite", "conv")


# ---------------------------------------------------------------- names of arithmetics

CHOSEN = {"multiplier": "12 bits, floor", "accumulator": "20 bits, saturate"}


def test_an_arithmetic_is_the_contract_of_its_choices() -> None:
    one = load_contract(qlower.arithmetic(base="tvm", **CHOSEN))
    text = arithmetic_text(Arithmetic(**CHOSEN), "tvm", summary="any")
    functions = text[text.index("} {") :]
    assert functions in one.source
    assert one.base is not None
    assert one.base.name == "tvm"


@pytest.mark.parts(10)
@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_can_be_named(name: str) -> None:
    wanted = {
        "products": {"accumulator": "20 bits, saturate"},
        "bias": {"scaling": "divide f32"},
        "scales": {"scaling": "divide f32"},
        "ratio": {"scaling": "multiply f32"},
        "zero_point": {"scaling": "reciprocal f32"},
    }
    usual = wanted.get(name, {})
    text = ""
    for value in CHOICES[name]:
        text = qlower.arithmetic(**{**usual, name: value})
        assert value.replace(",", "") in text or value in vars(Arithmetic()).values()
    assert load_contract(text).rules


def test_spellings() -> None:
    names = {qlower.arithmetic(multiplier=v) for v in (12, "12", "12 bits, half_up")}
    assert len(names) == 1
    assert names == {"arithmetic: base tflite; multiplier 12 bits half_up"}


@pytest.mark.long
def test_an_arithmetic_goes_wherever_a_contract_does(tmp_path: Path) -> None:
    model = qlower.load(DIGITS)
    (x,) = random_inputs(model.inputs, 0)
    one = qlower.arithmetic(**CHOSEN)
    wanted = qlower.interpret(model, x, contract=one)
    np.testing.assert_array_equal(qlower.jit(model, one)(x), wanted)
    found = qlower.diff(one, f"{one}:jit", model, x)
    assert found.is_equal
    assert not qlower.diff("tflite", one, model, x).is_equal
    file = tmp_path / "own.mlir"
    given = ["--multiplier", "12, floor", "--accumulator", "20 saturate"]
    assert main(["contracts", "new", str(file), *given]) == 0
    assert qlower.diff(one, str(file), model, x).is_equal
    assert main(["contracts", "new", str(file), *given]) == 1
    arguments = ["run", str(DIGITS), "--random", "--layer-contract", f"conv*={one}"]
    assert main(arguments) == 0


def test_the_base_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.mlir"
    file.write_text('module attributes {contract.base = "tvm"} {\n}\n')
    for choices in ({}, CHOSEN):
        one = load_contract(qlower.arithmetic(base=str(file), **choices))
        assert one.base is not None
        assert one.base.name == "own"


def test_the_command_has_all_choices() -> None:
    assert NEW_CHOICES.keys() == CHOICES.keys()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"multiplier": "40"}, "8 to 32 bits, half_up"),
        ({"multiplied": "12"}, "no choice 'multiplied'"),
        ({"scaling": "multiply f32", "multiplier": "12"}, "makes no difference"),
        ({"first": "half_up", "zero_point": "inside"}, "makes no difference, or can't"),
    ],
)
def test_wrong_choices_are_refused(choices: dict[str, str], message: str) -> None:
    with pytest.raises(qlower.QlowerError, match=message):
        qlower.arithmetic(**choices)


@pytest.mark.parametrize(
    "name", ["arithmetic: multiplier", "arithmetic: first once; first once"]
)
def test_wrong_names_are_refused(name: str) -> None:
    with pytest.raises(qlower.QlowerError, match="is not CHOICE VALUE, once"):
        load_contract(name)


@pytest.mark.parametrize("rule", ["linear", "depthwise_conv2d"])
def test_one_arithmetic_is_that_of_all_contractions(rule: str) -> None:
    contract = qlower.arithmetic("tflite", multiplier="12 bits, floor")
    sums = np.arange(-3000, 3000, 7)
    scales: dict[str, Any] = {
        "input_scale": 0.0123,
        "weight_scale": 0.0471,
        "output_scale": 0.037,
    }
    own, common, base = (
        qlower.rule(name, kind)(sums, **scales)
        for name, kind in ((contract, rule), (contract, "conv2d"), ("tflite", rule))
    )
    np.testing.assert_array_equal(own, common)
    assert (own != base).any()
