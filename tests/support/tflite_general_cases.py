"""TFLite models of one operator from the types of its operands and results.

An array is a constant operand; "int8 2x3" is a tensor of 8-bit values of a usual scale
and zero point, "int8 2x3 0.1 -5" of that scale and zero point, "int32 2x3" a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .tflite_builder import Option, TFLiteBuilder

USUAL = {"int8": (0.05, 3), "uint8": (0.05, 131)}

Constant = NDArray[np.generic] | Sequence[int]


def model(
    operator: str,
    operands: Sequence[str | Constant],
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
                taken.append(
                    builder.tensor(f"c{number}", array.shape, dtype, data=array)
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
