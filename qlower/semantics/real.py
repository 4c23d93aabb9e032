"""Meaning of sums of real numbers: products added in the order of the contract."""

from __future__ import annotations

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
from qlower.interp.ordered_sums import ArraySums
from qlower.interp.values import Array
from qlower.operators.movement import Pad
from qlower.operators.orders import ORDERS
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
        (result,) = op.results
        shape = shape_of(result)
        start: Array | None = None
        if starts_from_bias(contract, op):
            loops = tuple(products.result.values())
            (whole,) = bias
            start = np.broadcast_to(whole, shape).reshape(loops)
        factors = seen_factors(op, products, lhs, rhs)
        sums = ArraySums(factors, tuple(products.depth.values()), start)
        if order.build is not None:
            sums.block = block_of(contract, op)
        total = sums.ordered(order)
        values = {"sum": total.reshape(shape), **real_values(op)}
        if start is None and bias:
            (values["real_bias"],) = bias
        return self.finish(op, op.kind, values, result)


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
