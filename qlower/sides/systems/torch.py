"""PyTorch's quantized operators on a model's layers, one after the other.

Engines are those of `torch.backends.quantized.engine`; without one it is PyTorch's own
choice. Quantized tensors are what PyTorch's eager quantization makes, not PT2E.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts.contractions import Contraction
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.base import ActivatedOp
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import layer_name
from qlower.sides.live import Run

Torch = Any
"""PyTorch's module and tensors: its operators are made at run time, without types."""


def prepare(model: Model, engine: str) -> Run:
    """The model in PyTorch, with one thread; every layer's result is kept."""
    torch = import_module("torch")

    def run(arrays: Sequence[Array]) -> dict[str, Array]:
        function = main_function(model.module)
        ops, arguments = function.body.block.ops, function.body.block.args
        before = torch.backends.quantized.engine
        torch.backends.quantized.engine = engine or before
        try:
            # Quantized tensors are deprecated for PT2E, which has other arithmetic.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values: dict[SSAValue, Torch] = {
                    argument: tensor_of(torch, array, argument.type)
                    for argument, array in zip(arguments, arrays, strict=True)
                }
                evaluate_all(torch, ops, values)
        finally:
            torch.backends.quantized.engine = before
        return {
            name: stored_of(values[op.results[0]])
            for op in ops
            if op.results
            and op.results[0] in values
            and (name := layer_name(op)) is not None
        }

    return run


def evaluate_all(
    torch: Torch, ops: Iterable[Operation], values: dict[SSAValue, Torch]
) -> None:
    """Add the result of each operation; constants are read by who takes them.

    Raises `QlowerError` for one that PyTorch has not, or refuses.
    """
    for op in ops:
        if isinstance(op, qnn.ConstantOp | ConstantOp | ReturnOp):
            continue
        xs = [values[operand] for operand in op.operands if operand in values]
        try:
            values[op.results[0]] = evaluate(torch, op, xs)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            reason = str(error).strip().splitlines()[0]
            raise QlowerError(
                f"PyTorch refuses {op.name}: {reason}", op.location
            ) from error


def stored_of(y: Torch) -> Array:
    """The integers of a tensor, an image with its channels last."""
    if y.is_quantized:
        y = y.int_repr()
    if y.dim() == 4:
        y = y.permute(0, 2, 3, 1)
    return np.ascontiguousarray(y.numpy())


def tensor_of(torch: Torch, stored: Array, type: Attribute) -> Torch:
    """A tensor; a quantized image has its channels last in memory."""
    values = torch.from_numpy(np.ascontiguousarray(stored))
    element = element_type(type)
    if not isinstance(element, QuantizedType):
        return values
    if values.dim() == 4:
        values = values.permute(0, 3, 1, 2)
    make = torch._make_per_tensor_quantized_tensor
    return make(values, element.scales[0], element.zero_points[0])


def evaluate(torch: Torch, op: Operation, xs: Sequence[Torch]) -> Torch:
    """The operation, and a bound that PyTorch doesn't fuse as one of its own.

    Bounds are of a contiguous tensor: with engine qnnpack PyTorch mixes up the places
    of one whose channels are last in memory.
    """
    activation = op.activation if isinstance(op, ActivatedOp) else None
    y = _evaluate_unbounded(torch, op, xs, "_relu" if activation == "relu" else "")
    match activation:
        case "relu6":
            return torch.ops.quantized.relu6(y.contiguous(), False)
        case "relu_n1_to_1":
            return torch.ops.quantized.clamp(y.contiguous(), -1.0, 1.0)
        case _:
            return y


