"""Meaning of the ops on one element at a time, and of softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.interpreter import PythonValues
from xdsl.ir import Operation

from qlower.contracts.values import mapping_rule, operand_values, operation_values
from qlower.dialects import qnn, quant
from qlower.dialects.operations import named_operands, operations_of
from qlower.dialects.types import element_type
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

    @implement(
        *operations_of(qnn.BinaryOp),
        *operations_of(qnn.BoundedOp),
        *operations_of(qnn.TabulatedOp),
        *operations_of(qnn.ScaledOp),
        qnn.RequantizeOp,
        qnn.QuantizeOp,
        qnn.DequantizeOp,
        quant.QuantizeCastOp,
        quant.DequantizeCastOp,
    )
    def run_mapped(self, op: Operation, args: PythonValues) -> PythonValues:
        values = operation_values(self.contract(op), op)
        for (name, operand), stored in zip(named_operands(op), args, strict=True):
            is_real = element_type(operand.type) == f32
            values[name] = stored if is_real else stored.astype(np.int32)
        (result,) = op.results
        return self.finish(op, mapping_rule(op), values, result)

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

    @implement(qnn.LutOp)
    def run_lut(self, op: qnn.LutOp, args: PythonValues) -> PythonValues:
        stored, table = args
        return (table.view(stored_dtype(op.result.type))[stored.view(np.uint8)],)

    @implement(qnn.SoftmaxOp, qnn.LogSoftmaxOp)
    def run_softmax(
        self, op: qnn.SoftmaxOp | qnn.LogSoftmaxOp, args: PythonValues
    ) -> PythonValues:
        contract, (given,) = self.contract(op), args
        stored = given.astype(np.int32)
        values = {
            "difference": stored - stored.max(axis=-1, keepdims=True),
            **operation_values(contract, op),
        }
        (term,) = contract.rule("softmax_term").evaluate_each(values, stored.shape)
        values["term"] = term
        (addends,) = contract.rule("softmax_addend").evaluate_each(values, term.shape)
        values["sum"] = row_sums(addends)
        return self.finish(op, op.rules[0], values, op.result)


def row_sums(addends: Array) -> Array:
    """The sums of rows along the last axis, which is kept with a size of 1."""
    # accumulate, unlike sum, adds floats one after the other
    return np.add.accumulate(addends, axis=-1, dtype=addends.dtype)[..., -1:]
