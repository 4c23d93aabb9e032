"""Meaning of sums of real numbers: products added in the order of the contract."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.interpreter import PythonValues

from qlower.contracts.products import LANES
from qlower.contracts.real_sums import (
    is_fused,
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
from qlower.operators.products import Operand, Products

from .rules import RuleFunctions


@register_implementations
class RealFunctions(RuleFunctions):
    """Sums of products of f32, and the rules that finish them."""

    @implement(*operations_of(qnn.RealOp))
    def run_products(self, op: qnn.RealOp, args: PythonValues) -> PythonValues:
        contract = self.contract(op)
        order = order_of(contract, op)
        products = ordered_products(order, op)
        lhs, rhs, *bias = args
        start = np.zeros((), np.float32)
        if starts_from_bias(contract, op):
            channels = [*products.result.values()][-products.channels :]
            start = bias[0].reshape(channels)
        factors = seen_factors(op, products, lhs, rhs)
        if order == LANES:
            sums = _sums_in_lanes(*factors)
        else:
            sums = _ordered_sums(products, is_fused(order), *factors, start)
        shape = shape_of(op.results[0])
        values = {"sum": sums.reshape(shape), **real_values(op)}
        if bias and not starts_from_bias(contract, op):
            values["real_bias"] = bias[0]
        return self.finish(op, op.kind, values, op.results[0])


def seen_factors(
    op: qnn.RealOp, products: Products, lhs: Array, rhs: Array
) -> tuple[Array, Array]:
    """The factors of each product [loops of the result and of the sum]: views."""
    if isinstance(op, qnn.ConvolutionOp):
        top, bottom, left, right = op.pad
        around = Pad((0, top, left, 0), (0, bottom, right, 0), value=0)
        lhs = around.evaluate(lhs)
    return _seen(products, products.lhs, lhs), _seen(products, products.rhs, rhs)


def _ordered_sums(
    products: Products, fused: bool, left: Array, right: Array, start: Array
) -> Array:
    """The sums [result loops] that begin with `start`, which broadcasts."""
    total = np.array(np.broadcast_to(start, tuple(products.result.values())))
    for place in np.ndindex(*products.depth.values()):
        one, other = left[(..., *place)], right[(..., *place)]
        if fused:
            total = fma(one, other, total)
        else:
            total = np.add(total, np.multiply(one, other))
    return np.asarray(total)


def _sums_in_lanes(left: Array, right: Array) -> Array:
    """The sums over the last dimension: in four lanes, which are added crosswise, then
    product by product."""
    terms = np.multiply(left, right)
    whole = terms.shape[-1] // 4 * 4
    lanes = np.zeros((*terms.shape[:-1], 4), np.float32)
    for first in range(0, whole, 4):
        lanes = np.add(lanes, terms[..., first : first + 4])
    halves = np.add(lanes[..., :2], lanes[..., 2:])
    total = np.add(halves[..., 0], halves[..., 1])
    for place in range(whole, terms.shape[-1]):
        total = np.add(total, terms[..., place])
    return total


def _seen(products: Products, operand: Operand, array: Array) -> Array:
    """A view of an operand over all loops."""
    array = np.ascontiguousarray(array).reshape(operand.shape)
    strides = dict.fromkeys(products.loops, 0)
    for index, stride in zip(operand.indices, array.strides, strict=True):
        for loop, step in index.items():
            strides[loop] += step * stride
    return as_strided(array, products.bounds, tuple(strides.values()), writeable=False)
