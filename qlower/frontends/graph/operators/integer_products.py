"""Products of plain integers.

The zero point, which is known at run time only, is subtracted from the sums, exactly:
`sum((x - z) w) = sum(x w) - z sum(w)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Index, Nest, widen
from qlower.operators.windows import Window

from ...entry import takes
from .. import volumes
from ..context import NodeContext
from ..operands import STORED_TYPES
from ..orders import identity
from ..schema import Array
from ..values import Value
from ..window import as_image, define_image, from_image, image_step
from .contraction import convolution, filter_count, filters_of
from .elementwise import broadcast

Integers: TypeAlias = NDArray[np.int64]

Stored: TypeAlias = tuple[Value, Value | None]
"""Codes, and their zero point if it is known at run time only."""


def stored_operand(node: NodeContext, number: int, point: int) -> Stored:
    """An operand of integers, which may be a constant, with its zero point."""
    value = _codes(node, number)
    if value.is_real or not isinstance(value.element, QuantizedType):
        raise node.error(f"operand {node.name(number)!r} is not of 8-bit integers")
    signed, known, found = value.element.signed, 0, None
    if node.is_constant(point):
        array = node.array(point, "zero point")
        if array.size != 1:
            raise node.error(f"{array.size} zero points of activations; expected one")
        known = int(array.reshape(-1)[0])
    elif node.has(point):
        found = node.value(point)
    element = QuantizedType.per_tensor(8, signed, 1.0, known)
    return node.builder.as_stored(value, element, node.place()), found


def _codes(node: NodeContext, number: int) -> Value:
    """The codes of an operand; those of a constant have the zero point 0."""
    if not node.is_constant(number):
        return node.value(number)
    type = node.constant(number, "codes").type
    if type not in STORED_TYPES:
        raise node.error(
            f"a constant {node.name(number)!r} of type {type} is not supported here;"
            " expected INT8 or UINT8"
        )
    codes = node.array(number, "codes")
    element = QuantizedType.per_tensor(8, STORED_TYPES[type], 1.0, 0)
    ssa = node.builder.constant(codes, element, node.place(node.name(number)))
    return Value(ssa, identity(codes.ndim))


def weights_type(
    node: NodeContext,
    number: int,
    point: int,
    axis: int,
    size: int,
    direction: int | None = None,
) -> QuantizedType:
    """The type of constant weights, with a zero point for all or each of an axis; of
    one direction, where the zero points of each are a row."""
    type = node.constant(number, "weights").type
    if type not in STORED_TYPES:
        raise node.error(
            f"weights of type {type} are not supported; expected INT8 or UINT8"
        )
    points = [0]
    if node.has(point):
        given = node.array(point, "zero point")
        if direction is not None:
            given = given[direction : direction + 1]
        points = [int(z) for z in given.reshape(-1)]
    if len(points) == 1:
        return QuantizedType.per_tensor(8, STORED_TYPES[type], 1.0, points[0])
    if len(points) != size:
        raise node.error(f"{len(points)} zero points of weights; expected 1 or {size}")
    node.importer.charge(size)
    ones = [1.0] * size
    return QuantizedType.per_axis(8, STORED_TYPES[type], axis, ones, points)


def matmul_integer(
    node: NodeContext,
    stored: Stored,
    number: int,
    point: int,
    suffix: str | None = None,
) -> Value:
    """The sums of an input's rows times a constant matrix, or times matrices of any
    other rank or another input."""
    if not node.is_constant(number) or len(node.shape(number)) != 2:
        return _product(node, stored, stored_operand(node, number, point), suffix)
    columns = node.shape(number)[1]
    value, zero_point = stored
    if len(value.shape) == 1:
        row = node.reshaped(value, (1, *value.shape)), zero_point
        sums = matmul_integer(node, row, number, point, suffix)
        return node.reshaped(sums, (columns,))
    element = weights_type(node, number, point, 0, columns)
    matrix = node.array(number, "weights").T
    return times_constant(node, stored, (number, matrix), element, suffix)


def times_constant(
    node: NodeContext,
    stored: Stored,
    weights: tuple[int, Array],
    element: QuantizedType,
    suffix: str | None,
) -> Value:
    """The sums of an input's rows times the weights [outputs, K] of an operand."""
    value, zero_point = stored
    number, matrix = weights
    columns, rows = matrix.shape
    value = node.in_order(value)
    if value.shape[-1:] != (rows,):
        raise node.error(
            f"an input of shape {list(value.shape)} with weights of {rows} rows"
        )
    weight = node.builder.constant(matrix, element, node.place(node.name(number)))
    shape = (*value.shape[:-1], columns)
    step = suffix if zero_point is None else "product"
    sums = node.emit(
        qnn.LinearOp(value.ssa, weight, None, TensorType(i32, shape)), step
    )
    if zero_point is not None:
        points = np.array(element.zero_points, np.int64)
        centred = matrix.astype(np.int64) - points[:, np.newaxis]
        sums = _less(node, sums, zero_point, centred.sum(axis=1), suffix)
    return Value(sums, value.order)


