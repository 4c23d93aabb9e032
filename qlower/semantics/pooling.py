"""Meaning of pools and means."""

from __future__ import annotations

from itertools import product

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.values import operation_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.interp.engine import implement, register_implementations

from .rules import RuleFunctions, centred


@register_implementations
class PoolingFunctions(RuleFunctions):
    """Sums and maxima of stored integers."""

    @implement(qnn.AvgPool2DOp)
    def run_avg_pool2d(self, op: qnn.AvgPool2DOp, args: PythonValues) -> PythonValues:
        contract, (stored,) = self.contract(op), args
        image = stored.astype(np.int32)
        # What counts: pixels of the image, and padding where it is included, as real 0.
        counted = np.ones((1, *image.shape[1:3], 1), np.int32)
        zero_point = quantized_element(op.input.type).zero_point
        values, total = operation_values(contract, op), "accumulator"
        if "sum" in contract.rule("avg_pool2d").values:
            total, zero_point = "sum", 0
            addend = contract.rule("avg_pool2d_addend")
            (image,) = addend.evaluate_each({**values, "input": image}, image.shape)
        sums, counts = (
            np.asarray(
                sum(
                    view
                    for _, view in op.sums.views(
                        source, op.kernel, around if op.count_include_pad else 0
                    )
                )
            )
            for source, around in ((image, zero_point), (counted, 1))
        )
        values |= {total: sums, "count": counts}
        return self.finish(op, "avg_pool2d", values, op.result)

    @implement(qnn.AdaptiveAvgPool2DOp)
    def run_adaptive_avg_pool2d(
        self, op: qnn.AdaptiveAvgPool2DOp, args: PythonValues
    ) -> PythonValues:
        (image,) = args
        sums = np.zeros(shape_of(op.result), np.int64)
        rows, columns = op.windows
        for (y, row), (x, column) in product(enumerate(rows), enumerate(columns)):
            window = image[:, row.start : row.stop, column.start : column.stop]
            sums[:, y, x] = window.sum(axis=(1, 2), dtype=np.int64)
        values = operation_values(self.contract(op), op)
        values["accumulator"] = sums.astype(np.int32)
        return self.finish(op, "adaptive_avg_pool2d", values, op.result)

    @implement(qnn.MaxPool2DOp)
    def run_max_pool2d(self, op: qnn.MaxPool2DOp, args: PythonValues) -> PythonValues:
        (image,) = args
        lowest = int(np.iinfo(image.dtype).min)
        largest = np.full(shape_of(op.result), lowest, image.dtype)
        for _, view in op.sums.views(image, op.kernel, lowest):
            largest = np.maximum(largest, view)
        values = operation_values(self.contract(op), op)
        low, high = int(values["output_min"]), int(values["output_max"])
        return (np.clip(largest, low, high) if op.activation else largest,)

    @implement(qnn.MeanOp, qnn.SumOp)
    def run_reduction(self, op: qnn.ReductionOp, args: PythonValues) -> PythonValues:
        contract, (stored,) = self.contract(op), args
        addends = stored.astype(np.int32)
        values, total = operation_values(contract, op), "accumulator"
        if "sum" in contract.rule(op.kind).values:
            total, rule = "sum", contract.rule(f"{op.kind}_addend")
            (addends,) = rule.evaluate_each({**values, "input": addends}, addends.shape)
        values[total] = addends.sum(op.axes, addends.dtype, keepdims=op.keep_dims)
        return self.finish(op, op.kind, values, op.result)

    @implement(qnn.ProductOp)
    def run_product(self, op: qnn.ProductOp, args: PythonValues) -> PythonValues:
        (stored,) = args
        values = operation_values(self.contract(op), op)
        last = range(-len(op.axes), 0)
        factors = np.moveaxis(stored.astype(np.int32), sorted(op.axes), last)
        factors = factors.reshape((*shape_of(op.result), -1))
        product = centred(factors[..., 0], op.input)
        step, end = op.rules
        for place in range(1, factors.shape[-1]):
            values |= {"product": product, "input": factors[..., place]}
            product = self.evaluate(op, step, values, product.shape)
        return self.finish(op, end, {**values, "product": product}, op.result)

    @implement(qnn.L2NormalizeOp)
    def run_l2_normalize(
        self, op: qnn.L2NormalizeOp, args: PythonValues
    ) -> PythonValues:
        (stored,) = args
        squares = np.square(centred(stored, op.input).astype(np.int64))
        values = {
            **operation_values(self.contract(op), op),
            "input": stored.astype(np.int32),
            "accumulator": squares.sum(axis=-1, keepdims=True).astype(np.int32),
        }
        return self.finish(op, "l2_normalize", values, op.result)
