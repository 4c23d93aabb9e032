"""Rules on rows as loop nests: their sums, folds and statistics, then the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from qlower.contracts.calls import value_name
from qlower.contracts.rows import EACH, kinds_of, order_of
from qlower.contracts.walk import used_arguments
from qlower.dialects.types import element_type, shape_of
from qlower.emit.inline_rule import Value, inline_function
from qlower.emit.ordered_sums import NestSums, accumulate
from qlower.emit.tensors import reshape
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Nest
from qlower.operators.orders import Order

Loops: TypeAlias = Sequence[AffineExpr]
"""Expressions for the loops of rows in a nest: over rows, then over elements."""

UNREAD = np.zeros((), np.float32)
"""The value of an argument that only helpers on rows look at."""


@dataclass(frozen=True)
class Read:
    """A tensor, and the index for each of its dimensions in the loops of rows."""

    tensor: SSAValue
    indices: Sequence[AffineExpr]


@dataclass(frozen=True)
class RowNests:
    """Rows, one for each iteration of the loops `outer`, of elements over `depth`.

    `reads` are the values that vary, `constants` the others: numbers, or arrays along
    the last loops of `outer`. Where a window slides, no tensor has the sizes of
    `depth`; `columns` has the columns of windows as rows.
    """

    emit: Emitter
    outer: tuple[int, ...]
    depth: tuple[int, ...]
    reads: Mapping[str, Read]
    constants: Mapping[str, Array]
    slides: bool = False
    columns: Columns | None = None
    made: dict[str, Sequence[SSAValue]] = field(
        default_factory=dict[str, Sequence[SSAValue]]
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all loops."""
        return (*self.outer, *self.depth)

    def element(self, function: FuncOp) -> SSAValue:
        """A function's result for each element."""
        return self._mapped(function, self.shape)

    def row(self, function: FuncOp) -> SSAValue:
        """A function's result for each row."""
        return self._mapped(function, self.outer)

    def results(
        self,
        function: FuncOp,
        nest: Nest,
        loops: Loops,
        given: Sequence[SSAValue] = (),
    ) -> tuple[SSAValue, ...]:
        """Results of a function in a nest, where its loops stand for those of rows;
        `given` are its first arguments."""
        used = used_arguments(function)
        arguments: list[Value] = [*given]
        for number in range(len(given), len(function.body.block.args)):
            name = value_name(function, number)
            assert name is not None, "what helpers on rows are given are values"
            if number not in used:
                arguments.append(UNREAD)
            elif name in self.reads:
                arguments.append(_element(nest, self.reads[name], loops))
            else:
                arguments.append(self.constants[name])

        def rows(
            helper: FuncOp, operands: Sequence[Value], nest: Nest
        ) -> Sequence[SSAValue]:
            sizes = self.shape if kinds_of(helper)[0] == EACH else self.outer
            tensors = [
                reshape(self.emit, one, sizes) for one in self._made(helper, operands)
            ]
            here = _loops(sizes)
            return [_element(nest, Read(tensor, here), loops) for tensor in tensors]

        return inline_function(function, arguments, nest, rows)

    def _mapped(self, function: FuncOp, shape: Sequence[int]) -> SSAValue:
        nest = Nest(self.emit, shape)
        return nest.build_one(*self.results(function, nest, _loops(shape)))

    def _made(self, helper: FuncOp, operands: Sequence[Value]) -> Sequence[SSAValue]:
        """Tensors of a helper's results, for each row or each element: made once."""
        name = helper.sym_name.data
        if name not in self.made:
            match kinds_of(helper)[0]:
                case "each":
                    made: Sequence[SSAValue] = [self.element(helper)]
                case "row":
                    made = [self.row(helper)]
                case "fold":
                    made = self._folded(helper, operands)
                case _:
                    made = [self._summed(helper)]
            self.made[name] = made
        return self.made[name]

    def _reducing(self) -> Nest:
        nest = Nest(self.emit, self.shape, reductions=len(self.depth))
        if self.slides:
            nest.window(range(len(self.outer), len(self.shape)))
        return nest

    def _folded(self, helper: FuncOp, operands: Sequence[Value]) -> Sequence[SSAValue]:
        types = helper.function_type.outputs.data
        inits: list[SSAValue] = []
        for type, start in zip(types, operands, strict=False):
            assert not isinstance(start, SSAValue), "folds start from constants"
            inits.append(self.emit.filled(self.outer, type, float(start)))
        nest, loops = self._reducing(), _loops(self.shape)
        return nest.reduce(
            inits, lambda so_far: self.results(helper, nest, loops, so_far)
        )

    def summed_in_turn(self, helper: FuncOp, *, fused: bool = False) -> SSAValue:
        """The sums of a helper's results, one element after the other."""
        nest = self._reducing()
        factors = self.results(helper, nest, _loops(self.shape))
        init = self.emit.filled(self.outer, factors[0].type, 0)
        return nest.reduce_one(init, accumulate(nest, factors, fused=fused))

    def _summed(self, helper: FuncOp) -> SSAValue:
        name, order = order_of(helper, self.constants)
        if order.build is None:
            return self.summed_in_turn(helper, fused=order.fused)
        if name == "columns_first" and self.columns is not None:
            sums = self.columns.sums.summed_in_turn(helper)
            return self.columns.across(sums).summed_in_turn(helper)
        rows = self._flat(joined=order.aligned > 1 or not self.outer)
        return reshape(self.emit, rows._ordered(helper, order), self.outer)

    def _flat(self, *, joined: bool) -> RowNests:
        """These rows with one loop over their elements; `joined`, with one over rows,
        too."""
        if len(self.depth) == 1 and (len(self.outer) == 1 or not joined):
            return self
        outer = (math.prod(self.outer),) if joined else self.outer
        depth = (math.prod(self.depth),)
        x, rank, taps = self.reads["input"], len(self.outer), len(self.depth)
        loops, tensor = [*x.indices], x.tensor
        at = loops.index(AffineDimExpr(rank)) if not self.slides else len(loops)
        if joined:
            at = at if loops == _loops(self.shape) else len(loops)
        if loops[at : at + taps] != _loops(self.shape)[rank:]:
            nest = Nest(self.emit, self.shape)
            tensor = nest.build_one(_element(nest, x, _loops(self.shape)))
            loops, at = _loops(self.shape), rank
        sizes = shape_of(tensor)
        if joined:
            tensor = reshape(self.emit, tensor, (*outer, *depth))
            loops = _loops((*outer, *depth))
        else:
            shape = (*sizes[:at], *depth, *sizes[at + taps :])
            tensor = reshape(self.emit, tensor, shape)
            loops = [*loops[:at], AffineDimExpr(rank), *loops[at + taps :]]
        reads = {"input": Read(tensor, loops)}
        return replace(self, outer=outer, depth=depth, reads=reads, slides=False)

    def _ordered(self, helper: FuncOp, order: Order) -> SSAValue:
        """The sums of a helper's results where one loop is over elements."""
        assert order.build is not None, "chains are nests of their own"
        (size,), rows = self.depth, math.prod(self.outer)
        period = order.aligned if size % order.aligned else 1
        total: SSAValue | None = None
        for first in range(min(period, rows)):
            sums = NestSums(
                self.emit, _Terms(self, helper, first, period, order.squares)
            )
            sums.first = -first * size % order.aligned
            sums.columns = int(self.constants.get("kernel_width", UNREAD))
            part = sums.nest.build_one(order.build(sums))
            if period == 1 or rows == 1:
                return part
            if total is None:
                # a layer on the way that is returned has all of its elements
                total = self.emit.filled(self.outer, element_type(part.type), 0)
            insert = InsertSliceOp.from_static_parameters(
                part, total, [first], shape_of(part), [period]
            )
            total = self.emit.add(insert).result
        assert total is not None, "there is a row"
        return total


