"""The real function of each operation, as PyTorch computes and differentiates it.

One row an operation: what it means on real numbers, without the rounding that its
contract adds. Tensors are NHWC and have the shapes of the qnn level, but for a leading
dimension of 1, which may count examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import torch
from torch import Tensor
from torch.nn import functional
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.qnn import WindowOp
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, shape_of

Real: TypeAlias = Tensor | Sequence[Tensor]
Row: TypeAlias = tuple[type[Operation], Callable[[Operation, Sequence[Tensor]], Real]]
T = TypeVar("T", bound=Operation)


def _conv2d(op: qnn.Conv2DOp, xs: Sequence[Tensor]) -> Tensor:
    x, weight, *bias = xs
    return _convolve(op, x, weight.permute(0, 3, 1, 2), bias, op.groups)


def _depthwise(op: qnn.DepthwiseConv2DOp, xs: Sequence[Tensor]) -> Tensor:
    x, weight, *bias = xs
    return _convolve(op, x, weight.permute(3, 0, 1, 2), bias, x.shape[3])


def _convolve(
    op: qnn.ConvolutionOp,
    x: Tensor,
    kernels: Tensor,
    bias: Sequence[Tensor],
    groups: int,
) -> Tensor:
    image, pad = _image(op, x, 0.0)
    y = functional.conv2d(
        image,
        kernels,
        bias[0] if bias else None,
        op.stride,
        pad,
        op.dilation,
        groups,
    )
    return y.permute(0, 2, 3, 1)


def _image(op: WindowOp, x: Tensor, fill: float) -> tuple[Tensor, tuple[int, int]]:
    """The NCHW image, and the zeros that are left to pad on both sides."""
    top, bottom, left, right = op.pad
    image = x.permute(0, 3, 1, 2)
    if top == bottom and left == right and fill == 0:
        return image, (top, left)
    return functional.pad(image, (left, right, top, bottom), value=fill), (0, 0)


def _avg_pool2d(op: qnn.AvgPool2DOp, x: Tensor) -> Tensor:
    image, pad = _image(op, x, 0.0)
    y = functional.avg_pool2d(image, op.kernel, op.stride, pad)
    if any(op.pad) and not op.count_include_pad:
        inside, _ = _image(op, torch.ones_like(x[:1, :, :, :1]), 0.0)
        y = y / functional.avg_pool2d(inside, op.kernel, op.stride, pad)
    return y.permute(0, 2, 3, 1)


def _max_pool2d(op: qnn.MaxPool2DOp, x: Tensor) -> Tensor:
    fill = -math.inf if any(op.pad) else 0.0
    image, _ = _image(op, x, fill)
    return functional.max_pool2d(image, op.kernel, op.stride).permute(0, 2, 3, 1)


def _adaptive_avg_pool2d(op: qnn.AdaptiveAvgPool2DOp, x: Tensor) -> Tensor:
    _, *size, _ = shape_of(op.result)
    y = functional.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), cast(Any, size))
    return y.permute(0, 2, 3, 1)


def _product(op: qnn.ProductOp, x: Tensor) -> Tensor:
    for axis in sorted(op.axes, reverse=True):
        x = x.prod(axis, op.keep_dims)
    return x


def _reshape(op: qnn.ReshapeOp, x: Tensor) -> Tensor:
    shape = shape_of(op.result)
    if x.shape != shape_of(op.input):  # the leading dimension counts examples
        return x.reshape(len(x), *shape[1:])
    return x.reshape(shape)


def _pad(op: qnn.PadOp, x: Tensor) -> Tensor:
    element = element_type(op.input.type)
    fill = 0.0
    if isinstance(element, QuantizedType):
        fill = (op.value - element.zero_point) * element.scale
    sides = [side for pair in zip(op.low, op.high, strict=True) for side in pair[::-1]]
    return functional.pad(x, sides[::-1], value=fill)


def _slice(op: qnn.SliceOp, x: Tensor) -> Tensor:
    box = zip(op.offsets, op.sizes, op.strides, shape_of(op.input), strict=True)
    for axis, (offset, size, stride, whole) in enumerate(box):
        if size != whole:
            last = offset + (size - 1) * stride + 1
            x = x[(slice(None),) * axis + (slice(offset, last, stride),)]
    return x


_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "exp": torch.exp,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "log": torch.log,
    "rsqrt": torch.rsqrt,
    "sqrt": torch.sqrt,
}

_ACTIVATIONS: dict[str | None, Callable[[Tensor], Tensor]] = {
    None: lambda x: x,
    "relu": functional.relu,
    "relu6": functional.relu6,
    "relu_n1_to_1": functional.hardtanh,
}


def _same(x: Tensor) -> Tensor:
    return x


def _l2_normalize(x: Tensor) -> Tensor:
    return x / x.square().sum(-1, keepdim=True).sqrt()


def _squared_difference(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square()


def _prelu(x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x > 0, x, x * alpha)


def _row(kind: type[T], function: Callable[[T, Sequence[Tensor]], Real]) -> Row:
    """A row for an operation whose attributes matter."""

    def evaluate(op: Operation, xs: Sequence[Tensor]) -> Real:
        return function(cast(T, op), xs)

    return kind, evaluate


def _unary(kind: type[T], function: Callable[[T, Tensor], Real]) -> Row:
    """A surrogate for an operation with one operand."""
    return _row(kind, lambda op, xs: function(op, xs[0]))


def _plain(kind: type[Operation], function: Callable[..., Tensor]) -> Row:
    """A row for an operation that is a function of its operands alone."""
    return kind, lambda op, xs: function(*xs)


SURROGATES = dict(
    [
        _row(qnn.Conv2DOp, _conv2d),
        _row(qnn.DepthwiseConv2DOp, _depthwise),
        _plain(qnn.LinearOp, functional.linear),
        _plain(qnn.MatMulOp, torch.matmul),
        _unary(qnn.AvgPool2DOp, _avg_pool2d),
        _unary(qnn.MaxPool2DOp, _max_pool2d),
        _unary(qnn.AdaptiveAvgPool2DOp, _adaptive_avg_pool2d),
        _unary(qnn.MeanOp, lambda op, x: x.mean(op.axes, op.keep_dims)),
        _unary(qnn.SumOp, lambda op, x: x.sum(op.axes, op.keep_dims)),
        _unary(qnn.ProductOp, _product),
        _plain(qnn.L2NormalizeOp, _l2_normalize),
        _plain(qnn.AddOp, torch.add),
        _plain(qnn.SubOp, torch.sub),
        _plain(qnn.MulOp, torch.mul),
        _plain(qnn.DivOp, torch.div),
        _plain(qnn.SquaredDifferenceOp, _squared_difference),
        _plain(qnn.PReluOp, _prelu),
        _plain(qnn.ReluOp, functional.relu),
        _plain(qnn.Relu6Op, functional.relu6),
        _unary(qnn.ClampOp, lambda op, x: functional.hardtanh(x, op.min, op.max)),
        _plain(qnn.SigmoidOp, torch.sigmoid),
        _plain(qnn.TanhOp, torch.tanh),
        _plain(qnn.HardSwishOp, functional.hardswish),
        _plain(qnn.EluOp, functional.elu),
        _unary(qnn.LeakyReluOp, lambda op, x: functional.leaky_relu(x, op.alpha)),
        _unary(qnn.FunctionOp, lambda op, x: _FUNCTIONS[op.function](x)),
        _unary(qnn.SoftmaxOp, lambda op, x: torch.softmax(op.beta * x, -1)),
        _unary(qnn.LogSoftmaxOp, lambda op, x: torch.log_softmax(x, -1)),
        _plain(qnn.RequantizeOp, _same),
        _plain(qnn.QuantizeOp, _same),
        _plain(qnn.DequantizeOp, _same),
        _row(qnn.ConcatOp, lambda op, xs: torch.cat(list(xs), op.axis)),
        _unary(qnn.PadOp, _pad),
        _unary(qnn.SliceOp, _slice),
        _unary(qnn.SplitOp, lambda op, x: x.chunk(len(op.parts), op.axis)),
        _unary(qnn.ReshapeOp, _reshape),
        _unary(qnn.TransposeOp, lambda op, x: x.permute(op.perm)),
    ]
)
"""The real function of each operation that has one."""


def surrogate(op: Operation, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """The real results of an operation that has a row."""
    found = SURROGATES[type(op)](op, operands)
    if not isinstance(found, Tensor):
        return found
    if isinstance(op, qnn.ActivatedOp):
        found = _ACTIVATIONS[op.activation](found)
    return (found,)


def cut_at_zero(value: SSAValue, real: Tensor) -> Tensor:
    """A result's real values, within a range that ends at 0: such a range is a RELU
    that a tool left to the quantization."""
    type = element_type(value.type)
    if not isinstance(type, QuantizedType) or not type.is_per_tensor:
        return real
    low = 0.0 if type.zero_point == type.storage_min else None
    high = 0.0 if type.zero_point == type.storage_max else None
    return real if low is None and high is None else real.clamp(low, high)
