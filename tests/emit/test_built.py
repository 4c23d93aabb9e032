"""Emitted operations, run by the interpreter, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.layers.built import built
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    TensorType,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Block, SSAValue

from qlower.dialects.quant import QuantizedType
from qlower.emit.movement import concatenated, folded, moved, padded, taken
from qlower.emit.ordered_sums import Factors, sums_in
from qlower.emit.reductions import (
    axes_nest,
    first_of_largest,
    ranges_of_rows,
    reduced_by,
    summed,
    window_nest,
)
from qlower.emit.sums import Factor, from_zero, sum_products
from qlower.emit.tables import looked_up
from qlower.emit.tensors import pad, reshape, storage_type
from qlower.emit.window_rows import as_rows
from qlower.model.nests import Emitter
from qlower.operators.movement import (
    Broadcast,
    Concatenate,
    Movement,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Tile,
    Transpose,
)
from qlower.operators.orders import ORDERS
from qlower.operators.products import Products
from qlower.operators.sums import (
    CONV_2D,
    DEPTHWISE_CONV_2D,
    FLAT_DEPTHWISE_CONV_2D,
    GROUPED_CONV_2D,
    POOL_2D,
    Slide,
    Sums,
    matrix_rows,
)

X = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
MOVEMENTS: list[tuple[Movement, list[str]]] = [
    (Reshape((6, 4)), ["tensor.collapse_shape"]),
    (Reshape((2, 3, 2, 2)), ["tensor.expand_shape"]),
    (Reshape((4, 6)), ["tensor.collapse_shape", "tensor.expand_shape"]),
    (Reshape((24,)), ["tensor.collapse_shape"]),
    (Reshape((2, 3, 4)), []),
    (Reshape((4, -1)), ["tensor.collapse_shape", "tensor.expand_shape"]),
    (Transpose((2, 0, 1)), ["tensor.empty", "linalg.generic"]),
    (Transpose((0, 2, 1)), ["tensor.empty", "linalg.generic"]),
    (Slice((0, 1, 0), (2, 2, 2), (1, 1, 3)), ["tensor.extract_slice"]),
    (Pad((0, 1, 2), (1, 0, 3), value=9), ["tensor.pad"]),
    (Pad((0, 0, 0), (0, 0, 0), value=9), []),
    (
        Pad((0, 1, 2), (1, 0, 3), (0, 2, 1), value=9),
        ["tensor.empty", "arith.constant", "linalg.fill", "tensor.insert_slice"],
    ),
    (Reverse(0), ["tensor.empty", "linalg.generic"]),
    (Reverse(2), ["tensor.empty", "linalg.generic"]),
    (Tile((2, 1, 3)), ["tensor.empty", "linalg.generic", "tensor.collapse_shape"]),
    (Broadcast((1, 3, 0), (4, 2, 5, 3)), ["tensor.empty", "linalg.generic"]),
]


@pytest.mark.parametrize(("movement", "names"), MOVEMENTS)
def test_movements(movement: Movement, names: list[str]) -> None:
    """Of elements that are computed, and of known ones, which leave a constant."""
    expected = X.reshape(movement.shape) if isinstance(movement, Reshape) else None
    if expected is None:
        expected = movement.evaluate(X)
    (found,), made = built(lambda emit, x: moved(emit, movement, x), X)
    assert found.tolist() == expected.tolist()
    assert made == names
    (found,), made = built(lambda emit, x: folded(emit, movement, x), X, known=[0])
    assert found.tolist() == expected.tolist()
    assert made == ([] if movement == Reshape((2, 3, 4)) else ["arith.constant"])
    (found,), made = built(lambda emit, x: folded(emit, movement, x), X)
    assert made == names


def test_axes_of_one_element_are_repeated() -> None:
    row = np.array([[5], [6]], np.int8)
    movement = Broadcast((1, 2), (3, 2, 4))
    (found,), _ = built(lambda emit, x: moved(emit, movement, x), row)
    assert found.tolist() == movement.evaluate(row).tolist()


def test_scalars_have_other_shapes() -> None:
    for before, after in (((), (1, 1)), ((1, 1), ()), ((1,), ())):
        x = np.full(before, 7, np.int8)
        (found,), made = built(lambda emit, x, to=after: reshape(emit, x, to), x)
        assert (found.shape, found.reshape(-1).tolist()) == (after, [7])
        assert made == ["tensor.empty", "linalg.generic"]


def test_padding_by_an_element_of_another_tensor() -> None:
    movement = Pad((0, 1, 0), (1, 0, 2), (0, 1, 0))
    for around in (np.array([[9]], np.int8), np.full((), 9, np.int8)):
        (found,), _ = built(lambda emit, x, y: padded(emit, movement, x, y), X, around)
        assert found.tolist() == movement.evaluate(X, np.array([9], np.int8)).tolist()


def test_padding_by_nothing() -> None:
    (found,), made = built(lambda emit, x: pad(emit, x, [0] * 3, [0, 0, 1], 5), X)
    assert found[..., :4].tolist() == X.tolist()
    assert (found[..., 4] == 5).all()
    assert made == ["tensor.pad"]
    assert built(lambda emit, x: pad(emit, x, [0] * 3, [0] * 3, 5), X)[1] == []


TAKEN: list[tuple[list[list[int]], int]] = [
    # the places along each axis, and the operands that hold some
    ([[0, 1], [0, 1, 2], [0, 1, 2, 3]], 0),
    ([[1], [0, 2], [0, 1, 2, 3]], 0),
    ([[1, 1], [0, 1, 2], [0, 2]], 0),
    ([[0, 1], [0, 1], [0, 1, 2, 3]], 1),
    ([[1, 0], [0, 1, 2], [3, 0, 1]], 2),
]


@pytest.mark.parametrize(("places", "operands"), TAKEN)
def test_elements_at_places(places: list[list[int]], operands: int) -> None:
    (found,), made = built(lambda emit, x: taken(emit, x, places), X)
    assert found.tolist() == X[np.ix_(*places)].tolist()
    whole = [range(size) for size in X.shape]
    is_whole = [list(one) for one in whole] == places
    assert made.count("linalg.generic") == (not is_whole)
    assert made.count("arith.constant") == operands


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tensors_one_after_the_other(axis: int) -> None:
    arrays = [X, X + 50, X - 30]
    shape = Concatenate(axis).result_shape(*(one.shape for one in arrays))
    (found,), made = built(
        lambda emit, *values: concatenated(emit, Concatenate(axis), shape, i8, values),
        *arrays,
    )
    assert found.tolist() == np.concatenate(arrays, axis).tolist()
    assert made == ["tensor.empty", *["tensor.insert_slice"] * 3]


WINDOW = [Slide(2, 1, 0, 1), Slide(1, 0, 2, 2)]
SUMS: list[tuple[Sums, tuple[int, ...], tuple[int, ...]]] = [
    (Sums(CONV_2D, WINDOW), (1, 5, 4, 2), (3, 3, 2, 2)),
    (Sums(GROUPED_CONV_2D, WINDOW, 2), (1, 4, 5, 4), (4, 2, 2, 2)),
    (Sums(DEPTHWISE_CONV_2D, WINDOW), (1, 5, 4, 3), (3, 2, 3, 2)),
    (Sums(FLAT_DEPTHWISE_CONV_2D, WINDOW), (1, 5, 4, 3), (1, 3, 2, 6)),
    (Sums(matrix_rows(2)), (2, 5), (4, 5)),
    (Sums(matrix_rows(2)), (1, 5), (32, 5)),
    (Sums(CONV_2D, [Slide(), Slide()]), (1, 3, 2, 2), (4, 3, 2, 2)),
    (Sums(CONV_2D, [Slide(), Slide()]), (2, 3, 4, 2), (1, 1, 1, 2)),
    (Sums(DEPTHWISE_CONV_2D, WINDOW), (1, 5, 4, 3), (3, 2, 3, 1)),
]


@pytest.mark.parts(4)
@pytest.mark.parametrize(("sums", "first", "second"), SUMS)
def test_sums_of_products(
    sums: Sums, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    """Integers less their zero points, for all or by channel, and real numbers."""
    random = np.random.default_rng(5)
    x = random.integers(-128, 128, first).astype(np.int8)
    w = random.integers(-128, 128, second).astype(np.int8)
    axes = sums.structure.axes[-1][-1]
    bounds = sums.bounds(first, second)
    channels = [bounds[letter] for letter in axes]
    points = np.arange(np.prod(channels), dtype=np.int32)
    for signed in (True, False):
        for point in (np.zeros((), np.int32), np.full((), 3, np.int32)):

            def build(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
                lhs = Factor(a, point, not signed)  # noqa: B023
                rhs = Factor(b, np.zeros((), np.int32))
                return sum_products(emit, sums, (lhs, rhs), from_zero(emit, i32))

            (found,), made = built(build, x, w)
            wide = x.astype(np.int64) if signed else x.view(np.uint8).astype(np.int64)
            assert found.tolist() == sums.evaluate(wide - point, w).tolist()
            assert made.count("linalg.generic") == 1

    def by_channel(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        return sum_products(
            emit, sums, (Factor(a), Factor(b, points)), from_zero(emit, i32)
        )

    if len(axes) == 1:
        (found,), _ = built(by_channel, x, w)
        ones = np.ones_like(w, np.int64)
        less = sums.evaluate(x, ones) * points
        assert found.tolist() == (sums.evaluate(x, w) - less).tolist()

    def reals(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        return sum_products(emit, sums, (Factor(a), Factor(b)), from_zero(emit, f32))

    (found,), _ = built(reals, x.astype(np.float32), w.astype(np.float32))
    assert found.tolist() == sums.evaluate(x, w).tolist()


@pytest.mark.parametrize(
    ("most", "wide"), [((1 << 16, (1 << 15) - 1), 0), ((1 << 16, 1 << 15), 2)]
)
def test_products_that_leave_32_bits(most: tuple[int, int], wide: int) -> None:
    sums = Sums(matrix_rows(2))
    types: list[str] = []

    def build(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
        factors = (Factor(a, most=most[0]), Factor(b, most=most[1]))
        found = sum_products(emit, sums, factors, from_zero(emit, i64))
        nest = found.owner
        types.extend(
            str(op.result_types[0]) for op in nest.walk() if op.name == "arith.extsi"
        )
        return found

    built(build, np.array([[3, -4]], np.int16), np.array([[5, 6]], np.int16))
    assert types.count("i64") == (wide or 1)


def test_factors_of_quantized_types() -> None:
    def factor(type: QuantizedType) -> Factor:
        block = Block(arg_types=[TensorType(type, (2,))])
        return Factor.quantized(block.args[0], block.args[0])

    signed = factor(QuantizedType.per_tensor(8, True, 0.5, -3))
    assert (signed.zero_point.tolist(), signed.unsigned, signed.most) == (
        -3,
        False,
        130,
    )
    unsigned = factor(QuantizedType.per_tensor(8, False, 0.5, 3))
    assert (unsigned.unsigned, unsigned.most) == (True, 252)
    along = factor(QuantizedType.per_axis(8, True, 0, [1.0, 2.0]))
    assert (along.zero_point.tolist(), along.most) == ([0, 0], 128)
    block = Block(arg_types=[TensorType(i32, (2,))])
    assert Factor(block.args[0]).zero_point.tolist() == 0
    assert storage_type(QuantizedType.per_tensor(8, False, 0.5, 3)) == i8


@pytest.mark.parametrize(("sums", "first", "second"), SUMS)
@pytest.mark.parametrize("known", [(), (1,), (0,)])
def test_windows_as_rows(
    sums: Sums, first: tuple[int, ...], second: tuple[int, ...], known: Sequence[int]
) -> None:
    """The sums of the rows are those of the windows, whatever lies where."""
    random = np.random.default_rng(6)
    x, w = (
        random.integers(-9, 10, shape).astype(np.float32) for shape in (first, second)
    )
    made: list[Products] = []
    padded_x = np.pad(x, list(zip(*sums.padding(), strict=True)))
    weights = w.reshape(Products.of(sums, first, second).rhs.shape)

    def build(emit: Emitter, a: SSAValue, b: SSAValue) -> list[SSAValue]:
        rows = as_rows(emit, Factors(Products.of(sums, first, second), a, b))
        made.append(rows.products)
        return [rows.lhs, rows.rhs]

    (lhs, rhs), _ = built(build, padded_x, weights, known=known)
    (products,) = made
    assert len(products.depth) == 1
    result: list[float] = []
    flat = lhs.reshape(-1), rhs.reshape(-1)
    steps = products.lhs.steps, products.rhs.steps
    for outer in np.ndindex(*products.result.values()):
        total = 0.0
        for inner in np.ndindex(*products.depth.values()):
            at = dict(zip(products.loops, (*outer, *inner), strict=True))
            a, b = (
                one[sum(at[loop] * step for loop, step in by.items())]
                for one, by in zip(flat, steps, strict=True)
            )
            total += float(a) * float(b)
        result.append(total)
    assert result == sums.evaluate(x, w).reshape(-1).tolist()


@pytest.mark.parametrize(("sums", "first", "second"), SUMS)
@pytest.mark.parametrize("name", ["sequential", "fused"])
def test_chains_over_windows(
    sums: Sums, first: tuple[int, ...], second: tuple[int, ...], name: str
) -> None:
    """From 0, and from numbers that were there."""
    random = np.random.default_rng(7)
    x, w = (
        random.integers(-9, 10, shape).astype(np.float32) for shape in (first, second)
    )
    products = Products.of(sums, first, second)
    padded_x = np.pad(x, list(zip(*sums.padding(), strict=True)))
    start = random.integers(-9, 10, [*products.result.values()]).astype(np.float32)

    def build(emit: Emitter, a: SSAValue, b: SSAValue, c: SSAValue) -> list[SSAValue]:
        factors = Factors(products, a, b)
        return [sums_in(ORDERS[name], emit, factors, start) for start in (None, c)]

    (alone, started), _ = built(build, padded_x, w.reshape(products.rhs.shape), start)
    expected = sums.evaluate(x, w).reshape(start.shape)
    assert alone.tolist() == expected.tolist()
    assert started.tolist() == (expected + start).tolist()


def test_reductions_along_axes() -> None:
    for axes in ([0], [1], [2], [0, 2], [2, 0], [0, 1, 2]):

        def total(emit: Emitter, x: SSAValue, axes: list[int] = axes) -> SSAValue:
            nest, indices = axes_nest(emit, X.shape, axes)
            return summed(nest, nest.input(x, indices))

        (found,), _ = built(total, X.astype(np.int32))
        assert found.tolist() == X.astype(np.int32).sum(tuple(axes)).tolist()

        def largest(emit: Emitter, x: SSAValue, axes: list[int] = axes) -> SSAValue:
            nest, indices = axes_nest(emit, X.shape, axes)
            return reduced_by(nest, arith.MaxSIOp, nest.input(x, indices), 7)

        (found,), _ = built(largest, X.astype(np.int32))
        assert found.tolist() == np.maximum(X.max(tuple(axes)), 7).tolist()


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4), (2, 2, 2, 3)])
def test_ranges_of_rows(shape: tuple[int, ...]) -> None:
    """With 0 in each, but for what has one dimension, which is its ends already."""
    random = np.random.default_rng(7)
    x = (random.standard_normal(shape) + 0.5).astype(np.float32)
    found, _ = built(ranges_of_rows, x)
    rows = x.reshape(shape[0], -1)
    if len(shape) == 1:
        assert [one.tolist() for one in found] == [x.tolist()] * 2
        return
    assert found[0].tolist() == np.minimum(rows.min(1), 0).tolist()
    assert found[1].tolist() == np.maximum(rows.max(1), 0).tolist()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_first_of_the_largest(axis: int) -> None:
    x = np.random.default_rng(8).integers(-3, 0, (4, 3, 5)).astype(np.int8)
    x[0, 0] = -128

    def build(emit: Emitter, value: SSAValue) -> SSAValue:
        return first_of_largest(
            emit, x.shape, axis, lambda nest, at: nest.input(value, at), i32
        )

    (found,), _ = built(build, x)
    assert found.tolist() == x.argmax(axis).tolist()
    lowest = np.full((2, 3), -128, np.int8)
    (found,), _ = built(
        lambda emit, value: first_of_largest(
            emit, (2, 3), 1, lambda nest, at: nest.input(value, at), i32
        ),
        lowest,
    )
    assert found.tolist() == [0, 0]


def test_largest_numbers_of_windows() -> None:
    windows = Sums(POOL_2D, [Slide(2, 1, 0, 1), Slide(1, 0, 2, 2)])
    x = np.random.default_rng(9).integers(-99, 99, (1, 5, 4, 2)).astype(np.int8)

    def build(emit: Emitter, image: SSAValue) -> SSAValue:
        nest, value = window_nest(emit, windows, image, (3, 2), -7)
        return reduced_by(nest, arith.MaxSIOp, value, -128)

    (found,), _ = built(build, x)
    views = [view for _, view in windows.views(x, (3, 2), around=-7)]
    assert found.tolist() == np.max(views, 0).tolist()


def test_entries_by_the_bits_of_integers() -> None:
    table = np.arange(256, dtype=np.int32) * 3
    x = np.array([[0, 1, 127], [-128, -1, 5]], np.int8)
    (found,), _ = built(lambda emit, x, t: looked_up(emit, x, t), x, table)
    assert found.tolist() == (x.view(np.uint8).astype(int) * 3).tolist()


@pytest.mark.parametrize(
    ("least", "most", "width", "widen"),
    [
        (-128, 127, 8, arith.ExtSIOp),
        (0, 127, 8, arith.ExtSIOp),
        (0, 128, 8, arith.ExtUIOp),
        (0, 255, 8, arith.ExtUIOp),
        (-1, 128, 16, arith.ExtSIOp),
        (-129, 0, 16, arith.ExtSIOp),
        (0, 256, 16, arith.ExtSIOp),
        (-32768, 32767, 16, arith.ExtSIOp),
        (0, 32768, 16, arith.ExtUIOp),
        (0, 65535, 16, arith.ExtUIOp),
        (0, 65536, 32, None),
        (-1, 32768, 32, None),
        (-32769, 0, 32, None),
    ],
)
def test_tables_in_the_fewest_bytes(
    least: int, most: int, width: int, widen: Any
) -> None:
    narrowest = vars(import_module("qlower.emit.inline_rule"))["_narrowest"]
    type, found = narrowest(
        np.array([0 if least < 0 < most else least, least, most], np.int32)
    )
    assert (type.bitwidth, found) == (width, widen)


def test_only_minus_zero_is_nothing() -> None:
    is_nothing = vars(import_module("qlower.emit.inline_rule"))["_is_nothing"]
    block = Block(arg_types=[f32])
    assert is_nothing(np.float32(-0.0))
    assert is_nothing(np.array([-0.0, -0.0], np.float32))
    assert not is_nothing(np.array([-0.0, 0.0], np.float32))
    assert not is_nothing(np.float32(0.0))
    assert not is_nothing(np.float32(-1.0))
    assert not is_nothing(block.args[0])
