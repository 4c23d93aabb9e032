"""Layers of one qnn operation on ncnn, which needs its package."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from support.layers.random_modules import RandomLayer
from support.systems.phone_systems import F, One, channels_last, one_of

_NCNN_INT8_WEIGHTS = 0x000D4B38


def run_ncnn(layer: RandomLayer, *, packed: bool = False) -> Array:
    """What ncnn, which has no batch, gives for one image or row after another: codes.

    `packed` is its option `use_packing_layout`.
    """
    one = one_of(layer)
    shape = shape_of(one.op.results[0])
    net: Any = import_module("ncnn")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "layer"
        _write_ncnn(one, path)
        made = net.Net()
        made.opt.num_threads = 1
        made.opt.use_packing_layout = packed
        assert not made.load_param(f"{path}.param")
        assert not made.load_model(f"{path}.bin")
        found: list[Array] = []
        for codes in one.codes:
            extractor = made.create_extractor()
            real = (codes.astype(F) * F(one.x.scales[0])).astype(F)
            real = real.transpose(2, 0, 1) if real.ndim == 3 else real
            # ncnn's matrix is only a view of it
            kept = np.ascontiguousarray(real)
            extractor.input("data", net.Mat(kept))
            status, result = extractor.extract("out")
            assert status == 0
            found.append(np.array(result).copy())
    codes = np.stack(found)
    if len(shape) == 4:
        count, height, width, channels = shape
        codes = channels_last(codes.reshape(count, channels, height, width))
    return codes.astype(np.int8)


def _write_ncnn(one: One, path: Path) -> None:
    op, count = one.op, shape_of(one.op.results[0])[-1]
    x, w, y = (
        F(1) / np.array(s, F) for s in (one.x.scales, one.weight_scales, one.y.scales)
    )
    lines = ["Input data 0 1 data"]
    match op:
        case qnn.LinearOp():
            weights, scales = one.weights, [w, x]
            lines.append(
                f"InnerProduct layer 1 1 data real 0={count} 1=1 2={weights.size} "
                f"8=1 9={int(one.relu)}"
            )
            lines.append("Quantize store 1 1 real out 0=1")
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            is_depthwise = isinstance(op, qnn.DepthwiseConv2DOp)
            order = (3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2)
            weights, scales = one.weights.transpose(order), [w, x, y]
            kernel = op.weight.type.get_shape()[1:3]
            top, bottom, left, right = op.pad
            kind = "ConvolutionDepthWise" if is_depthwise else "Convolution"
            groups = f" 7={op.input.type.get_shape()[-1]}" if is_depthwise else ""
            lines.append(
                f"{kind} layer 1 1 data out 0={count} 1={kernel[1]} 11={kernel[0]} "
                f"2={op.dilation[1]} 12={op.dilation[0]} 3={op.stride[1]} "
                f"13={op.stride[0]} 4={left} 14={top} 15={right} 16={bottom} 5=1 "
                f"6={weights.size} 8=101 9={int(one.relu)}{groups}"
            )
        case _:
            raise AssertionError(op.name)
    blobs = len(lines)
    Path(f"{path}.param").write_text(
        "\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""])
    )
    data = np.ascontiguousarray(weights).astype(np.int8).tobytes()
    data += bytes(-len(data) % 4)
    with Path(f"{path}.bin").open("wb") as file:
        file.write(np.uint32(_NCNN_INT8_WEIGHTS).tobytes() + data)
        for numbers in (one.bias, *scales):
            file.write(np.asarray(numbers, F).tobytes())
        if isinstance(op, qnn.LinearOp):
            file.write(y.tobytes())
