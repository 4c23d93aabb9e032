"""Tidying one nest: what it does not need goes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.dialects.kernel import NestOp
from qlower.transforms.form_kernels.regions import (
    build_region,
    inline,
    pair,
    uniform_value,
)


def simplify(nest: NestOp) -> NestOp:
    """Leaves out unused inputs, tables and results, and repeated inputs.

    A constant tensor of equal elements that only `init` and `epilogue` read becomes a
    scalar constant.
    """
    keep = [i for i, result in enumerate(nest.res) if result.uses] or [0]
    regions = [region for region in nest.regions if region.blocks]
    reads = list(zip(nest.inputs, nest.input_maps, strict=True))
    used = [
        any(region.block.args[i].uses for region in regions)
        for i in range(len(nest.inputs))
    ]
    scalars = {
        i: value
        for i, tensor in enumerate(nest.inputs)
        if used[i]
        and not (nest.body.blocks and nest.body.block.args[i].uses)
        and (value := uniform_value(tensor)) is not None
    }
    kept_reads = list(
        dict.fromkeys(
            read for i, read in enumerate(reads) if used[i] and i not in scalars
        )
    )
    first_reads = [reads.index(read) for read in kept_reads]
    identity = [AffineExpr.dimension(d) for d in range(len(nest.bounds))]
    own = len(nest.inputs)

    def rebuild(region: Region, kept: Sequence[int] | None) -> Region:
        if not region.blocks:
            return Region()
        old = region.block

        def code(into: Block) -> Sequence[SSAValue]:
            values = pair(old.args[own:], into.args[len(kept_reads) :])
            for i, argument in enumerate(old.args[:own]):
                if i in scalars and argument.uses:
                    constant = arith.ConstantOp(scalars[i])
                    into.add_op(constant)
                    values[argument] = constant.result
                elif reads[i] in kept_reads:
                    values[argument] = into.args[kept_reads.index(reads[i])]
            return inline(old, values, into, identity, kept)

        return build_region(
            [*(old.args[i] for i in first_reads), *old.args[own:]], code
        )

    init, body = rebuild(nest.init, None), rebuild(nest.body, None)
    epilogue = rebuild(nest.epilogue, keep)
    captured = {
        operand
        for region in (init, body, epilogue)
        for op in region.walk()
        for operand in op.operands
    }
    result_maps = nest.result_maps
    new = nest.rebuilt(
        inputs=[value for value, _ in kept_reads],
        tables=[table for table in nest.tables if table in captured],
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
