"""Values that sums of real numbers pass to rules, and the order in which a contract
makes the sums."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation
from xdsl.traits import ConstantLike

from qlower.contracts import Contract
from qlower.contracts.contractions import chosen_product
from qlower.contracts.values import Values, window_values
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.operators.orders import ORDERS
from qlower.operators.products import Products

NO_BIAS = np.array(-0.0, np.float32)
"""The only number that leaves all others as they are when it is added."""


def activation_bounds(op: qnn.ActivatedOp) -> Values:
    """The real bounds of a fused activation, infinite where it has none."""
    low, high = qnn.ACTIVATION_BOUNDS[op.activation]
    return {
        "activation_min": np.array(-np.inf if low is None else low, np.float32),
        "activation_max": np.array(np.inf if high is None else high, np.float32),
    }


def real_values(op: qnn.RealOp) -> Values:
    """All that is constant about an operation that sums products of f32."""
    return activation_bounds(op) | {"real_bias": NO_BIAS}


def order_of(contract: Contract, op: qnn.RealOp) -> str:
    """The order of the sums: a name of `ORDERS`."""
    rule = contract.rule(op.kind)
    if len(rule.products) == 1:
        return rule.products[0]
    return chosen_product(contract, rule, _sizes(op), op)


def block_of(contract: Contract, op: qnn.RealOp) -> int:
    """The number of products in a block of the sums, by the rule `<rule>_block`; all of
    them where the contract has no such rule."""
    count, name = op.products.count, f"{op.kind}_block"
    if name not in contract.rules:
        return count
    (size,) = contract.rule(name).evaluate(_sizes(op))
    if size < 1:
        raise QlowerError(
            f"rule {name} of contract {contract.name} gives {size}; expected 1 or more",
            op.location,
        )
    return int(size)


def _sizes(op: qnn.RealOp) -> Values:
    """The sizes that an order may depend on."""
    products = op.products
    weight = op.operands[1]
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
    owner = weight.owner
    is_constant = isinstance(owner, Operation) and owner.has_trait(ConstantLike)
    is_constant = is_constant and not op.computed_weights
    if isinstance(op, qnn.RealMatMulOp):
        is_constant = is_constant and len(shape_of(weight)) == 2
    flags = {
        "constant_weights": is_constant,
        "is_scaled": op.scaled,
        "narrow_weights": op.narrow_weights,
    }
    return found | {name: np.array(flag) for name, flag in flags.items()}


def ordered_products(order: str, op: qnn.RealOp) -> Products:
    """The products of an operation, with the loops of its sums in that order."""
    return op.products.in_order(ORDERS[order].loops)


def has_bias(op: qnn.RealOp) -> bool:
    """Whether the operation has a bias."""
    return len(op.operands) > 2


def starts_from_bias(contract: Contract, op: qnn.RealOp) -> bool:
    """Whether sums start from a bias, for which the rule doesn't ask then; or which has
    as many numbers as the result."""
    if not has_bias(op):
        return False
    rule = contract.rule(op.kind)
    return "real_bias" not in rule.values or not op.is_bias_of_channels
