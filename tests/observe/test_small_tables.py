"""Operations in words, axes of values, products of sums and roundings of lanes, each
against a list by hand or a plain loop."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qlower.model.layers import layer_name, layers
from qlower.observe import coverage
from qlower.observe.account import in_words
from qlower.observe.axes import layer_axes, unusual_axes
from qlower.observe.products import Product, product_table, products_of
from qlower.observe.words import GLOSSES, SWAPPED, gloss
from qlower.text.parsing import parse_module

OPERATIONS = """
func.func @main(%i: i32, %j: i32, %c: i1, %n: i8, %f: f32, %g: f32, %d: f64) {
  OP
  return
}"""

WORDS = {
    "arith.addi %i, %j : i32": "add b",
    "arith.addf %f, %g : f32": "add b",
    "arith.subi %i, %j : i32": "subtract b",
    "arith.subf %f, %g : f32": "subtract b",
    "arith.muli %i, %j : i32": "multiply by b",
    "arith.mulf %f, %g : f32": "multiply by b",
    "arith.divf %f, %g : f32": "divide by b",
    "arith.divsi %i, %j : i32": "divide by b, toward zero",
    "arith.floordivsi %i, %j : i32": "divide by b, down",
    "arith.ceildivsi %i, %j : i32": "divide by b, up",
    "arith.shli %i, %j : i32": "shift left by b",
    "arith.shrsi %i, %j : i32": "shift right by b, down",
    "arith.maxsi %i, %j : i32": "at least b",
    "arith.maximumf %f, %g : f32": "at least b",
    "arith.minsi %i, %j : i32": "at most b",
    "arith.minimumf %f, %g : f32": "at most b",
    "arith.cmpi slt, %i, %j : i32": "compare with b",
    "arith.cmpf olt, %f, %g : f32": "compare with b",
    "arith.select %c, %i, %j : i32": "choose b",
    "arith.trunci %i : i32 to i8": "keep the low bits, i8",
    "arith.extsi %n : i8 to i32": "widen to i32",
    "arith.extui %n : i8 to i32": "widen to i32",
    "arith.extf %f : f32 to f64": "widen to f64",
    "arith.truncf %d : f64 to f32": "round to f32",
    "arith.sitofp %i : i32 to f32": "convert to f32",
    "arith.uitofp %i : i32 to f32": "convert to f32",
    "arith.fptosi %f : f32 to i32": "round toward zero",
    "arith.negf %f : f32": "negate",
    "arith.shrui %i, %j : i32": "shrui b",
    "arith.remsi %i, %j : i32": "remsi b",
    "math.absf %f : f32": "take the magnitude",
    "math.fma %f, %g, %f : f32": "multiply by b, add c, round once",
    "math.floor %f : f32": "round down",
    "math.ceil %f : f32": "round up",
    "math.trunc %f : f32": "round toward zero",
    "math.round %f : f32": "round, nearest, ties away from zero",
    "math.roundeven %f : f32": "round, nearest, ties to even",
    "math.exp %f : f32": "exp",
    "fixed.saturate %i : i32 to i8": "saturate to i8",
    **{
        f"fixed.shift_right %i, %j {{rounding = {m}}} : i32": f"shift right by b, {a}"
        for m, a in (
            ("half_up", "nearest, ties up"),
            ("half_away", "nearest, ties away from zero"),
            ("half_even", "nearest, ties to even"),
            ("floor", "down"),
            ("toward_zero", "toward zero"),
        )
    },
    "fixed.convert %f {rounding = half_up} : f32 to i32": "round, nearest, ties up",
    "fixed.convert %f {rounding = ceil} : f32 to i32": "round, up",
}
TURNED = {
    "arith.subi %i, %j : i32": "subtract from a",
    "arith.subf %f, %g : f32": "subtract from a",
    "arith.divf %f, %g : f32": "divide a by it",
    "arith.addi %i, %j : i32": "add a",
    "arith.maxsi %i, %j : i32": "at least a",
    "arith.floordivsi %i, %j : i32": "divide by a, down",
    "arith.remsi %i, %j : i32": "remsi a",
    "math.fma %f, %g, %f : f32": "multiply by a, add c, round once",
}


def operation(text: str) -> Any:
    module = parse_module(OPERATIONS.replace("OP", f"%z = {text}"))
    (op,) = (op for op in module.walk() if op.name == text.split()[0])
    return op


def test_every_operation_has_words() -> None:
    """Those of the list, and of others their names."""
    kinds: set[type] = set()
    for text, words in WORDS.items():
        op = operation(text)
        kinds.add(type(op))
        operands = "abc"[: len(op.operands)]
        assert gloss(op, operands, is_swapped=False) == words
        turned = TURNED.get(text)
        if turned is not None:
            assert gloss(op, operands, is_swapped=True) == turned
    assert {*GLOSSES, *SWAPPED} <= kinds


def test_directions_in_which_ties_go() -> None:
    found = {mode: in_words(mode) for mode in ("half_up", "half_even", "ceil", "odd")}
    assert found == {
        "half_up": "up",
        "half_even": "to even",
        "ceil": "up",
        "odd": "odd",
    }


TYPES = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32, 0.25:2>
!d = !quant.uniform<i8<-127:127>:f32, 0.25>
"""
TURN = "{perm = [0, 3, 1, 2]} : (tensor<1x4x4x2x!x>) -> tensor<1x2x4x4x!x>"
BACK = "{perm = [0, 2, 3, 1]} : (tensor<1x2x4x4x!x>) -> tensor<1x4x4x2x!x>"
POOL = (
    "{kernel = [1, 1], stride = [1, 1], pad = [0, 0, 0, 0]}"
    " : (tensor<1x4x4x2x!x>) -> tensor<1x4x4x2x!x>"
)
SAME = ": (tensor<1x4x4x2x!x>) -> tensor<1x4x4x2x!x>"
FIRST = ": (tensor<1x2x4x4x!x>) -> tensor<1x2x4x4x!x>"


