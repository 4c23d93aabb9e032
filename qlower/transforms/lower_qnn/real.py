"""Sums of real numbers: products added in the order of the contract, and the rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from qlower.contracts import Rule
from qlower.contracts.products import LANES
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
    if order == LANES:
        sums = _sums_in_lanes(lowering, products, lhs, rhs)
    else:
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
    indices = (*products.lhs.indices, *products.rhs.indices)
    alone = {loop for index in indices if [*index.values()] == [1] for loop in index}
    if hidden := [products.loops[loop] for loop in products.depth.keys() - alone]:
        nest.window(sorted(hidden))

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


def _sums_in_lanes(
    lowering: Lowering, products: Products, lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """The sums [result loops] of four lanes, and of the products behind them."""
    turns = products.in_turn(4)
    whole = 4 * turns.count
    lanes = _ordered_sums(lowering, turns, False, lhs, rhs, None) if whole else None
    nest = Nest(lowering.emit, tuple(products.result.values()))
    loops = range(nest.parallel)

    def add(one: SSAValue, other: SSAValue) -> SSAValue:
        return nest.add(arith.AddfOp(one, other)).result

    def lane(number: int) -> SSAValue:
        assert lanes is not None
        return nest.input(lanes, [*loops, AffineConstantExpr(number)])

    def element(operand: Operand, value: SSAValue, place: int) -> SSAValue:
        seen = lowering.reshape(value, operand.shape)
        return nest.input(
            seen, [_index(products, index, place) for index in operand.indices]
        )

    if lanes is None:
        total = nest.constant(np.zeros((), np.float32), f32)
    else:
        total = add(add(lane(0), lane(2)), add(lane(1), lane(3)))
    for place in range(whole, products.count):
        x, w = (
            element(*side, place) for side in ((products.lhs, lhs), (products.rhs, rhs))
        )
        total = add(total, nest.add(arith.MulfOp(x, w)).result)
    return nest.build([total])[0]


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


def _index(products: Products, steps: Steps, place: int | None = None) -> Index:
    """An index of an operand over the loops of the nest, or over those of the result
    at a `place` in the sum."""
    loops = products.loops
    if place is not None and not steps.keys().isdisjoint(products.depth):
        ((loop, step),) = steps.items()
        assert loop in products.depth, "rows alone are summed in lanes"
        return AffineConstantExpr(place * step)
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
