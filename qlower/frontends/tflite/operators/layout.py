"""Operators that are one movement of elements, which is also how those of constants
are evaluated: RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, TILE and BROADCAST_TO.

The kernels copy stored elements, whatever quantization input and result have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

from qlower.dialects import qnn
from qlower.emit.movement import moved
from qlower.operators.movement import Broadcast, Movement, Reshape, Tile, Transpose
from qlower.operators.shapes import Shape

from ...entry import takes
from ..context import OperatorContext
from ..nests import emitter, finish
from ..types import MAX_ELEMENTS, MAX_RANK

Read: TypeAlias = Callable[[OperatorContext, Shape], Movement]
"""The movement that an operator makes of a tensor of some shape."""

MAX_REPEATS = 1 << 20


def read_reshape(
    op: OperatorContext, shape: Shape, otherwise: Shape | None = None
) -> Reshape:
    """A constant operand, or an option in older files; its -1, if it has one, is what
    is left over. Where a file has neither, the other shape, or the result's."""
    is_given = op.has(1)
    wanted = op.integers(1, "shape") if is_given else op.integer_list("new_shape", ())
    if not (is_given or wanted):
        return Reshape(op.output().shape if otherwise is None else otherwise)
    elements = math.prod(shape)
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) > 1 or (known < 1 and elements) or elements % (known or 1):
        raise op.error(
            f"shape {wanted} does not hold the {elements} elements of {op.input(0)}"
        )
    left = elements // (known or 1)
    return Reshape(tuple(left if size == -1 else size for size in wanted))


def read_squeeze(op: OperatorContext, shape: Shape) -> Reshape:
    """Drops the dimensions that the option lists, or all of size 1 without one."""
    given = op.integer_list("squeeze_dims")
    dims = {op.axis(dim, len(shape), "squeeze_dims") for dim in given}
    dims = dims or {dim for dim, size in enumerate(shape) if size == 1}
    for dim in dims:
        op.check_range(f"size of dimension {dim}", shape[dim], 1, 1)
    return Reshape(tuple(size for dim, size in enumerate(shape) if dim not in dims))


def read_expand_dims(op: OperatorContext, shape: Shape) -> Reshape:
    axis = op.axis_at(1, len(shape) + 1)
    return Reshape((*shape[:axis], 1, *shape[axis:]))


def read_transpose(op: OperatorContext, shape: Shape) -> Transpose:
    values = op.integers(1, "permutation", count=len(shape))
    return Transpose([op.axis(value, len(shape), "permutation") for value in values])


def read_tile(op: OperatorContext, shape: Shape) -> Tile:
    times = op.integers(1, "multiples", count=len(shape))
    for count in times:
        op.check_range("multiple", count, 1, MAX_REPEATS)
    return Tile(times)


def read_broadcast(op: OperatorContext, shape: Shape) -> Broadcast:
    result = op.integers(1, "shape")
    op.check_range("number of dimensions", len(result), len(shape), MAX_RANK)
    axes = range(len(result) - len(shape), len(result))
    if any(size not in (1, result[at]) for size, at in zip(shape, axes, strict=True)):
        raise op.error(f"shape {list(shape)} does not broadcast to {result}")
    return Broadcast(axes, tuple(result))


def _import_movement(op: OperatorContext, read: Read) -> None:
    source = op.shape(0)
    movement = read(op, source)
    shape = result_shape(op, movement, source, MAX_ELEMENTS)
    type = op.result_type(shape)
    if isinstance(movement, Reshape):
        op.finish(qnn.ReshapeOp(op.moved(0), type))
    elif isinstance(movement, Transpose):
        op.finish(qnn.TransposeOp(op.moved(0), type, perm=movement.order))
    elif shape == source:
        finish(op, op.elements(0))
    else:
        finish(op, moved(emitter(op), movement, op.elements(0)))


def result_shape(
    op: OperatorContext, movement: Movement, shape: Shape, most: int
) -> Shape:
    """The shape of a movement's result, of at most `most` elements."""
    try:
        result = movement.result_shape(shape)
    except VerifyException as error:
        raise op.error(str(error)) from error
    op.check_range("number of elements", math.prod(result), 0, most)
    return result


MOVEMENTS: Mapping[str, tuple[str, Read]] = {
    "RESHAPE": ("x, shape?", read_reshape),
    "SQUEEZE": ("x", read_squeeze),
    "EXPAND_DIMS": ("x, axis", read_expand_dims),
    "TRANSPOSE": ("x, permutation", read_transpose),
    "TILE": ("x, multiples", read_tile),
    "BROADCAST_TO": ("x, shape", read_broadcast),
}
"""The signature of each operator, and its movement."""

IMPORTERS = {
    name: takes(signature, partial(_import_movement, read=read))
    for name, (signature, read) in MOVEMENTS.items()
}
