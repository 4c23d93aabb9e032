"""Float networks for LiteRT, a line a layer, as converters write them.

    net = Network()
    x = net.input(1, 8, 8, 3)
    x = net.conv(x, 16, 3, stride=2, activation=RELU)
    data = net.build(net.dense(net.pooled(x), 10))

Weights are random numbers. A tensor is named by its operator and its number, which is
what recipes of quantizers choose layers by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .tflite_builder import Option, Signature, TFLiteBuilder

NONE, RELU, RELU6 = 0, 1, 3
SAME, VALID = 0, 1

COMPARISONS = ("EQUAL", "GREATER", "NOT_EQUAL")


class Network:
    """Collects layers; each of them takes tensors by their numbers and gives one."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.inputs: list[int] = []
        self._builder = TFLiteBuilder()
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._types: dict[int, str] = {}

    def shape(self, x: int) -> tuple[int, ...]:
        return self._shapes[x]

    def dtype(self, x: int) -> str:
        """Of what an operator gives, or the network takes."""
        return self._types[x]

    def input(self, *shape: int, dtype: str = "float32") -> int:
        self.inputs.append(self._tensor(f"input_{len(self.inputs)}", shape, dtype))
        return self.inputs[-1]

    def build(self, *outputs: int) -> bytes:
        """The file, with a signature, which calibration needs."""
        inputs = {f"input_{n}": x for n, x in enumerate(self.inputs)}
        results = {f"output_{n}": x for n, x in enumerate(outputs)}
        signature = Signature("serving_default", 0, inputs, results)
        return self._builder.build(self.inputs, outputs, signatures=[signature])

    def constant(self, values: ArrayLike, dtype: str = "float32") -> int:
        array = np.asarray(values, dtype)
        name = f"constant_{len(self._shapes)}"
        x = self._builder.tensor(name, array.shape, dtype, data=array)
        self._shapes[x] = array.shape
        return x

    def weights(self, *shape: int) -> int:
        """Weights [outputs, ...] whose sums keep the size of what they are of."""
        values = self.random.normal(0, math.prod(shape[1:]) ** -0.5, shape)
        return self.constant(values)

    def bias(self, size: int) -> int:
        return self.constant(self.random.normal(0, 0.1, size))

    def op(
        self,
        operator: str,
        inputs: Sequence[int],
        *shapes: Sequence[int],
        **options: Option,
    ) -> int:
        """An operator; the number of its first result, which others follow."""
        dtype = "bool" if operator in COMPARISONS else "float32"
        results = [
            self._tensor(f"{operator.lower()}_{len(self._shapes)}", shape, dtype)
            for shape in shapes
        ]
        self._builder.operator(operator, inputs, results, options)
        return results[0]

    def unary(self, operator: str, x: int, **options: Option) -> int:
        return self.op(operator, [x], self.shape(x), **options)

    def binary(self, operator: str, x: int, y: float) -> int:
        """Of two tensors, or of one and a number."""
        y = self.constant(y) if isinstance(y, float) else y
        shape = np.broadcast_shapes(self.shape(x), self.shape(y))
        return self.op(operator, [x, y], shape)

    def conv(
        self,
        x: int,
        channels: int,
        size: int | tuple[int, int] = 1,
        *,
        stride: int = 1,
        dilation: int = 1,
        activation: int = NONE,
        padding: int = SAME,
    ) -> int:
        n, height, width, depth = self.shape(x)
        sizes = (size, size) if isinstance(size, int) else size
        operands = [x, self.weights(channels, *sizes, depth), self.bias(channels)]
        shape = (n, *self._places(height, width, sizes, stride, dilation, padding))
        return self.op(
            "CONV_2D",
            operands,
            (*shape, channels),
            **_window(stride, dilation, activation, padding),
        )

    def depthwise(
        self,
        x: int,
        size: int = 3,
        *,
        stride: int = 1,
        dilation: int = 1,
        activation: int = NONE,
    ) -> int:
        n, height, width, depth = self.shape(x)
        kernel = self.random.normal(0, 1 / size, (1, size, size, depth))
        operands = [x, self.constant(kernel), self.bias(depth)]
        shape = (n, *self._places(height, width, (size, size), stride, dilation, SAME))
        return self.op(
            "DEPTHWISE_CONV_2D",
            operands,
            (*shape, depth),
            depth_multiplier=1,
            **_window(stride, dilation, activation, SAME),
        )

    def transposed(self, x: int, channels: int, size: int = 3, stride: int = 2) -> int:
        n, height, width, depth = self.shape(x)
        shape = (n, height * stride, width * stride, channels)
        kernel = self.random.normal(0, depth**-0.5, (channels, size, size, depth))
        operands = [self.constant(shape, "int32"), self.constant(kernel), x]
        window = {"padding": SAME, "stride_h": stride, "stride_w": stride}
        return self.op("TRANSPOSE_CONV", operands, shape, **window)

    def dense(
        self, x: int, units: int, activation: int = NONE, *, has_bias: bool = True
    ) -> int:
        """Of the last dimension, whatever is before it."""
        *outer, depth = self.shape(x)
        bias = self.bias(units) if has_bias else -1
        return self.op(
            "FULLY_CONNECTED",
            [x, self.weights(units, depth), bias],
            (*outer, units),
            keep_num_dims=len(outer) > 1,
            fused_activation_function=activation,
        )

    def embedding(self, words: int, rows: int, size: int) -> int:
        shape = (*self.shape(words), size)
        return self.op("EMBEDDING_LOOKUP", [words, self.weights(rows, size)], shape)

    def pool(self, x: int, kind: str = "MAX", size: int = 2, stride: int = 2) -> int:
        n, height, width, depth = self.shape(x)
        shape = (n, *self._places(height, width, (size, size), stride, 1, SAME), depth)
        window = {"padding": SAME, "stride_h": stride, "stride_w": stride}
        operator = f"{kind}_POOL_2D"
        return self.op(
            operator, [x], shape, filter_height=size, filter_width=size, **window
        )

    def reduced(
        self, x: int, *axes: int, operator: str = "MEAN", keeps: bool = False
    ) -> int:
        shape = [1 if n in axes else size for n, size in enumerate(self.shape(x))]
        if not keeps:
            shape = [size for n, size in enumerate(shape) if n not in axes]
        return self.op(
            operator, [x, self.constant(axes, "int32")], shape, keep_dims=keeps
        )

    def pooled(self, x: int) -> int:
        """An image's means [n, depth]."""
        return self.reduced(x, 1, 2)

    def reshaped(self, x: int, *shape: int) -> int:
        return self.op("RESHAPE", [x, self.constant(shape, "int32")], shape)

    def flat(self, x: int) -> int:
        n, *others = self.shape(x)
        return self.reshaped(x, n, math.prod(others))

    def transpose(self, x: int, *order: int) -> int:
        shape = [self.shape(x)[axis] for axis in order]
        return self.op("TRANSPOSE", [x, self.constant(order, "int32")], shape)

    def joined(self, *parts: int, axis: int = -1) -> int:
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        return self.op("CONCATENATION", parts, shape, axis=axis)

    def split(self, x: int, count: int, axis: int) -> list[int]:
        shape = list(self.shape(x))
        shape[axis] //= count
        operands = [self.constant(axis, "int32"), x]
        first = self.op("SPLIT", operands, *[shape] * count, num_splits=count)
        return list(range(first, first + count))

    def padded(self, x: int, *pads: tuple[int, int]) -> int:
        shape = np.add(self.shape(x), np.sum(pads, axis=1)).tolist()
        return self.op("PAD", [x, self.constant(pads, "int32")], shape)

    def resized(self, x: int, factor: int, kind: str, **options: bool) -> int:
        n, height, width, depth = self.shape(x)
        size = (height * factor, width * factor)
        operands = [x, self.constant(size, "int32")]
        return self.op(f"RESIZE_{kind}", operands, (n, *size, depth), **options)

    def product(self, x: int, y: int, *, adjoint: bool = False) -> int:
        """Matrix products in equal batches."""
        *outer, rows, _ = self.shape(x)
        columns = self.shape(y)[-2 if adjoint else -1]
        return self.op("BATCH_MATMUL", [x, y], (*outer, rows, columns), adj_y=adjoint)

    def softmax(self, x: int) -> int:
        return self.unary("SOFTMAX", x, beta=1.0)

    def _tensor(self, name: str, shape: Sequence[int], dtype: str) -> int:
        x = self._builder.tensor(name, shape, dtype)
        self._shapes[x], self._types[x] = tuple(shape), dtype
        return x

    def _places(
        self,
        height: int,
        width: int,
        sizes: tuple[int, int],
        stride: int,
        dilation: int,
        padding: int,
    ) -> tuple[int, ...]:
        lost = [0 if padding == SAME else (size - 1) * dilation for size in sizes]
        return tuple(
            -(-(n - less) // stride)
            for n, less in zip((height, width), lost, strict=True)
        )


def _window(
    stride: int, dilation: int, activation: int, padding: int
) -> dict[str, Option]:
    return {
        "padding": padding,
        "stride_h": stride,
        "stride_w": stride,
        "dilation_h_factor": dilation,
        "dilation_w_factor": dilation,
        "fused_activation_function": activation,
    }
