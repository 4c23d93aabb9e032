"""A small TFLite model for each operator and way of using it.

They test the importer, and the arithmetic of everything behind it against LiteRT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .tflite_general_cases import FUNCTIONS, MOVEMENT, PLAIN, REAL
from .tflite_hybrid_cases import HYBRID
from .tflite_models import (
    RELU,
    RELU6,
    RELU_N1_TO_1,
    VALID,
    arg_max,
    batch_matmul,
    binary,
    border,
    concatenation,
    conv2d,
    depthwise_conv2d,
    fully_connected,
    layout,
    mean,
    pack,
    pad,
    pool,
    power_of_bytes,
    resize,
    slice_,
    split,
    split_v,
    strided_slice,
    unary,
    unpack,
    widened,
)

CASES: dict[str, Callable[[], bytes]] = {
    "conv2d": conv2d,
    "conv2d_uint8": lambda: conv2d(dtype="uint8", per_axis=False, activation=RELU6),
    "conv2d_per_tensor": lambda: conv2d(per_axis=False, activation=RELU),
    "conv2d_clipped": lambda: conv2d(activation=RELU_N1_TO_1),
    "conv2d_valid_strided": lambda: conv2d(
        padding=VALID, stride=(2, 3), output_shape=(2, 4, 2, 6)
    ),
    "conv2d_same_strided": lambda: conv2d(stride=(2, 2), output_shape=(2, 5, 4, 6)),
    "conv2d_dilated": lambda: conv2d(dilation=(2, 3)),
    "conv2d_grouped": lambda: conv2d(weights_shape=(6, 3, 3, 2)),
    "depthwise_conv2d": depthwise_conv2d,
    "depthwise_conv2d_multiplier": lambda: depthwise_conv2d(
        multiplier=2, activation=RELU
    ),
    "depthwise_conv2d_uint8": lambda: depthwise_conv2d(dtype="uint8"),
    "fully_connected": fully_connected,
    "fully_connected_uint8": lambda: fully_connected(dtype="uint8", activation=RELU),
    "fully_connected_no_bias": lambda: fully_connected(has_bias=False),
    "fully_connected_per_axis": lambda: fully_connected(per_axis=True),
    "fully_connected_unused_units": lambda: fully_connected(
        per_axis=True, unused=(1, 4)
    ),
    "fully_connected_flat": lambda: fully_connected(input_shape=(2, 3, 4)),
    "fully_connected_rank3": lambda: fully_connected(
        input_shape=(2, 3, 12), output_shape=(2, 3, 5), keep_num_dims=True
    ),
    "batch_matmul": batch_matmul,
    "batch_matmul_adjoint": lambda: batch_matmul(adj_x=True, adj_y=True),
    "batch_matmul_constant": lambda: batch_matmul(is_constant=True),
    "avg_pool2d": lambda: pool("AVERAGE_POOL_2D"),
    "avg_pool2d_valid": lambda: pool("AVERAGE_POOL_2D", padding=VALID, activation=RELU),
    "avg_pool2d_uint8": lambda: pool("AVERAGE_POOL_2D", dtype="uint8"),
    "max_pool2d": lambda: pool("MAX_POOL_2D", activation=RELU6),
    "max_pool2d_valid": lambda: pool("MAX_POOL_2D", padding=VALID),
    "mean": mean,
    "mean_keep_dims": lambda: mean(axes=(-2, -3), keep_dims=True),
    "add": lambda: binary("ADD"),
    "add_uint8": lambda: binary("ADD", dtype="uint8", activation=RELU),
    "add_broadcast": lambda: binary("ADD", shapes=((2, 3, 4), (1, 4), (2, 3, 4))),
    "add_constant": lambda: binary("ADD", is_constant=True),
    "sub": lambda: binary("SUB", activation=RELU6),
    "mul": lambda: binary("MUL"),
    "mul_broadcast": lambda: binary("MUL", shapes=((2, 3, 1), (2, 1, 4), (2, 3, 4))),
    "quantize": lambda: border("QUANTIZE", "float32", "int8"),
    "quantize_uint8": lambda: border("QUANTIZE", "float32", "uint8"),
    "requantize": lambda: border("QUANTIZE", "int8", "int8"),
    "requantize_sign": lambda: border("QUANTIZE", "uint8", "int8"),
    "tanh_of_bytes": lambda: widened("TANH"),
    "exp_of_bytes": lambda: widened("EXP"),
    "power_of_bytes": power_of_bytes,
    "dequantize": lambda: border("DEQUANTIZE", "int8", "float32"),
    "relu": lambda: unary("RELU", scale=0.03, zero_point=-128),
    "relu6": lambda: unary("RELU6", scale=0.03, zero_point=-100),
    "relu_n1_to_1": lambda: unary("RELU_N1_TO_1"),
    "logistic": lambda: unary("LOGISTIC", scale=1 / 256, zero_point=-128),
    "tanh": lambda: unary("TANH", scale=1 / 128, zero_point=0),
    "hard_swish": lambda: unary("HARD_SWISH", scale=0.04, zero_point=-100),
    "leaky_relu": lambda: unary("LEAKY_RELU", alpha=0.3),
    "elu": lambda: unary("ELU"),
    "softmax": lambda: unary("SOFTMAX", scale=1 / 256, zero_point=-128, beta=1.0),
    "softmax_uint8": lambda: unary(
        "SOFTMAX", dtype="uint8", scale=1 / 256, zero_point=0, beta=0.7
    ),
    "concatenation": concatenation,
    "pad": pad,
    "padv2": lambda: pad(value=-20),
    "reshape": lambda: layout(
        "RESHAPE", -1, 4, input_shape=(2, 3, 2), output_shape=(3, 4)
    ),
    "reshape_option": lambda: layout(
        "RESHAPE", input_shape=(2, 3, 2), output_shape=(3, 4), new_shape=(3, 4)
    ),
    "reshape_float": lambda: layout(
        "RESHAPE", 6, input_shape=(2, 3), output_shape=(6,), dtype="float32"
    ),
    "squeeze": lambda: layout(
        "SQUEEZE", input_shape=(1, 3, 1), output_shape=(3,), squeeze_dims=(0, 2)
    ),
    "expand_dims": lambda: layout(
        "EXPAND_DIMS", -1, input_shape=(2, 3), output_shape=(2, 3, 1)
    ),
    "transpose": lambda: layout(
        "TRANSPOSE", 2, 0, 1, input_shape=(2, 3, 4), output_shape=(4, 2, 3)
    ),
    "transpose_float": lambda: layout(
        "TRANSPOSE",
        *(1, 0),
        input_shape=(2, 3),
        output_shape=(3, 2),
        dtype="float32",
    ),
    "slice": lambda: slice_((0, 1, 2), (2, 3, -1), (2, 3, 4)),
    "strided_slice": lambda: strided_slice((0, 1, -5), (2, 5, 6), (1, 2, 2), (2, 2, 3)),
    "strided_slice_masks": lambda: strided_slice(
        (0, 1, 1),
        (0, 0, 0),
        (1, 1, 3),
        (5, 2),
        shrink_axis_mask=1,
        end_mask=6,
        begin_mask=2,
    ),
    "split": split,
    "split_v": lambda: split_v(2, 2, 2),
    "split_v_unequal": lambda: split_v(1, -1, 2),
    "pack": pack,
    "pack_last": lambda: pack(axis=-1),
    "unpack": unpack,
    "resize_nearest": lambda: resize("RESIZE_NEAREST_NEIGHBOR"),
    "resize_nearest_half": lambda: resize(
        "RESIZE_NEAREST_NEIGHBOR", half_pixel_centers=True
    ),
    "resize_nearest_corners": lambda: resize(
        "RESIZE_NEAREST_NEIGHBOR", align_corners=True
    ),
    "resize_bilinear": lambda: resize("RESIZE_BILINEAR"),
    "resize_bilinear_half": lambda: resize("RESIZE_BILINEAR", half_pixel_centers=True),
    "resize_bilinear_corners": lambda: resize("RESIZE_BILINEAR", align_corners=True),
    "arg_max": arg_max,
    "arg_max_int64": lambda: arg_max(dtype="int64"),
    **MOVEMENT,
    **FUNCTIONS,
    **PLAIN,
    **REAL,
    **HYBRID,
}
"""Model by a name that says what is special about it."""


WITHOUT_CONTRACT = frozenset({*MOVEMENT, *PLAIN, *REAL, *HYBRID})
"""Cases that mean the same by every contract."""

OTHER_SUMS = frozenset(
    {
        "conv2d_float",
        "conv3d_float",
        "conv3d_transpose_float",
        "conv3d_transpose_float_valid",
        "conv2d_hybrid",
        "depthwise_conv2d_float",
        "depthwise_conv2d_hybrid",
        "hard_swish_float",
        "l2_pool2d_float",
        "local_response_normalization_0.5",
        "local_response_normalization_0.75",
        "local_response_normalization_1.0",
        "log_softmax_float",
        "logistic_float",
        "resize_bilinear_float",
        "resize_bilinear_float_corners",
        "resize_bilinear_float_first_columns",
        "resize_bilinear_float_half",
        "softmax_float",
        "tanh_of_bytes",
        "transpose_conv_float",
        "transpose_conv_widened",
    }
)
"""Cases in float that LiteRT's optimized kernels and XNNPACK compute otherwise than its
reference kernels, in another order or by another polynomial. By any contract qlower has
the reference kernels' bits there."""

