"""Meaning of sums of real numbers: products added in the order of the contract."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.interpreter import PythonValues

from qlower.contracts.real_sums import (
    block_of,
    order_of,
    ordered_products,
    real_values,
    starts_from_bias,
)
from qlower.dialects import qnn
from qlower.dialects.operations import operations_of
from qlower.dialects.types import shape_of
from qlower.interp.engine import implement, register_implementations
from qlower.interp.math import fma
from qlower.interp.values import Array
from qlower.operators.movement import Pad
from qlower.operators.orders import ORDERS, Summing
from qlower.operators.products import Operand, Products

from .rules import RuleFunctions


@register_implementations
class RealFunctions(RuleFunctions):
    """Sums of products of f32, and the rules that finish them."""

    @implement(*operations_of(qnn.RealOp))
    def run_products(self, op: qnn.RealOp, args: PythonValues) -> PythonValues:
        contract = self.contract(op)
        name = order_of(contract, op)
        products, order = ordered_products(name, op), ORDERS[name]
        lhs, rhs, *bias = args
        shape = shape_of(op.results[0])
        start: Array | None = None
        if starts_from_bias(contract, op):
            loops = tuple(products.result.values())
            start = np.broadcast_to(bias[0], shape).reshape(loops)
        sums = ArraySums(products, *seen_factors(op, products, lhs, rhs), start)
        if order.build is None:
            total = sums.chain(fused=order.fused)
        else:
            sums.block = block_of(contract, op)
            total = order.build(sums)
        values = {"sum": total.reshape(shape), **real_values(op)}
        if start is None and bias:
            values["real_bias"] = bias[0]
        return self.finish(op, op.kind, values, op.results[0])


class ArraySums(Summing[Array]):
    """Sums of products on arrays over the loops of the result."""

    def __init__(
        self, products: Products, left: Array, right: Array, start: Array | None
    ) -> None:
        """Factors have all loops, those of the result first."""
        self._factors = left, right
        self._start = start
        self._result = tuple(products.result.values())
        self._depth = tuple(products.depth.values())
        self.count = self.block = products.count
        self.last = products.last

    def start(self) -> Array | None:
        return self._start

    def zero(self) -> Array:
        return np.zeros(self._result, np.float32)

    def add(self, one: Array, other: Array) -> Array:
        return np.asarray(np.add(one, other))

    def term(self, place: int) -> Array:
        return np.asarray(np.multiply(*self._pair(place)))

    def chain(self, *, fused: bool) -> Array:
        """All products one after the other, from the start."""
        total = self.zero() if self._start is None else self._start
        if fused:
            return self._fused(total, range(self.count))
        for place in range(self.count):
            total = self.add(total, self.term(place))
        return total

    def chains(self, first: int, count: int, size: int) -> Sequence[Array]:
        starts = range(first, first + count * size, size)
        return [self._fused(self.zero(), range(s, s + size)) for s in starts]

    def lanes(self, count: int) -> Sequence[Array]:
        whole = self.count - self.count % count
        sums = [self.zero() for _ in range(count)]
        for place in range(whole):
            sums[place % count] = self.add(sums[place % count], self.term(place))
        return sums

    def groups(self, size: int) -> Array:
        total = self.zero() if self._start is None else self._start
        for first in range(0, self.count - self.count % size, size):
            group = [self.term(place) for place in range(first, first + size)]
            total = self.add(self.add_in_turn(group), total)
        return total

    def before(self, end: int, one: Array, other: Array) -> Array:
        inner = max(
            (axis for axis, size in enumerate(self._result) if size > 1), default=0
        )
        index = np.arange(self._result[inner]).reshape(
            [-1 if axis == inner else 1 for axis in range(len(self._result))]
        )
        return np.where(index < end, one, other)

    def _fused(self, total: Array, places: range) -> Array:
        for place in places:
            total = np.asarray(fma(*self._pair(place), total))
        return total

    def _pair(self, place: int) -> tuple[Array, Array]:
        left, right = self._factors
        index = np.unravel_index(place, self._depth)
        return left[(..., *index)], right[(..., *index)]


def seen_factors(
    op: qnn.RealOp, products: Products, lhs: Array, rhs: Array
) -> tuple[Array, Array]:
    """The factors of each product [loops of the result and of the sum]: views."""
    if isinstance(op, qnn.ConvolutionOp):
        top, bottom, left, right = op.pad
        around = Pad((0, top, left, 0), (0, bottom, right, 0), value=0)
        lhs = around.evaluate(lhs)
    return _seen(products, products.lhs, lhs), _seen(products, products.rhs, rhs)


def _seen(products: Products, operand: Operand, array: Array) -> Array:
    """A view of an operand over all loops."""
    array = np.ascontiguousarray(array).reshape(operand.shape)
    strides = dict.fromkeys(products.loops, 0)
    for index, stride in zip(operand.indices, array.strides, strict=True):
        for loop, step in index.items():
            strides[loop] += step * stride
    return as_strided(array, products.bounds, tuple(strides.values()), writeable=False)
