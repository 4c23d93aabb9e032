"""Meaning of the qnn ops: exact sums in numpy, then the contract's rule on every element.

Written from the ops' definitions and the contract alone; the lowering isn't used. A
quantized tensor is held as its stored integers, signed or unsigned as its type says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Contract, load_contract
from qlower.contracts.values import (
    ACTIVATION_BOUNDS,
    activation_values,
    operand_values,
    output_values,
    quantized_element,
)
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn, quant
from qlower.dialects.quant import QuantizedType, element_type

from .engine import implement_table
from .values import Array, dtype_of

Bounds = tuple[float | None, float | None]


def stored_dtype(type: Attribute) -> np.dtype[np.generic]:
    """The numpy element type that holds a tensor of the qnn level."""
    element = element_type(type)
    if isinstance(element, QuantizedType):
        kind = "i" if element.signed else "u"
        return np.dtype(f"{kind}{element.storage_width // 8}")
    return dtype_of(type)


@register_impls
@dataclass
class QnnFunctions(InterpreterFunctions):
    """Implementations of the qnn ops and the quant casts.

    `default` is the contract of ops that name none themselves.
    """

    default: str | None = None

    def contract(self, op: Operation) -> Contract:
        """The contract that gives `op` its arithmetic."""
        own = op.contract if isinstance(op, qnn.QnnOp) else None
        name = own or self.default
        if name is None:
            raise QlowerError(f"{op.name} has no contract", op.location)
        return load_contract(name)

    def finish(
        self,
        op: Operation,
        values: Mapping[str, Array],
        result: SSAValue,
        rule: str | None = None,
    ) -> PythonValues:
        """Evaluate a rule, by default the op's own, and store what it gives."""
        name = op.name.removeprefix("qnn.") if rule is None else rule
        (evaluated,) = self.contract(op).rule(name).evaluate(values)
        shape = _shape(result)
        stored = np.broadcast_to(evaluated, shape).astype(stored_dtype(result.type))
        return (stored,)

    @impl(qnn.ConstantOp)
    def run_constant(
        self, interpreter: Interpreter, op: qnn.ConstantOp, args: PythonValues
    ) -> PythonValues:
        flat = np.frombuffer(op.value.data.data, stored_dtype(op.result.type))
        return (np.broadcast_to(flat, _size(op.result)).reshape(_shape(op.result)),)

    @impl(qnn.Conv2DOp)
    def run_conv2d(
        self, interpreter: Interpreter, op: qnn.Conv2DOp, args: PythonValues
    ) -> PythonValues:
        image = _padded(_centred(args[0], op.input), op.pad)
        weight = _centred(args[1], op.weight)
        batch, height, width, outputs = _shape(op.result)
        group_outputs, depth = outputs // op.groups, weight.shape[3]
        sums = np.zeros((batch * height * width, outputs))
        for group in range(op.groups):
            part = slice(group * group_outputs, (group + 1) * group_outputs)
            source = image[..., group * depth : (group + 1) * depth]
            for kh, kw, view in _taps(op, source, weight.shape[1:3], op.dilation):
                # float64 holds these sums exactly: |x * w| < 2^17 over less than 2^36 taps
                taps = weight[part, kh, kw, :].T.astype(np.float64)
                sums[:, part] += view.reshape(-1, depth).astype(np.float64) @ taps
        return self._finish_contraction(op, sums.reshape(_shape(op.result)), args)

    @impl(qnn.DepthwiseConv2DOp)
    def run_depthwise_conv2d(
        self, interpreter: Interpreter, op: qnn.DepthwiseConv2DOp, args: PythonValues
    ) -> PythonValues:
        image = np.repeat(_centred(args[0], op.input), op.multiplier, axis=3)
        weight = _centred(args[1], op.weight)
        sums = np.zeros(_shape(op.result), np.int64)
        padded = _padded(image, op.pad)
        for kh, kw, view in _taps(op, padded, weight.shape[1:3], op.dilation):
            sums += view.astype(np.int64) * weight[0, kh, kw, :]
        return self._finish_contraction(op, sums, args)

    @impl(qnn.LinearOp)
    def run_linear(
        self, interpreter: Interpreter, op: qnn.LinearOp, args: PythonValues
    ) -> PythonValues:
        rows = _centred(args[0], op.input).astype(np.float64)
        weight = _centred(args[1], op.weight).astype(np.float64)
        return self._finish_contraction(op, rows @ weight.T, args)

    def _finish_contraction(
        self,
        op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp,
        sums: Array,
        args: PythonValues,
    ) -> PythonValues:
        contract = self.contract(op)
        bias: Array = args[2] if op.bias is not None else np.zeros((), np.int32)
        total = sums.astype(np.int64)
        if "bias" not in contract.rule(op.name.removeprefix("qnn.")).values:
            total = total + bias
        values = {
            "accumulator": total.astype(np.int32),
            "bias": bias,
            "per_channel": np.array(quantized_element(op.weight.type).is_per_axis),
            **operand_values("input", op.input.type),
            **operand_values("weight", op.weight.type),
            **activation_values(contract, op.result.type, op.activation),
        }
        return self.finish(op, values, op.result)

    @impl(qnn.MatMulOp)
    def run_matmul(
        self, interpreter: Interpreter, op: qnn.MatMulOp, args: PythonValues
    ) -> PythonValues:
        lhs = _centred(args[0], op.lhs).astype(np.float64)
        rhs = _centred(args[1], op.rhs).astype(np.float64)
        values = {
            "accumulator": (lhs @ rhs).astype(np.int64).astype(np.int32),
            **operand_values("lhs", op.lhs.type),
            **operand_values("rhs", op.rhs.type),
            **activation_values(self.contract(op), op.result.type, op.activation),
        }
        return self.finish(op, values, op.result)

    @impl(qnn.AvgPool2DOp)
    def run_avg_pool2d(
        self, interpreter: Interpreter, op: qnn.AvgPool2DOp, args: PythonValues
    ) -> PythonValues:
        image = args[0].astype(np.int64)
        # What counts: pixels of the image, and padding where it is included, as real 0.
        counted = np.ones((1, *image.shape[1:3], 1), np.int64)
        if op.count_include_pad:
            zero_point = quantized_element(op.input.type).zero_point
            image = _padded(image, op.pad, zero_point)
            counted = _padded(counted, op.pad, 1)
        else:
            image, counted = _padded(image, op.pad), _padded(counted, op.pad)
        sums, counts = (
            sum(view for _, _, view in _taps(op, source, op.kernel))
            for source in (image, counted)
        )
        values = {
            "accumulator": np.asarray(sums).astype(np.int32),
            "count": np.asarray(counts).astype(np.int32),
            **operand_values("input", op.input.type),
            **activation_values(self.contract(op), op.result.type, op.activation),
        }
        return self.finish(op, values, op.result)

    @impl(qnn.MaxPool2DOp)
    def run_max_pool2d(
        self, interpreter: Interpreter, op: qnn.MaxPool2DOp, args: PythonValues
    ) -> PythonValues:
        lowest = int(np.iinfo(args[0].dtype).min)
        padded = _padded(args[0], op.pad, lowest)
        largest = np.full(_shape(op.result), lowest, args[0].dtype)
        for _, _, view in _taps(op, padded, op.kernel):
            largest = np.maximum(largest, view)
        values = activation_values(self.contract(op), op.result.type, op.activation)
        low, high = int(values["output_min"]), int(values["output_max"])
        return (np.clip(largest, low, high) if op.activation else largest,)

    @impl(qnn.MeanOp)
    def run_mean(
        self, interpreter: Interpreter, op: qnn.MeanOp, args: PythonValues
    ) -> PythonValues:
        sums = args[0].astype(np.int64).sum(axis=op.axes, keepdims=op.keep_dims)
        count = math.prod(args[0].shape[axis] for axis in op.axes)
        values = {
            "accumulator": sums.astype(np.int32),
            "count": np.array(count, np.int32),
            **operand_values("input", op.input.type),
            **output_values(self.contract(op), op.result.type),
        }
        return self.finish(op, values, op.result)

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
        contract = self.contract(op)
        stored = args[0].astype(np.int32)
        values = {
            "difference": stored - stored.max(axis=-1, keepdims=True),
            "beta": np.array(op.beta, np.float32),
            **operand_values("input", op.input.type),
            **output_values(contract, op.result.type),
        }
        (values["term"],) = contract.rule("softmax_term").evaluate(values)
        (addends,) = contract.rule("softmax_addend").evaluate(values)
        # accumulate, unlike sum, adds floats one after the other
        values["sum"] = np.add.accumulate(addends, axis=-1)[..., -1:]
        return self.finish(op, values, op.result, "softmax_output")

    @impl(qnn.ConcatOp)
    def run_concat(
        self, interpreter: Interpreter, op: qnn.ConcatOp, args: PythonValues
    ) -> PythonValues:
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
            (rescaled,) = self.contract(op).rule("concat").evaluate(values)
            parts.append(rescaled.astype(stored_dtype(op.result.type)))
        return (np.concatenate(parts, axis=op.axis),)

    @impl(qnn.PadOp)
    def run_pad(
        self, interpreter: Interpreter, op: qnn.PadOp, args: PythonValues
    ) -> PythonValues:
        widths = tuple(zip(op.low, op.high, strict=True))
        return (np.pad(args[0], widths, constant_values=op.value),)

    @impl(qnn.ReshapeOp)
    def run_reshape(
        self, interpreter: Interpreter, op: qnn.ReshapeOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].reshape(_shape(op.result)),)

    @impl(qnn.TransposeOp)
    def run_transpose(
        self, interpreter: Interpreter, op: qnn.TransposeOp, args: PythonValues
    ) -> PythonValues:
        return (np.transpose(args[0], op.perm),)

    @impl(qnn.SliceOp)
    def run_slice(
        self, interpreter: Interpreter, op: qnn.SliceOp, args: PythonValues
    ) -> PythonValues:
        box = tuple(
            slice(offset, offset + (size - 1) * stride + 1, stride)
            for offset, size, stride in zip(
                op.offsets, op.sizes, op.strides, strict=True
            )
        )
        return (args[0][box],)

    @impl(qnn.SplitOp)
    def run_split(
        self, interpreter: Interpreter, op: qnn.SplitOp, args: PythonValues
    ) -> PythonValues:
        return tuple(np.split(args[0], len(op.parts), axis=op.axis))

    @impl(qnn.ResizeOp)
    def run_resize(
        self, interpreter: Interpreter, op: qnn.ResizeOp, args: PythonValues
    ) -> PythonValues:
        contract = self.contract(op)
        axes = [
            contract.rule(f"resize_{op.mode}_position").evaluate(
                {
                    "output_index": np.arange(_shape(op.result)[axis], dtype=np.int32),
                    "input_size": np.array(_shape(op.input)[axis], np.int32),
                    "output_size": np.array(_shape(op.result)[axis], np.int32),
                    "align_corners": np.array(op.align_corners),
                    "half_pixel_centers": np.array(op.half_pixel_centers),
                }
            )
            for axis in (1, 2)
        ]
        rows, columns = axes
        if op.mode == "nearest":
            return (args[0][:, rows[0]][:, :, columns[0]],)
        corners = {
            f"{vertical}_{horizontal}": args[0][:, rows[i]][:, :, columns[j]].astype(
                np.int32
            )
            for i, vertical in enumerate(("top", "bottom"))
            for j, horizontal in enumerate(("left", "right"))
        }
        values = {
            **corners,
            "y_weight": rows[2][:, np.newaxis, np.newaxis],
            "x_weight": columns[2][:, np.newaxis],
            **operand_values("input", op.input.type),
            **output_values(contract, op.result.type),
        }
        return self.finish(op, values, op.result, "resize_bilinear")

    @impl(qnn.ArgMaxOp)
    def run_arg_max(
        self, interpreter: Interpreter, op: qnn.ArgMaxOp, args: PythonValues
    ) -> PythonValues:
        positions = np.argmax(args[0], axis=op.axis).astype(dtype_of(op.result.type))
        return (positions.reshape(_shape(op.result)),)

    @impl(quant.StorageCastOp)
    def run_storage_cast(
        self, interpreter: Interpreter, op: quant.StorageCastOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].view(stored_dtype(op.result.type)),)
