"""Meaning of convolutions, linear layers and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)

from qlower.contracts.contractions import (
    contraction_rule,
    contraction_values,
    integer_bias,
    product_of,
    takes_bias,
)
from qlower.contracts.products import EXACT
from qlower.contracts.values import matmul_values
from qlower.dialects import qnn
from qlower.dialects.types import shape_of

from ..values import Array
from .pairs import pair_sums
from .rules import RuleFunctions, centred, padded, taps

ContractionT = TypeVar(
    "ContractionT", qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp
)


@register_impls
class ContractionFunctions(RuleFunctions):
    """Exact sums of products, or those that the contract names.

    float64 matrix products are exact here: |x * w| is below 2^17 and there are far less
    than 2^36 of them.
    """

    @impl(qnn.Conv2DOp)
    def run_conv2d(
        self, interpreter: Interpreter, op: qnn.Conv2DOp, args: PythonValues
    ) -> PythonValues:
        return self._finish(op, self.sum_conv2d, args)

    def sum_conv2d(self, op: qnn.Conv2DOp, stored: Array, weight: Array) -> Array:
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

    @impl(qnn.DepthwiseConv2DOp)
    def run_depthwise_conv2d(
        self, interpreter: Interpreter, op: qnn.DepthwiseConv2DOp, args: PythonValues
    ) -> PythonValues:
        return self._finish(op, self.sum_depthwise, args)

    def sum_depthwise(
        self, op: qnn.DepthwiseConv2DOp, stored: Array, weight: Array
    ) -> Array:
        image = np.repeat(centred(stored, op.input), op.multiplier, axis=3)
        weight = centred(weight, op.weight)
        sums = np.zeros(shape_of(op.result), np.int64)
        image = padded(image, op.pad)
        for kh, kw, view in taps(op, image, weight.shape[1:3], op.dilation):
            sums += view.astype(np.int64) * weight[0, kh, kw, :]
        return sums

    @impl(qnn.LinearOp)
    def run_linear(
        self, interpreter: Interpreter, op: qnn.LinearOp, args: PythonValues
    ) -> PythonValues:
        return self._finish(op, self.sum_linear, args)

    def sum_linear(self, op: qnn.LinearOp, stored: Array, weight: Array) -> Array:
        rows = centred(stored, op.input).astype(np.float64)
        return rows @ centred(weight, op.weight).astype(np.float64).T

    @impl(qnn.MatMulOp)
    def run_matmul(
        self, interpreter: Interpreter, op: qnn.MatMulOp, args: PythonValues
    ) -> PythonValues:
        lhs = centred(args[0], op.lhs).astype(np.float64)
        rhs = centred(args[1], op.rhs).astype(np.float64)
        sums = (lhs @ rhs).astype(np.int64).astype(np.int32)
        if qnn.gives_sums(op):
            return (sums,)
        values = {
            "accumulator": sums,
            **matmul_values(self.contract(op), op),
        }
        return self.finish(op, "matmul", values, op.result)

    def _finish(
        self,
        op: ContractionT,
        exact_sums: Callable[[ContractionT, Array, Array], Array],
        args: PythonValues,
    ) -> PythonValues:
        contract = self.contract(op)
        product = product_of(contract, op)
        if product == EXACT:
            sums = exact_sums(op, args[0], args[1])
        else:
            sums = pair_sums(op, product, args[0], args[1])
        bias: Array = args[2] if op.bias is not None else np.zeros((), np.int32)
        total = sums.astype(np.int64)
        if not takes_bias(contract, op):
            total = total + integer_bias(contract, op, bias)
        wrapped = total.astype(np.int32)
        if qnn.gives_sums(op):
            return (wrapped,)
        values = {
            "accumulator": wrapped,
            **contraction_values(contract, op, lambda: bias),
        }
        return self.finish(op, contraction_rule(op), values, op.result)


def exact_sums(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp,
    stored: Array,
    weight: Array,
) -> Array:
    """The sums of products without bias, from stored input and weights; exact."""
    functions = ContractionFunctions()
    match op:
        case qnn.Conv2DOp():
            return functions.sum_conv2d(op, stored, weight)
        case qnn.DepthwiseConv2DOp():
            return functions.sum_depthwise(op, stored, weight)
        case qnn.LinearOp():
            return functions.sum_linear(op, stored, weight)