def network(*lines: str) -> ModuleOp:
    body = "\n  ".join(lines)
    return parse_module(
        f"""{TYPES}
func.func @main(%x: tensor<1x4x4x2x!x>, %t: tensor<1x2x4x4x!x>, %v: tensor<1x2x!x>,
    %e: tensor<1x2x1x1x!x>) {{
  {body}
  return
}}"""
    )


AXES: dict[str, tuple[list[str], dict[str, str], bool]] = {
    "an image and what is before it": (
        [
            f'%0 = qnn.relu %x {SAME} loc("before")',
            f'%1 = qnn.max_pool2d %0 {POOL} loc("pool")',
            f'%2 = qnn.relu %1 {SAME} loc("after")',
        ],
        {"before": "nhwc", "pool": "nhwc", "after": "nhwc"},
        False,
    ),
    "channels first on both sides": (
        [
            f'%0 = qnn.relu %t {FIRST} loc("before")',
            f'%1 = qnn.transpose %0 {BACK} loc("turn")',
            f'%2 = qnn.max_pool2d %1 {POOL} loc("pool")',
            f'%3 = qnn.transpose %2 {TURN} loc("back")',
            f'%4 = qnn.relu %3 {FIRST} loc("after")',
        ],
        {
            **{"before": "nchw", "turn": "nhwc", "pool": "nhwc"},
            **{"back": "nchw", "after": "nchw"},
        },
        True,
    ),
    "nothing is known": (
        [
            f'%0 = qnn.relu %t {FIRST} loc("a")',
            f'%1 = qnn.transpose %0 {BACK} loc("b")',
        ],
        {},
        False,
    ),
    "a reshape passes nothing on": (
        [
            f'%0 = qnn.max_pool2d %x {POOL} loc("pool")',
            f'%1 = qnn.reshape %0 {SAME} loc("same")',
            '%2 = qnn.reshape %0 : (tensor<1x4x4x2x!x>) -> tensor<1x32x!x> loc("flat")',
        ],
        {"pool": "nhwc"},
        False,
    ),
    "parts of an image": (
        [
            f'%0 = qnn.max_pool2d %x {POOL} loc("pool")',
            "%1 = qnn.concat %0, %x {axis = 3} : (tensor<1x4x4x2x!x>, "
            'tensor<1x4x4x2x!x>) -> tensor<1x4x4x4x!x> loc("both")',
            "%2 = qnn.pad %1 {low = [0, 1, 1, 0], high = [0, 0, 0, 0]}"
            ' : (tensor<1x4x4x4x!x>) -> tensor<1x5x5x4x!x> loc("wide")',
        ],
        {"pool": "nhwc", "both": "nhwc", "wide": "nhwc"},
        False,
    ),
    "what is broadcast has no axes": (
        [
            f'%0 = qnn.transpose %x {TURN} loc("turn")',
            f'%1 = qnn.max_pool2d %x {POOL} loc("pool")',
            "%2 = qnn.relu %e : (tensor<1x2x1x1x!x>) -> tensor<1x2x1x1x!x>",
            "%3 = qnn.add %0, %2 : (tensor<1x2x4x4x!x>, tensor<1x2x1x1x!x>)"
            ' -> tensor<1x2x4x4x!x> loc("sum")',
        ],
        {"turn": "nchw", "pool": "nhwc", "sum": "nchw"},
        True,
    ),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_of_values(name: str) -> None:
    lines, expected, is_unusual = AXES[name]
    module = network(*lines)
    assert layer_axes(module) == expected
    for op in layers(module):
        layer = layer_name(op)
        wanted = expected.get(layer or "", "") if is_unusual else ""
        assert unusual_axes(module, layer or "") == wanted


RANDOM = np.random.default_rng(8)
IMAGE = RANDOM.integers(-128, 128, (2, 5, 6, 4)).astype(np.int8)
KERNEL = RANDOM.integers(-127, 128, (6, 2, 3, 2)).astype(np.int8)
DEEP = RANDOM.integers(-127, 128, (1, 2, 3, 8)).astype(np.int8)
WINDOW = "stride = [2, 1], pad = [1, 2, 3, 1], dilation = [2, 1]"
CONTRACTIONS = f"""{TYPES}
func.func @main(%x: tensor<2x5x6x4x!x>, %w: tensor<6x2x3x2x!w>, %d: tensor<1x2x3x8x!w>,
    %m: tensor<2x3x4x!x>, %k: tensor<5x4x!w>) {{
  %0 = qnn.conv2d %x, %w {{{WINDOW}, groups = 2}}
    : (tensor<2x5x6x4x!x>, tensor<6x2x3x2x!w>) -> tensor<2x3x8x6x!x>
  %1 = qnn.depthwise_conv2d %x, %d {{{WINDOW}}}
    : (tensor<2x5x6x4x!x>, tensor<1x2x3x8x!w>) -> tensor<2x3x8x8x!x>
  %2 = qnn.linear %m, %k : (tensor<2x3x4x!x>, tensor<5x4x!w>) -> tensor<2x3x5x!x>
  %3 = qnn.relu %m : (tensor<2x3x4x!x>) -> tensor<2x3x4x!x>
  return
}}"""


def window(y: int, x: int, channels: range, weights: Any, batch: int) -> list[Product]:
    """The products of a window in plain loops: 0 beside the image."""
    found: list[Product] = []
    for kh in range(2):
        for kw in range(3):
            row, column = 2 * y + 2 * kh - 1, x + kw - 3
            for number, channel in enumerate(channels):
                value = 0
                if row in range(5) and column in range(6):
                    value = int(IMAGE[batch, row, column, channel]) + 3
                place = (batch, row, column, channel)
                found.append(Product(place, value, int(weights[kh][kw][number]) - 2))
    return found


def run_of(name: str, *arguments: Any) -> Any:
    module = parse_module(CONTRACTIONS)
    (op,) = (op for op in module.walk() if op.name == name)
    return SimpleNamespace(op=op, arguments=arguments)


@pytest.mark.parametrize(
    "index", [(0, 0, 0, 0), (1, 2, 7, 5), (1, 1, 3, 2), (0, 2, 4, 3)]
)
def test_products_of_a_convolution(index: tuple[int, int, int, int]) -> None:
    """Of its own group's channels."""
    batch, y, x, output = index
    channels = range(2) if output < 3 else range(2, 4)
    run = run_of("qnn.conv2d", IMAGE, KERNEL)
    assert products_of(run, index) == window(y, x, channels, KERNEL[output], batch)
    deep = run_of("qnn.depthwise_conv2d", IMAGE, DEEP)
    own = range(output // 2, output // 2 + 1)
    weights = DEEP[0, :, :, output, None]
    assert products_of(deep, index) == window(y, x, own, weights, batch)


def test_products_of_a_linear_layer() -> None:
    rows = RANDOM.integers(-128, 128, (2, 3, 4)).astype(np.int8)
    matrix = RANDOM.integers(-127, 128, (5, 4)).astype(np.int8)
    found = products_of(run_of("qnn.linear", rows, matrix), (1, 2, 3))
    assert found == [
        Product((1, 2, k), int(rows[1, 2, k]) + 3, int(matrix[3, k]) - 2)
        for k in range(4)
    ]
    assert products_of(run_of("qnn.relu", rows), (1, 2, 3)) == []
    table = product_table(found)
    assert table.records() == [
        {
            **{"at": one.at, "input": one.input, "weight": one.weight},
            "product": one.input * one.weight,
        }
        for one in found
    ]
    text = table.render("markdown")
    assert f"{sum(one.input * one.weight for one in found):,}" in text
    assert "\\[1,2,0\\]" in text


RULE = """
func.func @rule(%x: i32, %shift: i32, %low: i32, %high: i32, %f: f64) -> i32 {
  %s = fixed.shift_right %x, %shift {rounding = half_up} : i32 loc("a":3:1)
  %c = arith.constant 2 : i32
  %constant = fixed.shift_right %low, %c {rounding = half_up} : i32
  %a = arith.maxsi %s, %low : i32
  %b = arith.minsi %high, %a : i32
  %own = arith.maxsi %a, %b : i32
  %fixed = arith.minsi %low, %high : i32
  %z = arith.addi %b, %constant : i32
  return %z : i32
}"""


def test_roundings_and_cuts_of_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of numbers that depend on the input; a bound on either side."""
    function = next(iter(parse_module(RULE).body.block.ops))
    monkeypatch.setitem(coverage.RULES, "mine", SimpleNamespace(runtime=("x", "f")))
    values = ("x", "shift", "low", "high", "f")
    rule: Any = SimpleNamespace(name="mine", function=function, values=values)
    x = np.array([-9, -6, -1, 0, 3, 5, 6, 400], np.int32)
    given = {
        **{"x": x, "shift": np.int32(2), "low": np.int32(-2)},
        **{"high": np.array([[1], [50]], np.int32), "f": np.float64(0)},
    }
    found = coverage.analyse(rule, {name: np.asarray(v) for name, v in given.items()})
    (rounding,) = found.roundings
    assert rounding.name.startswith("%s ")
    # a fraction of quarters, less a half
    quarters = (x % 4) / 4 - 0.5
    np.testing.assert_array_equal(rounding.distance, [quarters, quarters])
    np.testing.assert_array_equal(rounding.negative, [x < 0, x < 0])
    shifted = np.floor(x / 4 + 0.5)
    np.testing.assert_array_equal(found.low, [shifted < -2] * 2)
    bounded = np.maximum(shifted, -2)
    np.testing.assert_array_equal(found.high, [bounded > 1, bounded > 50])


def test_distances_of_real_numbers() -> None:
    distance = vars(import_module("qlower.observe.coverage"))["_distance"]
    op = operation("fixed.convert %f {rounding = half_even} : f32 to i32")
    values = np.array([0.5, 1.75, -0.25, -1.5, 3.0], np.float32)
    found = distance(op, [values])
    assert found.tolist() == [0.0, 0.25, 0.25, 0.0, -0.5]
    op = operation("fixed.shift_right %i, %j {rounding = half_up} : i32")
    found = distance(op, [np.array([5, 5, -1]), np.array([0, 1, 3])])
    assert np.isnan(found[0])
    assert found[1:].tolist() == [0.0, 0.375]
    assert distance(operation("arith.addi %i, %j : i32"), [values, values]) is None
