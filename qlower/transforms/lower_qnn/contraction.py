"""Convolutions, linear layers and matrix products: exact sums, then the rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, SSAValue

from qlower.contracts import Contract
from qlower.contracts.contractions import (
    Contraction,
    Product,
    contraction_rule,
    group_of,
    input_channels,
    product_of,
    turn_values,
)
from qlower.contracts.products import EXACT, IN_TURN
from qlower.contracts.values import operation_values
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import inline_rule
from qlower.emit.sums import (
    Accumulate,
    Factor,
    from_zero,
    multiply_accumulate,
    sum_products,
)
from qlower.model.nests import Combine, Nest, row_major_index, scalar_constant
from qlower.transforms.lower_qnn.bias import LoweredContraction, accumulator_type
from qlower.transforms.lower_qnn.lowering import Lowering
from qlower.transforms.lower_qnn.pairs import accumulate_pairs


def lower_contraction(lowering: Lowering, op: Contraction) -> SSAValue:
    """Sums of products, and the rule."""
    lowered = LoweredContraction(lowering, op)
    product = lowered.ruled.product
    if product == EXACT:
        accumulator = _accumulate(lowered)
    elif product == IN_TURN:
        accumulator = _accumulate(lowered, _in_turn(lowering.contract, op))
    else:
        accumulator = accumulate_pairs(lowered, product)
    if qnn.gives_sums(op):
        return accumulator
    nest = Nest(lowering.emit, shape_of(op.result))
    bias = lowered.computed_bias(nest)
    known = (lambda: np.array(0, np.int32)) if bias else lowered.constant_bias
    constants = lowered.ruled.values(known)
    place = range(nest.parallel)
    added: dict[str, SSAValue] = {}
    if isinstance(op, qnn.FusedAddOp):
        added["addend"] = lowering.read(nest, op.operands[-1], place)
    return lowering.finish_with_rule(
        nest,
        contraction_rule(op),
        {"accumulator": nest.input(accumulator, place), **bias, **added},
        {name: value for name, value in constants.items() if name not in bias},
        op.result,
    )


def _in_turn(contract: Contract, op: Product) -> Accumulate:
    """Adds products, and has the contract's `accumulate` after each group."""
    group, rule = group_of(contract, op), contract.rule("accumulate")
    structure, values = op.sums.structure, turn_values(op)
    loops = [structure.loops.index(letter) for letter in structure.axes[-1][-1]]
    is_placed = "input_channel" in rule.values
    # The loop over the channels of a pixel is the last one; depthwise taps have none.
    pixel = [len(structure.loops) - 1] if input_channels(op) > 1 else []

    def step(nest: Nest, a: SSAValue, b: SSAValue) -> Combine:
        add = multiply_accumulate(nest, a, b)
        channels = values["channel"].reshape([nest.bounds[loop] for loop in loops])
        constants = {**values, "channel": channels}

        def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
            (total,) = add(accumulators)
            given = {"accumulator": total}
            if "product" in rule.values:
                product = arith.SubiOp(total, accumulators[0])
                given["product"] = nest.add(product).result
            if is_placed:
                given["input_channel"] = row_major_index(nest, pixel)
            (kept,) = inline_rule(rule, given, constants, nest)
            if group == 1:
                return [kept]
            is_end = _ends_group(nest, group)
            return [nest.add(arith.SelectOp(is_end, kept, total)).result]

        return combine

    return step


def _ends_group(nest: Nest, group: int) -> SSAValue:
    """Whether the product is the last of a group, or of all."""
    loops = range(nest.parallel, len(nest.bounds))
    place = row_major_index(nest, loops)
    size = nest.add(scalar_constant(group, i32)).result
    within = nest.add(arith.RemSIOp(place, size)).result
    last = math.prod(nest.bounds[loop] for loop in loops) - 1
    ends = [(within, group - 1), (place, last)]
    found = [
        nest.add(arith.CmpiOp(x, nest.add(scalar_constant(n, i32)).result, "eq")).result
        for x, n in ends
    ]
    return nest.add(arith.OrIOp(found[0], found[1])).result


def _accumulate(
    lowered: LoweredContraction, step: Accumulate | None = None
) -> SSAValue:
    """`bias + sum((x - x_zero_point) * (w - w_zero_point))`, exact modulo 2^32, or 2^64
    for elements of 16 bits; or what `step` makes of it."""
    lowering, op = lowered.lowering, lowered.op

    def start(shape: Sequence[int], channels: Sequence[int]) -> SSAValue:
        return lowered.initial_accumulator(shape, channels, np.zeros((), np.int32))

    return sum_products(
        lowering.emit, op.sums, _factors(lowering, op), start, step=step
    )


def _factors(lowering: Lowering, op: Product) -> tuple[Factor, Factor]:
    first, second = op.operands[:2]
    return (
        Factor.quantized(lowering.value(first), first),
        Factor.quantized(lowering.value(second), second),
    )


def lower_matmul(lowering: Lowering, op: qnn.MatMulOp) -> SSAValue:
    """Sums of products from zero, and the rule."""
    zero = from_zero(lowering.emit, accumulator_type(op.lhs))
    factors = _factors(lowering, op)
    in_turn = product_of(lowering.contract, op) == IN_TURN
    step = _in_turn(lowering.contract, op) if in_turn else None
    accumulator = sum_products(lowering.emit, op.sums, factors, zero, step=step)
    if qnn.gives_sums(op):
        return accumulator
    nest = Nest(lowering.emit, shape_of(op.result))
    runtime = {"accumulator": nest.input(accumulator, range(nest.parallel))}
    values = operation_values(lowering.contract, op)
    return lowering.finish_with_rule(nest, "matmul", runtime, values, op.result)
