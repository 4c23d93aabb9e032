"""Rules that depend on where in a tensor their result is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.custom_contracts import rule_text, run_everywhere, write_contract
from support.values.stored import random_stored
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

import qlower
from qlower.contracts import load_contract, parse_contract
from qlower.contracts.calls import value_name
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.interp import evaluate_function
from qlower.interp.values import dtype_of
from qlower.model.build import constant, make_module, quantized

CHANNEL = """\
  %c16 = arith.constant 16 : i32
  %high = arith.muli %channel_count, %c16 : i32
  %y = arith.addi %high, %channel : i32
  return %y : i32"""
CHANNEL_VALUES = {"channel": "i32", "channel_count": "i32"}

ELEMENT = """\
  %left = arith.subi %element_count, %element : i32
  return %left : i32"""
ELEMENT_VALUES = {"element": "i32", "element_count": "i32"}

TAIL = """\
  %c3 = arith.constant 3 : i32
  %rest = arith.remsi %channel_count, %c3 : i32
  %whole = arith.subi %channel_count, %rest : i32
  %in_tail = arith.cmpi sge, %channel, %whole : i32
  %negated = arith.subi %c3, %input : i32
  %y = arith.select %in_tail, %negated, %input : i32
  return %y : i32"""


def contraction(op: type[qnn.Conv2DOp | qnn.DepthwiseConv2DOp], groups: int = 1):
    def body(x: SSAValue) -> list[SSAValue]:
        y = quantized((1, 2, 2, 6), 0.5)
        if op is qnn.Conv2DOp:
            shape = (6, 1, 1, 4 // groups)
            w = constant(np.ones(shape, np.int8), quantized(shape, 0.5))
            return [qnn.Conv2DOp(x, w, None, y, groups=groups).result]
        shape = (1, 1, 1, 6)
        w = constant(np.ones(shape, np.int8), quantized(shape, 0.5))
        return [qnn.DepthwiseConv2DOp(x, w, None, y).result]

    channels = 4 if op is qnn.Conv2DOp else 3
    return make_module([quantized((1, 2, 2, channels), 0.5)], body), channels


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("op", "groups"),
    [(qnn.Conv2DOp, 1), (qnn.Conv2DOp, 2), (qnn.DepthwiseConv2DOp, 1)],
)
def test_contractions(
    op: type[qnn.Conv2DOp | qnn.DepthwiseConv2DOp], groups: int, tmp_path: Path
):
    """With groups or a channel multiplier too, whose accumulators have more axes."""
    module, channels = contraction(op, groups)
    x = random_stored((1, 2, 2, channels))
    name = op.name.removeprefix("qnn.")
    contract = write_contract(tmp_path, rule_text(name, CHANNEL_VALUES, CHANNEL))
    expected = np.broadcast_to(96 + np.arange(6), (1, 2, 2, 6))
    np.testing.assert_array_equal(run_everywhere(module, contract, x), expected)
    contract = write_contract(
        tmp_path, rule_text(name, ELEMENT_VALUES, ELEMENT), name="element"
    )
    expected = 24 - np.arange(24).reshape(1, 2, 2, 6)
    np.testing.assert_array_equal(run_everywhere(module, contract, x), expected)


def test_linear_and_matmul(tmp_path: Path):
    a, b = quantized((2, 3), 0.5), quantized((3, 5), 0.5)
    weights = np.ones((5, 3), np.int8)

    def linear(x: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized((5, 3), 0.5))
        return [qnn.LinearOp(x, w, None, quantized((2, 5), 0.5)).result]

    def matmul(x: SSAValue, y: SSAValue) -> list[SSAValue]:
        return [qnn.MatMulOp(x, y, quantized((2, 5), 0.5)).result]

    contract = write_contract(
        tmp_path,
        rule_text("linear", CHANNEL_VALUES, CHANNEL),
        rule_text("matmul", ELEMENT_VALUES, ELEMENT),
    )
    x = random_stored((2, 3))
    result = run_everywhere(make_module([a], linear), contract, x)
    assert result.tolist() == [[80, 81, 82, 83, 84]] * 2
    module = make_module([a, b], matmul)
    result = run_everywhere(module, contract, x, random_stored((3, 5)))
    assert result.tolist() == [[10, 9, 8, 7, 6], [5, 4, 3, 2, 1]]


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize(
    ("axes", "channels"), [((1, 2), 5), ((0, 3), 3), ((0, 1, 2, 3), 1)]
)
def test_means(keep_dims: bool, axes: tuple[int, ...], channels: int, tmp_path: Path):
    """The last dimension of the result, which is 1 where it was summed and kept."""
    shape = (2, 4, 3, 5)
    kept = np.zeros(shape).sum(axis=axes, keepdims=keep_dims).shape
    if keep_dims and 3 in axes:
        channels = 1

    def body(x: SSAValue) -> list[SSAValue]:
        type = quantized(kept, 0.5)
        return [qnn.MeanOp(x, type, axes=axes, keep_dims=keep_dims).result]

    contract = write_contract(tmp_path, rule_text("mean", CHANNEL_VALUES, CHANNEL))
    module = make_module([quantized(shape, 0.5)], body)
    result = run_everywhere(module, contract, random_stored(shape))
    expected = np.resize(16 * channels + np.arange(channels), kept)
    np.testing.assert_array_equal(result, expected)


def test_a_tail_of_elements(tmp_path: Path):
    """A scalar tail along the channels, and one at the tensor's end."""
    shape = (2, 7)

    def requantize(x: SSAValue) -> list[SSAValue]:
        return [qnn.RequantizeOp(x, quantized(shape, 0.25)).result]

    contract = write_contract(
        tmp_path, rule_text("requantize", {"input": "i32", **CHANNEL_VALUES}, TAIL)
    )
    x = (random_stored(shape).astype(np.int32) // 2).astype(np.int8)
    module = make_module([quantized(shape, 0.5)], requantize)
    expected = x.copy()
    expected[:, 6:] = 3 - x[:, 6:]
    np.testing.assert_array_equal(run_everywhere(module, contract, x), expected)
    by_element = TAIL.replace("%channel_count", "%element_count")
    contract = write_contract(
        tmp_path,
        rule_text(
            "requantize",
            {"input": "i32", **ELEMENT_VALUES},
            by_element.replace("%channel", "%element"),
        ),
        name="elements",
    )
    expected = x.copy()
    expected[1, 5:] = 3 - x[1, 5:]
    np.testing.assert_array_equal(run_everywhere(module, contract, x), expected)


def test_borders_broadcasts_and_pools(tmp_path: Path):
    shape = (2, 3)
    real = """\
  %left = arith.subi %element_count, %element : i32
  %y = arith.sitofp %left : i32 to f32
  return %y : f32"""
    contract = write_contract(
        tmp_path,
        rule_text("quantize", {"input": "f32", **ELEMENT_VALUES}, ELEMENT),
        rule_text("dequantize", ELEMENT_VALUES, real, "f32"),
        rule_text("add", ELEMENT_VALUES, ELEMENT),
        rule_text("avg_pool2d", CHANNEL_VALUES, CHANNEL),
        rule_text("requantize", CHANNEL_VALUES, CHANNEL),
    )
    expected = [[6, 5, 4], [3, 2, 1]]
    q = quantized(shape, 0.5)

    def quantize(x: SSAValue) -> list[SSAValue]:
        return [qnn.QuantizeOp(x, q).result]

    def dequantize(x: SSAValue) -> list[SSAValue]:
        return [qnn.DequantizeOp(x, TensorType(f32, shape)).result]

    def add(x: SSAValue, y: SSAValue) -> list[SSAValue]:
        return [qnn.AddOp(x, y, q).result]

    def pool(x: SSAValue) -> list[SSAValue]:
        type = quantized((1, 1, 1, 3), 0.5)
        pooled = qnn.AvgPool2DOp(x, type, kernel=(2, 2)).result
        return [qnn.RequantizeOp(pooled, type).result]

    reals = make_module([TensorType(f32, shape)], quantize)
    zeros = np.zeros(shape, np.float32)
    assert run_everywhere(reals, contract, zeros).tolist() == expected
    stored = random_stored(shape)
    module = make_module([q], dequantize)
    assert run_everywhere(module, contract, stored).tolist() == expected
    module = make_module([q, quantized((3,), 0.25)], add)
    result = run_everywhere(module, contract, stored, random_stored((3,)))
    assert result.tolist() == expected
    image = quantized((1, 2, 2, 3), 0.5)
    result = run_everywhere(
        make_module([image], pool), contract, random_stored((1, 2, 2, 3))
    )
    assert result.tolist() == [[[[48, 49, 50]]]]


def test_concat_counts_in_the_input_that_is_rescaled(tmp_path: Path):
    types = [quantized((2, 3), 0.5), quantized((2, 2), 0.25)]

    def concat(x: SSAValue, y: SSAValue) -> list[SSAValue]:
        return [qnn.ConcatOp([x, y], quantized((2, 5), 0.5), axis=1).result]

    contract = write_contract(tmp_path, rule_text("concat", ELEMENT_VALUES, ELEMENT))
    x, y = np.full((2, 3), 9, np.int8), random_stored((2, 2))
    result = run_everywhere(make_module(types, concat), contract, x, y)
    assert result.tolist() == [[9, 9, 9, 4, 3], [9, 9, 9, 2, 1]]


def test_tables_have_no_positions():
    text = f"module {{\n{rule_text('tanh', ELEMENT_VALUES, ELEMENT)}}}\n"
    with pytest.raises(QlowerError, match="tanh is not given a value 'element'"):
        parse_contract(text, "mine", "mine.mlir")


@pytest.mark.parts(3)
@pytest.mark.parametrize("kind", ["linear", "conv2d", "depthwise_conv2d"])
@pytest.mark.parametrize("size", range(1, 10))
def test_ncnn_rounds_vectors_of_four_in_another_way(kind: str, size: int):
    """They make 1 of 0.49999997: of a row's numbers, or of a channel's pixels; a
    convolution of each channel rounds one by one."""
    channels = size if kind == "linear" else 2
    bias = np.full(channels, np.nextafter(np.float32(0.5), np.float32(0)))
    shape = (1, 3) if kind == "linear" else (1, 1, size, channels)

    def body(x: SSAValue) -> list[SSAValue]:
        weights = {
            "linear": (channels, 3),
            "conv2d": (channels, 1, 1, channels),
            "depthwise_conv2d": (1, 1, 1, channels),
        }[kind]
        w = constant(np.ones(weights, np.int8), quantized(weights, 1.0))
        b = constant(bias)
        match kind:
            case "linear":
                return [qnn.LinearOp(x, w, b, quantized((1, size), 1.0)).result]
            case "conv2d":
                return [qnn.Conv2DOp(x, w, b, quantized(shape, 1.0)).result]
            case _:
                return [qnn.DepthwiseConv2DOp(x, w, b, quantized(shape, 1.0)).result]

    model = qlower.Model(make_module([quantized(shape, 1.0)], body))
    found = qlower.interpret(model, np.zeros(shape, np.int8), contract="ncnn")
    vectors = 0 if kind == "depthwise_conv2d" else size // 4 * 4
    row = (np.arange(size) < vectors).astype(np.int8)
    expected = row if kind == "linear" else np.stack([row, row], axis=1)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"stride_height": 1, "stride_width": 1}, True),
        ({"stride_height": 3, "stride_width": 3}, False),
        ({"stride_height": 1}, False),
        *(
            ({"kernel_height": height, "kernel_width": width}, False)
            for height, width in ((3, 1), (1, 3), (5, 5), (3, 4), (2, 19), (0, 51))
        ),
        ({"dilation_height": 2}, False),
        ({"dilation_width": 3}, False),
        ({"activation_max": 6.0}, False),
        ({"activation_max": 3.4e38}, False),
    ],
)
def test_ncnn_has_a_kernel_of_its_own_for_three_by_three(
    change: dict[str, float], expected: bool
):
    """Strides 1 and 2, and an activation that isn't cut above."""
    function = load_contract("ncnn").definition.function("has_own_kernel").function
    values = {
        **dict.fromkeys(("kernel_height", "kernel_width"), 3),
        **dict.fromkeys(("dilation_height", "dilation_width"), 1),
        **dict.fromkeys(("stride_height", "stride_width"), 2),
        **dict.fromkeys(("channel_count", "input_channels"), 4),
        **{"activation_max": np.inf, **change},
    }
    arguments = [
        np.array(values[value_name(function, number) or ""]).astype(dtype_of(type))
        for number, type in enumerate(function.function_type.inputs)
    ]
    (found,) = evaluate_function(function, arguments)
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("size", "outputs", "fuses"), [(3, 4, True), (5, 8, True), (5, 4, False)]
)
def test_ncnn_fuses_the_bias_of_some_depthwise_kernels(
    size: int, outputs: int, fuses: bool
):
    """Its own kernel's, and those of channels with several outputs."""
    rule = load_contract("ncnn").rule("depthwise_conv2d")
    step = np.float32(0.0123) * np.float32(0.0471)
    sums = np.arange(50_000, 50_200, dtype=np.int32)
    product = sums.astype(np.float32) * step
    bias = np.float32(1.5) - product  # the rounded product makes a tie
    reals = ((sums * np.float64(step) + bias).astype(np.float32), product + bias)
    fused, plain = (np.trunc(r + np.copysign(np.float32(0.5), r)) for r in reals)
    differing = fused != plain
    assert differing.any()
    values = {
        **dict.fromkeys(rule.values, np.int32(1)),
        **dict.fromkeys(("kernel_height", "kernel_width"), np.int32(size)),
        **{name: np.float32(1) for name in rule.values if name.endswith("_scale")},
        **{name: np.int32(0) for name in rule.values if name.endswith("_point")},
        **{"input_scale": np.float32(0.0123), "weight_scale": np.float32(0.0471)},
        **{"activation_min": np.float32(-np.inf), "weights_symmetric": np.True_},
        "output_unsigned": np.False_,
        **{"activation_max": np.float32(np.inf), "real_bias": bias[differing]},
        **{"accumulator": sums[differing], "element": np.int32(0)},
        **{"element_count": np.int32(400), "input_channels": np.int32(4)},
        "channel_count": np.int32(outputs),
    }
    (found,) = rule.evaluate(values)
    expected = (fused if fuses else plain)[differing].clip(-127, 127)
    np.testing.assert_array_equal(found, expected)
