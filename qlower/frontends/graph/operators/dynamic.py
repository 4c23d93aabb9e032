"""Quantization with scales that are known at run time, and products of plain integers.

What is stored has the scale 1 in its type. The zero point that run time finds is taken
off the sums, exactly: `sum((x - z) w) = sum(x w) - z sum(w)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i1, i8, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Index, Nest, widen

from ...entry import takes
from ...scalars import Binary, Scalars, folded, mapped, text
from ..context import STORED_TYPES, NodeContext
from ..nodes import MICROSOFT, TYPES_BY_NUMBER
from ..orders import identity
from ..schema import Array
from ..values import Value
from ..window import Window, as_image, define_image, from_image, image_step
from .contraction import convolution, filter_count, filters_of
from .elementwise import broadcast
from .real import elementwise, real_operand

FLOAT, UINT8 = 1, 2
"""ONNX's numbers of types."""

CODES = QuantizedType.per_tensor(8, False, 1.0, 0)
"""What stored integers of a scale of their own are read as."""


ZERO_POINT, CODE = (text("_mlas", f"dynamic_{name}") for name in ("zero_point", "code"))


def import_dynamic_quantize(node: NodeContext) -> None:
    results = quantize_dynamically(node, real_operand(node, 0), node.node.outputs)
    for index, result in enumerate(results):
        node.define(result, index)


