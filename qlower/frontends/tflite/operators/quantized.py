"""Operators that are one operation on stored values, each with one scale."""

from __future__ import annotations

from collections.abc import Callable

from qlower.dialects import qnn

from ...entry import Entry, takes
from ..context import OperatorContext
from .plain import reduced_shape


def quantized(
    kind: Callable[..., qnn.QnnOp],
    signature: str = "x: STORED",
    *options: str,
    activates: bool = False,
) -> Entry[OperatorContext]:
    """An operation of operands that broadcast; it has these options, all numbers, and
    the fused activation if it `activates`."""

    def build(op: OperatorContext) -> None:
        numbers = range(len(op.operator.inputs))
        type = op.quantized_result_type(op.broadcast_shape(*numbers))
        given: dict[str, object] = {name: op.number(name) for name in options}
        if activates:
            given["activation"] = op.activation()
        op.finish(kind(*map(op.quantized, numbers), type, **given))

    return takes(signature, build)


def reduced(kind: type[qnn.MeanOp | qnn.SumOp]) -> Callable[[OperatorContext], None]:
    """An operation that makes one value of those along some dimensions."""

    def build(op: OperatorContext) -> None:
        axes, shape = reduced_shape(op)
        type = op.quantized_result_type(shape)
        keep_dims = op.flag("keep_dims")
        op.finish(kind(op.quantized(0), type, axes=axes, keep_dims=keep_dims))

    return build