@dataclass(frozen=True)
class Columns:
    """Windows whose columns are rows; and from the sums of these, for each place along
    an image's rows, to windows of one row over them."""

    sums: RowNests
    across: Callable[[SSAValue], RowNests]


@dataclass(frozen=True)
class _Terms:
    """A helper's results for the elements of every `period`-th row, as terms of
    sums."""

    rows: RowNests
    helper: FuncOp
    first: int
    period: int
    squares: bool

    @property
    def shape(self) -> tuple[int, ...]:
        *before, count = self.rows.outer
        return (*before, len(range(self.first, count, self.period)))

    @property
    def count(self) -> int:
        return self.rows.depth[0]

    @property
    def type(self) -> Attribute:
        (type,) = self.helper.function_type.outputs.data
        return type

    @property
    def lane_axis(self) -> int:
        """The axis of the lanes, from the places of elements among the rows in
        memory."""
        indices = [*self.rows.reads["input"].indices]
        return indices.index(AffineDimExpr(len(self.rows.outer)))

    def read(self, nest: Nest, loops: Loops, place: AffineExpr) -> Sequence[SSAValue]:
        if self.period > 1:
            (loop,) = loops
            loops = [loop * self.period + self.first]
        (term,) = self.rows.results(self.helper, nest, [*loops, place])
        return [term] * (1 + self.squares)


def _loops(shape: Sequence[int]) -> Loops:
    return [AffineDimExpr(at) for at in range(len(shape))]


def _element(nest: Nest, read: Read, loops: Loops) -> SSAValue:
    """An element of a tensor, where a nest's loops stand for those of rows."""
    return nest.input(
        read.tensor,
        [index.replace_dims_and_symbols(loops, []) for index in read.indices],
    )
