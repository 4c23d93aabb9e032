"""What the rules of pools are given, adaptive pools, and rounding modes of TOSA."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.layers.custom_contracts import rule_text, run_everywhere, write_contract
from support.values.rule_values import Layer, LayerValues
from support.values.stored import random_stored
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.contracts import load_contract
from qlower.contracts.accumulator_range import AccumulatorRange, accumulator_range
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import make_module, quantized

MEAN = """\
  %y = arith.divsi %accumulator, %count : i32
  return %y : i32"""
SIZES = """\
  %c10 = arith.constant 10 : i32
  %0 = arith.muli %kernel_height, %c10 : i32
  %1 = arith.addi %0, %kernel_width : i32
  return %1 : i32"""


def adaptive(
    shape: Sequence[int], height: int, width: int, signed: bool = True
) -> list[Attribute]:
    """Types of an input and a result."""
    result = (shape[0], height, width, shape[3])
    return [quantized(s, 0.5, signed=signed) for s in (shape, result)]


@pytest.mark.parts(6)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(
    ("shape", "height", "width"),
    [
        ((1, 4, 6, 3), 2, 3),
        ((2, 7, 5, 3), 1, 1),
        ((1, 7, 5, 3), 3, 2),
        ((1, 2, 3, 2), 5, 3),
        ((1, 7, 9, 33), 5, 3),
    ],
)
def test_adaptive_averages(
    shape: tuple[int, ...], height: int, width: int, signed: bool, tmp_path: Path
):
    """Also windows that overlap, that differ in size, and a result that is larger."""
    source, result = adaptive(shape, height, width, signed)

    def body(x: SSAValue) -> list[SSAValue]:
        return [qnn.AdaptiveAvgPool2DOp(x, result).result]

    module = make_module([source], body)
    contract = write_contract(
        tmp_path,
        rule_text("adaptive_avg_pool2d", {"accumulator": "i32", "count": "i32"}, MEAN),
    )
    x = random_stored(shape, signed=signed)
    got = run_everywhere(module, contract, x)
    contract = write_contract(
        tmp_path,
        rule_text(
            "adaptive_avg_pool2d",
            {"kernel_height": "i32", "kernel_width": "i32"},
            SIZES,
        ),
        name="sizes",
    )
    sizes = run_everywhere(module, contract, x)
    counts: list[int] = []
    for n, i, j, c in np.ndindex(got.shape):
        rows = slice(i * shape[1] // height, -((i + 1) * -shape[1] // height))
        columns = slice(j * shape[2] // width, -((j + 1) * -shape[2] // width))
        window = x[n, rows, columns, c].astype(np.int64)
        assert got[n, i, j, c] == int(window.sum() / window.size)
        assert sizes[n, i, j, c] == 10 * window.shape[0] + window.shape[1]
        counts.append(window.size)
    (op,) = (op for op in module.walk() if isinstance(op, qnn.AdaptiveAvgPool2DOp))
    low, high = (-128, 127) if signed else (0, 255)
    most = max(counts)
    assert accumulator_range(op) == AccumulatorRange(low * most, high * most)


def test_averages_know_their_window(tmp_path: Path):
    body_text = """\
  %c3 = arith.constant 3 : i32
  %0 = arith.muli %window_size, %c3 : i32
  %1 = arith.addi %0, %kernel_width : i32
  %2 = arith.addi %1, %pad_top : i32
  %c100 = arith.constant 100 : i32
  %3 = arith.addi %2, %c100 : i32
  %y = arith.select %count_include_pad, %3, %2 : i32
  return %y : i32"""
    values = {"count_include_pad": "i1"}
    values |= dict.fromkeys(["window_size", "kernel_width", "pad_top"], "i32")
    contract = write_contract(tmp_path, rule_text("avg_pool2d", values, body_text))
    for include in (False, True):

        def body(x: SSAValue, include: bool = include) -> list[SSAValue]:
            y = quantized((1, 3, 3, 2), 0.5)
            pool = qnn.AvgPool2DOp(
                x, y, kernel=(3, 2), pad=(1, 1, 0, 0), count_include_pad=include
            )
            return [pool.result]

        module = make_module([quantized((1, 3, 4, 2), 0.5)], body)
        got = run_everywhere(module, contract, random_stored((1, 3, 4, 2)))
        assert (got == 18 + 2 + 1 + 100 * include).all()


DOUBLE = """\
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %y = arith.select %double_round, %one, %zero : i32
  return %y : i32"""


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(None, 0), ("SINGLE_ROUND", 0), ("INEXACT_ROUND", 0), ("DOUBLE_ROUND", 1)],
)
def test_double_rounding_is_the_operations(
    mode: str | None, expected: int, tmp_path: Path
):
    module = rescale(mode)
    contract = write_contract(
        tmp_path, rule_text("requantize", {"double_round": "i1"}, DOUBLE)
    )
    got = run_everywhere(module, contract, random_stored((5,)))
    assert got.tolist() == [expected] * 5


def test_another_rounding_is_refused(tmp_path: Path):
    contract = write_contract(
        tmp_path, rule_text("requantize", {"double_round": "i1"}, DOUBLE)
    )
    model = qlower.Model(rescale("NEAREST"))
    for at in ("qnn", "arith"):
        with pytest.raises(QlowerError, match="is not one of SINGLE_ROUND"):
            qlower.interpret(model, random_stored((5,)), contract=contract, at=at)


def rescale(mode: str | None):
    """A requantization that is marked with a rounding mode."""

    def body(x: SSAValue) -> list[SSAValue]:
        op = qnn.RequantizeOp(x, quantized((5,), 0.25))
        if mode is not None:
            op.attributes["tosa.rounding_mode"] = StringAttr(mode)
        return [op.result]

    return make_module([quantized((5,), 0.5)], body)


@pytest.mark.parametrize("contract", ["tflite", "tflm", "gemmlowp"])
def test_scales_of_an_average_may_differ_by_a_millionth(contract: str):
    """`std::abs(input->params.scale - output->params.scale) <= 1.0e-6` in floats: equal
    to that is legal, one float more isn't."""
    millionth = np.float32(1e-6)
    layer = Layer("a millionth", (0.0, 0.0, 0.0), (0, 0, 0), count=2)
    loaded = load_contract(contract)
    rule = loaded.rule("avg_pool2d")
    values = LayerValues(layer, loaded, "avg_pool2d").of(rule)
    for above, below in ((millionth, 0), (0, millionth)):
        scales = {"input_scale": np.float32(above), "output_scale": np.float32(below)}
        (result,) = rule.evaluate(values | scales)
        assert result.max() > 0
        further = {
            name: np.nextafter(scale, np.float32(1)) if scale else scale
            for name, scale in scales.items()
        }
        with pytest.raises(QlowerError, match="differ in scale or zero point"):
            rule.evaluate(values | further)


