"""Reshapes and permutations: RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE.

RESHAPE and TRANSPOSE also take float32, which models have before their QUANTIZE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from qlower.dialects import qnn

from ...entry import takes
from ..context import OperatorContext

Shape: TypeAlias = tuple[int, ...]


def read_reshape(
    op: OperatorContext, shape: Shape, otherwise: Shape | None = None
) -> Sequence[int]:
    """A constant operand, or an option in older files; its -1, if it has one, is what
    is left over. Where a file has neither, the other shape, or the result's."""
    is_given = op.has(1)
    wanted = op.integers(1, "shape") if is_given else op.integer_list("new_shape", ())
    if not (is_given or wanted):
        return op.output().shape if otherwise is None else otherwise
    elements = math.prod(shape)
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) > 1 or (known < 1 and elements) or elements % (known or 1):
        raise op.error(
            f"shape {wanted} does not hold the {elements} elements of {op.input(0)}"
        )
    return [elements // (known or 1) if size == -1 else size for size in wanted]


def read_squeeze(op: OperatorContext, shape: Shape) -> Sequence[int]:
    """Drops the dimensions that the option lists, or all of size 1 without one."""
    given = op.integer_list("squeeze_dims")
    dims = {op.axis(dim, len(shape), "squeeze_dims") for dim in given}
    dims = dims or {dim for dim, size in enumerate(shape) if size == 1}
    for dim in dims:
        op.check_range(f"size of dimension {dim}", shape[dim], 1, 1)
    return [size for dim, size in enumerate(shape) if dim not in dims]


def read_expand_dims(op: OperatorContext, shape: Shape) -> Sequence[int]:
    axis = op.axis_at(1, len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def _import_reshape(
    op: OperatorContext, read: Callable[[OperatorContext, Shape], Sequence[int]]
) -> None:
    type = op.result_type(read(op, op.shape(0)))
    op.finish(qnn.ReshapeOp(op.moved(0), type))


def import_transpose(op: OperatorContext) -> None:
    shape = op.shape(0)
    values = op.integers(1, "permutation", count=len(shape))
    perm = [op.axis(value, len(shape), "permutation") for value in values]
    type = op.result_type([shape[dim] for dim in perm])
    op.finish(qnn.TransposeOp(op.moved(0), type, perm=perm))


IMPORTERS = {
    "RESHAPE": takes("x, shape?", partial(_import_reshape, read=read_reshape)),
    "SQUEEZE": takes("x", partial(_import_reshape, read=read_squeeze)),
    "EXPAND_DIMS": takes("x, axis", partial(_import_reshape, read=read_expand_dims)),
    "TRANSPOSE": takes("x, permutation", import_transpose),
}
