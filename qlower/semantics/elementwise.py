"""Meaning of the ops on one element at a time, and of softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.values import (
    binary_values,
    element_values,
    operand_values,
    output_values,
    softmax_values,
    unary_values,
)
from qlower.dialects import qnn, quant
from qlower.dialects.operations import operations_of
from qlower.interp.engine import implement, register_implementations
from qlower.interp.values import Array

from .rules import RuleFunctions, stored_dtype

COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@register_implementations
class ElementwiseFunctions(RuleFunctions):
    """Every element by itself, through the rule."""

    @implement(*operations_of(qnn.BinaryOp))
    def run_binary(self, op: qnn.BinaryOp, args: PythonValues) -> PythonValues:
        values = {
            "lhs": args[0].astype(np.int32),
            "rhs": args[1].astype(np.int32),
            **binary_values(self.contract(op), op),
        }
        return self.finish(op, op.rules[0], values, op.result)

    @implement(
        qnn.RequantizeOp,
        *operations_of(qnn.BoundedOp),
        *operations_of(qnn.TabulatedOp),
    )
    def run_unary(self, op: qnn.UnaryOp, args: PythonValues) -> PythonValues:
        values = {
            "input": args[0].astype(np.int32),
            **unary_values(self.contract(op), op),
        }
        return self.finish(op, op.rules[0], values, op.result)

    @implement(qnn.CompareOp)
    def run_compare(self, op: qnn.CompareOp, args: PythonValues) -> PythonValues:
        lhs, rhs = (
            self.evaluate(
                op,
                "compare",
                {
                    "input": stored.astype(np.int32),
                    **operand_values("input", value.type),
                },
                stored.shape,
            )
            for stored, value in zip(args, (op.lhs, op.rhs), strict=True)
        )
        return (COMPARISONS[op.predicate](lhs, rhs),)

    @implement(qnn.QuantizeOp, quant.QuantizeCastOp)
    def run_quantize(
        self, op: qnn.QuantizeOp | quant.QuantizeCastOp, args: PythonValues
    ) -> PythonValues:
        values = {
            "input": args[0],
            **output_values(self.contract(op), op.result.type),
            **element_values("output", op.result.type),
        }
        return self.finish(op, "quantize", values, op.result)

    @implement(qnn.DequantizeOp, quant.DequantizeCastOp)
    def run_dequantize(
        self, op: qnn.DequantizeOp | quant.DequantizeCastOp, args: PythonValues
    ) -> PythonValues:
        values = {
            "input": args[0].astype(np.int32),
            **element_values("input", op.input.type),
        }
        return self.finish(op, "dequantize", values, op.result)

    @implement(qnn.LutOp)
    def run_lut(self, op: qnn.LutOp, args: PythonValues) -> PythonValues:
        table = args[1].view(stored_dtype(op.result.type))
        return (table[args[0].view(np.uint8)],)

    @implement(qnn.SoftmaxOp, qnn.LogSoftmaxOp)
    def run_softmax(
        self, op: qnn.SoftmaxOp | qnn.LogSoftmaxOp, args: PythonValues
    ) -> PythonValues:
        contract = self.contract(op)
        stored = args[0].astype(np.int32)
        values = {
            "difference": stored - stored.max(axis=-1, keepdims=True),
            **softmax_values(contract, op),
        }
        (term,) = contract.rule("softmax_term").evaluate_each(values, stored.shape)
        values["term"] = term
        (addends,) = contract.rule("softmax_addend").evaluate_each(values, term.shape)
        # accumulate, unlike sum, adds floats one after the other
        totals = np.add.accumulate(addends, axis=-1, dtype=addends.dtype)
        values["sum"] = totals[..., -1:]
        return self.finish(op, op.rules[0], values, op.result)
