"""`tosa` and `tosa-double` against the TOSA reference model (recorded)."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from support.layers.rescaling import (
    Rescaling,
    check_rescalings,
    rescale_by_multiplier,
)
from support.systems.recordings import (
    LAYER_COUNT,
    NEEDS_RECORDINGS,
    RUNTIMES,
    Recording,
    check_recording,
    recorded_layer,
)
from xdsl.dialects.builtin import StringAttr, TensorType, f32
from xdsl.ir import SSAValue

import qlower
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized

CONTRACTS = {"SINGLE_ROUND": "tosa", "DOUBLE_ROUND": "tosa-double"}
ENGINES = {"tosa_single": "tosa", "tosa_double": "tosa-double"}


@cache
def read_rescales() -> dict[str, Array]:
    with np.load(RUNTIMES / "tosa_rescale.npz") as arrays:
        return {key: arrays[key] for key in arrays.files}


@pytest.mark.parts(6)
@NEEDS_RECORDINGS
@pytest.mark.parametrize("index", range(LAYER_COUNT))
@pytest.mark.parametrize("engine", ENGINES)
def test_layer(engine: str, index: int):
    check_recording(recorded_layer(index, engine), ENGINES[engine])


@pytest.mark.parts(2)
@NEEDS_RECORDINGS
@pytest.mark.parametrize("mode", CONTRACTS)
def test_rescale(mode: str):
    """RESCALE of accumulators (of i8 less its zero point), per channel or not."""
    arrays = read_rescales()
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for index, case in enumerate(json.loads(bytes(arrays["meta"]))):
        if case["rounding_mode"] != mode:
            continue
        x = arrays[f"t{index:02d}_x"].astype(np.int32) - case["input_zp"]
        y = arrays[f"t{index:02d}_y"]
        channels = len(case["multiplier"])
        pairs = zip(case["multiplier"], case["shift"], strict=True)
        for channel, (multiplier, shift) in enumerate(pairs):
            rescalings.append(
                rescale_by_multiplier(
                    x.reshape(-1, channels)[:, channel],
                    *(multiplier, 31 - shift),
                    case["output_zp"],
                )
            )
            expected.append(y.reshape(-1, channels)[:, channel])
    check_rescalings(rescalings, CONTRACTS[mode], expected)


def linear(
    bias: list[int], ratio: float, mode: str | None = None
) -> tuple[qlower.Model, Array]:
    """A linear layer that rescales its biases, and an input for it."""

    def body(x: SSAValue) -> list[SSAValue]:
        shape = (len(bias), 1)
        weights = constant(np.zeros(shape, np.int8), quantized(shape, ratio))
        biases = constant(np.array(bias, np.int32))
        op = qnn.LinearOp(x, weights, biases, quantized((1, len(bias)), 1.0))
        if mode is not None:
            op.attributes["tosa.rounding_mode"] = StringAttr(mode)
        return [op.result]

    module = make_module([quantized((1, 1), 1.0)], body)
    return qlower.Model(module), np.zeros((1, 1), np.int8)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(None, [0, 0, -1]), ("SINGLE_ROUND", [0, 0, -1]), ("DOUBLE_ROUND", [1, -1, -2])],
)
def test_an_operation_says_how_it_rounds(mode: str | None, expected: list[int]):
    model, x = linear([1, -2, -6], 0.25, mode)
    expected_array = np.array([expected], np.int8)
    for level in ("qnn", "arith"):
        result = qlower.interpret(model, x, contract="tosa", at=level)
        np.testing.assert_array_equal(result, expected_array)
    np.testing.assert_array_equal(qlower.jit(model, contract="tosa")(x), expected_array)


def test_a_value_that_may_be_unpredictable_is_refused():
    """2^20 by a ratio of 2^12: the shift is 18."""
    model, x = linear([1 << 20], 4096.0)
    with pytest.raises(QlowerError, match="unpredictable"):
        qlower.jit(model, contract="tosa")
    small, x = linear([1 << 16], 4096.0)
    assert np.array_equal(qlower.jit(small, contract="tosa")(x), [[127]])


def test_a_ratio_without_a_shift_is_refused():
    model, _ = linear([2], 2.0**30)
    with pytest.raises(QlowerError, match="unpredictable"):
        qlower.jit(model, contract="tosa")


def test_quantize_wraps_where_the_converter_does():
    """127 steps and a zero point of 10 are 137, which int8 holds as -119."""

    def body(x: SSAValue) -> list[SSAValue]:
        return [qnn.QuantizeOp(x, quantized((2,), 0.5, 10)).result]

    module = make_module([TensorType(f32, [2])], body)
    x = np.array([63.5, -1.25], np.float32)
    expected = np.array([-119, 8], np.int8)
    check_recording(Recording(module, [x], expected), "tosa")