FACTORS = {3: (7, 6), 5: (10, 8), 6: (7, 8), 7: (21, 10), 14: (21, 12)}
"""Numbers and places by which the DPU's model divides by the size of these windows."""


@pytest.mark.parts(3)
@pytest.mark.parametrize("window", [*((n, n) for n in range(1, 17)), (2, 3), (7, 3)])
def test_the_dpu_multiplies_by_a_factor_of_the_window(window: tuple[int, int]):
    height, width = window
    size = height * width
    places = 6 + (size - 1).bit_length()
    factor = round(Fraction(1 << places, size))
    if height == width:
        factor, places = FACTORS.get(height, (factor, places))
    x = np.random.default_rng(size).integers(-128, 128, (1, height, width, 64))

    def body(value: SSAValue) -> list[SSAValue]:
        y = quantized((1, 1, 1, 64), 0.25)
        return [qnn.AvgPool2DOp(value, y, kernel=window, stride=(1, 1)).result]

    module = make_module([quantized(x.shape, 0.25)], body)
    found = qlower.interpret(
        qlower.Model(module), x.astype(np.int8), contract="vitis-dpu"
    )
    sums = x.sum((1, 2)).tolist()[0]
    codes = [(one * factor + (1 << (places - 1))) >> places for one in sums]
    assert found.reshape(-1).tolist() == [max(-128, min(127, one)) for one in codes]


def test_glow_refuses_an_adaptive_pool_to_more_than_one_pixel():
    """Its CPU back end has no int8 kernel for that."""

    def body(value: SSAValue) -> list[SSAValue]:
        y = quantized((1, 2, 2, 3), 0.25)
        return [qnn.AdaptiveAvgPool2DOp(value, y).result]

    module = make_module([quantized((1, 4, 4, 3), 0.25)], body)
    x = np.zeros((1, 4, 4, 3), np.int8)
    with pytest.raises(QlowerError, match="no int8 kernel for more than 1x1"):
        qlower.interpret(qlower.Model(module), x, contract="glow-cpu")
