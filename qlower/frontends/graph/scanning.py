"""Loops over the steps of a sequence, and for as long as a value says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region, SSAValue

from qlower.dialects.kernel import ScanOp, of_step
from qlower.dialects.types import AnyTensor, tensor_type

from .values import FunctionBuilder, Origin, Tensor

ScanStep: TypeAlias = Callable[
    [Sequence[SSAValue], Sequence[SSAValue]],
    tuple[Sequence[SSAValue], Sequence[SSAValue]],
]
"""A step: from the carried values and its parts of the sequences to the carried values
after it, and its parts of the results."""


def scan(
    builder: FunctionBuilder,
    place: Origin,
    suffix: str,
    count: int,
    carried: Sequence[SSAValue],
    over: Sequence[SSAValue],
    step: ScanStep,
    *,
    is_reversed: bool = False,
) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """The values after `count` steps, the last one first if it `is_reversed`, and the
    results of all steps, with the step as the first axis.

    The operations that `step` adds are those of one step, whatever their number.
    """
    taken = [
        *(tensor_type(value) for value in carried),
        *(of_step(tensor_type(value)) for value in over),
    ]
    count_carried = len(carried)

    def whole(args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        left, parts = step(args[:count_carried], args[count_carried:])
        return [*left, *parts]

    body, types = _step(builder, place, suffix, taken, whole)
    wholes = [
        TensorType(type.element_type, (count, *type.get_shape()))
        for type in types[count_carried:]
    ]
    operation = ScanOp(
        count,
        carried,
        over,
        body,
        [*types[:count_carried], *wholes],
        is_reversed=is_reversed,
    )
    builder.add(operation, place, suffix)
    return operation.res[:count_carried], operation.parts


def repeat(
    builder: FunctionBuilder,
    place: Origin,
    suffix: str,
    carried: Sequence[SSAValue],
    step: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """The values after as many steps as leave the first one, an i1, true."""
    taken = [tensor_type(value) for value in carried]
    body, types = _step(builder, place, suffix, taken, step)
    operation = ScanOp(None, carried, [], body, types)
    builder.add(operation, place, suffix)
    return operation.res


def _step(
    builder: FunctionBuilder,
    place: Origin,
    suffix: str,
    taken: Sequence[AnyTensor],
    step: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> tuple[Region, list[AnyTensor]]:
    """The function of one step, and the types that it gives."""
    with builder.function([cast(Tensor, type) for type in taken], place) as block:
        last = func.ReturnOp(*step(block.args))
        last.location = place.named(suffix)
        block.add_op(last)
    types = [tensor_type(value) for value in last.operands]
    function = func.FuncOp(
        ScanOp.STEP, (taken, types), Region(block), visibility="private"
    )
    function.location = last.location
    return Region(Block([function])), types
