"""Meaning of the ops on one element at a time, and of softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import SSAValue

from qlower.contracts.values import (
    ACTIVATION_BOUNDS,
    binary_values,
    element_values,
    operand_values,
    output_values,
    softmax_values,
)
from qlower.dialects import qnn, quant

from ..values import Array
from .rules import RuleFunctions, stored_dtype

Unary: TypeAlias = (
    qnn.SigmoidOp
    | qnn.TanhOp
    | qnn.HardSwishOp
    | qnn.EluOp
    | qnn.LeakyReluOp
    | qnn.FunctionOp
    | qnn.RequantizeOp
    | qnn.ReluOp
    | qnn.Relu6Op
    | qnn.ClampOp
)

COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@register_impls
class ElementwiseFunctions(RuleFunctions):
    """Every element by itself, through the rule."""

    def _binary(self, op: qnn.BinaryOp, args: PythonValues) -> PythonValues:
        values = {
            "lhs": args[0].astype(np.int32),
            "rhs": args[1].astype(np.int32),
            **binary_values(self.contract(op), op),
        }
        return self.finish(op, op.rules[0], values, op.result)

    def _unary(
        self,
        op: Unary,
        args: PythonValues,
        bounds: tuple[float | None, float | None] = (None, None),
        alpha: float = 0.0,
    ) -> PythonValues:
        values = {
            "input": args[0].astype(np.int32),
            "alpha": np.array(alpha, np.float32),
            **operand_values("input", op.input.type),
            **output_values(self.contract(op), op.result.type, bounds),
        }
        return self.finish(op, op.rules[0], values, op.result)

    @impl(qnn.AddOp)
    def run_add(
        self, interpreter: Interpreter, op: qnn.AddOp, args: PythonValues
    ) -> PythonValues:
        return self._binary(op, args)

    @impl(qnn.SubOp)
    def run_sub(
        self, interpreter: Interpreter, op: qnn.SubOp, args: PythonValues
    ) -> PythonValues:
        return self._binary(op, args)

    @impl(qnn.MulOp)
    def run_mul(
        self, interpreter: Interpreter, op: qnn.MulOp, args: PythonValues
    ) -> PythonValues:
        return self._binary(op, args)

    @impl(qnn.DivOp)
    def run_div(
        self, interpreter: Interpreter, op: qnn.DivOp, args: PythonValues
    ) -> PythonValues:
        return self._binary(op, args)

    @impl(qnn.SquaredDifferenceOp)
    def run_squared_difference(
        self, interpreter: Interpreter, op: qnn.SquaredDifferenceOp, args: PythonValues
    ) -> PythonValues:
        return self._binary(op, args)

    @impl(qnn.PReluOp)
    def run_prelu(
        self, interpreter: Interpreter, op: qnn.PReluOp, args: PythonValues
    ) -> PythonValues:
        return self._binary(op, args)

    @impl(qnn.CompareOp)
    def run_compare(
        self, interpreter: Interpreter, op: qnn.CompareOp, args: PythonValues
    ) -> PythonValues:
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

    @impl(qnn.FunctionOp)
    def run_function(
        self, interpreter: Interpreter, op: qnn.FunctionOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args)

    @impl(qnn.SigmoidOp)
    def run_sigmoid(
        self, interpreter: Interpreter, op: qnn.SigmoidOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args)

    @impl(qnn.TanhOp)
    def run_tanh(
        self, interpreter: Interpreter, op: qnn.TanhOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args)

    @impl(qnn.HardSwishOp)
    def run_hard_swish(
        self, interpreter: Interpreter, op: qnn.HardSwishOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args)

    @impl(qnn.EluOp)
    def run_elu(
        self, interpreter: Interpreter, op: qnn.EluOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args)

    @impl(qnn.LeakyReluOp)
    def run_leaky_relu(
        self, interpreter: Interpreter, op: qnn.LeakyReluOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args, alpha=op.alpha)

    @impl(qnn.RequantizeOp)
    def run_requantize(
        self, interpreter: Interpreter, op: qnn.RequantizeOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args)

    @impl(qnn.ReluOp)
    def run_relu(
        self, interpreter: Interpreter, op: qnn.ReluOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args, ACTIVATION_BOUNDS[op.kind])

    @impl(qnn.Relu6Op)
    def run_relu6(
        self, interpreter: Interpreter, op: qnn.Relu6Op, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args, ACTIVATION_BOUNDS[op.kind])

    @impl(qnn.ClampOp)
    def run_clamp(
        self, interpreter: Interpreter, op: qnn.ClampOp, args: PythonValues
    ) -> PythonValues:
        return self._unary(op, args, (op.min, op.max))

    @impl(qnn.QuantizeOp)
    def run_quantize(
        self, interpreter: Interpreter, op: qnn.QuantizeOp, args: PythonValues
    ) -> PythonValues:
        return self._quantize(op, args)

    @impl(quant.QuantizeCastOp)
    def run_qcast(
        self, interpreter: Interpreter, op: quant.QuantizeCastOp, args: PythonValues
    ) -> PythonValues:
        return self._quantize(op, args)

    def _quantize(
        self, op: qnn.QuantizeOp | quant.QuantizeCastOp, args: PythonValues
    ) -> PythonValues:
        values = {
            "input": args[0],
            **output_values(self.contract(op), op.result.type),
            **element_values("output", op.result.type),
        }
        return self.finish(op, "quantize", values, op.result)

    @impl(qnn.DequantizeOp)
    def run_dequantize(
        self, interpreter: Interpreter, op: qnn.DequantizeOp, args: PythonValues
    ) -> PythonValues:
        return self._dequantize(op, op.input, args)

    @impl(quant.DequantizeCastOp)
    def run_dcast(
        self, interpreter: Interpreter, op: quant.DequantizeCastOp, args: PythonValues
    ) -> PythonValues:
        return self._dequantize(op, op.input, args)

    def _dequantize(
        self,
        op: qnn.DequantizeOp | quant.DequantizeCastOp,
        source: SSAValue,
        args: PythonValues,
    ) -> PythonValues:
        values = {
            "input": args[0].astype(np.int32),
            **element_values("input", source.type),
        }
        return self.finish(op, "dequantize", values, op.result)

    @impl(qnn.LutOp)
    def run_lut(
        self, interpreter: Interpreter, op: qnn.LutOp, args: PythonValues
    ) -> PythonValues:
        table = args[1].view(stored_dtype(op.result.type))
        return (table[args[0].view(np.uint8)],)

    @impl(qnn.SoftmaxOp)
    def run_softmax(
        self, interpreter: Interpreter, op: qnn.SoftmaxOp, args: PythonValues
    ) -> PythonValues:
        return self._softmax(op, args)

    @impl(qnn.LogSoftmaxOp)
    def run_log_softmax(
        self, interpreter: Interpreter, op: qnn.LogSoftmaxOp, args: PythonValues
    ) -> PythonValues:
        return self._softmax(op, args)

    def _softmax(
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