def quantize_dynamically(
    node: NodeContext, value: Value, names: Sequence[str]
) -> tuple[Value, Value, Value]:
    """The codes of uint8 that fit the values, their scale and their zero point, which
    come to be called `names`.

    DynamicQuantizeLinear: 0 lies in the range. Where infinities and scales of 0 make
    NaN of it, z is 255 and y is 0.
    """
    shape = value.type.get_shape()
    of_codes, of_scale, of_point = (
        node.builder.emitter(node.place(name)) for name in names
    )
    columns = shape[-1] if shape else 1
    matrix = node.builder.reshape(
        Value(value.ssa, identity(len(shape))),
        (math.prod(shape) // columns, columns),
        (0, 1),
        node.place(names[1]),
    )
    ends = [
        _extreme(of_scale, matrix.ssa, end)
        for end in (Scalars.minimum, Scalars.maximum)
    ]
    scale = mapped(of_scale, text("_mlas", "dynamic_scale"), *ends)
    point = mapped(of_point, _zero_point, ends[0], scale)
    of_step = Value(scale, (), is_real=True), Value(_stored_as(of_point, point), ())
    return _codes_of(of_codes, value, of_step), *of_step


def _zero_point(steps: Scalars, lowest: SSAValue, scale: SSAValue) -> SSAValue:
    return steps.cast(ZERO_POINT(steps, lowest, scale), i8)


def _code(steps: Scalars, x: SSAValue, scale: SSAValue, point: SSAValue) -> SSAValue:
    zero = steps.step(arith.ExtUIOp(point, i32))
    return steps.cast(CODE(steps, x, scale, zero), i8)


def quantize_by(node: NodeContext, value: Value) -> Value:
    """QuantizeLinear to uint8 by a scale and a zero point that run time knows."""
    scale = node.real(1)
    point = node.value(2)
    if math.prod(scale.shape) != 1 or point.element != CODES:
        raise node.error(
            "a scale that is no constant is supported for uint8 only, and one of them"
        )
    return _codes_of(node.builder.emitter(node.place()), value, (scale, point))


def _codes_of(emit: Emitter, value: Value, step: tuple[Value, Value]) -> Value:
    """`rne(clamp(F(x / s))) + z`, for a scale and a zero point in one element each."""
    scale, point = step
    shape = point.type.get_shape()
    plain = emit.add(StorageCastOp(point.ssa, TensorType(i8, shape))).result
    nest = Nest(emit, value.type.get_shape())
    first = AffineConstantExpr(0)
    code = _code(
        Scalars(nest),
        nest.input(value.ssa, range(nest.parallel)),
        nest.input(scale.ssa, [first] * len(scale.shape)),
        nest.input(plain, [first] * len(shape)),
    )
    return Value(_stored_as(emit, nest.build([code])[0]), value.order)


def import_cast(node: NodeContext) -> None:
    """Cast integers to the nearest FLOAT, FLOAT to UINT8 toward zero, and stored values
    to their own type, which leaves them as they are."""
    value = node.value(0)
    element, target = value.element, node.integer("to", None)
    if isinstance(element, QuantizedType) and not value.is_real:
        name = TYPES_BY_NUMBER.get(target)
        if name in STORED_TYPES and STORED_TYPES[name] == element.signed:
            node.define(value)
            return
    if target == FLOAT and element in (i32, i64, i1):
        made = elementwise(node, [value], _from_integer)
        node.define(replace(made, is_real=True))
    elif target == FLOAT and value.is_real:
        node.define(real_operand(node, 0))
    elif target == UINT8 and value.is_real:
        real = real_operand(node, 0)
        emit = node.builder.emitter(node.place())
        codes = mapped(emit, _cut_code, real.ssa)
        node.define(Value(_stored_as(emit, codes), real.order))
    else:
        raise node.error(
            f"a cast of {element} to {TYPES_BY_NUMBER.get(target, target)} is not"
            " supported; expected INT32, INT64 or BOOL to FLOAT, or FLOAT to UINT8"
        )


def _from_integer(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
    (x,) = elements
    return Scalars(nest).cast(x, f32)


def _cut_code(steps: Scalars, x: SSAValue) -> SSAValue:
    """The code of uint8 that is nearest to a number cut toward zero."""
    return steps.cast(steps.within(steps.cast(x, i32), 255), i8)


def _stored_as(emit: Emitter, codes: SSAValue) -> SSAValue:
    type = TensorType(CODES, shape_of(codes))
    return emit.add(StorageCastOp(codes, type)).result


def _extreme(emit: Emitter, matrix: SSAValue, compute: Binary) -> SSAValue:
    """The smallest or largest element of a matrix, or 0: of columns, then of all."""
    for _ in shape_of(matrix):
        matrix = folded(emit, matrix, [0], compute, 0)
    return matrix


def import_matmul_integer(node: NodeContext) -> None:
    node.define(matmul_integer(node, stored_operand(node, 0, 2), 1, 3))


def import_matmul_integer_to_float(node: NodeContext) -> None:
    """`F(F(sum) F(s_a s_b))`, and the bias."""
    sums = matmul_integer(node, stored_operand(node, 0, 4), 1, 5, "sums")
    scales = [node.real(index) for index in (2, 3)]
    _to_float(node, sums, scales, 6)


def import_dynamic_quantize_matmul(node: NodeContext) -> None:
    """DynamicQuantizeLinear, and MatMulIntegerToFloat of what it gives."""
    codes, scale, point = quantize_dynamically(
        node,
        real_operand(node, 0),
        [f"{node.result()}/{step}" for step in ("codes", "scale", "zero_point")],
    )
    sums = matmul_integer(node, (codes, point), 1, 3, "sums")
    _to_float(node, sums, [scale, node.real(2)], 4)


def _to_float(
    node: NodeContext, sums: Value, scales: Sequence[Value], bias: int
) -> None:
    more = [node.real(bias)] if node.has(bias) else []
    node.define(real_sums(node, sums, scales, more))


def real_sums(
    node: NodeContext, sums: Value, scales: Sequence[Value], more: Sequence[Value]
) -> Value:
    """`F(F(sum) F(s_a s_b))`, to which something may be added."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        total, lhs_scale, rhs_scale, *bias = elements
        real = _from_integer(nest, [total])
        scale = nest.add(arith.MulfOp(lhs_scale, rhs_scale)).result
        real = nest.add(arith.MulfOp(real, scale)).result
        for offset in bias:
            real = nest.add(arith.AddfOp(real, offset)).result
        return real

    return elementwise(node, [sums, *scales, *more], body)


Integers: TypeAlias = NDArray[np.int64]

Stored: TypeAlias = tuple[Value, Value | None]
"""Codes, and their zero point where only run time knows it."""


def stored_operand(node: NodeContext, number: int, point: int) -> Stored:
    """An operand of integers with its zero point."""
    value = node.value(number)
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
    """The sums of an input's rows times a constant matrix, or times those of another
    input."""
    if not node.is_constant(number):
        return _product(node, stored, stored_operand(node, number, point), suffix)
    columns = node.shape(number, rank=2)[1]
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
    value = node.builder.in_order(value, identity(len(value.order)), node.place())
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
    """The sums of products of two inputs whose leading dimensions broadcast."""
    shapes = lhs[0].shape, rhs[0].shape
    if min(map(len, shapes)) < 2 or shapes[0][-1] != shapes[1][-2]:
        raise node.error(
            f"a product of shapes {list(shapes[0])} and {list(shapes[1])}; expected"
            " matrices of fitting sizes"
        )
    leading = broadcast(node, shapes[0][:-2], shapes[1][:-2])
    rank = len(leading)
    bounds = (*leading, shapes[0][-2], shapes[1][-1], shapes[0][-1])
    node.check_elements(math.prod(bounds[:-1]))
    nest = Nest(node.builder.emitter(node.place(), suffix), bounds, reductions=1)
    left, right = (
        _centred(node, nest, stored, rank, loops)
        for stored, loops in ((lhs, (rank, rank + 2)), (rhs, (rank + 2, rank + 1)))
    )
    product = nest.add(arith.MuliOp(left, right)).result
    zeros = nest.emitter.filled(nest.output_shape, i32, 0)
    (sums,) = nest.reduce([zeros], nest.adding(product))
    return Value(sums, identity(rank + 2))


def _centred(
    node: NodeContext, nest: Nest, stored: Stored, rank: int, loops: tuple[int, int]
) -> SSAValue:
    """An element of a matrix, whose leading dimensions are the last loops before
    `rank`, less its zero point."""
    value, point = stored
    order = identity(len(value.order))
    value = node.builder.in_order(value, order, node.place())
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


def _sums_inside(filters: Integers, image: Sequence[int], window: Window) -> Integers:
    """The sum of each filter [O, KH, KW] over the taps that lie inside the image, for
    each place (y, x) of the result: [OH, OW, O]."""
    vertical, horizontal = (
        _inside(size, filters.shape[1 + axis], axis, window)
        for axis, size in enumerate(image)
    )
    return np.moveaxis(vertical @ filters @ horizontal.T, 0, -1)


def _inside(size: int, taps: int, axis: int, window: Window) -> Integers:
    """1 for each place and tap along an axis that lies inside of the image, else 0."""
    place = np.arange(window.sizes[axis], dtype=np.int64) * window.stride[axis]
    tap = np.arange(taps, dtype=np.int64) * window.dilation[axis]
    position = place[:, np.newaxis] + tap - window.pad[2 * axis]
    return np.logical_and(position >= 0, position < size).astype(np.int64)


INTEGERS = "x, y, x_zero_point?, y_zero_point?"
"""Factors whose product is one of integers."""

IMPORTERS = {
    ("", "DynamicQuantizeLinear"): takes("x", import_dynamic_quantize, (3, 3)),
    ("", "Cast"): takes("x", import_cast),
    ("", "MatMulInteger"): takes(INTEGERS, import_matmul_integer),
    ("", "ConvInteger"): takes(INTEGERS, import_conv_integer),
    (MICROSOFT, "MatMulIntegerToFloat"): takes(
        "x, y, x_scale, y_scale, x_zero_point?, y_zero_point?, bias?",
        import_matmul_integer_to_float,
    ),
    (MICROSOFT, "DynamicQuantizeMatMul"): takes(
        "x, y, y_scale, y_zero_point?, bias?", import_dynamic_quantize_matmul
    ),
}
