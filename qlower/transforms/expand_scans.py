"""A loop over the steps of a sequence as upstream's `scf.for`, one of unknown length as
`scf.while`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from qlower.dialects.kernel import ScanOp, of_step
from qlower.dialects.types import tensor_type


def expand_scans(module: ModuleOp) -> None:
    """Replace every scan in a module, those inside of others first."""
    for op in [op for op in module.walk() if isinstance(op, ScanOp)][::-1]:
        if op.is_open:
            _expand_open(op)
        else:
            _expand(op)


def _expand(op: ScanOp) -> None:
    """The scan as a loop that carries its results: of each sequence a step takes a
    slice, and puts one into each tensor of parts."""
    before: list[Operation] = []
    zero, one, count = (_number(before, value) for value in (0, 1, op.count))
    wholes: list[SSAValue] = []
    for part in op.parts:
        type = tensor_type(part)
        empty = tensor.EmptyOp((), type)
        before.append(empty)
        wholes.append(empty.tensor)
    carried = [*op.carried, *wholes]
    loop = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    step, *given = loop.args
    inside: list[Operation] = []
    at = step
    if op.is_reversed is not None:
        last = _number(inside, op.count - 1)
        inside.append(arith.SubiOp(last, step))
        at = inside[-1].results[0]
    taken: list[SSAValue] = [*given[: len(op.carried)]]
    for sequence in op.over:
        inside.append(_slice(sequence, at))
        taken.append(inside[-1].results[0])
    loop.add_ops(inside)
    results = _moved(op, loop, taken)
    kept: list[SSAValue] = results[: len(op.carried)]
    for part, whole in zip(
        results[len(op.carried) :], given[len(op.carried) :], strict=True
    ):
        insert = _insert(part, whole, at)
        loop.add_op(insert)
        kept.append(insert.results[0])
    loop.add_op(scf.YieldOp(*kept))
    new = scf.ForOp(zero, count, one, carried, loop)
    for made in (*before, new):
        made.location = op.location
    Rewriter.replace_op(op, [*before, new], new.results)


def _expand_open(op: ScanOp) -> None:
    """The scan as a loop whose first part reads what the first carried value says."""
    types = [value.type for value in op.carried]
    condition, loop = Block(arg_types=types), Block(arg_types=types)
    inside: list[Operation] = []
    rank = len(tensor_type(op.carried[0]).get_shape())
    zeros = [_number(inside, 0) for _ in range(rank)]
    goes_on = tensor.ExtractOp(condition.args[0], zeros, i1)
    condition.add_ops([*inside, goes_on, scf.ConditionOp(goes_on, *condition.args)])
    loop.add_op(scf.YieldOp(*_moved(op, loop, loop.args)))
    new = scf.WhileOp(op.carried, types, Region(condition), Region(loop))
    new.location = op.location
    Rewriter.replace_op(op, new)


def _moved(op: ScanOp, loop: Block, taken: Sequence[SSAValue]) -> list[SSAValue]:
    """Move the operations of a step to the end of a block, where they take `taken`;
    returns what they give."""
    body = op.function.body.detach_block(op.function.body.block)
    for argument, value in zip(body.args, taken, strict=True):
        argument.replace_all_uses_with(value)
    returned = body.last_op
    assert isinstance(returned, func.ReturnOp)
    results = list(returned.operands)
    returned.detach()
    returned.erase()
    for inner in list(body.ops):
        inner.detach()
        loop.add_op(inner)
    return results


def _number(ops: list[Operation], value: int) -> SSAValue:
    constant = arith.ConstantOp.from_int_and_width(value, IndexType())
    ops.append(constant)
    return constant.result


def _box(whole: SSAValue, at: SSAValue) -> tuple[Sequence[SSAValue | int], list[int]]:
    """The offsets and sizes of a step in a sequence."""
    shape = tensor_type(whole).get_shape()
    return [at, *[0] * (len(shape) - 1)], [1, *shape[1:]]


def _slice(sequence: SSAValue, at: SSAValue) -> Operation:
    offsets, sizes = _box(sequence, at)
    type = of_step(tensor_type(sequence))
    return tensor.ExtractSliceOp(sequence, offsets, sizes, [1] * len(sizes), type)


def _insert(part: SSAValue, whole: SSAValue, at: SSAValue) -> Operation:
    _, sizes = _box(whole, at)
    offsets = [DYNAMIC_INDEX, *[0] * (len(sizes) - 1)]
    ones = [1] * len(sizes)
    return tensor.InsertSliceOp.get(
        part, whole, sizes, offsets, ones, offsets=[at], result_type=whole.type
    )
