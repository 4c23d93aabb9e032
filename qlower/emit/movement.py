"""Movements of elements as operations on tensors, and as loop nests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, TensorType, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import element_type, shape_of
from qlower.emit.tensors import constant_of, pad, reshape
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Index, Nest, extract, scalar_constant, to_index
from qlower.operators import movement as moves
from qlower.operators.movement import Movement

Emit: TypeAlias = Callable[[Emitter, Any, SSAValue], SSAValue]


def moved(emit: Emitter, movement: Movement, value: SSAValue) -> SSAValue:
    """The result of a movement of one tensor."""
    return _EMIT[type(movement)](emit, movement, value)


def folded(emit: Emitter, movement: Movement, value: SSAValue) -> SSAValue:
    """The result of a movement of one tensor, folded where its elements are known."""
    known = constant_of(value)
    if known is None or movement == moves.Reshape(known.shape):
        return moved(emit, movement, value)
    return emit.constant(movement.evaluate(known), element_type(value.type))


def padded(
    emit: Emitter, movement: moves.Pad, value: SSAValue, around: SSAValue
) -> SSAValue:
    """A tensor with the one element of another one around it and between its
    elements."""
    nest = Nest(emit, movement.result_shape(shape_of(value)))
    first = [AffineConstantExpr(0)] * len(shape_of(around))
    whole = nest.build_one(nest.input(around, first))
    return _inserted(emit, movement, value, whole)


def taken(emit: Emitter, value: SSAValue, places: Sequence[Sequence[int]]) -> SSAValue:
    """The elements of a tensor at all combinations of places along its axes."""
    shape = shape_of(value)
    if [list(axis) for axis in places] == [list(range(size)) for size in shape]:
        return value
    nest = Nest(emit, [len(axis) for axis in places])
    steps = [_step(*axis) for axis in zip(places, shape, strict=True)]
    if None not in steps:
        indices = [
            AffineDimExpr(loop) * (step or 0) + axis[0]
            for loop, (axis, step) in enumerate(zip(places, steps, strict=True))
        ]
        return nest.build_one(nest.input(value, indices))
    wanted = {
        loop: [np.array(axis)]
        for loop, axis in enumerate(places)
        if list(axis) != list(range(shape[loop]))
    }
    return nest.build_one(*elements_at(nest, value, wanted))


def elements_at(
    nest: Nest, value: SSAValue, indices: Mapping[int, Sequence[Array]]
) -> Iterator[SSAValue]:
    """The elements of a tensor at all combinations of the given indices along some
    axes, each array with an index for each pass of the loop of its axis; the last axis
    varies first. Along the other axes a loop is the index itself. An element is read
    when it is asked for."""
    places = [
        [to_index(nest, nest.constant(at, i32, (axis,))) for at in indices[axis]]
        if axis in indices
        else [nest.add(IndexOp(axis)).result]
        for axis in range(len(shape_of(value)))
    ]
    return (extract(nest, value, place) for place in product(*places))


def _step(taken: Sequence[int], size: int) -> int | None:
    """The distance of places that are as far apart each, and don't go back.

    None for the first places of more: a loop that is an index by itself takes all."""
    steps = set(np.diff(taken).tolist())
    if len(steps) > 1 or (steps and min(steps) < 0):
        return None
    step = steps.pop() if steps else 0
    return None if step == 1 and taken[0] == 0 and len(taken) < size else step


def concatenated(
    emit: Emitter,
    movement: moves.Concatenate,
    shape: Sequence[int],
    element: Attribute,
    values: Iterable[SSAValue],
) -> SSAValue:
    """Tensors one after the other, in one of this shape and element type; each value is
    asked for when the ones before are in place."""
    result = emit.empty(shape, element)
    offsets = [0] * len(shape)
    for value in values:
        result = emit.inserted(value, result, offsets)
        offsets[movement.axis] += shape_of(value)[movement.axis]
    return result


def _pad(emit: Emitter, movement: moves.Pad, value: SSAValue) -> SSAValue:
    assert movement.value is not None
    if not movement.spreads:
        return pad(emit, value, movement.low, movement.high, movement.value)
    shape, type = movement.result_shape(shape_of(value)), element_type(value.type)
    whole = emit.filled(shape, type, movement.value)
    return _inserted(emit, movement, value, whole)


def _inserted(
    emit: Emitter, movement: moves.Pad, value: SSAValue, whole: SSAValue
) -> SSAValue:
    insert = tensor.InsertSliceOp.from_static_parameters(
        value, whole, movement.low, shape_of(value), movement.steps
    )
    return emit.add(insert).result


def _reshape(emit: Emitter, movement: moves.Reshape, value: SSAValue) -> SSAValue:
    return reshape(emit, value, movement.result_shape(shape_of(value)))


def _transpose(emit: Emitter, movement: moves.Transpose, value: SSAValue) -> SSAValue:
    order = movement.order
    nest = Nest(emit, movement.result_shape(shape_of(value)))
    loops = [order.index(axis) for axis in range(nest.parallel)]
    return nest.build_one(nest.input(value, loops))


def _slice(emit: Emitter, movement: moves.Slice, value: SSAValue) -> SSAValue:
    type = TensorType(element_type(value.type), movement.size)
    box = tensor.ExtractSliceOp(
        value, movement.start, movement.size, movement.stride, type
    )
    return emit.add(box).result


def _tile(emit: Emitter, movement: moves.Tile, value: SSAValue) -> SSAValue:
    """Loops (copies of axis 0, axis 0, copies of axis 1, ...)."""
    pairs = zip(movement.multiples, shape_of(value), strict=True)
    bounds = [bound for pair in pairs for bound in pair]
    nest = Nest(emit, bounds)
    repeated = nest.build_one(nest.input(value, range(1, len(bounds), 2)))
    return reshape(emit, repeated, movement.result_shape(shape_of(value)))


def _reverse(emit: Emitter, movement: moves.Reverse, value: SSAValue) -> SSAValue:
    shape, axis = shape_of(value), movement.axis
    nest = Nest(emit, shape)
    indices: list[SSAValue | int] = [*range(len(shape))]
    last = nest.add(scalar_constant(shape[axis] - 1, IndexType())).result
    indices[axis] = nest.add(arith.SubiOp(last, nest.add(IndexOp(axis)).result)).result
    return nest.build_one(extract(nest, value, indices))


def _broadcast(emit: Emitter, movement: moves.Broadcast, value: SSAValue) -> SSAValue:
    nest = Nest(emit, movement.shape)
    indices: list[Index] = [
        AffineConstantExpr(0) if size == 1 else axis
        for axis, size in zip(movement.axes, shape_of(value), strict=True)
    ]
    return nest.build_one(nest.input(value, indices))


_EMIT: Mapping[type[Movement], Emit] = {
    moves.Broadcast: _broadcast,
    moves.Pad: _pad,
    moves.Reshape: _reshape,
    moves.Reverse: _reverse,
    moves.Slice: _slice,
    moves.Tile: _tile,
    moves.Transpose: _transpose,
}
