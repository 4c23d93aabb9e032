"""Tidying one nest: what it does not need goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.dialects.kernel import NestOp, YieldOp
from qlower.transforms.form_kernels.regions import uniform_value


def simplify(nest: NestOp) -> NestOp:
    """Leaves out unused inputs, tables and results, and repeated inputs; the result
    takes the place of `nest`, and may be `nest` itself.

    A constant tensor of equal elements that only `init` and `epilogue` read becomes a
    scalar constant.
    """
    keep = [i for i, result in enumerate(nest.res) if result.uses] or [0]
    _, body, epilogue = nest.regions
    regions = [region for region in nest.regions if region.blocks]
    blocks = [region.block for region in regions]
    reads = list(zip(nest.inputs, nest.input_maps, strict=True))
    used = [any(block.args[i].uses for block in blocks) for i in range(len(reads))]
    scalars = {
        i: value
        for i, (tensor, _) in enumerate(reads)
        if used[i]
        and not (body.blocks and body.block.args[i].uses)
        and (value := uniform_value(tensor)) is not None
    }
    kept_reads = list(
        dict.fromkeys(
            read for i, read in enumerate(reads) if used[i] and i not in scalars
        )
    )
    kept = [reads.index(read) if read in kept_reads else None for read in reads]
    for block in blocks:
        _replace_arguments(block, kept, scalars)
        _leave_out(block, keep if block.parent is epilogue else None)
    before = nest.tables
    tables = [table for table in before if _reads(regions, table)]
    if (len(kept_reads), len(tables), len(keep)) == (
        len(reads),
        len(before),
        len(nest.res),
    ):
        return nest
    result_maps = nest.result_maps
    init, body, epilogue = (nest.detach_region(r) for r in tuple(nest.regions))
    new = nest.rebuilt(
        inputs=[value for value, _ in kept_reads],
        tables=tables,
        maps=[*(map for _, map in kept_reads), *(result_maps[i] for i in keep)],
        init=init,
        body=body,
        epilogue=epilogue,
        result_types=[nest.res[i].type for i in keep],
    )
    Rewriter.insert_op(new, InsertPoint.before(nest))
    for i, result in zip(keep, new.res, strict=True):
        result.name_hint = nest.res[i].name_hint
        nest.res[i].replace_all_uses_with(result)
    Rewriter.erase_op(nest)
    return new


def _reads(regions: Sequence[Region], table: SSAValue) -> bool:
    """Whether an operation in the regions has a tensor from above as its operand."""
    return any(
        operand is table
        for region in regions
        for op in region.walk()
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
        if i in scalars and argument.uses:
            constant = arith.ConstantOp(scalars[i])
            block.insert_op_before(constant, first)
            argument.replace_all_uses_with(constant.result)
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
    for op in reversed(tuple(block.ops)[:-1]):
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)
