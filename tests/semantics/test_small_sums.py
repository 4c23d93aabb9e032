"""Sums at the qnn level against loops over scalars: pairs that saturate, products in
the order of memory, pools and positions on small shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from qlower.contracts.products import FLAT, PIXEL, TAPS
from qlower.interp.values import Array
from qlower.model.layers import layers
from qlower.semantics import run_qnn_function
from qlower.semantics.contraction import exact_sums
from qlower.semantics.elementwise import row_sums
from qlower.semantics.in_turn import accumulated, columns
from qlower.semantics.pairs import pair_sums
from qlower.semantics.rules import centred, stored_dtype
from qlower.text.parsing import parse_module

PAD, STRIDE, DILATION = (1, 0, 2, 1), (1, 2), (2, 1)
KERNEL = (2, 3)
ROWS, COLUMNS = 4, 3
"""Of an image; results have 3 rows and 2 columns."""

GEOMETRY = "stride = [1, 2], pad = [1, 0, 2, 1], dilation = [2, 1]"


def of_text(text: str) -> Any:
    (op,) = layers(parse_module(text))
    return op


def contraction(kind: str, element: str, groups: int = 1) -> Any:
    """A layer of 3 result channels for each group, of 3 channels each."""
    depth = 3 * groups
    x = f"tensor<2x{ROWS}x{COLUMNS}x{depth}x!x>"
    points = ", ".join(
        f"0.5:{n - 1}" for n in range(6 if kind == "depthwise" else depth)
    )
    axis = 3 if kind == "depthwise" else 0
    w = "tensor<1x2x3x6x!w>" if kind == "depthwise" else f"tensor<{depth}x2x3x3x!w>"
    out = 6 if kind == "depthwise" else depth
    name = "depthwise_conv2d" if kind == "depthwise" else "conv2d"
    given = GEOMETRY + (f", groups = {groups}" if groups > 1 else "")
    y = f"tensor<2x3x2x{out}x!y>"
    return of_text(f"""
