"""Meaning of convolutions, linear layers and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.contractions import (
    Contraction,
    Product,
    RuledContraction,
    contraction_rule,
    product_of,
)
from qlower.contracts.products import EXACT, IN_TURN
from qlower.contracts.values import operation_values
from qlower.dialects import qnn
from qlower.dialects.operations import operations_of
from qlower.dialects.quant import quantized_element
from qlower.interp.engine import implement, register_implementations
from qlower.interp.values import Array

from .in_turn import sums_in_turn
from .pairs import pair_sums
from .rules import RuleFunctions, centred

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

    @implement(*operations_of(qnn.FusedAddOp))
    def run_fused_add(self, op: qnn.FusedAddOp, args: PythonValues) -> PythonValues:
        assert isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp)
        return self.run_contraction(op, args)

    @implement(qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp)
    def run_contraction(self, op: Contraction, args: PythonValues) -> PythonValues:
        ruled = RuledContraction(self.contract(op), op)
        product = ruled.product
        bias: Array = args[2] if op.bias is not None else np.zeros((), np.int32)
        start = ruled.start_of_sum(lambda: bias)
        if product == IN_TURN:
            total = sums_in_turn(ruled.contract, op, start, args[0], args[1])
        else:
            sums = self.sums(op, product, args[0], args[1])
            total = sums.astype(np.int64) + start
        wide = quantized_element(op.input.type).storage_width > 8
        wrapped = total if wide else total.astype(np.int32)
        if qnn.gives_sums(op):
            return (wrapped,)
        values = {"accumulator": wrapped, **ruled.values(lambda: bias)}
        if isinstance(op, qnn.FusedAddOp):
            values["addend"] = args[-1].astype(np.int32)
        return self.finish(op, contraction_rule(op), values, op.result)

    @implement(qnn.MatMulOp)
    def run_matmul(self, op: qnn.MatMulOp, args: PythonValues) -> PythonValues:
        contract = self.contract(op)
        if product_of(contract, op) == IN_TURN:
            zero = np.zeros((), np.int64)
            sums = sums_in_turn(contract, op, zero, args[0], args[1])
        else:
            sums = exact_sums(op, args[0], args[1]).astype(np.int64)
        if quantized_element(op.lhs.type).storage_width == 8:
            sums = sums.astype(np.int32)
        if qnn.gives_sums(op):
            return (sums,)
        values = {"accumulator": sums, **operation_values(contract, op)}
        return self.finish(op, "matmul", values, op.result)


def exact_sums(op: Product, stored: Array, weight: Array) -> Array:
    """The sums of products without bias, from the stored factors; exact."""
    first, second = op.operands[:2]
    return op.sums.evaluate(centred(stored, first), centred(weight, second))
