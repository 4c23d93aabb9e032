"""Pools, reductions and normalizations of real numbers, in the contract's order."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.typing import NDArray

import qlower
from qlower.contracts import parse_contract
from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.verification.equal import equal

CONTRACTS = ("tflite", "onnxruntime", "pytorch-fbgemm")

OPERATIONS = {
    "average": (
        'qnn.real_pool2d %x {function = "average_pool", kernel = [3, 2],'
        " stride = [2, 1], pad = [1, 0, 1, 1], dilation = [1, 1]}",
        (2, 7, 6, 5),
        (2, 3, 7, 5),
    ),
    "average with padding, far apart": (
        'qnn.real_pool2d %x {function = "average_pool", kernel = [2, 2],'
        " stride = [1, 3], pad = [1, 0, 1, 1], dilation = [2, 2],"
        " count_include_pad = true}",
        (1, 7, 9, 3),
        (1, 6, 3, 3),
    ),
    "loops": (
        'qnn.real_pool2d %x {function = "loop_average_pool", kernel = [3, 3],'
        ' stride = [1, 1], pad = [1, 1, 1, 1], dilation = [1, 1], activation = "relu"}',
        (1, 5, 4, 3),
        (1, 5, 4, 3),
    ),
    "volumes": (
        'qnn.real_pool2d %x {function = "volume_average_pool", kernel = [6, 3],'
        " stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}",
        (4, 6, 3, 2),
        (4, 1, 1, 2),
    ),
    "largest": (
        'qnn.real_pool2d %x {function = "max_pool", kernel = [3, 2], stride = [2, 1],'
        ' pad = [1, 0, 1, 1], dilation = [1, 1], activation = "relu6"}',
        (1, 7, 6, 5),
        (1, 3, 7, 5),
    ),
    **{
        f"global of {height} by {width}, {channels} channels": (
            'qnn.real_reduce %x {function = "global_average", axes = [1, 2],'
            " keep_dims = true}",
            (2, height, width, channels),
            (2, 1, 1, channels),
        )
        for height, width, channels in (
            *((1, 3, 2), (1, 1, 1), (5, 5, 9), (9, 31, 1), (40, 41, 1)),
            *((3, 3, 40), (17, 20, 33), (2, 3, 3)),
        )
    },
    **{
        f"{function} of {size}": (
            f'qnn.real_normalize %x {{function = "{function}", axis = 2, beta = 1.5,'
            ' epsilon = 1.0e-05, fallback = "onnxruntime"}',
            (2, 3, size),
            (2, 3, size),
        )
        for function in ("softmax", "log_softmax", "layer_norm", "rms_norm")
        for size in (1, 7, 8, 13, 16, 33, 100)
    },
    **{
        function: (
            f'qnn.real_normalize %x {{function = "{function}", axis = 2,'
            ' epsilon = 1.0e-05, fallback = "onnxruntime"}',
            (2, 3, 5, 9),
            (2, 3, 5, 9),
        )
        for function in (
            *("loop_layer_norm", "plain_layer_norm", "loop_rms_norm"),
            "instance_norm",
        )
    },
    **{
        f"softmax of {size} by ATen": (
            'qnn.real_normalize %x {function = "softmax", axis = 2, fallback ='
            ' "pytorch-fbgemm"}',
            (2, 3, size),
            (2, 3, size),
        )
        for size in (15, 16, 33)
    },
    "groups": (
        'qnn.real_normalize %x {function = "group_norm", axis = 1, fallback ='
        ' "onnxruntime"}',
        (6, 2, 17),
        (6, 2, 17),
    ),
    **{
        f"{function} of all": (
            f'qnn.real_reduce %x {{function = "{function}", axes = [0, 1],'
            " keep_dims = true}",
            (3, 40),
            (1, 1),
        )
        for function in ("mean", "sum")
    },
    "rows by their norm": (
        'qnn.real_normalize %x {function = "l2_normalize", axis = 1, fallback ='
        ' "tflite"}',
        (6, 17),
        (6, 17),
    ),
}
"""Operations, with the shapes of what they take and give."""


@cache
def model_of(name: str) -> Model:
    text, source, result = OPERATIONS[name]
    given, made = (f"tensor<{'x'.join(map(str, s))}xf32>" for s in (source, result))
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.mlir")
        path.write_text(
            f"func.func @main(%x: {given}) -> {made} {{\n"
            f"  %y = {text} : ({given}) -> {made}\n"
            f"  return %y : {made}\n"
            "}\n"
        )
        return qlower.load(path)


def numbers(
    model: Model, seed: int = 0
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Numbers of many sizes, of which large ones cancel."""
    (spec,) = model.inputs
    draw = np.random.default_rng(seed)
    values = draw.standard_normal(spec.shape) * np.exp2(
        draw.integers(-12, 12, spec.shape)
    )
    flat = values.reshape(-1)
    flat[1::4] = -flat[: len(flat[1::4]) * 4 : 4]
    return values.astype(np.float32)


