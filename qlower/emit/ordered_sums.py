"""Sums of products of real numbers as loop nests, in a given order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, f32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.math import FmaOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.emit.tensors import constant_of, reshape
from qlower.model.nests import Combine, Emitter, Index, Nest, scalar_constant
from qlower.operators.orders import Summing
from qlower.operators.products import IMAGES, Operand, Products, Steps

Loops = Mapping[str, AffineExpr]
"""What stands for each loop of the products, in a nest."""


@dataclass(frozen=True)
class Factors:
    """Products of two tensors, the left one with the padding of its window."""

    products: Products
    lhs: SSAValue
    rhs: SSAValue

    def read(self, nest: Nest, loops: Loops) -> tuple[SSAValue, SSAValue]:
        """The two factors of a product, in a nest."""
        sides = (self.products.lhs, self.lhs), (self.products.rhs, self.rhs)
        left, right = (_read(nest, *side, loops) for side in sides)
        return left, right


def _read(nest: Nest, operand: Operand, value: SSAValue, loops: Loops) -> SSAValue:
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
    x, w = factors.read(nest, loops)
    init = emit.filled(nest.output_shape, f32, 0.0) if start is None else start
    return nest.reduce([init], _accumulate(nest, x, w, fused=fused))[0]


def _accumulate(nest: Nest, x: SSAValue, w: SSAValue, *, fused: bool) -> Combine:
    def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        if fused:
            return [nest.add(FmaOp(x, w, sums[0])).result]
        product = nest.add(arith.MulfOp(x, w)).result
        return [nest.add(arith.AddfOp(sums[0], product)).result]

    return combine


class NestSums(Summing[SSAValue]):
    """Sums whose parts are loop nests; `nest` puts these together, over the loops of
    the result, and the caller builds it."""

    def __init__(
        self, emit: Emitter, factors: Factors, start: SSAValue | None, block: int
    ) -> None:
        """The products have one loop over the sum; the start has the loops' shape."""
        self._emit, self._factors, self._start = emit, factors, start
        products = factors.products
        self.count, self.block, self.last = products.count, block, products.last
        self._shape = tuple(products.result.values())
        (self._depth,) = products.depth

    @cached_property
    def nest(self) -> Nest:
        return Nest(self._emit, self._shape)

    def start(self) -> SSAValue | None:
        return None if self._start is None else self._here(self._start)

    def zero(self) -> SSAValue:
        return self.nest.constant(np.zeros((), np.float32), f32)

    def add(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return _add(self.nest, one, other)

    def term(self, place: int) -> SSAValue:
        return self._term(self.nest, AffineConstantExpr(place))

    def chains(self, first: int, count: int, size: int) -> Sequence[SSAValue]:
        rank = len(self._shape)
        nest = Nest(self._emit, (count, *self._shape, size), reductions=1)
        nest.window((0, rank + 1))
        place = AffineDimExpr(0) * size + AffineDimExpr(rank + 1) + first
        x, w = self._factors.read(nest, self._loops(place, outer=1))
        zeros = self._emit.filled(nest.output_shape, f32, 0)
        (sums,) = nest.reduce([zeros], _accumulate(nest, x, w, fused=True))
        return [
            self.nest.input(sums, [AffineConstantExpr(number), *range(rank)])
            for number in range(count)
        ]

    def lanes(self, count: int) -> Sequence[SSAValue]:
        rank = len(self._shape)
        bounds = (*self._shape, count, self.count // count)
        nest = Nest(self._emit, bounds, reductions=1)
        nest.window((rank, rank + 1))
        place = AffineDimExpr(rank + 1) * count + AffineDimExpr(rank)
        x, w = self._factors.read(nest, self._loops(place))
        zeros = self._emit.filled(nest.output_shape, f32, 0)
        (sums,) = nest.reduce([zeros], _accumulate(nest, x, w, fused=False))
        return [
            self.nest.input(sums, [*range(rank), AffineConstantExpr(lane)])
            for lane in range(count)
        ]

    def groups(self, size: int) -> SSAValue:
        rank = len(self._shape)
        init = self._start
        if init is None:
            init = self._emit.filled(self._shape, f32, 0)
        nest = Nest(self._emit, (*self._shape, self.count // size), reductions=1)
        nest.window((rank,))
        first = AffineDimExpr(rank) * size
        group = [self._term(nest, first + place) for place in range(size)]
        total, *others = group
        for term in others:
            total = _add(nest, total, term)
        (sums,) = nest.reduce([init], lambda sums: [_add(nest, total, sums[0])])
        return self._here(sums)

    def before(self, end: int, one: SSAValue, other: SSAValue) -> SSAValue:
        inner = max(
            (axis for axis, size in enumerate(self._shape) if size > 1), default=0
        )
        index = self.nest.add(IndexOp(inner)).result
        limit = self.nest.add(scalar_constant(end, IndexType())).result
        is_before = self.nest.add(arith.CmpiOp(index, limit, "ult")).result
        return self.nest.add(arith.SelectOp(is_before, one, other)).result

    def _term(self, nest: Nest, place: AffineExpr) -> SSAValue:
        x, w = self._factors.read(nest, self._loops(place))
        return nest.add(arith.MulfOp(x, w)).result

    def _here(self, sums: SSAValue) -> SSAValue:
        return self.nest.input(sums, range(len(self._shape)))

    def _loops(self, place: AffineExpr, outer: int = 0) -> Loops:
        """The loops of a nest with that number of loops before the result's."""
        result = self._factors.products.result
        loops = {name: AffineDimExpr(outer + at) for at, name in enumerate(result)}
        return {**loops, self._depth: place}


def _add(nest: Nest, one: SSAValue, other: SSAValue) -> SSAValue:
    return nest.add(arith.AddfOp(one, other)).result


ROWS, TERMS, LANES = "p", "s", "lane"
"""The loops of windows seen as rows: over places of all images, and over a sum; and
over results that lie in one panel of the weights."""


def as_rows(emit: Emitter, factors: Factors) -> Factors:
    """Products with one loop over each sum: the elements that a window sees at each
    place of the result become a row.

    Rows are [places, groups, K], but [places, K, groups] where a group has one result;
    weights are [K, groups, results], but [groups, results, K] where an image has one
    place. Without groups the dimension is left out. Constant weights of a sum that has
    one loop already become [K, results], too.
    """
    products = factors.products
    if len(products.depth) == 1:
        return _in_panels(emit, factors)
    *places, share = products.result
    group = [loop for loop in places if loop not in (IMAGES, "h", "w")]
    sizes = {
        ROWS: math.prod(products.result[loop] for loop in places if loop not in group),
        TERMS: products.count,
        **{loop: products.result[loop] for loop in (*group, share)},
    }
    is_deep = sizes[share] > 1
    row = [ROWS, *group, TERMS] if is_deep else [ROWS, TERMS, *group]
    weight = [TERMS, *group, share]
    if products.places == 1 and is_deep:
        weight = [*group, share, TERMS]

    def operand(loops: Sequence[str]) -> Operand:
        return Operand(
            tuple(sizes[loop] for loop in loops), tuple({loop: 1} for loop in loops)
        )

    split = {ROWS: [loop for loop in places if loop not in group]}
    split[TERMS] = [*products.depth]

    def gathered(side: Operand, value: SSAValue, loops: Sequence[str]) -> SSAValue:
        each = [loop for name in loops for loop in split.get(name, [name])]
        elements = _gathered(emit, products, side, value, each)
        return reshape(emit, elements, operand(loops).shape)

    lhs = gathered(products.lhs, factors.lhs, row)
    rhs = gathered(products.rhs, factors.rhs, weight)
    rows = replace(
        products,
        result={loop: sizes[loop] for loop in (ROWS, *group, share)},
        depth={TERMS: products.count},
        lhs=operand(row),
        rhs=operand(weight),
    )
    return Factors(rows, lhs, rhs)


PANEL = 16
"""Neighbouring results of a row whose weights lie together, sum after sum."""


def _in_panels(emit: Emitter, factors: Factors) -> Factors:
    """Products whose constant weights [results, K] lie with those of neighbouring
    results side by side: as [K, results], and of a single row, which reads each weight
    once, as [results / 16, K, 16]."""
    products, array = factors.products, constant_of(factors.rhs)
    (depth,), share = products.depth, [*products.result][-1]
    if array is None or products.rhs.indices != ({share: 1}, {depth: 1}):
        return factors
    count, terms = products.rhs.shape
    weights = array.reshape(count, terms).T
    result, indices = products.result, [{depth: 1}, {share: 1}]
    if products.places == 1 and count % PANEL == 0:
        weights = weights.reshape(terms, count // PANEL, PANEL).swapaxes(0, 1)
        result = {**result, share: count // PANEL, LANES: PANEL}
        indices = [{share: 1}, {depth: 1}, {LANES: 1}]
    rhs = Operand(weights.shape, tuple(indices))
    columns = replace(products, result=result, rhs=rhs)
    return Factors(columns, factors.lhs, emit.constant(weights, f32))


def _gathered(
    emit: Emitter,
    products: Products,
    operand: Operand,
    value: SSAValue,
    loops: Sequence[str],
) -> SSAValue:
    """The elements of an operand along these loops."""
    sizes = {**products.result, **products.depth}
    bounds = [sizes[loop] for loop in loops]
    steps = operand.steps
    strides = [steps.get(loop, 0) for loop in loops]
    varying = [at for at, size in enumerate(bounds) if size > 1]
    whole = np.cumprod([1, *bounds[:0:-1]])[::-1].tolist()
    is_whole = math.prod(bounds) == math.prod(operand.shape)
    if is_whole and all(strides[at] == whole[at] for at in varying):
        return reshape(emit, value, bounds)
    array = constant_of(value)
    if array is not None:
        places = sum(
            np.arange(size).reshape([-1, *[1] * (len(bounds) - at - 1)]) * stride
            for at, (size, stride) in enumerate(zip(bounds, strides, strict=True))
        )
        return emit.constant(array.reshape(-1)[places], f32)
    nest = Nest(emit, bounds)
    nest.window(range(len(bounds)))
    x = _read(
        nest, operand, value, {n: AffineDimExpr(at) for at, n in enumerate(loops)}
    )
    return nest.build([x])[0]
