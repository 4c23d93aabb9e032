"""A loop nest as the code generator sees it: strides in elements, and few loops.

A tensor is dense, so an affine map into it is one linear form: the offset in elements
is `constant + sum(stride[d] * index[d])`. Two neighbouring loops that every operand
walks like one are merged, loops that run once disappear: a 1x1 convolution becomes a
matrix product, elementwise work one loop, a row of a window one run of bytes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.operand import Operand, operand_of
from qlower.codegen.values.facts import indexed_loops
from qlower.dialects.kernel import (
    NestOp,
)


@dataclass(frozen=True)
class Span:
    """`count` iterations of a loop, from `first` on."""

    first: Value
    count: int


@dataclass(frozen=True)
class LoopNest:
    """The loops that are left, the parallel ones first.

    `index_loops[d]` recovers the index of the d-th loop of the op: None when it runs
    once, else the loop it has become. Of a contraction's channels only `channels` may
    be wanted. Operands, `tables` and the `scratch` that code may have in the arena have
    addresses once the nest is `placed`.
    """

    op: NestOp
    parallel: tuple[int, ...]
    reduction: tuple[int, ...]
    inputs: tuple[Operand, ...]
    results: tuple[Operand, ...]
    index_loops: tuple[int | None, ...]
    channels: Span | None = None
    tables: Mapping[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    scratch: Value | None = None

    def memory(self, f: Function, sizes: Sequence[int]) -> list[Value]:
        """Addresses of memory of these many bytes, multiples of 4, for the nest's own
        use: in its scratch, or else on the stack."""
        if self.scratch is None:
            return [f.allocate(size) for size in sizes]
        starts = itertools.accumulate(sizes[:-1], initial=0)
        return [f.at(self.scratch, constant(I64, start)) for start in starts]

    @property
    def bounds(self) -> tuple[int, ...]:
        return self.parallel + self.reduction

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.inputs + self.results

    @property
    def may_repeat(self) -> bool:
        """Whether points may be computed again: epilogues that read tensors may read
        what they have overwritten."""
        regions = (self.op.init, self.op.epilogue)
        read = [
            operand
            for region in regions
            if region.blocks
            for operand, argument in zip(self.inputs, region.block.args, strict=False)
            if argument.uses
        ]
        return all(operand.data is not None for operand in read)

    def index(self, loop: int, indices: Sequence[Value]) -> Value:
        """The index of the op's d-th loop."""
        position = self.index_loops[loop]
        return constant(I64, 0) if position is None else indices[position]

    def placed(
        self,
        inputs: Sequence[Value | None],
        tables: Sequence[Value],
        results: Sequence[Value | None],
        scratch: Value | None = None,
    ) -> LoopNest:
        """The nest in its function, with the address of every tensor and of its
        scratch.

        Constants among the inputs have None.
        """
        placed = [
            replace(operand, pointer=pointer)
            for operand, pointer in zip(self.operands, (*inputs, *results), strict=True)
        ]
        return replace(
            self,
            inputs=tuple(placed[: len(inputs)]),
            results=tuple(placed[len(inputs) :]),
            tables=dict(zip(self.op.tables, tables, strict=True)),
            scratch=scratch,
        )


def analyse(op: NestOp) -> LoopNest:
    """The nest of `op`, not placed."""
    trips, tensors = op.bounds, (*op.inputs, *op.results)
    operands = [
        operand_of(value, map.data, len(trips))
        for value, map in zip(tensors, op.indexing_maps, strict=True)
    ]
    groups = _merged_loops(op, operands)
    inputs, parallel = len(tensors) - len(op.results), len(op.parallel_bounds)
    bounds = [math.prod(trips[d] for d in group) for group in groups]
    split = sum(group[0] < parallel for group in groups)

    def kept(strides: Sequence[int]) -> tuple[int, ...]:
        return tuple(strides[group[-1]] for group in groups)

    merged = [
        replace(
            operand,
            strides=kept(operand.strides),
            edges=tuple(replace(e, strides=kept(e.strides)) for e in operand.edges),
        )
        for operand in operands
    ]
    loop_of = {d: i for i, group in enumerate(groups) for d in group}
    return LoopNest(
        op,
        tuple(bounds[:split]),
        tuple(bounds[split:]),
        tuple(merged[:inputs]),
        tuple(merged[inputs:]),
        tuple(loop_of.get(d) for d in range(len(trips))),
    )


def _merged_loops(op: NestOp, operands: Sequence[Operand]) -> list[list[int]]:
    """The op's loops that run more than once, grouped into those that are left."""
    parallel = len(op.parallel_bounds)
    kept = {d for region in op.regions for d in indexed_loops(region)}
    for operand in operands:
        for edge in operand.edges:
            kept |= {d for d, stride in enumerate(edge.strides) if stride}
    groups: list[list[int]] = []
    for d, bound in enumerate(op.bounds):
        if bound == 1:
            continue
        last = groups[-1][-1] if groups else None
        if (
            last is not None
            and (last < parallel) == (d < parallel)
            and not {last, d} & kept
            and all(o.strides[last] == o.strides[d] * bound for o in operands)
        ):
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups
