"""BITCAST: the bits of stored elements as those of another type."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from ...entry import takes
from ...scalars import Scalars
from ..context import OperatorContext
from ..nests import finish_map, read
from ..types import stored_type
from .plain import scalars


def import_bitcast(op: OperatorContext) -> None:
    """Elements of a wider type are cut along a new dimension, the lowest bits first;
    for a wider result those of the last dimension are joined."""
    source, type = stored_type(op.input_type(0)), stored_type(op.result_type())
    if source != type and i1 in (source, type):
        raise op.error(
            f"{op.output()}: type {op.output().type} for bits of {op.input(0).type};"
            " expected BOOL for both, or numbers"
        )
    shape = op.shape(0)
    if source.bitwidth > type.bitwidth:
        count = source.bitwidth // type.bitwidth
        steps = scalars(op, (*shape, count))
        whole = _as_integer(steps, read(op, steps.nest, 0, range(len(shape))))
        first = np.arange(count) * type.bitwidth
        places = steps.nest.constant(first, whole.type)
        moved = steps.step(arith.ShRUIOp(whole, places))
        value = steps.cast(moved, IntegerType(type.bitwidth))
    elif source.bitwidth < type.bitwidth:
        count = type.bitwidth // source.bitwidth
        if shape[-1:] != (count,):
            raise op.error(
                f"{op.input(0)}: shape {list(shape)}, of whose last dimension"
                f" {op.output().type} takes {count} elements"
            )
        steps = scalars(op, shape[:-1])
        value = _joined(op, steps, count, IntegerType(type.bitwidth))
    else:
        steps = scalars(op, shape)
        value = read(op, steps.nest, 0)
    finish_map(op, steps.nest, _as_type(steps, value, type))


def _joined(
    op: OperatorContext, steps: Scalars, count: int, type: IntegerType
) -> SSAValue:
    """Groups of `count` elements of the last dimension, each joined to one integer."""
    loops = range(len(steps.nest.output_shape))
    whole: SSAValue | None = None
    for number in range(count):
        part = read(op, steps.nest, 0, [*loops, AffineConstantExpr(number)])
        part = _as_integer(steps, part)
        places = steps.constant(number * type.bitwidth // count, type)
        part = steps.step(arith.ExtUIOp(part, type))
        part = steps.step(arith.ShLIOp(part, places))
        whole = part if whole is None else steps.step(arith.OrIOp(whole, part))
    assert whole is not None
    return whole


def _as_integer(steps: Scalars, value: SSAValue) -> SSAValue:
    """The bits of a number that may be real."""
    return _as_type(steps, value, i32 if value.type == f32 else value.type)


def _as_type(steps: Scalars, value: SSAValue, type: Attribute) -> SSAValue:
    return value if value.type == type else steps.step(arith.BitcastOp(value, type))


IMPORTERS = {"BITCAST": takes("x", import_bitcast)}
