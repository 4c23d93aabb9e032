"""Sums of products of real numbers as loop nests, in a given order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, f32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.math import FmaOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.dialects.types import element_type, shape_of
from qlower.emit.tensors import reshape
from qlower.model.nests import Combine, Emitter, Index, Nest, scalar_constant
from qlower.operators.orders import Order, Summing
from qlower.operators.products import Operand, Products, Steps

Loops = Mapping[str, AffineExpr]
"""The expression for each loop of the products, in a nest."""


class Terms(Protocol):
    """Terms of sums, one sum for each element of `shape`."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def count(self) -> int: ...

    @property
    def type(self) -> Attribute: ...

    @property
    def lane_axis(self) -> int:
        """The dimension before which lanes of sums become one."""
        return len(self.shape)

    def read(
        self, nest: Nest, loops: Sequence[AffineExpr], place: AffineExpr
    ) -> Sequence[SSAValue]:
        """Return the factors of a term in a nest: one or two numbers."""
        ...


@dataclass(frozen=True)
class Factors(Terms):
    """Products of two tensors, the left one with the padding of its window."""

    products: Products
    lhs: SSAValue
    rhs: SSAValue

    @property
    def type(self) -> Attribute:
        return f32

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.products.result.values())

    @property
    def count(self) -> int:
        return self.products.count

    def read(
        self, nest: Nest, loops: Sequence[AffineExpr], place: AffineExpr
    ) -> Sequence[SSAValue]:
        (depth,) = self.products.depth
        named = zip(self.products.result, loops, strict=True)
        return self.seen(nest, {**dict(named), depth: place})

    def seen(self, nest: Nest, loops: Loops) -> Sequence[SSAValue]:
        """The two factors of a product, in a nest with these loops."""
        sides = (self.products.lhs, self.lhs), (self.products.rhs, self.rhs)
        return [read_operand(nest, *side, loops) for side in sides]


def read_operand(
    nest: Nest, operand: Operand, value: SSAValue, loops: Loops
) -> SSAValue:
    """The element of an operand in a nest with these loops."""
    seen = reshape(nest.emitter, value, operand.shape)
    return nest.input(seen, [_index(index, loops) for index in operand.indices])


def _index(steps: Steps, loops: Loops) -> Index:
    total: AffineExpr | None = None
    for loop, step in steps.items():
        term = loops[loop] if step == 1 else loops[loop] * step
        total = term if total is None else total + term
    return AffineConstantExpr(0) if total is None else total


def chain(
    emit: Emitter, factors: Factors, start: SSAValue | None, *, fused: bool
) -> SSAValue:
    """The sums [loops of the result] of all products one after the other, from 0 or the
    start, which has the same shape."""
    products = factors.products
    loops = {name: AffineDimExpr(at) for name, at in products.loops.items()}
    nest = Nest(emit, products.bounds, len(products.depth))
    indices = (*products.lhs.indices, *products.rhs.indices)
    alone = {loop for index in indices if [*index.values()] == [1] for loop in index}
    if hidden := [products.loops[loop] for loop in products.depth.keys() - alone]:
        nest.window(sorted(hidden))
    seen = factors.seen(nest, loops)
    init = emit.filled(nest.output_shape, f32, 0.0) if start is None else start
    return nest.reduce_one(init, accumulate(nest, seen, fused=fused))


def accumulate(nest: Nest, factors: Sequence[SSAValue], *, fused: bool) -> Combine:
    """The step that adds a term, which is one number or the product of two."""

    def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        (total,) = sums
        if fused:
            one, other = factors
            return [nest.add(FmaOp(one, other, total)).result]
        return [nest.add(arith.AddfOp(total, _term(nest, factors))).result]

    return combine


@dataclass(frozen=True)
class _Lanes:
    """Every `stride`-th term `among` these numbers, as far as all lanes have equally
    many."""

    terms: Terms
    stride: int
    among: range

    @property
    def shape(self) -> tuple[int, ...]:
        shape, at = self.terms.shape, self.lane_axis
        return (*shape[:at], self.stride, *shape[at:])

    @property
    def count(self) -> int:
        return len(self.among) // self.stride

    @property
    def type(self) -> Attribute:
        return self.terms.type

    @property
    def lane_axis(self) -> int:
        return self.terms.lane_axis

    def read(
        self, nest: Nest, loops: Sequence[AffineExpr], place: AffineExpr
    ) -> Sequence[SSAValue]:
        at = self.lane_axis
        place = place * self.stride + loops[at] + self.among.start
        return self.terms.read(nest, [*loops[:at], *loops[at + 1 :]], place)


@dataclass(frozen=True)
class _Stacked(Terms):
    """Terms that are in a tensor [terms, ...]."""

    tensor: SSAValue

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.tensor)[1:]

    @property
    def count(self) -> int:
        return shape_of(self.tensor)[0]

    @property
    def type(self) -> Attribute:
        return element_type(self.tensor.type)

    def read(
        self, nest: Nest, loops: Sequence[AffineExpr], place: AffineExpr
    ) -> Sequence[SSAValue]:
        return [nest.input(self.tensor, [place, *loops])]


