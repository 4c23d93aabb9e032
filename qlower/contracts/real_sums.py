"""What sums of real numbers give to rules, and in which order a contract makes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.ir import Operation
from xdsl.traits import ConstantLike

from qlower.contracts import Contract
from qlower.contracts.contractions import chosen_product
from qlower.contracts.products import FUSED, FUSED_COLUMNS, LANES
from qlower.contracts.values import ACTIVATION_BOUNDS, Values, window_values
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.operators.products import Products

NO_BIAS = np.array(-0.0, np.float32)
"""The only number that leaves all others as they are when it is added."""


def real_values(op: qnn.RealOp) -> Values:
    """All that is constant about an operation that sums products of f32."""
    low, high = (None, None)
    if op.activation is not None:
        low, high = ACTIVATION_BOUNDS[op.activation]
    values = {
        "activation_min": np.array(-np.inf if low is None else low, np.float32),
        "activation_max": np.array(np.inf if high is None else high, np.float32),
    }
    return values if has_bias(op) else values | {"real_bias": NO_BIAS}


def order_of(contract: Contract, op: qnn.RealOp) -> str:
    """The order of the sums: a name of `products.py`."""
    rule = contract.rule(op.kind)
    if len(rule.products) == 1:
        return rule.products[0]
    return chosen_product(contract, rule, _sizes(op), op)


def _sizes(op: qnn.RealOp) -> Values:
    """What an order may depend on."""
    products = op.products
    weight = op.operands[1].owner
    values = {
        "place_count": products.places,
        "group_count": products.groups,
        "group_channels": products.group_channels,
        "depth": products.count,
    }
    found: Values = {name: np.array(size, np.int32) for name, size in values.items()}
    if isinstance(op, qnn.ConvolutionOp):
        kernel = [products.depth[loop] for loop in "ij"]
        found |= window_values(op, kernel)
    is_constant = isinstance(weight, Operation) and weight.has_trait(ConstantLike)
    return found | {"constant_weights": np.array(is_constant)}


def is_fused(order: str) -> bool:
    """Whether a product is not rounded before it is added."""
    return order in (FUSED, FUSED_COLUMNS)


def ordered_products(order: str, op: qnn.RealOp) -> Products:
    """The products of an operation, with the loops of its sums in that order."""
    products = op.products
    if order != FUSED_COLUMNS:
        return products
    i, j, *others = products.depth.items()
    return replace(products, depth=dict([j, i, *others]))


def has_bias(op: qnn.RealOp) -> bool:
    """Whether the operation has a bias."""
    return len(op.operands) > 2


def starts_from_bias(contract: Contract, op: qnn.RealOp) -> bool:
    """Whether sums start from a bias, which the rule doesn't ask for then."""
    starts = has_bias(op) and "real_bias" not in contract.rule(op.kind).values
    if starts and order_of(contract, op) == LANES:
        raise QlowerError(
            f"rule {op.kind} of contract {contract.name} must ask for real_bias: sums"
            " in lanes start from 0",
            contract.rule(op.kind).function.location,
        )
    return starts
