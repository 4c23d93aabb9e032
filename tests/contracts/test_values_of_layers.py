"""What layers pass to rules, and which rules they need, of small rules by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Contract, load_contract, parse_contract
from qlower.contracts.contractions import (
    RuledContraction,
    contraction_rule,
    group_of,
    input_channels,
    layer_values,
    turn_values,
)
from qlower.contracts.needs import named_layers, rules_of
from qlower.contracts.outline import Outline, functions_of
from qlower.contracts.pair_range import pair_bounds
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized, quantized_per_axis
from qlower.model.layers import layers

WEIGHTS = np.array([[1, 2], [-3, 4], [5, -128]], np.int8)
BIASES = {
    "none": None,
    "integers": np.array([1, 2, 3], np.int32),
    "reals": np.array([1, 2, 3], np.float32),
}


def only(inputs: Sequence[Attribute], body: Callable[..., Sequence[SSAValue]]) -> Any:
    (op,) = layers(make_module(inputs, body))
    return op


def linear(
    bias: str = "none",
    scales: Sequence[float] = (0.5,),
    zero: int = 0,
    *,
    signed: bool = True,
    activation: str | None = None,
) -> qnn.LinearOp:
    """Two inputs in steps of 0.5, three outputs."""

    def body(x: SSAValue) -> list[SSAValue]:
        kind = (
            quantized((3, 2), scales[0], zero)
            if len(scales) == 1
            else quantized_per_axis((3, 2), 0, scales)
        )
        own = BIASES[bias]
        b = None if own is None else constant(own)
        w = constant(WEIGHTS, kind)
        y = quantized((4, 3), 0.5, signed=signed)
        return [qnn.LinearOp(x, w, b, y, activation=activation).results[0]]

    return only([quantized((4, 2), 0.5, 3, signed=signed)], body)


def rule(values: str, more: str = "") -> Contract:
    ports = "%accumulator: i32" + f", {values}" * bool(values)
    text = f"""
    func.func @linear({ports}) -> i32 {{
      %result = arith.maxsi %accumulator, -128 : i32
    }}
    {more}"""
    return parse_contract(text, "own", "own.mlir")


@pytest.mark.parametrize(
    ("values", "bias", "needed"),
    [
        ("", "none", ()),
        ("", "integers", ()),
        ("", "reals", ("quantize_bias",)),
        ("%bias: i32", "integers", ()),
        ("%bias: i32", "reals", ("quantize_bias",)),
        ("%real_bias: f32", "none", ()),
        ("%real_bias: f32", "integers", ("dequantize_bias",)),
        ("%real_bias: f32", "reals", ()),
        ("%bias: i32, %real_bias: f32", "reals", ("quantize_bias",)),
        ("%bias: i32, %real_bias: f32", "integers", ("dequantize_bias",)),
    ],
)
def test_rules_that_bring_a_bias_into_form(
    values: str, bias: str, needed: tuple[str, ...]
) -> None:
    assert rules_of(linear(bias), rule(values)) == ("linear", *needed)
    takes = RuledContraction(rule(values), linear(bias)).takes_bias
    assert takes == ("bias" in values)


def test_an_activation_is_a_rule_beside_the_layers() -> None:
    op = linear("reals", activation="relu")
    assert rules_of(op, rule("%bias: i32")) == ("linear", "bound", "quantize_bias")
    assert contraction_rule(op) == "linear"
    assert rules_of(op, parse_contract("module {}", "own", "own.mlir")) == (
        *("linear", "bound"),
    )


def test_sums_that_rules_take_as_addends() -> None:
    op = only(
        [quantized((1, 4, 4, 1), 0.5)],
        lambda x: [
            qnn.AvgPool2DOp(
                *(x, quantized((1, 2, 2, 1), 0.5)),
                kernel=(2, 2),
                stride=(2, 2),
                pad=(0, 0, 0, 0),
            ).result
        ],
    )
    text = """func.func @avg_pool2d(%accumulator: i32, %count: i32) -> i32 {
      %result = arith.divsi %accumulator, %count : i32
    }"""
    own = parse_contract(text, "own", "own.mlir")
    assert rules_of(op, own) == ("avg_pool2d",)
    asks = own.rules["avg_pool2d"]
    summed: Any = SimpleNamespace(
        rules={"avg_pool2d": SimpleNamespace(values=(*asks.values, "sum"))}
    )
    assert rules_of(op, summed) == ("avg_pool2d", "avg_pool2d_addend")
    none: Any = SimpleNamespace(rules={})
    assert rules_of(op, none) == ("avg_pool2d",)


def test_layers_that_an_error_names() -> None:
    ops: list[Operation] = [linear() for _ in range(9)]
    assert named_layers(ops[:8]) == ", ".join(["linear"] * 8)
    assert named_layers(ops) == ", ".join(["linear"] * 8) + " and 1 more"


def test_what_is_constant_about_a_layer() -> None:
    one, many = layer_values(linear()), layer_values(linear(scales=(0.5, 0.25, 0.5)))
    names = ("per_channel", "weights_symmetric", "one_weight_scale", "transposed")
    assert [one[name].item() for name in names] == [False, True, True, False]
    assert [many[name].item() for name in names] == [True, True, False, False]
    assert layer_values(linear(zero=3))["weights_symmetric"].item() is False
    assert [one[name].item() for name in ("input_channels", "groups")] == [2, 1]
    assert many["first_weight_scale"].item() == 0.5
    assert input_channels(linear()) == 2
    turned = turn_values(linear(scales=(0.25,)))
    assert turned["product_step"].item() == 0.125
    assert turned["channel"].tolist() == [0, 1, 2]
    assert turned["channel_count"].item() == 3
    assert np.isnan(turn_values(linear(scales=(0.5, 0.25, 0.5)))["product_step"])


ASKED = {
    "one_bias": False,
    "weight_sum": [3, 1, -123],
}


@pytest.mark.parametrize("name", ASKED)
def test_values_that_a_rule_asks_for(name: str) -> None:
    kind = "i1" if name == "one_bias" else "i32"
    given = BIASES["integers"]
    assert given is not None
    own = RuledContraction(rule(f"%{name}: {kind}"), linear("integers"))
    assert own.values(lambda: given)[name].tolist() == ASKED[name]
    assert name not in RuledContraction(rule(""), linear("integers")).values(
        lambda: given
    )


def test_biases_that_are_equal() -> None:
    own = RuledContraction(rule("%one_bias: i1"), linear("integers"))
    assert own.values(lambda: np.full(3, 7))["one_bias"].item() is True


@pytest.mark.parametrize("signed", [True, False])
def test_sums_of_pairs(signed: bool) -> None:
    """Codes count from the least of their type."""
    bounds = pair_bounds(linear(signed=signed), "pairs")
    assert bounds is not None
    assert [one.tolist() for one in bounds] == [
        *([0, -765, -32640], [765, 1020, 1275]),
    ]


BITS = "func.func @accumulator_bits() -> i32 { %result = arith.constant 10 : i32 }"


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ([0, 0, 512 - 1 - 904], "-17,680"),
        ([-600, 0, 0], "-988"),
        ([0, 1000, 0], "1,908"),
        ([0, 0, 0], None),
    ],
)
def test_registers_of_stated_bits(start: list[int], told: str | None) -> None:
    """The least and the largest sum of the layer have to fit."""
    own = RuledContraction(rule("", BITS), linear("integers"))
    with pytest.raises(QlowerError) as caught:
        own.values(lambda: np.array(start, np.int32))
    assert "beyond the 10 bits of own's register, [-512, 511]" in caught.value.message
    assert caught.value.help == "`qlower lint --contract own` lists such layers"
    if told is None:
        wide = rule("", BITS.replace("10", "20"))
        found = RuledContraction(wide, linear("integers")).values(
            lambda: np.array(start, np.int32)
        )
        assert found["accumulator_min"].tolist() == [-393, -896, -16527]
        assert found["accumulator_max"].tolist() == [372, 889, 17388]


def test_groups_of_products() -> None:
    def group(number: int, values: str = "") -> Contract:
        text = f"""
        func.func @accumulate(%accumulator: i32{values}) -> i32 {{
          %result = arith.maxsi %accumulator, -9 : i32
        }}
        func.func @accumulate_group() -> i32 {{
          %result = arith.constant {number} : i32
        }}"""
        return rule("", text)

    assert group_of(group(3), linear()) == 3
    assert group_of(group(1, ", %product: i32"), linear()) == 1
    for own, message in (
        (rule(""), "contract own sums in turn without the rule accumulate"),
        (
            group(2, ", %product: i32"),
            "contract own looks at single products, and adds 2 at a time",
        ),
        (
            group(0),
            "rule accumulate_group of contract own gives 0, it must be 1 or more",
        ),
    ):
        with pytest.raises(QlowerError) as caught:
            group_of(own, linear())
        assert caught.value.message == message


def test_how_a_contract_reads_groups_of_a_file() -> None:
    """Of its own, or as its base; by default as integers."""
    base = 'module attributes {contract.base = "onnxruntime"} {}'
    assert load_contract("onnxruntime").qdq == "x86"
    assert parse_contract(base, "own", "own.mlir").qdq == "x86"
    assert load_contract("tflite").qdq is None
    own = base.replace("} {}", ', contract.qdq = "other"} {}')
    assert parse_contract(own, "own", "own.mlir").qdq == "other"


def test_functions_that_may_decide_a_rule() -> None:
    text = """
    func.func private @half(%x: i32) -> i32 { %result = arith.shrsi %x, 1 : i32 }
    func.func private @alone(%x: i32) -> i32 { %result = arith.shrsi %x, 2 : i32 }
    func.func @requantize(%input: i32) -> i32 serves clamp {
      %result = func.call @half(%input) : (i32) -> i32
    }"""
    outline = Outline(text, "own.mlir")
    found = functions_of("clamp", [outline])
    assert found == {"half", "requantize"}
    assert functions_of("linear", [outline]) == frozenset()
