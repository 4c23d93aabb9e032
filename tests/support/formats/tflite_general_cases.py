"""TFLite models of one operator from the types of its operands and results.

An array is a constant operand; "int8 2x3" is a tensor of 8-bit values of a usual scale
and zero point, "int8 2x3 0.1 -5" of that scale and zero point, "int32 2x3" a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .tflite_builder import Option, TFLiteBuilder

NOTHING = np.zeros(0, np.int32)

USUAL = {"int8": (0.05, 3), "uint8": (0.05, 131)}


def model(
    operator: str,
    operands: Sequence[ArrayLike],
    *results: str,
    options: dict[str, Option] | None = None,
) -> Callable[[], bytes]:
    """What builds the model."""

    def build() -> bytes:
        builder = TFLiteBuilder()
        inputs: list[int] = []
        taken: list[int] = []
        for number, operand in enumerate(operands):
            if isinstance(operand, str):
                inputs.append(_tensor(builder, f"x{number}", operand))
                taken.append(inputs[-1])
            else:
                array = np.asarray(operand)
                dtype = "int32" if array.dtype == np.int64 else array.dtype.name
                scale, zero_point = USUAL.get(dtype, (None, 0))
                taken.append(
                    builder.tensor(
                        f"c{number}",
                        array.shape,
                        dtype,
                        scale=scale,
                        zero_point=zero_point,
                        data=array,
                    )
                )
        given = [_tensor(builder, f"y{n}", text) for n, text in enumerate(results)]
        builder.operator(operator, taken, given, options)
        return builder.build(inputs, given)

    return build


def _tensor(builder: TFLiteBuilder, name: str, text: str) -> int:
    dtype, shape, *quantization = text.split()
    sizes = [int(size) for size in shape.split("x")] if shape != "-" else []
    scale, zero_point = USUAL.get(dtype, (None, 0))
    if quantization:
        scale, zero_point = float(quantization[0]), int(quantization[1])
    return builder.tensor(name, sizes, dtype, scale=scale, zero_point=zero_point)


def range_float() -> bytes:
    """RANGE of constants, times an operand."""
    builder = TFLiteBuilder()
    ends = [
        builder.tensor(f"c{n}", (), "float32", data=np.array(value, np.float32))
        for n, value in enumerate((0.1, 4, 0.3))
    ]
    numbers = builder.tensor("numbers", (13,), "float32")
    builder.operator("RANGE", ends, [numbers])
    x, y = (builder.tensor(name, (13,), "float32") for name in "xy")
    builder.operator("MUL", [x, numbers], [y], {})
    return builder.build([x], [y])


MOVEMENT: dict[str, Callable[[], bytes]] = {
    "tile": model("TILE", ["int8 2x3x1x4", [2, 3, 2, 1]], "int8 4x9x2x4"),
    "tile_upsampling": model("TILE", ["uint8 2x1x3x1", [1, 2, 1, 2]], "uint8 2x2x3x2"),
    "broadcast_to": model("BROADCAST_TO", ["int8 3x1", [2, 3, 4]], "int8 2x3x4"),
    "reverse": model("REVERSE_V2", ["int8 2x3x5", [1]], "int8 2x3x5"),
    "mirror_pad_reflect": model(
        "MIRROR_PAD",
        ["int8 2x3x4", [[0, 0], [2, 1], [1, 3]]],
        "int8 2x6x8",
        options={"mode": 0},
    ),
    "mirror_pad_symmetric": model(
        "MIRROR_PAD",
        ["uint8 2x3x4", [[1, 2], [3, 0], [0, 4]]],
        "uint8 5x6x8",
        options={"mode": 1},
    ),
    "gather": model(
        "GATHER", ["int8 2x5x3", [4, 0, 0]], "int8 2x3x3", options={"axis": 1}
    ),
    "gather_steps": model(
        "GATHER", ["int8 2x5x3", [0, 2, 4]], "int8 2x3x3", options={"axis": 1}
    ),
    "depth_to_space": model(
        "DEPTH_TO_SPACE", ["int8 2x3x2x8"], "int8 2x6x4x2", options={"block_size": 2}
    ),
    "space_to_depth": model(
        "SPACE_TO_DEPTH", ["uint8 1x6x4x3"], "uint8 1x3x2x12", options={"block_size": 2}
    ),
    "space_to_batch": model(
        "SPACE_TO_BATCH_ND",
        ["int8 2x3x4x2", [2, 3], [[1, 0], [0, 2]]],
        "int8 12x2x2x2",
    ),
    "space_to_batch_rank3": model(
        "SPACE_TO_BATCH_ND", ["uint8 1x6x2", [2], [[0, 2]]], "uint8 2x4x2"
    ),
    "batch_to_space": model(
        "BATCH_TO_SPACE_ND",
        ["int8 12x2x2x2", [2, 3], [[1, 0], [0, 2]]],
        "int8 2x3x4x2",
    ),
    "strided_slice_back": model(
        "STRIDED_SLICE",
        ["int8 2x5x6", [1, 4, 0], [2, 0, 6], [1, -2, 1]],
        "int8 2x6",
        options={"shrink_axis_mask": 1},
    ),
    "strided_slice_new": model(
        "STRIDED_SLICE",
        ["int8 2x5x6", [0, 0, 1], [0, 0, 2], [1, 1, 1]],
        "int8 1x2x5",
        options={"new_axis_mask": 1, "ellipsis_mask": 2, "shrink_axis_mask": 4},
    ),
    "reshape_other_scale": model("RESHAPE", ["int8 2x6", [3, 4]], "int8 3x4 0.1 -9"),
    "transpose_other_scale": model("TRANSPOSE", ["int8 2x6", [1, 0]], "int8 6x2 0.1 9"),
    "slice_other_scale": model(
        "SLICE", ["int8 2x6", [0, 1], [2, 3]], "int8 2x3 0.1 -9"
    ),
    "pad_other_scale": model("PAD", ["int8 2x3", [[1, 1], [0, 2]]], "int8 4x5 0.1 -9"),
    "resize_nearest_other_scale": model(
        "RESIZE_NEAREST_NEIGHBOR", ["int8 1x3x3x2", [5, 4]], "int8 1x5x4x2 0.1 -9"
    ),
    "max_pool_other_scale": model(
        "MAX_POOL_2D",
        ["int8 1x4x4x2"],
        "int8 1x2x2x2 0.1 -9",
        options={
            "stride_h": 2,
            "stride_w": 2,
            "filter_height": 2,
            "filter_width": 2,
            "fused_activation_function": 1,
        },
    ),
    "reshape_int32": model("RESHAPE", ["int32 2x6", [3, 4]], "int32 3x4"),
    "concatenation_int32": model(
        "CONCATENATION", ["int32 2x2", "int32 2x1"], "int32 2x3", options={"axis": 1}
    ),
    "unpack_float": model(
        "UNPACK",
        ["float32 2x3"],
        "float32 3",
        "float32 3",
        options={"num": 2, "axis": 0},
    ),
}
"""Models whose operators move elements."""


def transpose_conv(
    weights: Sequence[int],
    result: Sequence[int],
    padding: int,
    strides: tuple[int, int],
    dtype: str = "int8",
    scales: int = 1,
) -> Callable[[], bytes]:
    """TRANSPOSE_CONV of a [2, 4, 5, 3] image."""

    def build() -> bytes:
        builder = TFLiteBuilder()
        random = np.random.default_rng(5)
        x = _tensor(builder, "x", f"{dtype} 2x4x5x3")
        shape = builder.tensor("shape", (4,), "int32", data=list(result))
        w = builder.tensor(
            "w",
            weights,
            dtype,
            scale=[0.02 + 0.003 * n for n in range(scales)],
            zero_point=0 if dtype == "int8" else 120,
            data=random.integers(1, 127, weights),
        )
        bias = builder.tensor(
            "b", weights[:1], "int32", data=random.integers(-999, 999, weights[0])
        )
        sizes = "x".join(map(str, result))
        y = _tensor(builder, "y", f"{dtype} {sizes} 0.3 {USUAL[dtype][1]}")
        options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1]}
        builder.operator("TRANSPOSE_CONV", [shape, w, x, bias], [y], options)
        return builder.build([x], [y])

    return build


FUNCTIONS: dict[str, Callable[[], bytes]] = {
    "fully_connected_computed": model(
        "FULLY_CONNECTED", ["int8 3x14", "int8 5x14"], "int8 3x5 0.3 4"
    ),
    "batch_matmul_repeated": model(
        "BATCH_MATMUL", ["int8 2x1x3x7", "int8 1x4x7x5"], "int8 2x4x3x5 0.3 4"
    ),
    "abs": model("ABS", ["int8 256 0.05 3"], "int8 256 0.04 -100"),
    "abs_same": model("ABS", ["int8 256 0.05 3"], "int8 256 0.05 -128"),
    "exp": model("EXP", ["int8 256 0.03 20"], "int8 256 0.1 -128"),
    "log": model("LOG", ["int8 256 0.03 -100"], "int8 256 0.02 5"),
    "sum": model(
        "SUM", ["int8 4x9 0.04 3", [1]], "int8 4 0.3 5", options={"keep_dims": False}
    ),
    "sum_uint8": model(
        "SUM", ["uint8 4x9 0.1 9", [0]], "uint8 1x9 0.1 4", options={"keep_dims": True}
    ),
    "gelu": model("GELU", ["int8 256 0.04 3"], "int8 256 0.03 -120"),
    "gelu_uint8": model("GELU", ["uint8 256 0.04 120"], "uint8 256 0.02 9"),
    "gelu_tanh": model(
        "GELU", ["int8 256 0.04 3"], "int8 256 0.03 -120", options={"approximate": True}
    ),
    "rsqrt": model("RSQRT", ["int8 256 0.02 -128"], "int8 256 0.03 -128"),
    "sqrt": model("SQRT", ["int8 256 0.02 -128"], "int8 256 0.012 -128"),
    "sqrt_whole": model("SQRT", ["int8 256 2 -128"], "int8 256 1 -100"),
    "reduce_prod": model(
        "REDUCE_PROD",
        ["int8 16x5 0.02 -7", [1]],
        "int8 16 0.03 5",
        options={"keep_dims": False},
    ),
    "reduce_prod_none": model(
        "REDUCE_PROD",
        ["int8 16x5 0.02 -7", NOTHING],
        "int8 16x5 0.03 5",
        options={"keep_dims": False},
    ),
    "reduce_prod_two": model(
        "REDUCE_PROD",
        ["int8 2x16x3 0.0625 5", [0, 2]],
        "int8 1x16x1 64 -128",
        options={"keep_dims": True},
    ),
    "squared_difference": model(
        "SQUARED_DIFFERENCE",
        ["int8 16x16 0.05 3", "int8 16 0.03 -7"],
        "int8 16x16 0.3 -128",
    ),
    "squared_difference_tie": model(
        "SQUARED_DIFFERENCE",
        ["int8 16x16 0.5 3", "int8 16x1 0.5 -7"],
        "int8 16x16 16 -128",
    ),
    "transpose_conv": transpose_conv((4, 3, 3, 3), (2, 8, 10, 4), 0, (2, 2), scales=4),
    "transpose_conv_valid": transpose_conv((4, 2, 5, 3), (2, 8, 17, 4), 1, (2, 3)),
    "transpose_conv_blocks": transpose_conv((2, 2, 2, 3), (2, 8, 10, 2), 1, (2, 2)),
    "transpose_conv_dense": transpose_conv((2, 3, 4, 3), (2, 4, 5, 2), 0, (1, 1)),
    "transpose_conv_sparse": transpose_conv((2, 1, 2, 3), (2, 12, 15, 2), 0, (3, 3)),
    "transpose_conv_uint8": transpose_conv(
        (4, 3, 3, 3), (2, 8, 10, 4), 0, (2, 2), "uint8"
    ),
    "div": model(
        "DIV",
        ["int8 16x8", np.array([-128, -50, -9, 2, 4, 5, 50, 127], np.int8)],
        "int8 16x8 0.4 -9",
        options={"fused_activation_function": 1},
    ),
    "div_uint8": model(
        "DIV", ["uint8 16x4", np.array([1, 130, 132, 255], np.uint8)], "uint8 16x4"
    ),
    "log_softmax": model("LOG_SOFTMAX", ["int8 64x12 0.1 3"], "int8 64x12 0.0625 127"),
    "log_softmax_uint8": model(
        "LOG_SOFTMAX", ["uint8 64x12 0.1 99"], "uint8 64x12 0.0625 255"
    ),
    "log_softmax_wide": model(
        "LOG_SOFTMAX", ["int8 8x300 0.01 3"], "int8 8x300 0.0625 127"
    ),
    "prelu": model(
        "PRELU", ["int8 4x4x8", np.arange(-64, 64, 16, np.int8)], "int8 4x4x8 0.07 5"
    ),
    "prelu_uint8": model("PRELU", ["uint8 4x8", "uint8 8 0.01 128"], "uint8 4x8"),
    "l2_normalization": model(
        "L2_NORMALIZATION", ["int8 16x9"], "int8 16x9 0.0078125 0"
    ),
    "l2_normalization_uint8": model(
        "L2_NORMALIZATION", ["uint8 16x9"], "uint8 16x9 0.0078125 128"
    ),
    **{
        name.lower(): model(name, ["int8 16x8 0.05 3", "int8 8 0.1 -6"], "bool 16x8")
        for name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER")
    },
    "greater_equal": model(
        "GREATER_EQUAL", ["uint8 16x8 0.5 100", "uint8 16x1 0.25 9"], "bool 16x8"
    ),
}
"""Models whose operators a contract's rule computes."""

