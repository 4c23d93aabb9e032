"""Meaning of the ops that move stored integers."""

from __future__ import annotations

import math

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.values import (
    operand_values,
    operation_values,
    output_values,
    resize_positions,
)
from qlower.dialects import qnn, quant
from qlower.dialects.operations import operations_of
from qlower.dialects.types import element_type, shape_of
from qlower.interp.engine import implement, register_implementations
from qlower.interp.values import Array, dtype_of

from .rules import RuleFunctions, stored_dtype


@register_implementations
class MovementFunctions(RuleFunctions):
    """Constants, shapes, slices, resizing and positions."""

    @implement(qnn.ConstantOp)
    def run_constant(self, op: qnn.ConstantOp, args: PythonValues) -> PythonValues:
        flat = np.frombuffer(op.value.data.data, stored_dtype(op.result.type))
        size = math.prod(shape_of(op.result))
        return (np.broadcast_to(flat, size).reshape(shape_of(op.result)),)

    @implement(qnn.ConcatOp)
    def run_concat(self, op: qnn.ConcatOp, args: PythonValues) -> PythonValues:
        parts: list[Array] = []
        for value, source in zip(args, op.inputs, strict=True):
            if element_type(source.type) == element_type(op.result.type):
                parts.append(value)
                continue
            values = {
                "input": value.astype(np.int32),
                **operand_values("input", source.type),
                **output_values(self.contract(op), op.result.type),
            }
            rescaled = self.evaluate(op, "concat", values, value.shape)
            parts.append(rescaled.astype(stored_dtype(op.result.type)))
        return (op.movement.evaluate(*parts),)

    @implement(*operations_of(qnn.MovementOp))
    def run_movement(self, op: qnn.MovementOp, args: PythonValues) -> PythonValues:
        return (op.movement.evaluate(*args),)

    @implement(qnn.SplitOp)
    def run_split(self, op: qnn.SplitOp, args: PythonValues) -> PythonValues:
        parts = range(len(op.parts))
        return tuple(op.movement(part).evaluate(*args) for part in parts)

    @implement(qnn.ResizeOp)
    def run_resize(self, op: qnn.ResizeOp, args: PythonValues) -> PythonValues:
        contract, (image,) = self.contract(op), args
        rows, columns = resize_positions(contract, op)
        if op.mode == "nearest":
            (row,), (column,) = rows, columns
            return (image[:, row][:, :, column],)
        corners = {
            f"{vertical}_{horizontal}": image[:, rows[i]][:, :, columns[j]].astype(
                np.int32
            )
            for i, vertical in enumerate(("top", "bottom"))
            for j, horizontal in enumerate(("left", "right"))
        }
        values = {
            **corners,
            "y_weight": rows[2][:, np.newaxis, np.newaxis],
            "x_weight": columns[2][:, np.newaxis],
            **operation_values(contract, op),
        }
        return self.finish(op, "resize_bilinear", values, op.result)

    @implement(qnn.ArgMaxOp)
    def run_arg_max(self, op: qnn.ArgMaxOp, args: PythonValues) -> PythonValues:
        positions = np.argmax(*args, axis=op.axis).astype(dtype_of(op.result.type))
        return (positions.reshape(shape_of(op.result)),)

    @implement(quant.StorageCastOp)
    def run_storage_cast(
        self, op: quant.StorageCastOp, args: PythonValues
    ) -> PythonValues:
        (stored,) = args
        return (stored.view(stored_dtype(op.result.type)),)
