"""Meaning of convolutions, linear layers and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.contractions import (
    Contraction,
    contraction_rule,
    contraction_values,
    product_of,
    start_of_sum,
)
from qlower.contracts.products import EXACT
from qlower.contracts.values import matmul_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of

from ..engine import implement, register_implementations
from ..values import Array
from .pairs import pair_sums
from .rules import RuleFunctions, centred, padded, taps

Sums: TypeAlias = Callable[[Contraction, str, Array, Array], Array]
"""The sums of products without bias, of a contraction that multiplies so
(`products.py`), from stored input and weights."""


def sums_of(op: Contraction, product: str, stored: Array, weight: Array) -> Array:
    """Exact sums of products, or those that the contract names."""
    if product == EXACT:
        return exact_sums(op, stored, weight)
    return pair_sums(op, product, stored, weight)


@register_implementations
@dataclass
class ContractionFunctions(RuleFunctions):
    """Sums of products, and the rules that store them; `sums` may remember sums."""

    sums: Sums = sums_of

    @implement(qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp)
    def run_contraction(self, op: Contraction, args: PythonValues) -> PythonValues:
        contract = self.contract(op)
        sums = self.sums(op, product_of(contract, op), args[0], args[1])
        bias: Array = args[2] if op.bias is not None else np.zeros((), np.int32)
        total = sums.astype(np.int64) + start_of_sum(contract, op, lambda: bias)
        wide = quantized_element(op.input.type).storage_width > 8
        wrapped = total if wide else total.astype(np.int32)
        if qnn.gives_sums(op):
            return (wrapped,)
        values = {
            "accumulator": wrapped,
            **contraction_values(contract, op, lambda: bias),
        }
        return self.finish(op, contraction_rule(op), values, op.result)

    @implement(qnn.MatMulOp)
    def run_matmul(self, op: qnn.MatMulOp, args: PythonValues) -> PythonValues:
        lhs = centred(args[0], op.lhs).astype(np.float64)
        rhs = centred(args[1], op.rhs).astype(np.float64)
        sums = (lhs @ rhs).astype(np.int64)
        if quantized_element(op.lhs.type).storage_width == 8:
            sums = sums.astype(np.int32)
        if qnn.gives_sums(op):
            return (sums,)
        values = {
            "accumulator": sums,
            **matmul_values(self.contract(op), op),
        }
        return self.finish(op, "matmul", values, op.result)


def exact_sums(op: Contraction, stored: Array, weight: Array) -> Array:
    """The sums of products without bias, from stored input and weights; exact.

    float64 matrix products are exact here: |x * w| is below 2^25 and there are far less
    than 2^28 of them.
    """
    match op:
        case qnn.Conv2DOp():
            return _conv2d_sums(op, stored, weight)
        case qnn.DepthwiseConv2DOp():
            return _depthwise_sums(op, stored, weight)
        case qnn.LinearOp():
            rows = centred(stored, op.input).astype(np.float64)
            return rows @ centred(weight, op.weight).astype(np.float64).T


def _conv2d_sums(op: qnn.Conv2DOp, stored: Array, weight: Array) -> Array:
    image = padded(centred(stored, op.input), op.pad)
    weight = centred(weight, op.weight)
    batch, height, width, outputs = shape_of(op.result)
    group_outputs, depth = outputs // op.groups, weight.shape[3]
    sums = np.zeros((batch * height * width, outputs))
    for group in range(op.groups):
        part = slice(group * group_outputs, (group + 1) * group_outputs)
        source = image[..., group * depth : (group + 1) * depth]
        for kh, kw, view in taps(op, source, weight.shape[1:3], op.dilation):
            rows = view.reshape(-1, depth).astype(np.float64)
            sums[:, part] += rows @ weight[part, kh, kw, :].T
    return sums.reshape(shape_of(op.result))


def _depthwise_sums(op: qnn.DepthwiseConv2DOp, stored: Array, weight: Array) -> Array:
    image = np.repeat(centred(stored, op.input), op.multiplier, axis=3)
    weight = centred(weight, op.weight)
    sums = np.zeros(shape_of(op.result), np.int64)
    image = padded(image, op.pad)
    for kh, kw, view in taps(op, image, weight.shape[1:3], op.dilation):
        sums += view.astype(np.int64) * weight[0, kh, kw, :]
    return sums