DIAGONAL_ANCHORS = np.linspace(0.1, 0.9, 20, dtype=np.float32)[:, None].repeat(4, 1)

PLAIN: dict[str, Callable[[], bytes]] = {
    "maximum": model("MAXIMUM", ["int8 4x8", "int8 8"], "int8 4x8"),
    "minimum": model("MINIMUM", ["uint8 4x8", "uint8 4x1"], "uint8 4x8"),
    "reduce_max": model(
        "REDUCE_MAX", ["int8 2x5x3", [1, -1]], "int8 2", options={"keep_dims": False}
    ),
    "reduce_min": model(
        "REDUCE_MIN", ["uint8 2x5x3", [1]], "uint8 2x1x3", options={"keep_dims": True}
    ),
    "select": model("SELECT", ["bool 4", "int8 4x8", "int8 4x8"], "int8 4x8"),
    "select_v2": model("SELECT_V2", ["bool 4x1", "int8 8", "int8 4x8"], "int8 4x8"),
    "one_hot": model(
        "ONE_HOT",
        [
            [0, 2, 7],
            np.int32(4),
            np.float32(1),
            np.float32(0),
        ],
        "float32 3x4",
        options={"axis": -1},
    ),
    "cast_bool": model("CAST", ["bool 8"], "float32 8"),
    "cast_int32": model("CAST", ["int32 8"], "float32 8"),
    "add_float": model(
        "ADD",
        ["float32 4x8", "float32 8"],
        "float32 4x8",
        options={"fused_activation_function": 3},
    ),
    "mul_int32": model("MUL", ["int32 4x8", "int32 8"], "int32 4x8"),
    "neg_float": model("NEG", ["float32 8"], "float32 8"),
    "round_float": model("ROUND", ["float32 64"], "float32 64"),
    "ceil_float": model("CEIL", ["float32 64"], "float32 64"),
    "less_int32": model("LESS", ["int32 8", "int32 1"], "bool 8"),
    "logical_and": model("LOGICAL_AND", ["bool 8", "bool 8"], "bool 8"),
    "arg_min": model(
        "ARG_MIN", ["uint8 4x9", [1]], "int32 4", options={"output_type": 2}
    ),
    "div_float": model("DIV", ["float32 4x8", "float32 8"], "float32 4x8"),
    "cumsum": model("CUMSUM", ["float32 4x8", np.int32(1)], "float32 4x8"),
    "cumsum_back": model(
        "CUMSUM",
        ["int32 4x8", np.int32(0)],
        "int32 4x8",
        options={"exclusive": True, "reverse": True},
    ),
    "top_k": model("TOPK_V2", ["int8 2x3x9", np.int32(4)], "int8 2x3x4", "int32 2x3x4"),
    "detection_by_class": model(
        "TFLite_Detection_PostProcess",
        ["float32 1x20x4", "float32 1x20x4", DIAGONAL_ANCHORS],
        *("float32 1x8x4", "float32 1x8", "float32 1x8", "float32 1"),
        options={
            "max_detections": 8,
            "max_classes_per_detection": 1,
            "use_regular_nms": True,
            "nms_score_threshold": 0.5,
            "nms_iou_threshold": 0.4,
            "num_classes": 3,
            **dict.fromkeys(("y_scale", "x_scale", "h_scale", "w_scale"), 10.0),
        },
    ),
    "top_k_of_all": model(
        "TOPK_V2", ["uint8 300", np.int32(300)], "uint8 300", "int32 300"
    ),
    "top_k_float": model(
        "TOPK_V2", ["float32 3x40", np.int32(7)], "float32 3x7", "int32 3x7"
    ),
    "arg_max_float": model(
        "ARG_MAX", ["float32 4x9x5", [1]], "int32 4x5", options={"output_type": 2}
    ),
    "arg_min_float": model(
        "ARG_MIN", ["float32 4x9", [-1]], "int64 4", options={"output_type": 4}
    ),
    "arg_max_int32": model(
        "ARG_MAX", ["int32 4x9", [0]], "int32 9", options={"output_type": 2}
    ),
    "arg_min_bool": model(
        "ARG_MIN", ["bool 16x3", [1]], "int32 16", options={"output_type": 2}
    ),
    "div_int32": model("DIV", ["int32 16x8", "int32 8"], "int32 16x8"),
    "floor_div_int32": model("FLOOR_DIV", ["int32 64", "int32 64"], "int32 64"),
    "floor_div_bytes": model(
        "FLOOR_DIV",
        ["int8 64x4", np.array([-128, -7, -1, 5], np.int8)],
        "int8 64x4",
    ),
    "floor_mod": model("FLOOR_MOD", ["int32 64", "int32 64"], "int32 64"),
    "floor_mod_bytes": model(
        "FLOOR_MOD",
        ["int8 64x4", np.array([-128, -7, 1, 5], np.int8)],
        "int8 64x4",
    ),
    "floor_mod_float": model(
        "FLOOR_MOD", ["float32 16x64", "float32 16x1"], "float32 16x64"
    ),
    "floor_mod_int64": model("FLOOR_MOD", ["int64 64", "int64 64"], "int64 64"),
    "pow_int32": model("POW", ["int32 64", np.array([5], np.int32)], "int32 64"),
    "pow_int32_each": model(
        "POW",
        ["int32 64x12", np.array([0, 1, 2, 3, 4, 5, 7, 8, 11, 31, 32, 65], np.int32)],
        "int32 64x12",
    ),
    "range_float": range_float,
    **{
        f"bucketize_{dtype}": model(
            "BUCKETIZE",
            [f"{dtype} 4x16"],
            "int32 4x16",
            options={"boundaries": np.array([-3, -1, 0, 0, 2, 1e9], np.float32)},
        )
        for dtype in ("float32", "int32", "int64")
    },
    **{
        f"dilate_{dtype}": model(
            "DILATE",
            [f"{dtype} 2x3x4", [2, 1, 3], np.array([1], dtype)],
            f"{dtype} 3x3x10",
        )
        for dtype in ("float32", "int8", "uint8", "int32", "bool")
    },
    "sparse_to_dense": model(
        "SPARSE_TO_DENSE",
        [[[0, 1], [1, 2], [0, 1]], [2, 3], "float32 3", np.array(7, np.float32)],
        "float32 2x3",
    ),
    "sparse_to_dense_bytes": model(
        "SPARSE_TO_DENSE", [[3, 1], [5], "uint8 2", np.array(7, np.uint8)], "uint8 5"
    ),
    "sparse_to_dense_one_value": model(
        "SPARSE_TO_DENSE",
        [[[0, 1], [1, 2]], [2, 3], "int32 -", np.array(-5, np.int32)],
        "int32 2x3",
    ),
    "bitcast_real": model("BITCAST", ["float32 2x8"], "int32 2x8"),
    "bitcast_bytes": model("BITCAST", ["int8 2x8"], "uint8 2x8"),
    "bitcast_parts": model("BITCAST", ["float32 2x5"], "uint8 2x5x4"),
    "bitcast_long_parts": model("BITCAST", ["int64 7"], "float32 7x2"),
    "bitcast_joined": model("BITCAST", ["int8 3x5x4"], "float32 3x5"),
    "bitcast_joined_long": model("BITCAST", ["uint8 7x8"], "int64 7"),
    "bitwise_xor": model("BITWISE_XOR", ["uint8 16x8", "uint8 8"], "uint8 16x8"),
    "right_shift": model("RIGHT_SHIFT", ["int8 64x4", "int8 4"], "int8 64x4"),
    "right_shift_unsigned": model(
        "RIGHT_SHIFT",
        ["uint8 64x4", np.array([0, 3, 7, 9], np.uint8)],
        "uint8 64x4",
    ),
    **{
        f"stablehlo_{name}_{type}": model(
            f"STABLEHLO_{name.upper()}", [f"{type} 64x4"] * 2, f"{type} 64x4"
        )
        for name in ("add", "multiply", "maximum", "minimum")
        for type in ("int8", "float32", "uint8", "bool")
    },
    "neg": model("NEG", ["int8 256"], "int8 256"),
    "mean_int32": model(
        "MEAN", ["int32 5x7", [1]], "int32 5", options={"keep_dims": False}
    ),
    **{
        f"{name.lower()}_bool": model(
            name, ["bool 32x3", [1]], "bool 32", options={"keep_dims": False}
        )
        for name in ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM")
    },
    "reduce_prod_of_no_axes": model(
        "REDUCE_PROD",
        ["int32 4x8", NOTHING],
        "int32 4x8",
        options={"keep_dims": True},
    ),
    "reshape_to_scalar": model("RESHAPE", ["float32 1", NOTHING], "float32 -"),
    "gather_nd": model(
        "GATHER_ND", ["int8 5x3x4", [[[4, 0], [0, 2]], [[1, 1], [4, 0]]]], "int8 2x2x4"
    ),
    "scatter_nd": model(
        "SCATTER_ND", [[[4], [1], [4]], "float32 3x2", [5, 2]], "float32 5x2"
    ),
    "scatter_nd_bytes": model(
        "SCATTER_ND", [[[4, 1], [0, 0]], "int8 2x3", [5, 2, 3]], "int8 5x2x3"
    ),
    "scatter_nd_bools": model(
        "SCATTER_ND", [[[4], [1], [4]], "bool 3x8", [5, 8]], "bool 5x8"
    ),
    **{
        f"resize_nearest_float{name}": model(
            "RESIZE_NEAREST_NEIGHBOR",
            ["float32 2x3x5x2", [7, 4]],
            "float32 2x7x4x2",
            options={**options},
        )
        for name, options in {
            "": {},
            "_half": {"half_pixel_centers": True},
            "_corners": {"align_corners": True},
        }.items()
    },
    "resize_nearest_int32": model(
        "RESIZE_NEAREST_NEIGHBOR", ["int32 1x3x3x2", [6, 6]], "int32 1x6x6x2"
    ),
    "dynamic_update_slice": model(
        "DYNAMIC_UPDATE_SLICE", ["float32 4x5", "float32 2x3", [1, 4]], "float32 4x5"
    ),
    "dynamic_update_slice_run": model(
        "DYNAMIC_UPDATE_SLICE", ["int8 4x5", "int8 2x5", "int32 2"], "int8 4x5"
    ),
    **{
        f"unsorted_segment_{name}": model(
            f"UNSORTED_SEGMENT_{name.upper()}",
            [f"{dtype} 4x3", [2, 0, -1, 2], np.int32(4)],
            f"{dtype} 4x3",
        )
        for name, dtype in (
            ("sum", "float32"),
            ("prod", "int32"),
            ("max", "float32"),
            ("min", "int32"),
        )
    },
    "matrix_diag": model("MATRIX_DIAG", ["int8 2x5"], "int8 2x5x5"),
    "matrix_set_diag": model(
        "MATRIX_SET_DIAG", ["float32 2x5x3", "float32 2x3"], "float32 2x5x3"
    ),
    "padv2_int32": model(
        "PADV2",
        ["int32 3x4", [[1, 0], [2, 1]], np.array([-7], np.int32)],
        "int32 4x7",
    ),
    "padv2_bool": model(
        "PADV2", ["bool 3x4", [[1, 0], [2, 1]], np.array([True])], "bool 4x7"
    ),
    "reverse_sequence": model(
        "REVERSE_SEQUENCE",
        ["float32 3x5x2", [2, 5, 1]],
        "float32 3x5x2",
        options={"seq_dim": 1, "batch_dim": 0},
    ),
    "reverse_sequence_columns": model(
        "REVERSE_SEQUENCE",
        ["int32 4x2x3", [4, 3, 2]],
        "int32 4x2x3",
        options={"seq_dim": 0, "batch_dim": 2},
    ),
    "relu6_float": model("RELU6", ["float32 64"], "float32 64"),
    "hard_swish_float": model("HARD_SWISH", ["float32 64"], "float32 64"),
    "leaky_relu_float": model(
        "LEAKY_RELU", ["float32 64"], "float32 64", options={"alpha": 0.3}
    ),
    "pad_v2_float": model(
        "PADV2",
        ["float32 2x3x4", [[0, 0], [1, 2], [0, 3]], np.array([-0.75], np.float32)],
        "float32 2x6x7",
    ),
    "sum_float": model(
        "SUM", ["float32 4x9", [1]], "float32 4", options={"keep_dims": False}
    ),
}
"""Models of plain numbers, and of 8-bit values that are only compared."""