def _evaluate_unbounded(
    torch: Torch, op: Operation, xs: Sequence[Torch], suffix: str
) -> Torch:
    """The operation, whose name has `suffix` where a relu is fused."""
    quantized, functional = torch.ops.quantized, torch.nn.functional
    element = element_type(op.results[0].type)
    scale, zero_point = 1.0, 0
    if isinstance(element, QuantizedType):
        scale, zero_point = element.scales[0], element.zero_points[0]
    to = scale, zero_point
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            packed = _packed_convolution(torch, op, xs[0])
            return getattr(quantized, f"conv2d{suffix}")(xs[0], packed, *to)
        case qnn.LinearOp():
            packed = quantized.linear_prepack(_weights(torch, op), _bias(torch, op))
            return getattr(quantized, f"linear{suffix}")(xs[0], packed, *to)
        case qnn.AddOp():
            return getattr(quantized, f"add{suffix}")(xs[0], xs[1], *to)
        case qnn.MulOp():
            return getattr(quantized, f"mul{suffix}")(xs[0], xs[1], *to)
        case qnn.ConcatOp():
            axis = op.axis if xs[0].dim() != 4 else (0, 2, 3, 1)[op.axis]
            return quantized.cat(xs, axis, *to)
        case qnn.AvgPool2DOp():
            return functional.avg_pool2d(
                xs[0],
                op.kernel,
                op.stride,
                op.pad[:1] + op.pad[2:3],
                count_include_pad=op.count_include_pad,
            )
        case qnn.AdaptiveAvgPool2DOp():
            size = op.result.type.get_shape()[1:3]
            return functional.adaptive_avg_pool2d(xs[0], size)
        case qnn.MeanOp():
            if torch.backends.quantized.engine == "qnnpack":
                return xs[0].mean((2, 3), keepdim=True)
            return functional.adaptive_avg_pool2d(xs[0], 1)
        case qnn.SigmoidOp():
            return torch.sigmoid(xs[0])
        case qnn.TanhOp():
            return torch.tanh(xs[0])
        case qnn.HardSwishOp():
            return quantized.hardswish(xs[0], *to)
        case qnn.EluOp():
            return quantized.elu(xs[0], *to)
        case qnn.LeakyReluOp():
            return quantized.leaky_relu(xs[0], op.alpha, False, *to)
        case qnn.QuantizeOp():
            return torch.quantize_per_tensor(xs[0], *to, torch.quint8)
        case qnn.DequantizeOp():
            return xs[0].dequantize()
        case qnn.Relu6Op():
            return quantized.relu6(xs[0].contiguous(), False)
        case qnn.ClampOp():
            return quantized.clamp(xs[0].contiguous(), op.min, op.max)
        case qnn.ReluOp():
            return torch.relu(xs[0])
        case qnn.MaxPool2DOp():
            window = op.kernel, op.stride, op.pad[:1] + op.pad[2:3]
            return functional.max_pool2d(xs[0], *window)
        case qnn.ReshapeOp() if len(shape_of(op.result)) < 4:
            source = xs[0].permute(0, 2, 3, 1) if xs[0].dim() == 4 else xs[0]
            return source.reshape(shape_of(op.result))
        case _:
            raise NotImplementedError("it has no quantized operator like it")


def _packed_convolution(
    torch: Torch, op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp, x: Torch
) -> Torch:
    groups = op.groups if isinstance(op, qnn.Conv2DOp) else x.shape[1]
    pad = list(op.pad[:1] + op.pad[2:3])
    weights, bias = _weights(torch, op), _bias(torch, op)
    return torch.ops.quantized.conv2d_prepack(
        weights, bias, list(op.stride), pad, list(op.dilation), groups
    )


def _weights(torch: Torch, op: Contraction) -> Torch:
    """The weights, output channels first and input channels second."""
    constant = op.weight.owner
    assert isinstance(constant, qnn.ConstantOp)
    shape = op.weight.type.get_shape()
    stored = np.frombuffer(constant.value.data.data, np.int8).reshape(shape).copy()
    if isinstance(op, qnn.DepthwiseConv2DOp):
        stored = stored.transpose(3, 0, 1, 2)
    elif stored.ndim == 4:
        stored = stored.transpose(0, 3, 1, 2)
    values = torch.from_numpy(np.ascontiguousarray(stored))
    element = element_type(op.weight.type)
    assert isinstance(element, QuantizedType)
    if not element.is_per_axis:
        make = torch._make_per_tensor_quantized_tensor
        return make(values, element.scales[0], element.zero_points[0])
    make = torch._make_per_channel_quantized_tensor
    scales = torch.tensor(element.scales, dtype=torch.float64)
    return make(values, scales, torch.tensor(element.zero_points), 0)


def _bias(torch: Torch, op: Contraction) -> Torch:
    """The bias; one of integers as the contracts' rule dequantize_bias makes it
    real."""
    if op.bias is None:
        return None
    bias = constant_of(op.bias)
    assert bias is not None
    if bias.dtype.kind == "i":
        scales = np.array(quantized_element(op.weight.type).scales, np.float32)
        step = scales * np.float32(quantized_element(op.input.type).scale)
        bias = bias.astype(np.float32) * step
    return torch.from_numpy(bias.copy())
