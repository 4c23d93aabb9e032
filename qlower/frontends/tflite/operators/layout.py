"""Reshapes and permutations: RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE.

RESHAPE and TRANSPOSE also take float32, which models have before their QUANTIZE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from qlower.dialects import qnn

from ..context import OperatorContext
from ..importer import takes


def import_reshape(op: OperatorContext) -> None:
    """The shape is a constant operand, or an option in older files."""
    has_operand = op.has_input(1)
    shape = op.integers(1, "shape") if has_operand else op.integer_list("new_shape")
    resolved = _resolve_shape(op, shape) if has_operand or shape else None
    _finish_reshape(op, resolved)


def import_squeeze(op: OperatorContext) -> None:
    """Drops the dimensions that the option lists, or all of size 1 without one."""
    shape = op.shape(0)
    dims = {op.axis(d, len(shape), "squeeze_dims") for d in _squeeze_dims(op, shape)}
    for dim in dims:
        op.check_range(f"size of dimension {dim}", shape[dim], 1, 1)
    _finish_reshape(op, [s for d, s in enumerate(shape) if d not in dims])


def _squeeze_dims(op: OperatorContext, shape: Sequence[int]) -> Sequence[int]:
    given = op.integer_list("squeeze_dims")
    return given or [dim for dim, size in enumerate(shape) if size == 1]


def import_expand_dims(op: OperatorContext) -> None:
    shape = op.shape(0)
    axis = op.axis_at(1, len(shape) + 1)
    _finish_reshape(op, (*shape[:axis], 1, *shape[axis:]))


def import_transpose(op: OperatorContext) -> None:
    shape = op.shape(0)
    values = op.integers(1, "permutation", count=len(shape))
    perm = [op.axis(value, len(shape), "permutation") for value in values]
    type = op.result_type([shape[dim] for dim in perm])
    op.finish(qnn.TransposeOp(op.moved(0), type, perm=perm))


def _finish_reshape(op: OperatorContext, shape: Sequence[int] | None) -> None:
    type = op.result_type(shape)
    op.finish(qnn.ReshapeOp(op.moved(0), type))


def _resolve_shape(op: OperatorContext, shape: Sequence[int]) -> list[int]:
    """`shape` with its -1, if it has one, replaced by what is left over."""
    elements = math.prod(op.shape(0))
    known = math.prod(size for size in shape if size != -1)
    unknown = sum(size == -1 for size in shape)
    if unknown > 1 or known < 1 or elements % known:
        raise op.error(
            f"shape {list(shape)} does not hold the {elements} elements of"
            f" {op.input(0)}"
        )
    return [elements // known if size == -1 else size for size in shape]


IMPORTERS = {
    "RESHAPE": takes("x, shape?", import_reshape),
    "SQUEEZE": takes("x", import_squeeze),
    "EXPAND_DIMS": takes("x, axis", import_expand_dims),
    "TRANSPOSE": takes("x, permutation", import_transpose),
}
