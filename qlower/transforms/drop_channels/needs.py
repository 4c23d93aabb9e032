"""The channels of each tensor that are needed, according to its readers.

A sum of products needs no channel that is constant, since that is a number in its
start, and none whose weights are zero. Any other operation needs the channels of its
operands that are needed of its result. A tensor has the same channels for all its
readers, and so do tensors whose channels one loop counts: what one needs, all get.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.dialects.integers import values_of
from qlower.dialects.kernel import CopyOp, IndexOp, NestOp
from qlower.dialects.operations import operations_in
from qlower.transforms.drop_channels.spans import (
    Spans,
    over_loops,
    shape_of,
    span_content,
)
from qlower.transforms.form_kernels.factors import is_constant
from qlower.transforms.prove_epilogues.channels import (
    Products,
    products_of,
    values_within,
)

Mask = NDArray[np.bool_]


@dataclass
class LoopUse:
    """The tensors whose channels a loop counts; `is_rigid` if it counts other axes, or
    is a number in the nest's regions, so that it must stay as it is."""

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    is_rigid: bool = False


@dataclass
class NestUses:
    """The tensors whose channels each loop of a nest counts, and those whose channels
    it reads or writes in any other way."""

    loops: list[LoopUse]
    whole: list[SSAValue] = field(default_factory=list[SSAValue])


@dataclass(frozen=True)
class Summed:
    """A sum of products along one loop: which of its steps are always zero or constant,
    and what the others add up to isn't."""

    products: Products
    terms: NDArray[np.int64]
    """The addends of constant channels in a step, with an axis for every loop."""

    is_point: Mask
    """Where the activation is constant, with an axis for every loop."""


