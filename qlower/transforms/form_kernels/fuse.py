"""Merging nests: a value that is used once never goes through memory.

Both rules keep every scalar computation and compute it exactly once:
- an elementwise nest moves into the `init` or `epilogue` of the nest that reads it,
- an elementwise nest that reads the results of a reduction becomes its `epilogue`,
  through a collapse of axes (of groups, of a depthwise multiplier) if need be.
A nest that stores one constant moves wherever it is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.tensor import CollapseShapeOp
from xdsl.ir import Block, BlockArgument, Operation
from xdsl.ir.affine import (
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import Rewriter

from qlower.dialects.kernel import NestOp, YieldOp
from qlower.model.layers import layer_name
from qlower.tally import count
from qlower.transforms.form_kernels.regions import (
    ZERO,
    inline,
    move,
    pair,
    replace_uses,
    substitute,
    uses_index,
)
from qlower.transforms.form_kernels.simplify import simplify
from qlower.transforms.form_kernels.uncollapse import read_uncollapsed
from qlower.transforms.tidying import is_dead


def fuse_nests(block: Block) -> None:
    """Merges the nests of a function as far as the rules allow."""
    remove_unused(block)
    for op in tuple(block.ops):
        nest = simplify(op) if isinstance(op, NestOp) else None
        while nest is not None:
            nest = fuse_one(nest)
            count("nests merged", nest is not None)


def remove_unused(block: Block) -> None:
    """Erases the ops without effects whose results have no uses."""
    for op in reversed(tuple(block.ops)):
        if is_dead(op):
            Rewriter.erase_op(op)


def fuse_one(nest: NestOp) -> NestOp | None:
    """Merges `nest` with one of its producers, or gives None."""
    for index, value in enumerate(nest.inputs):
        producer = value.owner
        if isinstance(producer, CollapseShapeOp) and _same_layer(producer, nest):
            expanded = read_uncollapsed(nest, index, producer)
            if expanded is not None:
                return expanded
        if not isinstance(producer, NestOp):
            continue
        if not (_same_layer(producer, nest) or _is_constant(producer)):
            continue
        merged = merge_nests(producer, nest, index)
        if merged is not None:
            return merged
    return None


def can_merge(producer: NestOp, consumer: NestOp, index: int) -> bool:
    """Whether `merge_nests` gives one nest."""
    return (
        _can_move_into(producer, consumer, index)
        or loops_of_consumer(producer, consumer) is not None
    )


def merge_nests(producer: NestOp, consumer: NestOp, index: int) -> NestOp | None:
    """One nest for the consumer and the producer of its input `index`, if it can be."""
    if _can_move_into(producer, consumer, index):
        merged = _move_into(producer, consumer, index)
    elif (loops := loops_of_consumer(producer, consumer)) is not None:
        merged = _extend(producer, consumer, loops)
    else:
        return None
    simplified = simplify(merged)
    if is_dead(producer):
        Rewriter.erase_op(producer)
    return simplified


def _replace(nest: NestOp, new: NestOp, location: LocationAttr) -> NestOp:
    new.location = location
    for old, result in zip(nest.results, new.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(nest, new)
    return new


def _same_layer(producer: Operation, consumer: Operation) -> bool:
    if producer.location is consumer.location:
        return True
    names = {layer_name(producer), layer_name(consumer)} - {None}
    return len(names) <= 1


def _merged_location(producer: NestOp, consumer: NestOp) -> LocationAttr:
    """The location of the reduction, else the consumer; one with a name comes first."""
    main = sorted((consumer, producer), key=lambda nest: not nest.reduction_bounds)
    named = [nest for nest in main if layer_name(nest) is not None]
    return (named or main)[0].location


def _is_constant(nest: NestOp) -> bool:
    """Whether every element of the result is the same, and known."""
    return not nest.operands and not uses_index(nest.epilogue.block)


def _can_move_into(producer: NestOp, consumer: NestOp, index: int) -> bool:
    """Whether the elementwise producer may be computed where input `index` is read."""
    if producer.reduction_bounds or len(producer.results) != 1:
        return False
    if consumer.body.blocks and consumer.body.block.args[index].uses:
        return False
    if _is_constant(producer):
        return True
    return producer.results[0].has_one_use() and _reads_once(
        consumer.input_maps[index], consumer.parallel_bounds
    )


def _reads_once(map: AffineMap, bounds: Sequence[int]) -> bool:
    """Whether no two points of the parallel loops read the same element."""
    dims = [e.position for e in map.results if isinstance(e, AffineDimExpr)]
    plain = all(e == ZERO or isinstance(e, AffineDimExpr) for e in map.results)
    moved = {d for d, bound in enumerate(bounds) if bound > 1}
    return plain and len(dims) == len(set(dims)) and moved <= set(dims)


def _move_into(producer: NestOp, consumer: NestOp, index: int) -> NestOp:
    """Computes the elementwise producer in place of the consumer's input `index`."""
    count = len(consumer.bounds)
    read = consumer.input_maps[index].results
    loops: list[AffineExpr] = [ZERO] * len(producer.bounds)
    for axis, expression in enumerate(producer.result_maps[0].results):
        if isinstance(expression, AffineDimExpr):
            loops[expression.position] = read[axis]
    own = len(producer.inputs)
    inputs = [*producer.inputs, *consumer.inputs]
    maps = [substitute(m, loops, count) for m in producer.input_maps]
    source = producer.epilogue.block
    init, body, epilogue = (consumer.detach_region(r) for r in tuple(consumer.regions))
    for block in (
        block for region in (init, body, epilogue) for block in region.blocks
    ):
        _insert_arguments(block, 0, source.args)
        argument = block.args[own + index]
        if argument.uses:
            code = Block()
            scalars = pair(source.args, block.args[:own])
            (value,) = inline(source, scalars, code, loops)
            first = block.first_op
            assert first is not None
            for op in code.ops:
                op.detach()
                block.insert_op_before(op, first)
            replace_uses(argument, value)
    merged = consumer.rebuilt(
        inputs=inputs,
        tables=list(dict.fromkeys((*producer.tables, *consumer.tables))),
        maps=[*maps, *consumer.input_maps, *consumer.result_maps],
        init=init,
        body=body,
        epilogue=epilogue,
    )
    location = (
        consumer.location
        if _is_constant(producer)
        else _merged_location(producer, consumer)
    )
    # The moved input is now unused and goes when the nest is simplified.
    return _replace(consumer, merged, location)


