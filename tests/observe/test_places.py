"""How elements are addressed: by numbers, or by the names of axes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.model.signature import Array
from qlower.observe.axes import layer_axes
from qlower.observe.place import parse_place

CHANNELS_FIRST = """
!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>
!first = tensor<1x2x4x5x!x>
!last = tensor<1x4x5x2x!x>
func.func @main(%x: !first) -> (!first, tensor<1x40x!x>) {
  %w = qnn.constant dense<[[[[1, 2]]], [[[3, 1]]]]> : tensor<2x1x1x2xi8>
    -> tensor<2x1x1x2x!w>
  %clipped = qnn.relu %x : (!first) -> !first
  %last = qnn.transpose %clipped {perm = [0, 2, 3, 1]} : (!first) -> !last
  %conv = qnn.conv2d %last, %w {stride = [1, 1], pad = [0, 0, 0, 0],
    dilation = [1, 1]} : (!last, tensor<2x1x1x2x!w>) -> !last
  %sum = qnn.add %conv, %last : (!last, !last) -> !last
  %back = qnn.transpose %sum {perm = [0, 3, 1, 2]} : (!last) -> !first
  %flat = qnn.reshape %back : (!first) -> tensor<1x40x!x>
  return %back, %flat : !first, tensor<1x40x!x>
}
"""


@pytest.fixture(scope="module")
def model() -> qlower.Model:
    return load_text(CHANNELS_FIRST.encode(), "first.mlir", ImportOptions())


IMAGE: Array = np.arange(40, dtype=np.int8).reshape(1, 2, 4, 5)


def test_axes_are_known_on_both_sides_of_a_transposition(model: qlower.Model) -> None:
    assert layer_axes(model.module) == {
        "clipped": "nchw",
        "last": "nhwc",
        "conv": "nhwc",
        "sum": "nhwc",
        "back": "nchw",
    }


@pytest.mark.parametrize("layer", ["clipped", "conv", "sum", "back"])
def test_axes_in_any_order_are_one_element(model: qlower.Model, layer: str) -> None:
    index = {"n": 0, "h": 3, "w": 4, "c": 1}
    numbers = tuple(index[axis] for axis in layer_axes(model.module)[layer])
    for order in itertools.permutations("nhwc"):
        written = ", ".join(f"{axis}={index[axis]}" for axis in order)
        assert parse_place(model.module, f"{layer}[{written}]").index == numbers


def test_a_trace_says_which_axis_is_which(model: qlower.Model) -> None:
    at = "conv[n=0,c=1,h=3,w=2]"
    trace = qlower.trace(model, IMAGE, contract="tflite", at=at)
    assert "the index is [n,h,w,c]" in str(trace)
    assert trace.to_dict()["axes"] == "nhwc"
    back = qlower.trace(model, IMAGE, contract="tflite", at="back[0,1,3,2]")
    assert "the index is [n,c,h,w]" in str(back)
    plain = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
    image = np.zeros((1, 8, 8, 1), np.int8)
    assert "the index is" not in str(qlower.trace(plain, image, at="conv1[0,0,0,0]"))


@pytest.mark.parametrize(
    ("at", "help"),
    [
        ("conv[0,1,3,2]", "[n 0 to 0, h 0 to 3, w 0 to 4, c 0 to 1]"),
        ("clipped[0,3,1,1]", "[n 0 to 0, c 0 to 1, h 0 to 3, w 0 to 4]"),
        ("conv[c=1]", "write [n=0,h=0,w=0,c=0], in any order"),
        ("conv[n=0,h=0,w=0,x=0]", "write [n=0,h=0,w=0,c=0], in any order"),
        ("flat[n=0,h=1]", "its axes have no names; its indices are [0 to 0, 0 to 39]"),
    ],
)
def test_axes_that_are_not_there(model: qlower.Model, at: str, help: str) -> None:
    with pytest.raises(QlowerError) as error:
        parse_place(model.module, at)
    assert error.value.help is not None
    assert help in error.value.help


def test_an_element_that_is_missing_is_asked_for_by_its_axes(
    model: qlower.Model,
) -> None:
    with pytest.raises(QlowerError) as error:
        qlower.trace(model, IMAGE, at="conv", contract="tflite")
    assert error.value.help == "write conv[n=0,h=0,w=0,c=0]"


def test_a_bias_that_is_rounded_is_not_said_to_wrap(model: qlower.Model) -> None:
    """An int32 bias that a contract wants as a real number, of float32."""
    text = """
!x = !quant.uniform<i8:f32, 0.013>
!w = !quant.uniform<i8:f32, 0.0171>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x1x!x> {
  %w = qnn.constant dense<[[1, 2]]> : tensor<1x2xi8> -> tensor<1x2x!w>
  %b = arith.constant dense<[7777777]> : tensor<1xi32>
  %y = qnn.linear %x, %w, %b : (tensor<1x2x!x>, tensor<1x2x!w>, tensor<1xi32>)
    -> tensor<1x1x!x>
  return %y : tensor<1x1x!x>
}
"""
    layer = load_text(text.encode(), "bias.mlir", ImportOptions())
    codes = np.array([[3, 5]], np.int8)
    trace = str(qlower.trace(layer, codes, contract="pytorch-fbgemm", at="y[0,0]"))
    assert "bias rounded" in trace
    assert "wraps" not in trace
