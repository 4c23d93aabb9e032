"""All that the page shows of the layers of a small network, followed by hand."""

from __future__ import annotations

import re
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.model.layers import layers as operations
from qlower.report.layers import Limits
from qlower.report.measures import Cut

IMAGE = np.array([[-128, -60], [3, 127]], np.int8).reshape(1, 2, 2, 1)
"""0, 68, 131 and 255 steps: sums of 64 or -32 times that, and 100 or -200."""


def report(**given: Any) -> Any:
    model = load_text(SMALL_MODEL.encode(), "small.mlir", ImportOptions())
    return qlower.make_report(model, IMAGE, contract="tflite", **given)


def titled(blocks: Any) -> dict[str, Any]:
    return {block["title"]: block for block in blocks}


@pytest.fixture(scope="module")
def layers() -> Any:
    return report(against="tvm", native=False).layers


def facts(layers: Any, number: int, title: str) -> list[tuple[str, str]]:
    return [tuple(row) for row in titled(layers[number])[title]["rows"]]


@pytest.mark.parts(4)
def test_blocks_in_turn(layers: Any) -> None:
    of_tables = ["divergence", "pictures"]
    chain, strip = "how an element came about", "scales of constant, by channel"
    levels = ["qnn", "arith", "kernel"]
    assert [block["title"] for block in layers[1]] == [
        *(*of_tables, chain, "layer", "result", "scales", strip, "ranges", "proof"),
        *levels,
    ]
    assert [block["title"] for block in layers[2]] == [
        *(*of_tables, "layer", "result", "scales", "ranges", *levels),
    ]
    assert [block["title"] for block in layers[3]] == [
        *(*of_tables, chain, "layer", "result", "scales", "ranges", "proof", *levels),
    ]
    pictures = titled(layers[1])["pictures"]["items"]
    assert [one["title"] for one in pictures] == [
        *("differences alone", "differences carried", "result"),
    ]


def test_tables_have_a_layers_own_rows(layers: Any) -> None:
    found = titled(layers[3])
    assert [row[:2] for row in found["divergence"]["rows"]] == [["3", "0"]]
    assert [title for title, _ in found["divergence"]["columns"]][:3] == [
        *("elements", "carried", "share"),
    ]
    assert len(found["divergence"]["notes"]) == 2


def test_facts_of_a_convolution(layers: Any) -> None:
    """-32 * 255 - 200 to 64 * 255 + 100; all four of the second channel are cut."""
    assert facts(layers, 1, "layer") == [
        *(("name", "conv"), ("contract", "tflite"), ("op", "conv2d")),
        *(("kernel", "1x1"), ("stride", "1x1"), ("pad", "0 0 0 0")),
        *(("dilation", "1x1"), ("transposed", "no"), ("groups", "1")),
        ("input", "1x2x2x1 i8 (0.0078125, -128)"),
        ("result (scale, zero point)", "1x2x2x2 i8 (0.015625, -128)"),
        *(("MACs", "8"), ("constant bytes", "10"), ("result bytes", "8")),
    ]
    assert facts(layers, 1, "scales") == [
        ("operand 0, input of the model", "1x2x2x1 i8 (0.0078125, -128)"),
        ("operand 1, constant", "2x1x1x1 i8<-127:127> (2 scales)"),
        ("operand 2, constant", "2 i32"),
        ("result", "1x2x2x2 i8 (0.015625, -128)"),
    ]
    assert titled(layers[1])["scales of constant, by channel"]["marks"] == [
        *([0, "channel 0: 0.00390625"], [1000, "channel 1: 0.0078125"]),
    ]
    assert facts(layers, 1, "ranges") == [
        ("accumulators that any input can give", "[-8360, 16420], 16 bits"),
        ("accumulators for this input", "[-8360, 16420]"),
        (
            "result for this input",
            "[-128, -96] of [-128, 127], which stand for 0 to 0.5",
        ),
        ("elements that are cut", "4 at the low end, of these 4 at 0; 0 high"),
    ]
    assert [name for name, _ in facts(layers, 1, "proof")] == [
        *("epilogue", "proved for every accumulator", "fma"),
    ]


def test_facts_of_what_moves_and_of_a_linear_layer(layers: Any) -> None:
    assert facts(layers, 2, "ranges") == [
        (
            "result for this input",
            "[-128, -96] of [-128, 127], which stand for 0 to 0.5",
        ),
    ]
    assert facts(layers, 2, "scales") == [
        ("operand 0, conv", "1x2x2x2 i8 (0.015625, -128)"),
        ("result", "1x8 i8 (0.015625, -128)"),
    ]
    assert facts(layers, 3, "ranges") == [
        ("accumulators that any input can give", "[-2548, 13008], 15 bits"),
        ("accumulators for this input", "[-195, 453]"),
        (
            "result for this input",
            "[127, 130] of [0, 255], which stand for -0.0625 to 0.125",
        ),
        ("elements that are cut", "0 at the low end; 0 high"),
    ]