OTHER_SUMS_OF_XNNPACK = OTHER_SUMS | {
    "avg_pool2d_float",
    "batch_matmul_float",
    "batch_matmul_float_adjoint",
    "batch_matmul_hybrid",
    "batch_matmul_hybrid_adjoint",
    "batch_matmul_hybrid_asymmetric",
    "conv2d_float_grouped",
    "conv2d_hybrid_grouped",
    "conv2d_hybrid_per_tensor",
    "cos_float",
    "exp_float",
    "exp_of_bytes",
    "fully_connected_float",
    "fully_connected_float_infinite",
    "fully_connected_half",
    "fully_connected_hybrid",
    "fully_connected_hybrid_asymmetric",
    "fully_connected_hybrid_rank3",
    "gelu_float",
    "gelu_float_odd",
    "gelu_tanh_float",
    "log_float",
    "mean_float",
    "mul_float_infinite",
    "sin_float",
    "sum_float",
    "transpose_conv_hybrid",
    "transpose_conv_hybrid_per_tensor",
}
"""The same for XNNPACK, which takes more layers in float."""

REFUSED_BY_XNNPACK = frozenset(
    {
        "max_pool_other_scale",
        "pad_other_scale",
        "slice_other_scale",
        "transpose_other_scale",
    }
)
"""Cases that LiteRT doesn't run with its delegate, which takes them and then fails."""

WITHOUT_REFERENCE_KERNEL = frozenset({"ceil_float", "elu", "round_float"})
"""Cases that LiteRT only has in its optimized kernels ("opt")."""

WITHOUT_OPTIMIZED_KERNEL = frozenset(
    {
        *("reduce_max_bool", "reduce_min_bool", "reduce_prod_bool", "sum_bool"),
        "reduce_prod_none",
    }
)
"""Cases that LiteRT only has in its reference kernels ("ref"). Of the last the others
copy stored elements, whatever the scales."""


def random_inputs(
    types: Sequence[tuple[Sequence[int], str]], seed: int = 0
) -> list[NDArray[np.generic]]:
    """Arrays of the given shapes and type names: any integers, or reals around 0."""
    random = np.random.default_rng(seed)
    arrays: list[NDArray[np.generic]] = []
    for shape, dtype in types:
        if dtype == "float32":
            arrays.append(random.normal(0, 4, shape).astype(np.float32))
        elif dtype == "bool":
            arrays.append(random.integers(0, 2, shape).astype(np.bool_))
        else:
            limits = np.iinfo(dtype)
            codes = random.integers(limits.min, limits.max, shape, endpoint=True)
            arrays.append(codes.astype(dtype))
    return arrays
