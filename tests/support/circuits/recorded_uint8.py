"""What PyTorch and ONNX Runtime answered to single uint8 operations (recorded)."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.model.build import make_module, quantized
from support.systems.recordings import Recording, read_recordings


def recorded_uint8_operation(index: int) -> Recording:
    """An operation of PyTorch or ONNX Runtime in `ops.npz`."""
    arrays, meta = read_recordings("ops.npz")
    operation, p = meta[index]["op"], meta[index]["params"]
    dtype = np.int8 if p.get("dtype", "u8") == "i8" else np.uint8
    signed = dtype == np.int8
    inputs = [arrays[f"o{index:03d}_{name}"] for name in meta[index]["inputs"]]
    inputs = [x if x.dtype == np.float32 else x.astype(dtype) for x in inputs]
    shapes = [x.shape for x in inputs]
    expected = arrays[f"o{index:03d}_y"].astype(dtype)

    def output() -> TensorType:
        scale, zero_point = p.get("so", p.get("s")), p.get("zo", p.get("z"))
        return quantized(expected.shape, scale, zero_point, signed=signed)

    def body(*values: SSAValue) -> list[SSAValue]:
        x, *rest = values
        match operation.removeprefix("QLinear").split()[0]:
            case "add" | "Add":
                return [qnn.AddOp(x, rest[0], output()).result]
            case "mul" | "Mul":
                return [qnn.MulOp(x, rest[0], output()).result]
            case "cat":
                return [qnn.ConcatOp(values, output(), axis=1).result]
            case "adaptive_avg_pool2d":
                return [qnn.AdaptiveAvgPool2DOp(x, output()).result]
            case "GlobalAveragePool":
                mean = qnn.MeanOp(x, output(), axes=[1, 2], keep_dims=True)
                return [mean.result]
            case "QuantizeLinear" | "quantize_per_tensor":
                return [qnn.QuantizeOp(x, output()).result]
            case "max_pool2d":
                # Recorded as 2 by 2, whatever the description says.
                two, pad = [2, 2], [0] * 4
                pool = qnn.MaxPool2DOp(x, output(), kernel=two, stride=two, pad=pad)
                return [pool.result]
            case _:
                kernel, stride = [p["k"]] * 2, [p["stride"]] * 2
                pool = qnn.AvgPool2DOp(
                    x,
                    output(),
                    kernel=kernel,
                    stride=stride,
                    pad=[p["pad"]] * 4,
                    count_include_pad=p["count_include_pad"],
                )
                return [pool.result]

    if inputs[0].dtype == np.float32:
        types = [TensorType(f32, shapes[0])]
    elif len(inputs) == 2:
        types = [
            quantized(shape, p[f"s{name}"], p[f"z{name}"], signed=signed)
            for shape, name in zip(shapes, "ab", strict=True)
        ]
    else:
        types = [quantized(shapes[0], p["s"], p["z"], signed=signed)]
    return Recording(make_module(types, body), inputs, expected)
