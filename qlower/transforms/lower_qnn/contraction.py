"""Convolutions, linear layers and matrix products: exact sums, then the rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from qlower.contracts.contractions import (
    Contraction,
    contraction_rule,
    contraction_values,
    product_of,
)
from qlower.contracts.products import EXACT
from qlower.contracts.values import operation_values
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.sums import Factor, from_zero, sum_products
from qlower.model.nests import Nest
from qlower.transforms.lower_qnn.bias import (
    accumulator_type,
    computed_bias,
    constant_bias,
    initial_accumulator,
)
from qlower.transforms.lower_qnn.lowering import Lowering
from qlower.transforms.lower_qnn.pairs import accumulate_pairs


def lower_contraction(lowering: Lowering, op: Contraction) -> SSAValue:
    """Sums of products, and the rule."""
    product = product_of(lowering.contract, op)
    if product == EXACT:
        accumulator = _accumulate_exactly(lowering, op)
    else:
        accumulator = accumulate_pairs(lowering, op, product)
    if qnn.gives_sums(op):
        return accumulator
    nest = Nest(lowering.emit, shape_of(op.result))
    bias = computed_bias(lowering, nest, op)
    known = (lambda: np.array(0, np.int32)) if bias else lambda: constant_bias(op)
    constants = contraction_values(lowering.contract, op, known)
    return lowering.finish_with_rule(
        nest,
        contraction_rule(op),
        {"accumulator": nest.input(accumulator, range(nest.parallel)), **bias},
        {name: value for name, value in constants.items() if name not in bias},
        op.result,
    )


def _accumulate_exactly(lowering: Lowering, op: Contraction) -> SSAValue:
    """`bias + sum((x - x_zero_point) * (w - w_zero_point))`, exact modulo 2^32, or 2^64
    for elements of 16 bits."""

    def start(shape: Sequence[int], channels: Sequence[int]) -> SSAValue:
        none = np.zeros((), np.int32)
        return initial_accumulator(lowering, op, shape, channels, none)

    return sum_products(lowering.emit, op.sums, _factors(lowering, op), start)


def _factors(
    lowering: Lowering, op: Contraction | qnn.MatMulOp
) -> tuple[Factor, Factor]:
    first, second = op.operands[:2]
    return (
        Factor.quantized(lowering.value(first), first),
        Factor.quantized(lowering.value(second), second),
    )


def lower_matmul(lowering: Lowering, op: qnn.MatMulOp) -> SSAValue:
    """Sums of products from zero, and the rule."""
    zero = from_zero(lowering.emit, accumulator_type(op.lhs))
    factors = _factors(lowering, op)
    accumulator = sum_products(lowering.emit, op.sums, factors, zero)
    if qnn.gives_sums(op):
        return accumulator
    nest = Nest(lowering.emit, shape_of(op.result))
    runtime = {"accumulator": nest.input(accumulator, range(nest.parallel))}
    values = operation_values(lowering.contract, op)
    return lowering.finish_with_rule(nest, "matmul", runtime, values, op.result)
