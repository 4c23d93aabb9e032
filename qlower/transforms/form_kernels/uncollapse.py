"""Reading a reduction through a collapse of its axes.

The accumulators of grouped convolutions, and of depthwise ones with several results for
a channel, have axes of their own for the group or the multiplier. They are collapsed
before requantization, which is between the reduction and its epilogue.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import CollapseShapeOp
from xdsl.ir import Region
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.dialects.kernel import NestOp
from qlower.dialects.types import tensor_type
from qlower.emit.reassociation import Reassociation, reassociation
from qlower.transforms.form_kernels.regions import ZERO, substitute, uses_index


def read_uncollapsed(
    consumer: NestOp, index: int, collapse: CollapseShapeOp
) -> NestOp | None:
    """Splits the loops of an elementwise nest that reads a collapsed reduction.

    The new nest reads the reduction itself, by one loop for each of its axes, so that
    it can become its epilogue. Its result is collapsed instead.
    """
    producer = collapse.src.owner
    groups = [[axis.value.data for axis in group] for group in collapse.reassociation]
    if (
        not isinstance(producer, NestOp)
        or not producer.reduction_bounds
        or consumer.reduction_bounds
        or not groups
        or len(consumer.res) != 1
        or not (collapse.src.has_one_use() and collapse.result.has_one_use())
        or uses_index(consumer.epilogue.block)
    ):
        return None
    shape = tensor_type(collapse.src).get_shape()
    parts: dict[AffineExpr, list[int]] = {}
    for loop, group in zip(consumer.input_maps[index].results, groups, strict=True):
        if not isinstance(loop, AffineDimExpr) or loop in parts:
            return None
        parts[loop] = [shape[axis] for axis in group]
    bounds: list[int] = []
    dims: dict[AffineExpr, list[AffineExpr]] = {}
    loops: list[AffineExpr] = []
    for position, bound in enumerate(consumer.parallel_bounds):
        loop = AffineExpr.dimension(position)
        sizes = parts.get(loop, [bound])
        if math.prod(sizes) != bound:
            return None
        dims[loop] = [AffineExpr.dimension(len(bounds) + i) for i in range(len(sizes))]
        bounds += sizes
        loops.append(_row_major(dims[loop], sizes))

    def split(map: AffineMap) -> AffineMap:
        return AffineMap(
            len(bounds), 0, tuple(d for e in map.results for d in dims.get(e, [e]))
        )

    (written,) = consumer.result_maps
    result_type = tensor_type(consumer.res[0])
    sizes_written = [
        parts.get(e, [n])
        for e, n in zip(written.results, result_type.get_shape(), strict=True)
    ]
    maps = [substitute(m, loops, len(bounds)) for m in consumer.input_maps]
    maps[index] = split(consumer.input_maps[index])
    inputs = list(consumer.inputs)
    inputs[index] = collapse.src
    expanded = NestOp(
        inputs,
        consumer.tables,
        consumer.family.data,
        bounds,
        (),
        [*maps, split(written)],
        Region(),
        Region(),
        consumer.epilogue.clone(),
        [
            TensorType(
                result_type.element_type, [n for sizes in sizes_written for n in sizes]
            )
        ],
    )
    expanded.location = consumer.location
    Rewriter.insert_op(expanded, InsertPoint.before(consumer))
    collapsed = CollapseShapeOp.build(
        operands=[expanded.res[0]],
        result_types=[result_type],
        properties={"reassociation": consecutive_groups(sizes_written)},
    )
    collapsed.location = consumer.location
    collapsed.result.name_hint = consumer.res[0].name_hint
    Rewriter.replace_op(consumer, collapsed)
    Rewriter.erase_op(collapse)
    return expanded


def _row_major(dims: Sequence[AffineExpr], sizes: Sequence[int]) -> AffineExpr:
    """The counter of the one loop that `dims` split, in row-major order."""
    total = ZERO
    stride = 1
    for dim, size in zip(reversed(dims), reversed(sizes), strict=True):
        if size > 1:
            total = dim * stride + total
        stride *= size
    return total


def consecutive_groups(groups: Sequence[Sequence[object]]) -> Reassociation:
    """The reassociation whose groups of axes are as long as `groups`."""
    axes = itertools.count()
    return reassociation([[next(axes) for _ in group] for group in groups])
