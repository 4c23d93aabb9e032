"""The values that operations pass to rules: all of them by name, for one operation of
each kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

from qlower.contracts import load_contract
from qlower.contracts.values import (
    activation_values,
    contract_of,
    element_values,
    has_words,
    is_in_qdq,
    mapping_rule,
    operand_values,
    operation_values,
    output_values,
    position_values,
    rounding_values,
)
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import QDQ
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

TYPES = """
!x = !quant.uniform<i8:f32, 0.5:3>
!u = !quant.uniform<u8:f32, 0.25:7>
!n = !quant.uniform<i8<-127:127>:f32, 0.125>
!w = !quant.uniform<i8:f32:0, {0.5:1, 0.25:2, 2.0:3}>
!h = !quant.uniform<i8:f16, 0.5:3>
!s = !quant.uniform<i16:f32, 0.5>
"""


def operation(line: str, operands: Sequence[str], attributes: str = "") -> Any:
    """The layer of one line, of arguments `%a`, `%b` of these types."""
    names = [f"%{name}: tensor<{type}>" for name, type in zip("ab", operands)]  # noqa: B905
    text = (
        f"{TYPES}module{attributes} {{\nfunc.func @main({', '.join(names)}) {{\n"
        f"  {line}\n  return\n}}\n}}"
    )
    (op,) = layers(parse_module(text))
    return op


def unary(name: str, given: str, result: str, attributes: str = "") -> Any:
    line = f"%y = {name} %a {attributes} : (tensor<{given}>) -> tensor<{result}>"
    return operation(line, [given])


def binary(name: str, a: str, b: str, result: str, attributes: str = "") -> Any:
    types = f"(tensor<{a}>, tensor<{b}>) -> tensor<{result}>"
    return operation(f"%y = {name} %a, %b {attributes} : {types}", [a, b])


def listed(values: Any) -> dict[str, Any]:
    return {name: array.tolist() for name, array in values.items()}


def step(prefix: str, scale: float, point: int, *, unsigned: bool = False) -> Any:
    return {
        f"{prefix}_scale": scale,
        f"{prefix}_zero_point": point,
        f"{prefix}_unsigned": unsigned,
    }


def ranged(
    low: int = -128,
    high: int = 127,
    least: float = -math.inf,
    most: float = math.inf,
    storage: tuple[int, int] = (-128, 127),
) -> dict[str, Any]:
    return {
        "storage_min": storage[0],
        "storage_max": storage[1],
        "activation_min": least,
        "activation_max": most,
        "output_min": low,
        "output_max": high,
    }


X = step("input", 0.5, 3)
Y = step("output", 0.5, 3)
PAIR = {
    **step("lhs", 0.5, 3),
    **step("rhs", 0.25, 7, unsigned=True),
    **X,
    **step("weight", 0.25, 7, unsigned=True),
    "per_channel": False,
}

OPERATIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "relu": (
        unary("qnn.relu", "2x!x", "2x!x"),
        {**X, **Y, **ranged(3, least=0)},
    ),
    "relu6": (
        unary("qnn.relu6", "2x!x", "2x!x"),
        {**X, **Y, **ranged(3, 15, 0, 6)},
    ),
    "clamp": (
        unary("qnn.clamp", "2x!x", "2x!x", "{min = -1.0 : f64, max = 2.5 : f64}"),
        {**X, **Y, **ranged(1, 8, -1, 2.5)},
    ),
    "bounds beyond the codes": (
        unary("qnn.clamp", "2x!x", "2x!x", "{min = 90.0 : f64, max = 99.0 : f64}"),
        {**X, **Y, **ranged(127, 127, 90, 99)},
    ),
    "bounds below the codes": (
        unary("qnn.clamp", "2x!x", "2x!x", "{min = -99.0 : f64, max = -90.0 : f64}"),
        {**X, **Y, **ranged(-128, -128, -99, -90)},
    ),
    "narrow": (
        unary("qnn.requantize", "2x!x", "2x!n"),
        {**X, **step("output", 0.125, 0), **ranged(-127, storage=(-127, 127))},
    ),
    "add": (
        binary("qnn.add", "2x3x!x", "2x3x!u", "2x3x!x"),
        {**PAIR, **Y, **ranged(), "lhs_is_scalar": False},
    ),
    "activated": (
        binary("qnn.add", "3x!x", "2x3x!u", "2x3x!x", '{activation = "relu6"}'),
        {**PAIR, **Y, **ranged(3, 15, 0, 6), "lhs_is_scalar": False},
    ),
    "number and row": (
        binary("qnn.add", "2x1x!x", "2x3x!u", "2x3x!x"),
        {**PAIR, **Y, **ranged(), "lhs_is_scalar": True},
    ),
    "number and column": (
        binary("qnn.add", "1x1x!x", "2x1x!u", "2x1x!x"),
        {**PAIR, **Y, **ranged(), "lhs_is_scalar": True},
    ),
    "fewer dimensions": (
        binary("qnn.add", "1x!x", "2x1x!u", "2x1x!x"),
        {**PAIR, **Y, **ranged(), "lhs_is_scalar": True},
    ),
    "one and one": (
        binary("qnn.add", "1x!x", "1x!u", "1x!x"),
        {**PAIR, **Y, **ranged(), "lhs_is_scalar": True},
    ),
    "matmul": (
        binary("qnn.matmul", "2x3x!x", "3x2x!u", "2x2x!x"),
        {
            **PAIR,
            **Y,
            **ranged(),
            "half_scales": False,
            # 3 products, of codes less zero points in [-131, 124] and [-7, 248]
            "accumulator_min": -97464,
            "accumulator_max": 92256,
        },
    ),
    "leaky_relu": (
        unary("qnn.leaky_relu", "2x!x", "2x!x", "{alpha = 0.25 : f64}"),
        {**X, **Y, **ranged(), "alpha": 0.25},
    ),
    "softmax": (
        unary("qnn.softmax", "2x5x!x", "2x5x!x", "{beta = 0.5 : f64}"),
        {**X, **Y, **ranged(), "beta": 0.5, "row_size": 5},
    ),
    "avg_pool2d": (
        unary(
            "qnn.avg_pool2d",
            "1x4x4x2x!x",
            "1x3x2x2x!x",
            "{kernel = [2, 3], stride = [2, 1], pad = [1, 2, 0, 0], count_include_pad}",
        ),
        {
            **X,
            **Y,
            **ranged(),
            **{"kernel_height": 2, "kernel_width": 3, "stride_height": 2},
            **{"stride_width": 1, "pad_top": 1, "pad_bottom": 2, "pad_left": 0},
            **{"pad_right": 0, "window_size": 6, "count_include_pad": True},
        },
    ),
    "adaptive_avg_pool2d": (
        unary("qnn.adaptive_avg_pool2d", "1x5x4x2x!x", "1x2x2x2x!x"),
        {
            **X,
            **Y,
            **ranged(),
            "kernel_height": [[[3]], [[3]]],
            "kernel_width": [[2], [2]],
            "count": [[[6], [6]], [[6], [6]]],
            "output_size": 4,
            "even_windows": False,
        },
    ),
    "even windows": (
        unary("qnn.adaptive_avg_pool2d", "1x6x4x2x!x", "1x2x2x2x!x"),
        {
            **X,
            **Y,
            **ranged(),
            "kernel_height": [[[3]], [[3]]],
            "kernel_width": [[2], [2]],
            "count": [[[6], [6]], [[6], [6]]],
            "output_size": 4,
            "even_windows": True,
        },
    ),
    "mean": (
        unary("qnn.mean", "2x4x5x3x!x", "2x3x!x", "{axes = [1, 2]}"),
        {
            **X,
            **Y,
            **ranged(),
            **{"count": 20, "keep_dims": False, "over_image": True},
            **{"in_sequence": False, "double_round": False},
        },
    ),
    "sum": (
        unary("qnn.sum", "2x4x5x!x", "2x1x1x!x", "{axes = [1, 2], keep_dims}"),
        {
            **X,
            **Y,
            **ranged(),
            **{"count": 20, "keep_dims": True, "over_image": False},
            **{"in_sequence": False, "double_round": False},
        },
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_of_operations(name: str) -> None:
    op, expected = OPERATIONS[name]
    found = listed(operation_values(load_contract("tflite"), op))
    assert found.pop("in_qdq") is False
    assert "half_scales" not in expected or "half_scales" in found
    if "half_scales" not in expected:
        found.pop("half_scales", None)
    assert found == expected


def test_bounds_of_a_result() -> None:
    """Each alone, both or none, of every activation."""
    type = unary("qnn.relu", "2x!x", "2x!x").result.type
    contract = load_contract("tflite")
    for bounds, expected in (
        ((None, None), ranged()),
        ((0.0, None), ranged(3, least=0)),
        ((None, 2.0), ranged(high=7, most=2)),
        ((-1.0, 1.0), ranged(1, 5, -1, 1)),
    ):
        assert listed(output_values(contract, type, bounds)) == {**Y, **expected}
    for activation, expected in (
        (None, ranged()),
        ("relu", ranged(3, least=0)),
        ("relu6", ranged(3, 15, 0, 6)),
        ("relu_n1_to_1", ranged(1, 5, -1, 1)),
    ):
        found = activation_values(contract, type, activation)
        assert listed(found) == {**Y, **expected}


def test_scales_of_elements() -> None:
    type = unary("qnn.reshape", "3x2x!w", "3x2x!w").result.type
    assert listed(operand_values("w", type)) == {
        "w_scale": [0.5, 0.25, 2.0],
        "w_zero_point": [1, 2, 3],
        "w_unsigned": False,
    }
    assert listed(element_values("w", type)) == {
        "w_scale": [[0.5], [0.25], [2.0]],
        "w_zero_point": [[1], [2], [3]],
        "w_unsigned": False,
    }
    plain = unary("qnn.relu", "2x!u", "2x!u").result.type
    assert listed(element_values("w", plain)) == step("w", 0.25, 7, unsigned=True)


@pytest.mark.parametrize(
    ("shape", "channel", "channels", "elements"),
    [
        ((2, 3), [0, 1, 2], 3, 6),
        ((3, 1), 0, 1, 3),
        ((), 0, 1, 1),
        ((2,), [0, 1], 2, 2),
    ],
)
def test_positions(
    shape: tuple[int, ...], channel: object, channels: int, elements: int
) -> None:
    assert listed(position_values(shape)) == {
        "channel": channel,
        "channel_count": channels,
        "element_count": elements,
    }


@pytest.mark.parametrize(
    ("mode", "double"),
    [
        (None, False),
        ("SINGLE_ROUND", False),
        ("INEXACT_ROUND", False),
        ("DOUBLE_ROUND", True),
        ("UP", 'tosa.rounding_mode "UP" is not one of SINGLE_ROUND, INEXACT_ROUND, '),
    ],
)
def test_the_rounding_of_a_rescale(mode: str | None, double: bool | str) -> None:
    op = unary("qnn.requantize", "2x!x", "2x!x")
    if mode is not None:
        op.attributes["tosa.rounding_mode"] = StringAttr(mode)
    if isinstance(double, bool):
        assert listed(rounding_values(op)) == {"double_round": double}
        return
    with pytest.raises(QlowerError) as caught:
        rounding_values(op)
    assert caught.value.message == f"{double}DOUBLE_ROUND"


def test_the_contract_of_an_operation() -> None:
    asked: list[str] = []

    def load(name: str) -> Any:
        asked.append(name)
        return load_contract(name)

    plain = unary("qnn.relu", "2x!x", "2x!x")
    assert contract_of(plain, "exact", load).name == "exact"
    own = unary("qnn.relu", "2x!x", "2x!x", '{contract = "tflite"}')
    assert contract_of(own, "exact", load).name == "tflite"
    assert asked == ["exact", "tflite"]
    with pytest.raises(QlowerError) as caught:
        contract_of(plain, None, load)
    assert caught.value.message == "qnn.relu has no contract"
    assert caught.value.help == (
        "name one for the module, `module attributes {qnn.contract = "
        '"tflite"}`, or on the command line, `--contract tflite`'
    )
    words = unary("qnn.relu", "2x!s", "2x!s")
    assert (has_words(plain), has_words(words)) == (False, True)
    assert has_words(unary("qnn.requantize", "2x!x", "2x!s"))
    contract = load_contract("tflite")
    of_words = contract_of(words, "tflite", load)
    assert of_words.rules["add"] is contract.rules["add_i16"]


def test_the_form_of_a_model() -> None:
    line = "%y = qnn.relu %a : (tensor<2x!x>) -> tensor<2x!x>"
    assert is_in_qdq(operation(line, ["2x!x"], f" attributes {{{QDQ}}}"))
    assert not is_in_qdq(operation(line, ["2x!x"]))
    single = operation(line, ["2x!x"])
    single.detach()
    assert not is_in_qdq(single)


def test_rules_of_single_elements() -> None:
    assert mapping_rule(unary("qnn.relu", "2x!x", "2x!x")) == "clamp"
    types = ("2xf32", "2x!x")
    for name, (given, result), rule in (
        ("qcast", types, "quantize"),
        ("dcast", types[::-1], "dequantize"),
    ):
        line = f"%y = quant.{name} %a : tensor<{given}> to tensor<{result}>"
        assert mapping_rule(operation(line, [given])) == rule


def test_scales_of_half_precision() -> None:
    op = binary("qnn.matmul", "2x3x!h", "3x2x!h", "2x2x!h")
    with pytest.raises(QlowerError) as caught:
        operation_values(load_contract("tflite"), op)
    assert caught.value.message == (
        "contract tflite has no arithmetic for scales of f16"
    )


def test_arrays_are_of_the_rules_types() -> None:
    op, _ = OPERATIONS["matmul"]
    kinds = {
        name: array.dtype
        for name, array in operation_values(load_contract("tflite"), op).items()
    }
    assert kinds["accumulator_min"] == kinds["accumulator_max"] == np.int64
    assert kinds["input_scale"] == kinds["activation_max"] == np.float32
    assert kinds["output_min"] == kinds["input_zero_point"] == np.int32
    assert kinds["input_unsigned"] == kinds["in_qdq"] == np.bool_
