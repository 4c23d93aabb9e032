"""Short names of layers: what people read, unique, and stable through text."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from support import models_directory
from support.machines.counted_calls import counted_calls
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.diagnostics import QlowerError
from qlower.model.layers import full_name, layer_name, layers, name_layers
from qlower.model.names import LONGEST_NAME, short_names
from qlower.model.printing import exact_module
from qlower.model.selection import select_layers
from qlower.text.parsing import parse_module

MODELS = sorted(models_directory().glob("*/model.tflite"))

HARMLESS = re.compile(r"[\w.:+#/-]+")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["conv1", "add", "y"], ["conv1", "add", "y"]),
        # The activation comes first, and another layer's constant in between.
        (
            [
                "m/relu/Relu;m/conv2d/BiasAdd;m/conv2d_1/Conv2D;m/conv2d/Conv2D1",
                "m/relu_1/Relu;m/conv2d_1/BiasAdd;m/conv2d_1/Conv2D",
                "m/flatten/Reshape",
                "m/dense/MatMul;m/dense/BiasAdd",
                "Identity",
            ],
            ["conv2d", "conv2d_1", "flatten", "dense", "Identity"],
        ),
        (["m/relu/Relu;m/dense/BiasAdd", "m/y", "m/z"], ["dense", "y", "z"]),
        # As much of the path as tells them apart, and a number where nothing does.
        (
            ["n/block_1/conv/Conv2D", "n/block_2/conv/Conv2D"],
            ["block_1/conv", "block_2/conv"],
        ),
        (["m/conv/Relu;x", "m/conv/Relu;y"], ["x", "y"]),
        # What both have says nothing about either.
        (["a", "a;a/c"], ["a", "c"]),
        (["a b", "a  b"], ["a_b", "a_b#2"]),
        # A step on the way to a layer.
        (["m/add/Add/reshape", "m/add/Add"], ["add/reshape", "add"]),
        (["y/reshape", "y"], ["y/reshape", "y"]),
        (["", ";", "/"], ["layer", "layer#2", "layer#3"]),
        (["$(rm -rf x)", "<script>", '"*/'], ["_rm_-rf_x_", "_script_", "layer"]),
        (["deep/" * 50 + "x"], ["deep"]),
        (["the_" * 30 + "end"], ["the_the_the_the_the_the_the_the_the_end"]),
        (["x" * 100], ["x" * LONGEST_NAME]),
        # What quantizers add, and operations that each layer has.
        (
            [
                "m/conv2d/BiasAdd/ReadVariableOp:0_QuantizeLinear_Output",
                "m/dense_1/BiasAdd/ReadVariableOp_1/resource_quantized",
                "Relu__5:0_QuantizeLinear_Output",
                "Relu__5:0_DequantizeLinear_Output",
                "image_QuantizeInput",
                "/fc/Gemm_output_0_QuantizeLinear_Output_1",
                "ReadVariableOp",
            ],
            [
                *("conv2d", "dense_1", "Relu__5:0", "Relu__5:0#2", "image", "fc"),
                "ReadVariableOp",
            ],
        ),
    ],
)
def test_short_names(names: list[str], expected: list[str]) -> None:
    assert short_names(names) == expected


def test_taken_names_are_left_alone() -> None:
    assert short_names(["m/conv/Conv2D", "conv#2"], ["conv"]) == ["conv#2", "conv#2#2"]


def test_any_names_become_harmless_and_unique() -> None:
    choice = random.Random(5)
    letters = "ab/;:# \n\0\"'\\*<>$()\u202e\u00e9" * 2 + "conv"
    for _ in range(300):
        names = sorted(
            {
                "".join(choice.choices(letters, k=choice.randrange(40)))
                for _ in range(20)
            }
        )
        short = short_names(names)
        assert len(set(short)) == len(names)
        for name in short:
            assert HARMLESS.fullmatch(name)
            assert len(name) <= 2 * LONGEST_NAME + 5


@pytest.mark.long
def test_the_work_for_long_names_grows_with_their_number() -> None:
    def work(count: int) -> int:
        names = [f"{'a/' * 4000}{number};b/c;" * 3 for number in range(count)]
        with counted_calls() as calls:
            assert len(set(short_names(names))) == count
        return calls.count

    few = work(30)
    assert few < 1_000_000
    assert work(60) < 2.2 * few


def names_of(module: ModuleOp) -> list[tuple[str | None, str | None]]:
    return [(layer_name(op), full_name(op)) for op in layers(module)]


@pytest.mark.parts(52)
@pytest.mark.skipif(not MODELS, reason="no models")
@pytest.mark.parametrize("path", MODELS, ids=[path.parent.name for path in MODELS])
def test_real_models(path: Path) -> None:
    model = qlower.load(path)
    names = names_of(model.module)
    assert len({short for short, _ in names}) == len(names)
    assert all(short and len(short) <= LONGEST_NAME for short, _ in names)
    assert list(model.full_names.items()) == names
    # Text keeps both names, and giving names again changes neither.
    again = parse_module(exact_module(model.module).encode(), "model.mlir")
    name_layers(again)
    assert names_of(again) == names


def test_no_layer_is_called_like_an_input() -> None:
    text = b"""
    func.func @main(%x: tensor<4xi8> {qnn.name = "image"}) -> tensor<4xi8> {
      %a = arith.addi %x, %x : tensor<4xi8> loc("image")
      func.return %a : tensor<4xi8>
    }
    """
    module = parse_module(text)
    name_layers(module)
    assert names_of(module) == [("image#0", "image")]
    name_layers(module)
    assert names_of(module) == [("image#0", "image")]


MODULE = b"""
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = arith.addi %x, %x : tensor<4xi8> loc("n/conv_1/Conv2D;n/conv_1/Bias")
  %b = arith.addi %a, %x : tensor<4xi8> loc("n/conv_2/Conv2D;n/conv_2/Bias")
  %c = arith.addi %b, %x : tensor<4xi8> loc("n/dense/MatMul")
  func.return %c : tensor<4xi8>
}
"""


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("1", ["conv_2"]),
        ("conv_1", ["conv_1"]),
        ("n/dense/MatMul", ["dense"]),
        ("conv*", ["conv_1", "conv_2"]),
        ("*MatMul", ["dense"]),
        ("*", ["conv_1", "conv_2", "dense"]),
    ],
)
def test_selection(wanted: str, expected: list[str]) -> None:
    module = parse_module(MODULE)
    name_layers(module)
    assert select_layers(module, wanted) == expected


@pytest.mark.parametrize(
    ("wanted", "help"),
    [
        ("conv", "did you mean 'conv_1', 'conv_2'?"),
        ("dence", "did you mean 'dense'?"),
        ("matmul", "did you mean 'dense'?"),
        ("3", "it has 'conv_1', 'conv_2', 'dense'"),
        ("x*", "it has 'conv_1', 'conv_2', 'dense'"),
        ("", "it has 'conv_1', 'conv_2', 'dense'"),
    ],
)
def test_no_such_layer(wanted: str, help: str) -> None:
    module = parse_module(MODULE)
    name_layers(module)
    with pytest.raises(QlowerError) as caught:
        select_layers(module, wanted)
    assert caught.value.message == f"the model has no layer {wanted!r}"
    assert caught.value.help == help
