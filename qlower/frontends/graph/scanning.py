"""Loops over the steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region, SSAValue

from qlower.dialects.kernel import ScanOp, of_step
from qlower.dialects.types import tensor_type

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
    with builder.function([cast(Tensor, type) for type in taken], place) as block:
        left, parts = step(block.args[: len(carried)], block.args[len(carried) :])
        last = func.ReturnOp(*left, *parts)
        last.location = place.named(suffix)
        block.add_op(last)
    function = func.FuncOp(
        ScanOp.STEP,
        (taken, [value.type for value in last.operands]),
        Region(block),
        visibility="private",
    )
    function.location = last.location
    wholes = [
        TensorType(type.element_type, (count, *type.get_shape()))
        for type in map(tensor_type, parts)
    ]
    operation = ScanOp(
        count,
        carried,
        over,
        Region(Block([function])),
        [*(value.type for value in left), *wholes],
        is_reversed=is_reversed,
    )
    builder.add(operation, place, suffix)
    return operation.res[: len(carried)], operation.parts
