"""TFLite models of float32 layers whose weights are of 8 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .tflite_builder import Option, TFLiteBuilder


def layer(
    operator: str,
    operand: Sequence[int],
    weights: Sequence[int],
    result: Sequence[int],
    options: dict[str, Option],
    *,
    axis: int | None = None,
    has_bias: bool = True,
) -> Callable[[], bytes]:
    """What builds a layer, whose weights have one scale, or one along `axis` each."""

    def build() -> bytes:
        random = np.random.default_rng(5)
        builder = TFLiteBuilder()
        x = builder.tensor("x", operand, "float32")
        scales = random.uniform(0.01, 0.1, 1 if axis is None else weights[axis])
        w = builder.tensor(
            "w",
            weights,
            scale=scales.astype(np.float32).tolist(),
            axis=axis or 0,
            data=random.integers(-127, 128, weights),
        )
        channels = result[-1]
        bias = random.normal(0, 1, channels).astype(np.float32)
        b = builder.tensor("b", (channels,), "float32", data=bias) if has_bias else -1
        y = builder.tensor("y", result, "float32")
        builder.operator(operator, [x, w, b], [y], options)
        return builder.build([x], [y])

    return build


def transpose_conv(
    *, per_axis: bool, padding: int = 0, is_widened: bool = False
) -> bytes:
    """TRANSPOSE_CONV of two images by 4 filters of 3 x 2 weights, which DEQUANTIZE may
    widen."""
    random = np.random.default_rng(5)
    builder = TFLiteBuilder()
    result = (2, 6, 5, 4) if padding == 0 else (2, 7, 6, 4)
    shape = builder.tensor("shape", (4,), "int32", data=np.array(result, np.int32))
    w = builder.tensor(
        "w",
        (4, 3, 2, 3),
        scale=random.uniform(0.01, 0.1, 4 if per_axis else 1).tolist(),
        data=random.integers(-127, 128, (4, 3, 2, 3)),
    )
    if is_widened:
        codes, w = w, builder.tensor("wide", (4, 3, 2, 3), "float32")
        builder.operator("DEQUANTIZE", [codes], [w])
    x = builder.tensor("x", (2, 3, 5, 3), "float32")
    bias = random.normal(0, 1, 4).astype(np.float32)
    b = builder.tensor("b", (4,), "float32", data=bias)
    y = builder.tensor("y", result, "float32")
    options: dict[str, Option] = {"padding": padding, "stride_h": 2, "stride_w": 1}
    builder.operator("TRANSPOSE_CONV", [shape, w, x, b], [y], options)
    return builder.build([x], [y])


def batch_matmul(
    operand: Sequence[int],
    weights: Sequence[int],
    options: dict[str, Option],
    axis: int | None = None,
) -> bytes:
    """BATCH_MATMUL of rows of 14 by a matrix of 5 columns, which may have a scale each,
    along `axis`."""
    random = np.random.default_rng(5)
    builder = TFLiteBuilder()
    x = builder.tensor("x", operand, "float32")
    codes = random.integers(-127, 128, weights)
    scales = 0.03 if axis is None else [0.01 * n for n in range(1, 6)]
    w = builder.tensor("w", weights, scale=scales, axis=axis or 0, data=codes)
    result = (*([1] if len(operand) == 2 and len(weights) == 3 else []), *operand)
    y = builder.tensor("y", (*result[:-2], 3, 5), "float32")
    builder.operator("BATCH_MATMUL", [x, w], [y], options)
    return builder.build([x], [y])


WINDOW: dict[str, Option] = {
    "padding": 0,
    "stride_h": 2,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
}

HYBRID: dict[str, Callable[[], bytes]] = {
    "conv2d_hybrid": layer(
        "CONV_2D", (2, 5, 6, 3), (4, 3, 2, 3), (2, 3, 6, 4), WINDOW, axis=0
    ),
    "conv2d_hybrid_per_tensor": layer(
        "CONV_2D", (2, 5, 6, 3), (4, 3, 2, 3), (2, 3, 6, 4), WINDOW
    ),
    "conv2d_hybrid_grouped": layer(
        "CONV_2D",
        (2, 5, 6, 4),
        (6, 3, 2, 2),
        (2, 3, 6, 6),
        {**WINDOW, "dilation_w_factor": 2, "fused_activation_function": 3},
        axis=0,
    ),
    "depthwise_conv2d_hybrid": layer(
        "DEPTHWISE_CONV_2D",
        (2, 5, 6, 2),
        (1, 3, 3, 4),
        (2, 3, 6, 4),
        {**WINDOW, "depth_multiplier": 2},
        axis=3,
    ),
    "transpose_conv_hybrid": lambda: transpose_conv(per_axis=True),
    "transpose_conv_hybrid_per_tensor": lambda: transpose_conv(
        per_axis=False, padding=1
    ),
    "transpose_conv_widened": lambda: transpose_conv(per_axis=False, is_widened=True),
    "fully_connected_hybrid": layer(
        "FULLY_CONNECTED", (3, 14), (5, 14), (3, 5), {"fused_activation_function": 1}
    ),
    "fully_connected_hybrid_asymmetric": layer(
        "FULLY_CONNECTED",
        (3, 14),
        (5, 14),
        (3, 5),
        {"asymmetric_quantize_inputs": True},
        axis=0,
    ),
    "fully_connected_hybrid_rank3": layer(
        "FULLY_CONNECTED",
        (2, 3, 14),
        (5, 14),
        (2, 3, 5),
        {"asymmetric_quantize_inputs": True, "keep_num_dims": True},
        has_bias=False,
    ),
    "batch_matmul_hybrid": lambda: batch_matmul((2, 3, 14), (14, 5), {}),
    "batch_matmul_hybrid_adjoint": lambda: batch_matmul(
        (14, 3), (1, 5, 14), {"adj_x": True, "adj_y": True}
    ),
    "batch_matmul_hybrid_asymmetric": lambda: batch_matmul(
        (2, 3, 14), (1, 14, 5), {"asymmetric_quantize_inputs": True}
    ),
    "batch_matmul_hybrid_per_column": lambda: batch_matmul(
        (2, 3, 14), (1, 14, 5), {}, axis=2
    ),
    "batch_matmul_hybrid_adjoint_per_column": lambda: batch_matmul(
        (3, 14), (5, 14), {"adj_y": True}, axis=0
    ),
    "batch_matmul_hybrid_several": lambda: batch_matmul(
        (2, 1, 3, 14), (2, 1, 14, 5), {"asymmetric_quantize_inputs": True}
    ),
    "batch_matmul_hybrid_several_per_column": lambda: batch_matmul(
        (2, 3, 14), (2, 5, 14), {"adj_y": True}, axis=1
    ),
}
"""Layers by a name that says what is special about them."""