!x = !quant.uniform<{element}:f32, 0.5:{5 if element == "i8" else 120}>
!w = !quant.uniform<i8:f32:{axis}, {{{points}}}>
!y = !quant.uniform<i8:f32, 2.0>
func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %y = qnn.{name} %x, %w {{{given}}} : ({x}, {w}) -> {y}
  return %y : {y}
}}""")


def taps(image: Array, y: int, x: int) -> Iterator[tuple[int, int, Array | None]]:
    """The pixels under a window, None beside the image."""
    for kh, kw in product(range(KERNEL[0]), range(KERNEL[1])):
        row = y * STRIDE[0] + kh * DILATION[0] - PAD[0]
        column = x * STRIDE[1] + kw * DILATION[1] - PAD[2]
        is_inside = 0 <= row < ROWS and 0 <= column < COLUMNS
        yield kh, kw, image[row, column] if is_inside else None


def saturated(pairs: Sequence[tuple[int, int]]) -> int:
    products = [a * b for a, b in pairs] + [0]
    return sum(
        min(max(a + b, -32768), 32767)
        for a, b in zip(products[::2], products[1::2], strict=False)
    )


def drawn(shape: Sequence[int], element: str, seed: int) -> Array:
    """Codes near both ends, so that pairs saturate."""
    draw = np.random.default_rng(seed)
    ends = draw.choice([0, 1, 130, 250, 255], shape)
    return (ends - 128).astype(np.int8) if element == "i8" else ends.astype(np.uint8)


CASES = [
    *(("conv", FLAT, 1), ("conv", FLAT, 2), ("conv", PIXEL, 1), ("conv", PIXEL, 2)),
    ("depthwise", TAPS, 1),
]


@pytest.mark.parametrize("element", ["i8", "u8"])
@pytest.mark.parametrize(("kind", "how", "groups"), CASES)
def test_pairs_of_convolutions(kind: str, how: str, groups: int, element: str) -> None:
    op = contraction(kind, element, groups)
    x = drawn((2, ROWS, COLUMNS, 3 * groups), element, 1)
    shape = op.weight.type.get_shape()
    w = drawn(shape, "i8", 2)
    shift = 128 if element == "i8" else 0
    zero = (5 if element == "i8" else 120) + shift
    codes = x.astype(int) + shift
    found = pair_sums(op, how, x, w)
    for b, y, c, o in product(range(2), range(3), range(2), range(found.shape[-1])):
        point = o - 1
        seen: list[list[tuple[int, int]]] = []
        exact = 0
        for kh, kw, pixel in taps(codes[b], y, c):
            if kind == "depthwise":
                chosen, weights = slice(o // 2, o // 2 + 1), w[0, kh, kw, o : o + 1]
            else:
                first = o // 3 * 3
                chosen, weights = slice(first, first + 3), w[o, kh, kw]
            beside = zero if how != PIXEL else 0
            values = np.full(len(weights), beside) if pixel is None else pixel[chosen]
            if pixel is not None or how != PIXEL:
                pairs = list(zip(map(int, values), map(int, weights), strict=True))
                seen.append(pairs)
                exact += sum(zero * (one - point) + point * code for code, one in pairs)
        if how == PIXEL:
            total = sum(map(saturated, seen))
        else:
            total = saturated([pair for tap in seen for pair in tap])
        assert found[b, y, c, o] == total - exact


@pytest.mark.parametrize("element", ["i8", "u8"])
@pytest.mark.parametrize(
    ("kind", "groups"), [("conv", 1), ("conv", 2), ("depthwise", 1)]
)
def test_products_in_the_order_of_memory(kind: str, groups: int, element: str) -> None:
    """Rows, columns and channels of the window; beside the image they are 0."""
    op = contraction(kind, element, groups)
    x = drawn((2, ROWS, COLUMNS, 3 * groups), element, 3)
    w = drawn(op.weight.type.get_shape(), "i8", 4)
    zero = 5 if element == "i8" else 120
    whole = x.astype(int) - zero
    found = [
        np.broadcast_to(
            code.astype(int) * factor, (2, 3, 2, 3 * groups if kind == "conv" else 6)
        )
        for code, factor in columns(op, x, w)
    ]
    for b, y, c, o in product(range(2), range(3), range(2), range(found[0].shape[-1])):
        wanted: list[int] = []
        for kh, kw, pixel in taps(whole[b], y, c):
            if kind == "depthwise":
                values = [0 if pixel is None else pixel[o // 2]]
                weights = [int(w[0, kh, kw, o])]
            else:
                first = o // 3 * 3
                values = [0] * 3 if pixel is None else pixel[first : first + 3]
                weights = [int(one) for one in w[o, kh, kw]]
            wanted += [
                int(v) * (one - (o - 1)) for v, one in zip(values, weights, strict=True)
            ]
        assert [int(one[b, y, c, o]) for one in found] == wanted
        assert exact_sums(op, x, w)[b, y, c, o] == sum(wanted)


LINES = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32:0, {{0.5:1, 0.5:2}}>
!y = !quant.uniform<i8:f32, 2.0>
func.func @main(%x: tensor<3x{k}x!x>, %w: tensor<2x{k}x!w>) -> tensor<3x2x!y> {{
  %y = qnn.linear %x, %w : (tensor<3x{k}x!x>, tensor<2x{k}x!w>) -> tensor<3x2x!y>
  return %y : tensor<3x2x!y>
}}"""


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_lines(depth: int) -> None:
    op = of_text(LINES.format(k=depth))
    x, w = drawn((3, depth), "i8", 5), drawn((2, depth), "i8", 6)
    found, exact = pair_sums(op, FLAT, x, w), exact_sums(op, x, w)
    turns = list(columns(op, x, w))
    assert len(turns) == depth
    for b, o in product(range(3), range(2)):
        pairs = [(int(a) + 128, int(c)) for a, c in zip(x[b], w[o], strict=True)]
        point, zero = o + 1, 125
        lost = sum(zero * (c - point) + point * a for a, c in pairs)
        assert found[b, o] == saturated(pairs) - lost
        wanted = [(a - 125) * (c - point) for a, c in pairs]
        products = [np.broadcast_to(a * c, (3, 2))[b, o] for a, c in turns]
        assert products == wanted
        assert exact[b, o] == sum(wanted)


