"""Sums of real numbers: products added in the order of the contract, and the rule."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.contracts import Rule
from qlower.contracts.real_sums import (
    is_fused,
    order_of,
    ordered_products,
    real_values,
    starts_from_bias,
)
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.model.nests import Index, Nest
from qlower.operators.products import Operand, Products, Steps
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_products(lowering: Lowering, op: qnn.RealOp) -> Sequence[SSAValue]:
    """Sums over the products that the operation states, then the rule."""
    rule, order = lowering.contract.rule(op.kind), order_of(lowering.contract, op)
    products = ordered_products(order, op)
    lhs, rhs, *bias = map(lowering.value, op.operands)
    if isinstance(op, qnn.ConvolutionOp):
        top, bottom, left, right = op.pad
        lhs = lowering.pad(lhs, (0, top, left, 0), (0, bottom, right, 0), 0)
    start = bias[0] if starts_from_bias(lowering.contract, op) else None
    sums = _ordered_sums(lowering, products, is_fused(order), lhs, rhs, start)
    shape = shape_of(op.results[0])
    sums = lowering.reshape(sums, shape)
    if _gives_its_sum(rule):
        return [sums]
    nest = Nest(lowering.emit, shape)
    runtime = {"sum": nest.input(sums, range(len(shape)))}
    if bias and "real_bias" in rule.values:
        runtime["real_bias"] = nest.input(bias[0], [len(shape) - 1])
    result = lowering.apply_rule(nest, op.kind, runtime, real_values(op))
    return nest.build([result])


def _ordered_sums(
    lowering: Lowering,
    products: Products,
    fused: bool,
    lhs: SSAValue,
    rhs: SSAValue,
    start: SSAValue | None,
) -> SSAValue:
    """The sums [result loops] that begin with `start`, or with 0."""
    nest = Nest(lowering.emit, products.bounds, len(products.depth))

    def element(operand: Operand, value: SSAValue) -> SSAValue:
        seen = lowering.reshape(value, operand.shape)
        return nest.input(seen, [_index(products, index) for index in operand.indices])

    x, w = element(products.lhs, lhs), element(products.rhs, rhs)
    init = _initial(lowering, products, start)

    def combine(sums: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        if fused:
            return [nest.add(math.FmaOp(x, w, sums[0])).result]
        product = nest.add(arith.MulfOp(x, w)).result
        return [nest.add(arith.AddfOp(sums[0], product)).result]

    return nest.reduce([init], combine)[0]


def _initial(
    lowering: Lowering, products: Products, start: SSAValue | None
) -> SSAValue:
    shape = tuple(products.result.values())
    if start is None:
        return lowering.emit.filled(shape, f32, 0.0)
    nest = Nest(lowering.emit, shape)
    loops = range(len(shape) - products.channels, len(shape))
    start = lowering.reshape(start, [shape[loop] for loop in loops])
    return nest.build([nest.input(start, loops)])[0]


def _index(products: Products, steps: Steps) -> Index:
    """An index of an operand over the loops of the nest."""
    loops = products.loops
    if len(steps) == 1 and set(steps.values()) == {1}:
        return loops[next(iter(steps))]
    total: AffineExpr | None = None
    for loop, step in steps.items():
        term = AffineDimExpr(loops[loop]) * step
        total = term if total is None else total + term
    return AffineConstantExpr(0) if total is None else total


def _gives_its_sum(rule: Rule) -> bool:
    """Whether a rule returns the sum as it is."""
    block = rule.function.body.block
    last = block.last_op
    return (
        rule.values == ("sum",)
        and isinstance(last, ReturnOp)
        and last is block.first_op
    )