def test_how_elements_came_about(layers: Any) -> None:
    """68 * 64 + 100 is 4452, and 1/512 of it 8.695; -200 / 256 is -0.78."""
    items = titled(layers[1])["how an element came about"]["items"]
    found = {one["at"]: one for one in items}
    assert len(found) == 8
    assert found["[0,0,1,0]"]["value"] == "-119, exact -119.3046875"
    assert found["[0,0,1,0]"]["cell"] == [0, 0, 1]
    lines = [
        re.sub(r"\.mlir:\d+", ".mlir:LINE", one) for one in found["[0,0,1,0]"]["lines"]
    ]
    assert lines == [
        "accumulator 4452: the sum of 1 product and the bias, 100",
        "tflite: exact 8.6953125 before the zero point -128 -> 9 "
        "(half_away, tflite.mlir:LINE)",
        "tvm: exact 8.6953125 before the zero point -128 -> 9 (half_up, tvm.mlir:LINE)",
    ]
    (both,) = found["[0,0,1,0]"]["blocks"]
    assert both["title"] == "tflite and tvm"
    cut = found["[0,0,0,1]"]
    assert cut["why"] == "cut at the low end, any"
    assert cut["value"] == "-128, exact -128.78125"
    about = titled(layers[1])["how an element came about"]["about"]
    assert about.startswith("8 elements of 8: ")
    assert about.endswith("qlower trace MODEL --at 'conv[...]'")


def test_one_side_alone_has_its_chains() -> None:
    found = report(native=False).layers
    assert [block["title"] for block in found[1]][:2] == [
        *("pictures", "how an element came about"),
    ]
    assert [one["title"] for one in titled(found[1])["pictures"]["items"]] == ["result"]
    items = titled(found[1])["how an element came about"]["items"]
    first = next(one for one in items if one["at"] == "[0,0,1,0]")
    assert first["lines"] == [
        "accumulator 4452: the sum of 1 product and the bias, 100",
    ]
    assert [block["kind"] for block in first["blocks"]] == ["table"]


def test_how_much_is_shown() -> None:
    """3,000 elements and 2,000,000 cells for all layers, within ends for one."""
    assert [Limits.of(n) for n in (0, 1, 61, 125, 200, 375, 376, 1000)] == [
        *(Limits(24, 32768), Limits(24, 32768), Limits(24, 32768), Limits(24, 16000)),
        *(Limits(15, 10000), Limits(8, 5333), Limits(8, 5319), Limits(8, 4096)),
    ]


def test_a_part_of_a_layer_is_its_layers() -> None:
    is_of = vars(import_module("qlower.report.layers"))["_is_of"]
    row = SimpleNamespace
    assert is_of(row(name="a"), "a")
    assert is_of(row(name="a:1"), "a")
    assert is_of(row(name="a:1"), "a:1")
    assert is_of(row(name="b:a:1"), "b:a")
    assert not is_of(row(name="ab"), "a")


def test_scales_say_where_operands_come_from() -> None:
    """From the model's input, a constant, or another layer by its name."""
    text = """
!x = !quant.uniform<i8:f32, 5.000000e-01:3>
!w = !quant.uniform<i8:f32:0, {2.500000e-01,1.250000e-01}>
!y = !quant.uniform<u8:f32, 1.000000e+00:128>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x2x!y> {
  %r = qnn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("r")
  %w = qnn.constant dense<1> : tensor<2x4xi8> -> tensor<2x4x!w>
  %b = arith.constant dense<[0, 1]> : tensor<2xi32>
  %y = qnn.linear %r, %w, %b
    : (tensor<1x4x!x>, tensor<2x4x!w>, tensor<2xi32>) -> tensor<1x2x!y> loc("y")
  return %y : tensor<1x2x!y>
}"""
    model = load_text(text.encode(), "m.mlir", ImportOptions())
    relu, linear = operations(model.module)
    inner = vars(import_module("qlower.report.layers"))
    assert [*inner["_scales"](relu)] == [
        ("operand 0, input of the model", "1x4 i8 (0.5, 3)"),
        ("result", "1x4 i8 (0.5, 3)"),
    ]
    told = dict(inner["_scales"](linear))
    assert [*told] == [
        "operand 0, r",
        "operand 1, constant",
        "operand 2, constant",
        "result",
    ]
    assert told["result"] != told["operand 0, r"]
    (strip,) = inner["_strips"](linear)
    assert "scales of constant, by channel" in str(strip)
    assert not [*inner["_strips"](relu)]


def test_ranges_of_one_input() -> None:
    """Sums, results with the real numbers that they stand for, and what is cut."""
    text = """
!x = !quant.uniform<i8:f32, 5.000000e-01:3>
func.func @main(%x: tensor<4x!x>) -> tensor<4x!x> {
  %r = qnn.relu %x : (tensor<4x!x>) -> tensor<4x!x> loc("r")
  return %r : tensor<4x!x>
}"""
    (op,) = operations(load_text(text.encode(), "m.mlir", ImportOptions()).module)
    ranges = vars(import_module("qlower.report.layers"))["_ranges"]
    run = SimpleNamespace(exact_accumulators=np.array([[5, -70], [900, 6]]))
    for value, run_, cut, told in [
        (
            *(np.array([-5, 9, 0, 1], np.int8), run, Cut(4, 1200, 3, 1100)),
            {
                "accumulators for this input": "[-70, 900]",
                "result for this input": (
                    "[-5, 9] of [-128, 127], which stand for -4 to 3"
                ),
                "elements that are cut": (
                    "1,200 at the low end, of these 1,100 at 0; 3 high"
                ),
            },
        ),
        (
            *(np.zeros(0, np.int8), None, Cut(4, 2, 3)),
            {"elements that are cut": "2 at the low end; 3 high"},
        ),
        (np.ones(3, np.float32), SimpleNamespace(exact_accumulators=None), None, {}),
    ]:
        layer = SimpleNamespace(op=op, value=value, run=run_, cut=cut)
        row = SimpleNamespace(accumulator=None)
        assert dict(ranges(row, layer)) == told