class Needs:
    """The channels that are needed, [channel] each, of the tensors in a function.

    Of a tensor that loses some, a multiple of `unit` is kept. `stay` are tensors all of
    whose channels are. `equal` are the `classes_of_equal` nests.
    """

    def __init__(
        self,
        block: Block,
        spans: Spans,
        equal: Mapping[NestOp, int],
        unit: int = 1,
        stay: Sequence[SSAValue] = (),
    ):
        self._spans = spans
        self._ops = tuple(block.ops)
        self._masks: dict[SSAValue, Mask] = {}
        self._uses: dict[NestOp, NestUses] = {}
        self._equal = equal
        self._sums: dict[NestOp, Summed | None] = {}
        self._equal_sums: dict[Hashable, Summed | None] = {}
        self._has_grown = True
        for value in (*block.args, *(v for op in self._ops for v in op.results)):
            shape = shape_of(value)
            self._masks[value] = np.zeros(shape[-1] if shape else 1, np.bool_)
            self._masks[value][:] = is_constant(value)
        for value in (*block.args, *stay):
            self._masks[value][:] = True
        while self._has_grown:
            self._settle()
            for value, mask in tuple(self._masks.items()):
                more = unit - 1 - (int(mask.sum()) + unit - 1) % unit
                more = more if mask.any() else unit  # a tensor has one at least
                self._need(value, ~mask & (np.cumsum(~mask) <= more))

    def __getitem__(self, value: SSAValue) -> Mask:
        """The channels that are needed."""
        return self._masks[value]

    def loop(self, nest: NestOp, number: int) -> Mask | None:
        """The steps of a loop that are needed, None if all of them are."""
        use = self.uses(nest).loops[number]
        if use.is_rigid or not use.values:
            return None
        mask = self._masks[use.values[0]]
        return None if mask.all() else mask

    def uses(self, nest: NestOp) -> NestUses:
        """A nest's numbering of its tensors' channels."""
        if nest not in self._uses:
            self._uses[nest] = _loop_uses(nest)
        return self._uses[nest]

    def summed(self, nest: NestOp) -> Summed | None:
        """The products that a nest sums, None of any other nest."""
        if nest not in self._sums:
            spans = (span_content(value, self._spans) for value in nest.inputs)
            decides = self._equal[nest], *spans
            if decides not in self._equal_sums:
                self._equal_sums[decides] = _summed(nest, self._spans)
            self._sums[nest] = self._equal_sums[decides]
        return self._sums[nest]

    def _settle(self) -> None:
        while self._has_grown:
            self._has_grown = False
            for op in reversed(self._ops):
                self._ask(op)

    def _need(self, value: SSAValue, mask: Mask | bool) -> None:
        """Adds channels to those that are needed."""
        before = self._masks[value]
        after = before | mask
        if not np.array_equal(before, after):
            self._masks[value] = after
            self._has_grown = True

    def _ask(self, op: Operation) -> None:
        match op:
            case NestOp():
                self._ask_nest(op)
            case CopyOp():
                self._ask_copy(op)
            case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
                self._ask_reshape(source, op.results[0])
            case _:
                for operand in op.operands:
                    self._need(operand, True)

    def _ask_nest(self, nest: NestOp) -> None:
        for value in (*nest.tables, *self.uses(nest).whole):
            self._need(value, True)
        for loop, use in enumerate(self.uses(nest).loops):
            if use.is_rigid:
                needed: Mask | bool = True
            elif not use.values:
                continue
            else:
                needed = np.logical_or.reduce([self._masks[v] for v in use.values])
                if loop >= len(nest.parallel_bounds):
                    needed = needed | self._steps(nest, loop, use)
            for value in use.values:
                self._need(value, needed)

    def _steps(self, nest: NestOp, loop: int, use: LoopUse) -> Mask | bool:
        """The steps of a reduction that can change what it gives."""
        found = self.summed(nest)
        if found is None or use.values != [nest.inputs[found.products.activation]]:
            return True
        weights = found.products.weights
        for lane in range(len(nest.parallel_bounds)):
            kept = self.loop(nest, lane)
            if kept is not None and weights.shape[lane] > 1:
                weights = weights.compress(kept, axis=lane)
        others = tuple(d for d in range(len(nest.bounds)) if d != loop)
        matters = (weights != 0).any(axis=others) & ~found.is_point.all(axis=others)
        return np.broadcast_to(matters, nest.bounds[loop])

    def _ask_copy(self, copy: CopyOp) -> None:
        out, into = boxes(copy)
        if copy.destination is not None:
            for value, other in (
                (copy.destination, copy.result),
                (copy.result, copy.destination),
            ):
                self._need(value, self._masks[other])
        needed = self._masks[copy.source][out] | self._masks[copy.result][into]
        if out.step != 1 or into.step != 1:
            needed[:] = True
        elif not needed.any():
            needed[0] = True  # a copy of nothing is none
        for value, box in ((copy.source, out), (copy.result, into)):
            mask = np.zeros_like(self._masks[value])
            mask[box] = needed
            self._need(value, mask)

    def _ask_reshape(self, source: SSAValue, result: SSAValue) -> None:
        few, many = sorted((source, result), key=lambda v: len(self._masks[v]))
        least, most = self._masks[few], self._masks[many]
        if len(most) % len(least):
            self._need(source, True)
            self._need(result, True)
            return
        # The channel of an element is its place in memory, modulo their number.
        least = least | most.reshape(-1, len(least)).any(axis=0)
        self._need(few, least)
        self._need(many, np.tile(least, len(most) // len(least)))


def boxes(copy: CopyOp) -> tuple[slice, slice]:
    """The channels that a copy reads, and those that it writes."""
    size = values_of(copy.sizes)[-1]
    out, into = (
        slice(first, first + size * step, step)
        for first, step in (
            (values_of(copy.source_offsets)[-1], values_of(copy.source_strides)[-1]),
            (values_of(copy.offsets)[-1], values_of(copy.strides)[-1]),
        )
    )
    return out, into


def _loop_uses(nest: NestOp) -> NestUses:
    found = NestUses([LoopUse() for _ in nest.bounds])
    uses = found.loops
    for value, map in zip(
        (*nest.inputs, *nest.res), (*nest.input_maps, *nest.result_maps), strict=True
    ):
        for axis, (expression, extent) in enumerate(
            zip(map.results, shape_of(value), strict=True)
        ):
            if (
                isinstance(expression, AffineDimExpr)
                and nest.bounds[expression.position] == extent
            ):
                if is_constant(value):
                    continue
                if axis == len(map.results) - 1:
                    uses[expression.position].values.append(value)
                    continue
            if axis == len(map.results) - 1:
                found.whole.append(value)
            for loop in expression.used_dims():
                uses[loop].is_rigid = True
    for region in nest.regions:
        for op in operations_in(region):
            if isinstance(op, IndexOp):
                uses[op.dim.value.data].is_rigid = True
    return found


def _summed(nest: NestOp, spans: Spans) -> Summed | None:
    if not nest.reduction_bounds:
        return None
    products = products_of(nest)
    if products is None:
        return None
    index = products.activation
    value = nest.inputs[index]
    bytes_read = spans.get(value)
    shape = [1] * len(nest.bounds)
    if bytes_read is None:
        never = np.zeros(shape, np.bool_)
        return Summed(products, np.zeros(shape, np.int64), never)
    span = over_loops(bytes_read, nest.input_maps[index], nest.bounds)
    low, high = values_within(products.of_byte, span)
    return Summed(products, low, low == high)