WINDOW: dict[str, Option] = {"stride_h": 2, "stride_w": 1, "padding": 0}
KERNEL: dict[str, Option] = {
    "filter_height": 3,
    "filter_width": 2,
    "fused_activation_function": 1,
}
DILATION: dict[str, Option] = {"dilation_h_factor": 1, "dilation_w_factor": 2}
_random = np.random.default_rng(11)


def _weights(*shape: int) -> NDArray[np.float32]:
    return _random.normal(0, 1, shape).astype(np.float32)


def half_weights() -> bytes:
    """FULLY_CONNECTED whose weights are float16, widened by a DEQUANTIZE."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (3, 14), "float32")
    half = builder.tensor("h", (5, 14), "float16", data=_weights(5, 14))
    w = builder.tensor("w", (5, 14), "float32")
    builder.operator("DEQUANTIZE", [half], [w])
    y = builder.tensor("y", (3, 5), "float32")
    builder.operator("FULLY_CONNECTED", [x, w, -1], [y], {})
    return builder.build([x], [y])


REAL: dict[str, Callable[[], bytes]] = {
    "gelu_float": model("GELU", ["float32 3x20"], "float32 3x20"),
    "gelu_float_odd": model("GELU", ["float32 3x21"], "float32 3x21"),
    "gelu_tanh_float": model(
        "GELU", ["float32 3x21"], "float32 3x21", options={"approximate": True}
    ),
    "conv2d_float": model(
        "CONV_2D",
        ["float32 2x5x6x3", _weights(4, 3, 2, 3), _weights(4)],
        "float32 2x3x6x4",
        options={**WINDOW, **DILATION, "fused_activation_function": 1},
    ),
    "conv2d_float_grouped": model(
        "CONV_2D",
        ["float32 2x5x6x4", _weights(4, 3, 2, 2), _weights(4)],
        "float32 2x3x6x4",
        options={**WINDOW, **DILATION},
    ),
    "depthwise_conv2d_float": model(
        "DEPTHWISE_CONV_2D",
        ["float32 2x5x6x2", _weights(1, 3, 3, 4), _weights(4)],
        "float32 2x3x6x4",
        options={**WINDOW, **DILATION, "depth_multiplier": 2},
    ),
    "fully_connected_float": model(
        "FULLY_CONNECTED",
        ["float32 3x14", _weights(5, 14), _weights(5)],
        "float32 3x5",
        options={"fused_activation_function": 3},
    ),
    "fully_connected_half": half_weights,
    "fully_connected_float_infinite": model(
        "FULLY_CONNECTED",
        ["float32 3x14", np.full((5, 14), 3e37, np.float32)],
        "float32 3x5",
    ),
    "mul_float_infinite": model(
        "MUL", ["float32 9x3", np.full((9, 3), 1e38, np.float32)], "float32 9x3"
    ),
    "avg_pool2d_float": model(
        "AVERAGE_POOL_2D",
        ["float32 2x5x6x3"],
        "float32 2x3x6x3",
        options={**WINDOW, **KERNEL},
    ),
    "max_pool2d_float": model(
        "MAX_POOL_2D",
        ["float32 2x5x6x3"],
        "float32 2x3x6x3",
        options={**WINDOW, **KERNEL},
    ),
    "l2_pool2d_float": model(
        "L2_POOL_2D",
        ["float32 2x5x6x3"],
        "float32 2x3x6x3",
        options={**WINDOW, **KERNEL},
    ),
    **{
        f"fake_quant_{bits}": model(
            "FAKE_QUANT",
            ["float32 32x64"],
            "float32 32x64",
            options={"min": low, "max": high, "num_bits": bits},
        )
        for bits, low, high in (
            (2, -1.5, 4.5),
            (4, 0.5, 7.0),
            (8, -5.0, 6.1),
            (16, -9.0, -1.0),
        )
    },
    "conv3d_float": model(
        "CONV_3D",
        ["float32 1x3x4x5x2", _weights(2, 3, 2, 2, 3), _weights(3)],
        "float32 1x3x4x3x3",
        options={
            "stride_d": 1,
            "stride_h": 1,
            "stride_w": 2,
            "dilation_d_factor": 1,
            "dilation_h_factor": 1,
            "dilation_w_factor": 1,
        },
    ),
    **{
        f"conv3d_transpose_float{name}": model(
            "CONV_3D_TRANSPOSE",
            [[1, *sizes, 2], _weights(3, 2, 3, 2, 3), image, _weights(2)],
            f"float32 1x{'x'.join(map(str, sizes))}x2",
            options={
                "padding": padding,
                "stride_d": 2,
                "stride_h": 3,
                "stride_w": 1,
                "dilation_d_factor": 1,
                "dilation_h_factor": 1,
                "dilation_w_factor": 1,
            },
        )
        for name, sizes, image, padding in (
            ("", (5, 4, 3), "float32 1x3x2x3x3", 0),
            ("_valid", (6, 5, 5), "float32 1x2x2x3x3", 1),
        )
    },
    "batch_matmul_float": model(
        "BATCH_MATMUL",
        ["float32 2x1x3x7", "float32 4x7x5"],
        "float32 2x4x3x5",
    ),
    "batch_matmul_float_adjoint": model(
        "BATCH_MATMUL",
        ["float32 2x7x3", "float32 2x5x7"],
        "float32 2x3x5",
        options={"adj_x": True, "adj_y": True},
    ),
    "transpose_conv_float": model(
        "TRANSPOSE_CONV",
        [[2, 6, 8, 3], _weights(3, 3, 3, 2), "float32 2x3x4x2", _weights(3)],
        "float32 2x6x8x3",
        options={
            "padding": 0,
            "stride_h": 2,
            "stride_w": 2,
            "fused_activation_function": 1,
        },
    ),
    **{
        f"resize_bilinear_float{name}": model(
            "RESIZE_BILINEAR",
            ["float32 2x3x5x2", [7, 4]],
            "float32 2x7x4x2",
            options={**options},
        )
        for name, options in {
            "": {},
            "_half": {"half_pixel_centers": True},
            "_corners": {"align_corners": True},
        }.items()
    },
    "resize_bilinear_float_first_columns": model(
        "RESIZE_BILINEAR", ["float32 2x1x5x3", [7, 4]], "float32 2x7x4x3"
    ),
    "softmax_float": model(
        "SOFTMAX", ["float32 64x40"], "float32 64x40", options={"beta": 0.9}
    ),
    "atan2_float": model("ATAN2", ["float32 1024", "float32 1024"], "float32 1024"),
    "sin_float": model("SIN", ["float32 1024"], "float32 1024"),
    "cos_float": model("COS", ["float32 1024"], "float32 1024"),
    "exp_float": model("EXP", ["float32 1024"], "float32 1024"),
    "logistic_float": model("LOGISTIC", ["float32 1024"], "float32 1024"),
    "log_float": model("LOG", ["float32 1024"], "float32 1024"),
    "pow_float": model("POW", ["float32 1024", "float32 1024"], "float32 1024"),
    "pow_float_whole": model(
        "POW",
        ["float32 64x8", np.array([-3, -2, -1, 0, 1, 2, 3, 0.5], np.float32)],
        "float32 64x8",
    ),
    "pow_float_by_5": model("POW", ["float32 16x64", np.float32(5)], "float32 16x64"),
    "pow_float_by_one_and_a_half": model(
        "POW", ["float32 16x64", np.float32(1.5)], "float32 16x64"
    ),
    "log_softmax_float": model("LOG_SOFTMAX", ["float32 16x40"], "float32 16x40"),
    **{
        f"local_response_normalization_{beta}": model(
            "LOCAL_RESPONSE_NORMALIZATION",
            ["float32 1x3x4x20"],
            "float32 1x3x4x20",
            options={"radius": 3, "bias": 1.0, "alpha": 0.1, "beta": beta},
        )
        for beta in (0.5, 0.75, 1.0)
    },
    "l2_normalization_float": model(
        "L2_NORMALIZATION", ["float32 16x9"], "float32 16x9"
    ),
    "mean_float": model(
        "MEAN", ["float32 2x5x6x3", [1, 2]], "float32 2x3", options={"keep_dims": False}
    ),
}
"""Models whose sums are in float32."""
