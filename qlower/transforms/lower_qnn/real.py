"""Sums of real numbers: products added in the order of the contract, and the rule."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from qlower.contracts import Rule
from qlower.contracts.real_sums import (
    block_of,
    order_of,
    ordered_products,
    real_values,
    starts_from_bias,
)
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.ordered_sums import Factors, sums_in
from qlower.emit.window_rows import as_rows
from qlower.model.nests import Nest, broadcast_indices
from qlower.operators.orders import ORDERS
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_products(lowering: Lowering, op: qnn.RealOp) -> Sequence[SSAValue]:
    """Sums over the products that the operation states, then the rule."""
    contract = lowering.contract
    rule, name = contract.rule(op.kind), order_of(contract, op)
    lhs, rhs, *bias = map(lowering.value, op.operands)
    if isinstance(op, qnn.ConvolutionOp):
        top, bottom, left, right = op.pad
        lhs = lowering.pad(lhs, (0, top, left, 0), (0, bottom, right, 0), 0)
    order = ORDERS[name]
    factors = Factors(ordered_products(name, op), lhs, rhs)
    if order.build is not None:
        factors = as_rows(lowering.emit, factors)
    shape, loops = shape_of(op.results[0]), tuple(factors.products.result.values())
    start: SSAValue | None = None
    if starts_from_bias(contract, op):
        start = _whole(lowering, bias[0], shape)
        start = lowering.reshape(start, loops)
        bias = []
    block = None if order.build is None else block_of(contract, op)
    sums = sums_in(order, lowering.emit, factors, start, block)
    sums = lowering.reshape(sums, shape)
    if _gives_its_sum(rule):
        return [sums]
    nest = Nest(lowering.emit, shape)
    runtime = {"sum": nest.input(sums, range(len(shape)))}
    if bias and "real_bias" in rule.values:
        runtime["real_bias"] = nest.input(bias[0], [len(shape) - 1])
    result = lowering.apply_rule(nest, op.kind, runtime, real_values(op))
    return nest.build([result])


def _whole(lowering: Lowering, bias: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A bias in the shape of the result."""
    if shape_of(bias) == tuple(shape):
        return bias
    nest = Nest(lowering.emit, shape)
    return nest.build_one(nest.input(bias, broadcast_indices(shape_of(bias), shape)))


def _gives_its_sum(rule: Rule) -> bool:
    """Whether a rule returns the sum as it is."""
    block = rule.function.body.block
    last = block.last_op
    return (
        rule.values == ("sum",)
        and isinstance(last, ReturnOp)
        and last is block.first_op
    )