def _insert_arguments(
    block: Block, position: int, models: Sequence[BlockArgument]
) -> None:
    """Gives a block arguments with the types and names of others."""
    for number, model in enumerate(models, position):
        block.insert_arg(model.type, number).name_hint = model.name_hint


def loops_of_consumer(
    producer: NestOp, consumer: NestOp
) -> tuple[AffineExpr, ...] | None:
    """For each loop of the elementwise consumer the loop of the reduction it becomes.

    None unless the consumer is the only user, reads every element of every result
    exactly once, and may be merged.
    """
    if consumer.reduction_bounds or not producer.reduction_bounds:
        return None
    loops: dict[int, AffineExpr] = {}
    reads = consumer.input_maps
    for result, written in zip(producer.results, producer.result_maps, strict=True):
        for use in result.uses:
            if use.operation is not consumer or use.index >= len(reads):
                return None
            if not _match_loops(producer, written, reads[use.index], loops):
                return None
    for loop, bound in enumerate(consumer.parallel_bounds):
        target = loops.setdefault(loop, ZERO)
        if bound != _trip_count(target, producer):
            return None
    return tuple(loops[loop] for loop in range(len(consumer.parallel_bounds)))


def _match_loops(
    producer: NestOp, written: AffineMap, read: AffineMap, loops: dict[int, AffineExpr]
) -> bool:
    """Extends `loops` so that `read` reads what `written` writes, if it can."""
    for target, source in zip(written.results, read.results, strict=True):
        match source:
            case AffineDimExpr(position):
                if loops.setdefault(position, target) != target:
                    return False
            case AffineConstantExpr(0) if _trip_count(target, producer) == 1:
                pass
            case _:
                return False
    return True


def without_unit_loops(map: AffineMap, nest: NestOp) -> AffineMap:
    """The map of a nest, with 0 for the counters of loops that run once."""
    loops = [
        AffineExpr.dimension(loop) if bound > 1 else ZERO
        for loop, bound in enumerate(nest.bounds)
    ]
    return substitute(map, loops, len(loops))


def _trip_count(loop: AffineExpr, nest: NestOp) -> int:
    return nest.bounds[loop.position] if isinstance(loop, AffineDimExpr) else 1


def _extend(producer: NestOp, consumer: NestOp, loops: Sequence[AffineExpr]) -> NestOp:
    """Appends the elementwise consumer to the epilogue of the reduction it reads, whose
    only user it is: the code of both is moved."""
    count = len(producer.bounds)
    own = producer.inputs
    reads = list(zip(consumer.inputs, consumer.input_maps, strict=True))
    added = [i for i, (value, _) in enumerate(reads) if value.owner is not producer]
    init, body, epilogue = (producer.detach_region(r) for r in tuple(producer.regions))
    block, code = epilogue.block, consumer.epilogue.block
    for region in (init, body, epilogue):
        _insert_arguments(region.block, len(own), [code.args[i] for i in added])
    end = block.last_op
    assert isinstance(end, YieldOp)
    yielded = pair(producer.results, end.arguments)
    new = dict(zip(added, block.args[len(own) :], strict=False))
    scalars = [
        new[i] if i in new else yielded[value] for i, (value, _) in enumerate(reads)
    ]
    Rewriter.erase_op(end)
    results = move(code, pair(code.args, scalars), block, loops)
    block.add_op(YieldOp.create(operands=results))
    merged = producer.rebuilt(
        inputs=[*own, *(reads[i][0] for i in added)],
        tables=list(dict.fromkeys((*producer.tables, *consumer.tables))),
        maps=[
            *producer.input_maps,
            *(substitute(reads[i][1], loops, count) for i in added),
            *(substitute(m, loops, count) for m in consumer.result_maps),
        ],
        init=init,
        body=body,
        epilogue=epilogue,
        result_types=consumer.res.types,
    )
    return _replace(consumer, merged, _merged_location(producer, consumer))