class NestSums(Summing[SSAValue]):
    """Sums whose parts are loop nests; `nest` puts these together, over the loops of
    the result, and the caller builds it."""

    def __init__(
        self,
        emit: Emitter,
        terms: Terms,
        start: SSAValue | None = None,
        block: int | None = None,
        nest: Nest | None = None,
    ) -> None:
        """The start has the shape of the loops over the result."""
        self._emit, self._terms, self._start = emit, terms, start
        self.count = terms.count
        self.block = terms.count if block is None else block
        self.last = next((size for size in reversed(terms.shape) if size > 1), 1)
        self._nest = nest

    @property
    def nest(self) -> Nest:
        if self._nest is None:
            self._nest = Nest(self._emit, self._terms.shape)
        return self._nest

    def start(self) -> SSAValue | None:
        return None if self._start is None else self._here(self._start)

    def zero(self) -> SSAValue:
        return self.nest.constant(np.zeros(()), self._terms.type)

    def add(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return _add(self.nest, one, other)

    def term(self, place: int) -> SSAValue:
        return self._term(self.nest, AffineConstantExpr(place))

    def fused(self, place: int, total: SSAValue) -> SSAValue:
        here = AffineConstantExpr(place)
        one, other = self._terms.read(self.nest, self._loops(), here)
        return self.nest.add(FmaOp(one, other, total)).result

    def chain(self, first: int = 0, *, fused: bool = False) -> SSAValue:
        rank = len(self._terms.shape)
        nest = Nest(self._emit, (*self._terms.shape, self.count - first), reductions=1)
        nest.window((rank,))
        place = AffineDimExpr(rank) + first
        return self._here(self._reduced(nest, self._loops(), place, fused=fused))

    def chains(self, first: int, count: int, size: int) -> Sequence[SSAValue]:
        return self._grouped(first, count, size, fused=True).all_terms()

    def every(
        self,
        count: int,
        build: Callable[[Summing[SSAValue]], SSAValue],
        among: range | None = None,
    ) -> Sequence[SSAValue]:
        among = range(self.count) if among is None else among
        at = self._terms.lane_axis
        lanes = NestSums(self._emit, _Lanes(self._terms, count, among))
        sums = lanes.nest.build_one(build(lanes))
        before, after = range(at), range(at, len(self._terms.shape))
        return [
            self.nest.input(sums, [*before, AffineConstantExpr(lane), *after])
            for lane in range(count)
        ]

    def grouped(self, size: int) -> NestSums:
        return self._grouped(0, self.count // size, size, fused=False)

    def all_terms(self) -> Sequence[SSAValue]:
        """The terms one by one."""
        return [self.term(place) for place in range(self.count)]

    def groups(self, size: int) -> SSAValue:
        shape = self._terms.shape
        rank, init = len(shape), self._start
        if init is None:
            init = self._emit.filled(shape, self._terms.type, 0)
        nest = Nest(self._emit, (*shape, self.count // size), reductions=1)
        nest.window((rank,))
        first = AffineDimExpr(rank) * size
        group = [self._term(nest, first + place) for place in range(size)]
        total, *others = group
        for term in others:
            total = _add(nest, total, term)
        sums = nest.reduce_one(init, lambda sums: [_add(nest, total, *sums)])
        return self._here(sums)

    def before(self, end: int, one: SSAValue, other: SSAValue) -> SSAValue:
        inner = max(
            (axis for axis, size in enumerate(self._terms.shape) if size > 1), default=0
        )
        index = self.nest.add(IndexOp(inner)).result
        limit = self.nest.add(scalar_constant(end, IndexType())).result
        is_before = self.nest.add(arith.CmpiOp(index, limit, "ult")).result
        return self.nest.add(arith.SelectOp(is_before, one, other)).result

    def _grouped(self, first: int, count: int, size: int, *, fused: bool) -> NestSums:
        """Sums from 0 of groups of terms, as terms."""
        shape = self._terms.shape
        nest = Nest(self._emit, (count, *shape, size), reductions=1)
        nest.window((0, len(shape) + 1))
        place = AffineDimExpr(0) * size + AffineDimExpr(len(shape) + 1) + first
        sums = self._reduced(nest, self._loops(1), place, fused=fused)
        return NestSums(self._emit, _Stacked(sums), nest=self.nest)

    def _reduced(
        self, nest: Nest, loops: Sequence[AffineExpr], place: AffineExpr, *, fused: bool
    ) -> SSAValue:
        """The terms of a nest's last loop added in turn, from 0."""
        factors = self._terms.read(nest, loops, place)
        init = self._emit.filled(nest.output_shape, self._terms.type, 0)
        return nest.reduce_one(init, accumulate(nest, factors, fused=fused))

    def _term(self, nest: Nest, place: AffineExpr) -> SSAValue:
        return _term(nest, self._terms.read(nest, self._loops(), place))

    def _here(self, sums: SSAValue) -> SSAValue:
        return self.nest.input(sums, range(len(self._terms.shape)))

    def _loops(self, outer: int = 0) -> Sequence[AffineExpr]:
        """The loops over the result, in a nest with that number of loops before."""
        return [AffineDimExpr(outer + at) for at in range(len(self._terms.shape))]


def sums_in(
    order: Order,
    emit: Emitter,
    factors: Factors,
    start: SSAValue | None = None,
    block: int | None = None,
) -> SSAValue:
    """The sums [loops of the result] of products in an order, from 0 or the start."""
    if order.build is None:
        return chain(emit, factors, start, fused=order.fused)
    sums = NestSums(emit, factors, start, block)
    return sums.nest.build_one(order.build(sums))


def _term(nest: Nest, factors: Sequence[SSAValue]) -> SSAValue:
    """One number, or the rounded product of two."""
    one, *other = factors
    for factor in other:
        one = nest.add(arith.MulfOp(one, factor)).result
    return one


def _add(nest: Nest, one: SSAValue, other: SSAValue) -> SSAValue:
    return nest.add(arith.AddfOp(one, other)).result