def _product(node: NodeContext, lhs: Stored, rhs: Stored, suffix: str | None) -> Value:
    """The sums of products of two inputs whose leading dimensions broadcast; a vector
    is a matrix of one row, on the right of one column, which the result lacks."""
    (left, left_point), (right, right_point) = lhs, rhs
    is_row, is_column = len(left.shape) == 1, len(right.shape) == 1
    if is_row:
        left = node.reshaped(left, (1, *left.shape))
    if is_column:
        right = node.reshaped(right, (*right.shape, 1))
    if is_row or is_column:
        pair = (left, left_point), (right, right_point)
        *leading, rows, columns = (sums := _product(node, *pair, suffix)).shape
        kept = [*leading, *([] if is_row else [rows])]
        return node.reshaped(sums, [*kept, *([] if is_column else [columns])])
    shapes = left.shape, right.shape
    if not all(shapes) or shapes[0][-1] != shapes[1][-2]:
        raise node.error(
            f"a product of shapes {list(shapes[0])} and {list(shapes[1])}; expected"
            " matrices of fitting sizes"
        )
    if _is_unsigned(left) and not _is_unsigned(right):
        remark_on_pairs(node)
    leading = broadcast(node, shapes[0][:-2], shapes[1][:-2])
    rank = len(leading)
    bounds = (*leading, shapes[0][-2], shapes[1][-1], shapes[0][-1])
    node.check_elements(math.prod(bounds[:-1]))
    nest = node.nest(bounds, suffix, reductions=1)
    left, right = (
        _centred(node, nest, stored, rank, loops)
        for stored, loops in ((lhs, (rank, rank + 2)), (rhs, (rank + 2, rank + 1)))
    )
    product = nest.add(arith.MuliOp(left, right)).result
    zeros = nest.emitter.filled(nest.output_shape, i32, 0)
    (sums,) = nest.reduce([zeros], nest.adding(product))
    return Value(sums, identity(rank + 2))


def _is_unsigned(value: Value) -> bool:
    return isinstance(value.element, QuantizedType) and not value.element.signed


def remark_on_pairs(node: NodeContext) -> None:
    """Remark on sums that ONNX Runtime makes of saturated pairs where there is no VNNI
    (MlasGemm's U8S8 kernels), and no contract here does."""
    node.importer.remarks.append(
        f"{node.node.operator} {node.result()!r} has exact sums by every contract; "
        "before VNNI ONNX Runtime saturates their products of uint8 and int8 in pairs"
    )


def _centred(
    node: NodeContext, nest: Nest, stored: Stored, rank: int, loops: tuple[int, int]
) -> SSAValue:
    """An element of a matrix, whose leading dimensions are the last loops before
    `rank`, less its zero point."""
    value, point = stored
    value = node.in_order(value)
    missing = rank + 2 - len(value.shape)
    indices: list[Index] = [
        AffineConstantExpr(0) if size == 1 else missing + at
        for at, size in enumerate(value.shape[:-2])
    ]
    plain, element = _plain_codes(nest.emitter, value)
    code = nest.input(plain, [*indices, *loops])
    whole = widen(nest, code, i32, unsigned=not element.signed)
    if point is None:
        zero = nest.constant(np.array(element.zero_point, np.int32), i32)
    else:
        codes, element = _plain_codes(nest.emitter, point)
        first = [AffineConstantExpr(0)] * len(point.shape)
        taken = nest.input(codes, first)
        zero = widen(nest, taken, i32, unsigned=not element.signed)
    return nest.add(arith.SubiOp(whole, zero)).result


def _plain_codes(emit: Emitter, value: Value) -> tuple[SSAValue, QuantizedType]:
    """Stored integers without their meaning."""
    element = value.element
    assert isinstance(element, QuantizedType), "operands are stored"
    type = TensorType(element.storage_type, value.type.get_shape())
    return emit.add(StorageCastOp(value.ssa, type)).result, element


