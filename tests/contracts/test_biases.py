"""Integer and real biases, and the range of accumulators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.custom_contracts import rule_text, run_everywhere, write_contract
from support.values.stored import random_stored
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized, quantized_per_axis

SCALES = (0.5, 0.25, 0.125)
WEIGHTS = np.array([[1, 2], [-3, 4], [5, -128]], np.int8)


def linear(bias: Array | None, contract: str | None = None):
    """Two input features with scale 0.5, three outputs."""

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(WEIGHTS, quantized_per_axis((3, 2), 0, SCALES))
        b = None if bias is None else constant(bias)
        y = quantized((4, 3), 0.5)
        return [qnn.LinearOp(x, w, b, y, contract=contract).result]

    return make_module([quantized((4, 2), 0.5, 3)], body)


X = random_stored((4, 2))

RETURN_BIAS = "  return %bias : i32"
STEPS = """\
  %eight = arith.constant 8.0 : f32
  %steps = arith.mulf %real_bias, %eight : f32
  %y = fixed.convert %steps {rounding = half_even} : f32 to i32
  return %y : i32"""
SATURATED = """\
  %low = fixed.saturate %accumulator : i32 to i8
  %y = arith.extsi %low : i8 to i32
  return %y : i32"""


def write_on_tflite(folder: Path, rule: str) -> str:
    """A contract that has the other rules, those of biases too, from tflite."""
    path = folder / "custom.mlir"
    path.write_text(f'module attributes {{contract.base = "tflite"}} {{\n{rule}}}\n')
    return str(path)


def test_tflite_quantizes_as_the_converter_does():
    values: dict[str, Array] = {
        "real_bias": np.array([2.5, -2.5, 0.5, 1e30, -1e30, 0.0], np.float32),
        "input_scale": np.array(0.5, np.float32),
        "weight_scale": np.array(2.0, np.float32),
    }
    rule = load_contract("tflite").rule("quantize_bias")
    assert rule.evaluate(values)[0].tolist() == [
        *(3, -3, 1, 2147483647, -2147483647, 0)
    ]
    scale = np.float32(0.5) * np.float32(0.1)
    values["real_bias"] = np.array(0.085, np.float32)
    values["weight_scale"] = np.array(0.1, np.float32)
    expected = np.float32(0.085) * (np.float32(1) / scale)
    assert int(rule.evaluate(values)[0]) == int(np.floor(expected + 0.5))
    values["bias"] = np.array([3, -7], np.int32)
    back = load_contract("tflite").rule("dequantize_bias")
    assert back.evaluate(values)[0].tolist() == [
        float(np.float32(n) * scale) for n in (3, -7)
    ]


def test_a_real_bias_enters_the_accumulator():
    """As the integer bias that tflite makes of it."""
    real = np.array([1.125, -0.3125, 2.0], np.float32)
    integer = np.array([5, -3, 32], np.int32)  # 4.5, -2.5 and 32 steps
    results = [run_everywhere(linear(bias), "tflite", X) for bias in (real, integer)]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != run_everywhere(linear(None), "tflite", X)).any()


@pytest.mark.parts(2)
@pytest.mark.parametrize("contract", ["tflite", "tflm"])
def test_no_depthwise_convolution_of_words_has_a_bias_of_32_bits(contract: str):
    def words(shape: tuple[int, ...]) -> TensorType[Attribute]:
        return TensorType(QuantizedType.per_tensor(16, True, 0.5), shape)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(WEIGHTS.reshape(1, 3, 2, 1), quantized((1, 3, 2, 1), 0.25))
        b = constant(np.array([3], np.int32))
        y = words((1, 1, 1, 1))
        return [qnn.DepthwiseConv2DOp(x, w, b, y).result]

    model = make_module([words((1, 3, 2, 1))], body)
    with pytest.raises(QlowerError, match="needs a bias of 64 bits"):
        run_everywhere(model, contract, np.zeros((1, 3, 2, 1), np.int16))


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        (np.array([3, -2, 1], np.int32), [3, -2, 1]),
        (np.array([1.125, -0.3125, 2.0], np.float32), [5, -3, 32]),
        (None, [0, 0, 0]),
    ],
)
def test_a_rule_that_asks_for_the_integer_bias(
    bias: Array | None, expected: list[int], tmp_path: Path
):
    rule = rule_text("linear", {"accumulator": "i32", "bias": "i32"}, RETURN_BIAS)
    contract = write_on_tflite(tmp_path, rule)
    result = run_everywhere(linear(bias), contract, X)
    assert result.tolist() == [expected] * 4


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        (np.array([3, -2, 16], np.int32), [6, -2, 8]),
        (np.array([0.5, -0.25, 2.0], np.float32), [4, -2, 16]),
        (None, [0, 0, 0]),
    ],
)
def test_a_rule_that_asks_for_the_real_bias(
    bias: Array | None, expected: list[int], tmp_path: Path
):
    rule = rule_text("linear", {"accumulator": "i32", "real_bias": "f32"}, STEPS)
    contract = write_on_tflite(tmp_path, rule)
    result = run_everywhere(linear(bias), contract, X)
    assert result.tolist() == [expected] * 4


def test_the_accumulator_is_then_without_bias(tmp_path: Path):
    bias = np.array([1000, -1000, 1000], np.int32)
    centred = X.astype(np.int64) - 3
    exact = centred @ WEIGHTS.T.astype(np.int64)
    values = {"accumulator": "i32"}
    contract = write_contract(tmp_path, rule_text("linear", values, SATURATED))
    result = run_everywhere(linear(bias), contract, X)
    np.testing.assert_array_equal(result, np.clip(exact + bias, -128, 127))
    contract = write_contract(
        tmp_path,
        rule_text("linear", {**values, "bias": "i32"}, SATURATED),
        name="without",
    )
    result = run_everywhere(linear(bias), contract, X)
    np.testing.assert_array_equal(result, np.clip(exact, -128, 127))


@pytest.mark.parts(6)
@pytest.mark.parametrize("wanted", ["none", "bias", "real_bias"])
@pytest.mark.parametrize(
    "bias",
    [np.array([4, 5, -6], np.int32), np.array([0.5, -0.25, 2.0], np.float32)],
    ids=["i32", "f32"],
)
def test_a_computed_bias_is_converted_as_a_constant_one(
    bias: Array, wanted: str, tmp_path: Path
):
    def body(x: SSAValue, b: SSAValue) -> list[SSAValue]:
        w = constant(WEIGHTS, quantized_per_axis((3, 2), 0, SCALES))
        return [qnn.LinearOp(x, w, b, quantized((4, 3), 0.5)).result]

    type = TensorType(i32 if bias.dtype == np.int32 else f32, (3,))
    module = make_module([quantized((4, 2), 0.5, 3), type], body)
    contract = "tflite"
    if wanted != "none":
        values = {"accumulator": "i32", wanted: "f32" if wanted[0] == "r" else "i32"}
        rule = rule_text("linear", values, STEPS if wanted[0] == "r" else RETURN_BIAS)
        contract = write_on_tflite(tmp_path, rule)
    expected = run_everywhere(linear(bias), contract, X)
    np.testing.assert_array_equal(run_everywhere(module, contract, X, bias), expected)


def test_a_missing_conversion_is_refused_by_name(tmp_path: Path):
    values = {"accumulator": "i32"}
    contract = write_contract(tmp_path, rule_text("linear", values, SATURATED))
    with pytest.raises(QlowerError, match="contract custom has no rule quantize_bias"):
        qlower.lower(qlower.Model(linear(np.zeros(3, np.float32))), contract)


RANGE = """\
  %reach = arith.subi %accumulator_max, %accumulator_min : i64
  %limit = arith.constant 33000 : i64
  %fits = arith.cmpi sle, %reach, %limit : i64
  cf.assert %fits, "the accumulator reaches too far"
  %bits = arith.constant 8 : i64
  %high = arith.shrsi %accumulator_min, %bits : i64
  %y = arith.trunci %high : i64 to i32
  return %y : i32"""
RANGE_VALUES = {"accumulator_min": "i64", "accumulator_max": "i64"}


def test_the_range_of_the_accumulator(tmp_path: Path):
    """Of each channel, with the bias that the accumulator has."""
    corners = np.array([[a, b] for a in (-131, 124) for b in (-131, 124)])
    sums = corners @ WEIGHTS.T.astype(np.int64)
    reach = sums.max(axis=0) - sums.min(axis=0)
    rule = rule_text("linear", RANGE_VALUES, RANGE.replace("33000", str(reach.max())))
    contract = write_contract(tmp_path, rule)
    bias = np.array([100, 20000, -300], np.int32)
    result = run_everywhere(linear(bias), contract, X)
    expected = (sums.min(axis=0) + bias) >> 8
    assert result.tolist() == [expected.tolist()] * 4
    rule = rule_text(
        "linear", RANGE_VALUES, RANGE.replace("33000", str(reach.max() - 1))
    )
    contract = write_contract(tmp_path, rule, name="tight")
    for at in ("qnn", "arith"):
        with pytest.raises(QlowerError, match="the accumulator reaches too far"):
            qlower.interpret(qlower.Model(linear(bias)), X, contract=contract, at=at)


def test_the_range_of_computed_weights(tmp_path: Path):
    def body(x: SSAValue, w: SSAValue) -> list[SSAValue]:
        return [qnn.LinearOp(x, w, None, quantized((4, 3), 0.5)).result]

    module = make_module([quantized((4, 2), 0.5), quantized((3, 2), 0.5)], body)
    text = RANGE.replace("33000", "65280").replace("8 : i64", "9 : i64")
    contract = write_contract(tmp_path, rule_text("linear", RANGE_VALUES, text))
    result = run_everywhere(module, contract, X, random_stored((3, 2)))
    # 2 * (-128 * 127) = -32512
    assert (result == -32512 >> 9).all()


def test_the_range_of_a_matrix_product(tmp_path: Path):
    def body(x: SSAValue, y: SSAValue) -> list[SSAValue]:
        return [qnn.MatMulOp(x, y, quantized((4, 3), 0.5)).result]

    module = make_module([quantized((4, 2), 0.5, 3), quantized((2, 3), 0.5)], body)
    text = RANGE.replace("33000", "99999").replace("8 : i64", "9 : i64")
    rule = rule_text("matmul", RANGE_VALUES, text)
    contract = write_contract(tmp_path, rule)
    result = run_everywhere(module, contract, X, random_stored((2, 3)))
    # 2 * (-131 * 127) = -33274
    assert (result == -33274 >> 9).all()


GEOMETRY = """\
  %c3 = arith.constant 3 : i32
  %0 = arith.muli %kernel_height, %c3 : i32
  %1 = arith.addi %0, %kernel_width : i32
  %2 = arith.muli %1, %c3 : i32
  %3 = arith.addi %2, %stride_width : i32
  %4 = arith.muli %3, %c3 : i32
  %5 = arith.addi %4, %pad_bottom : i32
  %6 = arith.subi %5, %dilation_height : i32
  %7 = arith.addi %6, %input_channels : i32
  return %7 : i32"""


def test_the_geometry_of_a_convolution(tmp_path: Path):
    shape = (2, 1, 2, 3)

    def body(x: SSAValue) -> list[SSAValue]:
        w = constant(random_stored(shape), quantized(shape, 0.5))
        y = quantized((1, 5, 2, 2), 0.5)
        conv = qnn.Conv2DOp(
            x, w, None, y, stride=(1, 2), pad=(0, 1, 0, 0), dilation=(2, 1)
        )
        return [conv.result]

    names = ("kernel_height", "kernel_width", "stride_width", "pad_bottom")
    names += ("dilation_height", "input_channels")
    rule = rule_text("conv2d", dict.fromkeys(names, "i32"), GEOMETRY)
    contract = write_contract(tmp_path, rule)
    module = make_module([quantized((1, 4, 4, 3), 0.5)], body)
    result = run_everywhere(module, contract, random_stored((1, 4, 4, 3)))
    assert (result == 27 + 18 + 6 + 1 - 2 + 3).all()