@pytest.mark.parts(156)
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_level_gives_the_same_bits(name: str, contract: str):
    model = model_of(name)
    x = numbers(model)
    given = qlower.jit(model, contract=contract)(x)
    for level in ("qnn", "arith", "kernel"):
        expected = qlower.interpret(model, x, contract=contract, at=level)
        np.testing.assert_array_equal(bits(given), bits(expected), level)


def bits(values: object) -> NDArray[np.int32]:
    return np.asarray(values, np.float32).view(np.int32)


REORDERED = """
module attributes {contract.base = "tflite"} {
func.func private @elements_in_turn(%input: f32) -> f32 replaces
    attributes {contract.rows = "lanes"} {
  return %input : f32
}
}
"""


def test_a_planted_order_is_named(tmp_path: Path):
    """A sum in another order is found and named, and not called equal."""
    model, mine = model_of("average"), tmp_path / "mine.mlir"
    mine.write_text(REORDERED)
    found = str(qlower.diff("tflite", str(mine), model, numbers(model)))
    assert "elements_in_turn, sequential" in found
    assert "elements_in_turn, lanes" in found
    (verdict,) = equal("tflite", str(mine), model, native=False).layers
    assert verdict.verdict == "differs"
    (same,) = equal("tflite", "tflm", model, native=False).layers
    assert same.verdict == "equal"


def test_a_trace_begins_with_the_sum():
    model = model_of("average")
    trace = str(
        qlower.trace(model, numbers(model), at="y[0,0,0,0]", contract="onnxruntime")
    )
    assert "%taps, columns first" in trace
    assert "divide by 2" in trace


@pytest.mark.parametrize(
    ("attributes", "results", "message"),
    [
        ('contract.rows = "backwards"', "f32", "is not one of sequential"),
        ('contract.rows = ["lanes", "fold"]', "f32", "is not one of sequential"),
        (
            'contract.rows = ["lanes", "packets"]',
            "f32",
            "2 orders and no contract.choice",
        ),
        ('contract.rows = "row"', "i32", "does not take and give floats"),
    ],
)
def test_helpers_on_rows_are_checked(attributes: str, results: str, message: str):
    text = (
        f"func.func private @helper(%input: {results}) -> {results}\n"
        f"    attributes {{{attributes}}} {{\n  return %input : {results}\n}}\n"
    )
    with pytest.raises(QlowerError, match=message):
        parse_contract(text, "mine", "mine.mlir")


def test_a_choice_beyond_the_orders_is_refused(tmp_path: Path):
    mine = tmp_path / "mine.mlir"
    mine.write_text(
        'module attributes {contract.base = "onnxruntime"} {\n'
        "func.func private @taps_order() -> i32 replaces {"
        " %result = arith.constant 2 : i32 }\n"
        "}\n"
    )
    model = model_of("average")
    with pytest.raises(QlowerError, match="taps_order gives 2, taps has 2 orders"):
        qlower.interpret(model, numbers(model), contract=str(mine))
