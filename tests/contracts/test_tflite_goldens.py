"""The contract `tflite` against what LiteRT's reference kernels answered (recorded).

48 convolutions and linear layers and the elementwise operations, with scales that make
exact ties; every executor must give the recorded bits.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

import qlower
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.testing import golden_directory
from qlower.testing.qnn_modules import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)

RUNTIMES = golden_directory() / "runtimes"

pytestmark = pytest.mark.skipif(
    not RUNTIMES.is_dir(), reason=f"no recorded answers in {RUNTIMES}"
)

LAYERS = 48
OPERATIONS = {
    "ADD": (15, 41, 67),
    "MUL": (23, 49, 75),
    "AVERAGE_POOL_2D": (96, 123, 150),
    "MEAN": (99, 102, 126, 129, 153, 156),
    "QUANTIZE f32->i8": (163, 173, 183),
    "QUANTIZE i8->i8": (166, 176, 186),
    "LOGISTIC": (195,),
    "TANH": (198,),
}
"""The records of `ops.npz` that LiteRT's reference kernels made, by operation."""


@cache
def read(name: str) -> tuple[dict[str, Array], Any]:
    """The arrays of a record file and its description."""
    with np.load(RUNTIMES / name) as arrays:
        loaded = {key: arrays[key] for key in arrays.files}
    return loaded, json.loads(bytes(loaded.pop("meta")))


def check_every_executor(
    module: ModuleOp, inputs: list[Array], expected: Array
) -> None:
    model = qlower.Model(module)
    results = {
        level: qlower.interpret(model, *inputs, contract="tflite", at=level)
        for level in ("qnn", "arith", "kernel")
    }
    results["jit"] = qlower.jit(model, contract="tflite", use_cache=False)(*inputs)
    for name, result in results.items():
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(
            result.reshape(expected.shape), expected, err_msg=name
        )


@pytest.mark.parametrize("index", range(LAYERS))
def test_layer(index: int):
    arrays, meta = read("layers.npz")
    case = meta["cases"][index]
    prefix = f"c{index:02d}_"
    # Recorded as u8, channels first; LiteRT ran it 128 lower, channels last.
    x = (arrays[prefix + "x"].astype(np.int16) - 128).astype(np.int8)
    expected = (arrays[prefix + "y_litert_ref"].astype(np.int16) - 128).astype(np.int8)
    weights, scales = arrays[prefix + "w"], arrays[prefix + "ws"]
    bias = arrays[prefix + "bias_i32"]
    outputs = weights.shape[0]
    channels_last = 0
    if case["kind"] == "linear":
        weights = weights[:, :, 0, 0] if weights.ndim == 4 else weights
        shape = (x.shape[0], outputs)
    else:
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        weights = weights.transpose(0, 2, 3, 1)
        pad, kernel, stride = case["pd"], case["k"], case["st"]
        rows, columns = ((n + 2 * pad - kernel) // stride + 1 for n in x.shape[1:3])
        shape = (x.shape[0], rows, columns, outputs)
        if case["kind"].startswith("dw"):
            weights = weights.transpose(3, 1, 2, 0)
            channels_last = 3
    weights = np.ascontiguousarray(weights)
    weight_type = (
        quantized_per_axis(weights.shape, channels_last, scales.tolist())
        if scales.size > 1
        else quantized(weights.shape, float(scales.reshape(-1)[0]))
    )
    result = quantized(shape, case["os"], case["ozp"] - 128)

    def body(image: SSAValue) -> list[SSAValue]:
        w, b = constant(weights, weight_type), constant(bias.astype(np.int32))
        if case["kind"] == "linear":
            return [qnn.LinearOp(image, w, b, result).result]
        window = {"stride": [case["st"]] * 2, "pad": [case["pd"]] * 4}
        if case["kind"].startswith("dw"):
            return [qnn.DepthwiseConv2DOp(image, w, b, result, **window).result]
        groups = case["groups"]
        return [qnn.Conv2DOp(image, w, b, result, groups=groups, **window).result]

    input_type = quantized(x.shape, case["xs"], case["xzp"] - 128)
    check_every_executor(make_module([input_type], body), [x], expected)


@pytest.mark.parametrize(
    ("operation", "index"),
    [(name, index) for name, indices in OPERATIONS.items() for index in indices],
)
def test_operation(operation: str, index: int):
    arrays, meta = read("ops.npz")
    case = meta[index]
    assert (case["engine"], case["op"]) == ("litert/ref", operation)
    p = case["params"]
    inputs = [arrays[f"o{index:03d}_{name}"] for name in case["inputs"]]
    expected = arrays[f"o{index:03d}_y"]
    inputs = [x if x.dtype == np.float32 else x.astype(np.int8) for x in inputs]
    if operation in ("AVERAGE_POOL_2D", "MEAN") and inputs[0].ndim == 3:
        inputs = [inputs[0][np.newaxis]]
    shapes = [x.shape for x in inputs]

    def body(*values: SSAValue) -> list[SSAValue]:
        (x, *rest), shape = values, shapes[0]
        match operation:
            case "ADD" | "MUL":
                result = quantized(shape, p["so"], p["zo"])
                op = qnn.AddOp if operation == "ADD" else qnn.MulOp
                return [op(x, rest[0], result).result]
            case "AVERAGE_POOL_2D":
                size = [(n - p["k"]) // p["stride"] + 1 for n in shape[1:3]]
                result = quantized((shape[0], *size, shape[3]), p["s"], p["z"])
                kernel, stride = [p["k"]] * 2, [p["stride"]] * 2
                pad = [0] * 4
                pool = qnn.AvgPool2DOp(x, result, kernel=kernel, stride=stride, pad=pad)
                return [pool.result]
            case "MEAN":
                result = quantized((shape[0], shape[3]), p["so"], p["zo"])
                return [qnn.MeanOp(x, result, axes=[1, 2]).result]
            case "QUANTIZE f32->i8":
                return [qnn.QuantizeOp(x, quantized(shape, p["s"], p["z"])).result]
            case "QUANTIZE i8->i8":
                return [qnn.RequantizeOp(x, quantized(shape, p["so"], p["zo"])).result]
            case _:
                op = qnn.SigmoidOp if operation == "LOGISTIC" else qnn.TanhOp
                return [op(x, quantized(shape, p["so"], p["zo"])).result]

    if operation == "QUANTIZE f32->i8":
        types = [TensorType(f32, shapes[0])]
    elif operation in ("ADD", "MUL"):
        types = [
            quantized(shape, p[f"s{name}"], p[f"z{name}"])
            for shape, name in zip(shapes, "ab", strict=True)
        ]
    else:
        types = [quantized(shapes[0], p["s"], p["z"])]
    check_every_executor(make_module(types, body), inputs, expected.astype(np.int8))
