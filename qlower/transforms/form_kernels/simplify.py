"""Tidying one nest: what it does not need goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.dialects.kernel import NestOp, YieldOp
from qlower.model.nests import constant
from qlower.transforms.form_kernels.regions import uniform_value


def simplify(nest: NestOp) -> NestOp:
    """Leaves out unused inputs, tables and results, and repeated inputs; the result
    takes the place of `nest`, and may be `nest` itself.

    A constant tensor of equal elements that only `init` and `epilogue` read becomes a
    scalar constant.
    """
    results = nest.results
    keep = [i for i, result in enumerate(results) if result.first_use] or [0]
    _, body, epilogue = nest.regions
    blocks = [block for region in nest.regions for block in region.blocks]
    inputs, maps = nest.inputs, nest.input_maps
    distinct = len(set(inputs)) == len(inputs)
    first: dict[object, int] = {}
    scalars: dict[int, IntegerAttr | FloatAttr] = {}
    kept: list[int | None] = []
    for i, (tensor, map) in enumerate(zip(inputs, maps, strict=True)):
        readers = [block for block in blocks if block.args[i].first_use]
        value = None
        if readers and (not body.blocks or body.block not in readers):
            value = uniform_value(tensor)
        if value is not None:
            scalars[i] = value
        is_kept = readers and value is None
        read = tensor if distinct else (tensor, map)
        kept.append(first.setdefault(read, i) if is_kept else None)
    for block in blocks:
        _replace_arguments(block, kept, scalars)
        _leave_out(block, keep if block.parent is epilogue else None)
    before = nest.tables
    tables = [table for table in before if _reads(blocks, table)]
    if (len(first), len(tables), len(keep)) == (len(inputs), len(before), len(results)):
        return nest
    result_maps = nest.result_maps
    init, body, epilogue = (nest.detach_region(r) for r in tuple(nest.regions))
    new = nest.rebuilt(
        inputs=[inputs[i] for i in first.values()],
        tables=tables,
        maps=[*(maps[i] for i in first.values()), *(result_maps[i] for i in keep)],
        init=init,
        body=body,
        epilogue=epilogue,
        result_types=[results[i].type for i in keep],
    )
    Rewriter.insert_op(new, InsertPoint.before(nest))
    for i, result in zip(keep, new.res, strict=True):
        result.name_hint = results[i].name_hint
        results[i].replace_all_uses_with(result)
    Rewriter.erase_op(nest)
    return new


def _reads(blocks: Sequence[Block], table: SSAValue) -> bool:
    """Whether an operation in the blocks has a tensor from above as its operand."""
    return any(
        operand is table
        for block in blocks
        for op in block.walk()
        for operand in op.operands
    )


def _replace_arguments(
    block: Block,
    kept: Sequence[int | None],
    scalars: Mapping[int, IntegerAttr | FloatAttr],
) -> None:
    """Gives a region another argument, or a scalar, in the place of each of its first
    ones: `kept[i]` is the number of the argument that replaces argument i."""
    first = block.first_op
    assert first is not None
    arguments = block.args[: len(kept)]
    for i, (argument, own) in enumerate(zip(arguments, kept, strict=True)):
        if i in scalars and argument.first_use:
            number = constant(scalars[i])
            block.insert_op_before(number, first)
            argument.replace_all_uses_with(number.result)
        elif own is not None and own != i:
            argument.replace_all_uses_with(arguments[own])
    for i, argument in enumerate(arguments):
        if kept[i] != i:
            block.erase_arg(argument)


def _leave_out(block: Block, keep: Sequence[int] | None) -> None:
    """Erases what the yielded values that `keep` selects, or all, don't depend on."""
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    if keep is not None and len(keep) < len(terminator.arguments):
        kept = [terminator.arguments[index] for index in keep]
        Rewriter.replace_op(terminator, YieldOp(*kept))
    last = block.last_op
    op = None if last is None else last.prev_op
    while op is not None:
        before = op.prev_op
        if not any([result.first_use for result in op.results]):
            block.erase_op(op)
        op = before