def _less(
    node: NodeContext,
    sums: SSAValue,
    zero_point: Value,
    factors: Integers,
    suffix: str | None,
) -> SSAValue:
    """The sums less the zero point times `factors`, which vary along the last
    dimensions."""
    element = zero_point.element
    if math.prod(zero_point.shape) != 1 or not isinstance(element, QuantizedType):
        raise node.error("a zero point that is no single 8-bit integer")
    emit = node.builder.emitter(node.place(), suffix)
    plain = TensorType(element.storage_type, zero_point.shape)
    stored = emit.add(StorageCastOp(zero_point.ssa, plain)).result
    nest = Nest(emit, shape_of(sums))
    first = [AffineConstantExpr(0)] * len(zero_point.shape)
    point = widen(nest, nest.input(stored, first), i32, unsigned=not element.signed)
    factor = nest.constant(factors.astype(np.int32), i32)
    excess = nest.add(arith.MuliOp(point, factor)).result
    total = nest.input(sums, range(nest.parallel))
    return nest.build([nest.add(arith.SubiOp(total, excess)).result])[0]


def import_conv_integer(node: NodeContext) -> None:
    """Import a ConvInteger. Padding holds the zero point and adds nothing, so less is
    subtracted near the borders."""
    value, zero_point = stored_operand(node, 0, 2)
    if len(value.shape) == volumes.RANK:
        _convolve_volume(node, value, zero_point)
        return
    image = as_image(node, value, False)
    count = filter_count(node, 1)
    filters = filters_of(node, node.array(1, "weights"))

    def element(axis: int) -> QuantizedType:
        return weights_type(node, 1, 3, axis, count)

    operation, window = convolution(node, image, (1, filters), element, None, i32)
    if zero_point is None:
        from_image(node, operation, image, False)
        return
    points = np.array(element(0).zero_points, np.int64).reshape(-1, 1, 1, 1)
    centred = (filters.astype(np.int64) - points).sum(axis=3)
    factors = _sums_inside(centred, image.type.get_shape()[1:3], window)
    product = node.emit(operation, "product")
    sums = _less(node, product, zero_point, factors, image_step(node))
    define_image(node, sums, image, False)


def _convolve_volume(node: NodeContext, value: Value, zero_point: Value | None) -> None:
    """The sums of a convolution over three dimensions."""
    weights = node.array(1, "weights")
    node.checked_rank(weights.shape, 1, volumes.RANK)
    count, channels, *taps = weights.shape
    volume = volumes.read_volume(node, value.shape, taps)
    element = weights_type(node, 1, 3, 0, count)
    known = value.element
    assert isinstance(known, QuantizedType), "the operand is stored"
    image = volume.seen(value, known.zero_point, taps_last=True)
    flat = weights.reshape(count, 1, 1, -1)
    operation, _ = convolution(
        node, image, (1, flat), lambda _: element, None, i32, is_point=True
    )
    if zero_point is None:
        volume.define(operation, image)
        return
    points = channels * np.array(element.zero_points, np.int64).reshape(-1, 1, 1, 1)
    centred = weights.astype(np.int64).sum(axis=1) - points
    factors = _sums_inside(centred, value.shape[2:], volume.window)
    product = node.emit(operation, "product")
    by_place = factors.reshape(-1, count)
    volume.define(_less(node, product, zero_point, by_place, "image"), image)


def _sums_inside(filters: Integers, image: Sequence[int], window: Window) -> Integers:
    """The sum of each filter [O, taps...] over the taps that lie inside the image, for
    each place of the result: [places..., O]."""
    for axis, size in enumerate(image):
        inside = _inside(size, filters.shape[1 + axis], axis, window)
        sums = np.tensordot(inside, filters, (1, 1 + axis))
        filters = np.moveaxis(sums, 0, 1 + axis)
    return np.moveaxis(filters, 0, -1)


def _inside(size: int, taps: int, axis: int, window: Window) -> Integers:
    """1 for each place and tap along an axis that lies inside of the image, else 0."""
    place = np.arange(window.sizes[axis], dtype=np.int64) * window.stride[axis]
    tap = np.arange(taps, dtype=np.int64) * window.dilation[axis]
    position = place[:, np.newaxis] + tap - window.pad[2 * axis]
    return np.logical_and(position >= 0, position < size).astype(np.int64)


def import_matmul_integer(node: NodeContext) -> None:
    node.define(matmul_integer(node, stored_operand(node, 0, 2), 1, 3))


FACTORS = "x, y, x_zero_point?, y_zero_point?"

IMPORTERS = {
    ("", "MatMulInteger"): takes(FACTORS, import_matmul_integer),
}