@pytest.mark.parametrize("group", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("count", range(8))
def test_sums_are_cut_after_each_group_and_in_the_end(group: int, count: int) -> None:
    calls: list[tuple[int, int, int]] = []

    def cut(total: Array, last: Array, number: int) -> Array:
        calls.append((int(total), int(last), number))
        return np.array(min(int(total), 9), np.int32)

    products = [np.array(5 + n, np.int64) for n in range(count)]
    total = accumulated(iter(products), np.array(1, np.int32), group, cut)
    wanted, state = list[tuple[int, int, int]](), 1
    for number in range(1, count + 1):
        state += 4 + number
        if number % group == 0 or number == count:
            wanted.append((state, 4 + number, number))
            state = min(state, 9)
    assert calls == wanted
    assert (int(total), total.dtype) == (state, np.int32)


def test_sums_of_words_wrap_in_their_register() -> None:
    start = np.array([(1 << 31) - 1], np.int32)
    total = accumulated([np.array([1])], start, 2, lambda one, *_: one)
    assert total.tolist() == [-(1 << 31)]


def test_rows_are_added_one_after_the_other() -> None:
    """In float32 a small number is lost beside a large one, in whichever order."""
    rows = np.array([[1, 2**24, -(2**24), 1], [2**24, 1, 1, -(2**24)]], np.float32)
    assert row_sums(rows).tolist() == [[1.0], [0.0]]
    assert row_sums(rows).dtype == np.float32
    whole = np.array([[(1 << 31) - 1, 1]], np.int32)
    assert row_sums(whole).tolist() == [[-(1 << 31)]]
    assert row_sums(np.ones((2, 3, 4), np.int32)).shape == (2, 3, 1)


STORED = {
    "!quant.uniform<i8:f32, 1.0>": "int8",
    "!quant.uniform<u8:f32, 1.0>": "uint8",
    "!quant.uniform<i4:f32, 1.0>": "int8",
    "!quant.uniform<u4:f32, 1.0>": "uint8",
    "!quant.uniform<i9:f32, 1.0>": "int16",
    "!quant.uniform<i16:f32, 1.0>": "int16",
    "!quant.uniform<i17:f32, 1.0>": "int32",
    "!quant.uniform<u24:f32, 1.0>": "uint32",
    "!quant.uniform<i25:f32, 1.0>": "int32",
    "f32": "float32",
    "i32": "int32",
    "i1": "bool",
}


@pytest.mark.parametrize("element", STORED)
def test_types_that_hold_elements(element: str) -> None:
    module = parse_module(f"func.func private @f(tensor<2x{element}>)")
    (function,) = module.body.ops
    (type,) = function.properties["function_type"].inputs  # pyright: ignore
    assert stored_dtype(type) == STORED[element]


def test_zero_points_lie_along_their_axis() -> None:
    module = parse_module("""
!a = !quant.uniform<i8:f32, 1.0:7>
!b = !quant.uniform<u8:f32:1, {1.0:1, 1.0:2, 1.0:3}>
func.func @main(%a: tensor<2x3x!a>, %b: tensor<2x3x!b>) { return }""")
    (function,) = module.body.ops
    one, other = function.regions[0].block.args
    whole = np.full((2, 3), -128, np.int8)
    assert centred(whole, one).tolist() == [[-135] * 3] * 2
    found = centred(np.zeros((2, 3), np.uint8), other)
    assert found.tolist() == [[-1, -2, -3]] * 2
    assert found.dtype == np.int32


POOLS = {
    "max_pool2d": "kernel = [2, 3], stride = [1, 2], pad = [1, 0, 2, 1]",
    "avg_pool2d": "kernel = [2, 3], stride = [1, 2], pad = [1, 0, 2, 1]",
    "avg_pool2d+": "kernel = [2, 3], stride = [1, 2], pad = [1, 0, 2, 1], "
    "count_include_pad",
}


@pytest.mark.parametrize("name", POOLS)
def test_pools(name: str) -> None:
    kind = name.rstrip("+")
    x, y = "tensor<1x4x3x2x!x>", "tensor<1x4x2x2x!x>"
    module = parse_module(f"""
!x = !quant.uniform<i8:f32, 1.0:-9>
func.func @main(%x: {x}) -> {y} {{
  %y = qnn.{kind} %x {{{POOLS[name]}}} : ({x}) -> {y}
  return %y : {y}
}}""")
    image = drawn((1, 4, 3, 2), "i8", 7)
    (found,) = run_qnn_function(module, "main", [image], contract="exact")
    for row, column, c in product(range(4), range(2), range(2)):
        seen: list[int] = []
        beside = 0
        for kh, kw in product(range(2), range(3)):
            at, to = row + kh - 1, column * 2 + kw - 2
            if 0 <= at < 4 and 0 <= to < 3:
                seen.append(int(image[0, at, to, c]))
            else:
                beside += 1
        if kind == "max_pool2d":
            wanted = max(seen)
        else:
            count = len(seen) + (beside if name.endswith("+") else 0)
            real = sum(one + 9 for one in seen) / count
            wanted = round(real) - 9
        assert found[0, row, column, c] == wanted


def test_places_of_the_largest() -> None:
    for axis, shape in ((0, "1x3"), (1, "2x1")):
        module = parse_module(f"""
!x = !quant.uniform<i8:f32, 1.0>
func.func @main(%x: tensor<2x3x!x>) -> tensor<{shape}xi32> {{
  %y = qnn.arg_max %x {{axis = {axis}, keep_dims}}
    : (tensor<2x3x!x>) -> tensor<{shape}xi32>
  return %y : tensor<{shape}xi32>
}}""")
        values = np.array([[1, 5, 5], [1, 7, 2]], np.int8)
        (found,) = run_qnn_function(module, "main", [values], contract="exact")
        assert found.dtype == np.int32
        assert found.reshape(-1).tolist() == ([0, 1, 0] if axis == 0 else [1, 1])
