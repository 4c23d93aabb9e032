"""Values that layers on real numbers with stored weights pass to rules."""

from __future__ import annotations

import math

import numpy as np

from qlower.contracts import Contract
from qlower.contracts.products import TENSOR
from qlower.contracts.real_sums import activation_bounds
from qlower.contracts.values import Values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.operators.shapes import Shape


def hybrid_values(op: qnn.HybridOp) -> Values:
    """All that is constant about a layer with stored weights."""
    weight = quantized_element(op.operands[1].type)
    scales = np.array(weight.scales, np.float32)
    groups = op.groups if isinstance(op, qnn.HybridConv2DOp) else 1
    values = {
        "weight_scale": scales.reshape(()) if weight.is_per_tensor else scales,
        "per_channel": np.array(weight.is_per_axis),
        "groups": np.array(groups, np.int32),
        **activation_bounds(op),
    }
    return values if len(op.operands) > 2 else values | {"real_bias": np.float32(-0.0)}


def kind_values(op: qnn.HybridOp) -> Values:
    """The values of a layer that the rules for ranges and codes may ask for."""
    return {"is_depthwise": np.array(isinstance(op, qnn.HybridDepthwiseConv2DOp))}


def ranges_of(contract: Contract, op: qnn.HybridOp) -> Shape:
    """The input's shape as [ranges, numbers ...]: one range, or one for each row or
    image."""
    shape = shape_of(op.operands[0])
    if contract.rule(op.kind).products[0] != TENSOR:
        return shape
    return (1, math.prod(shape[:-1]), shape[-1])
