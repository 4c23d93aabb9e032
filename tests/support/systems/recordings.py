"""What real systems answered to single operations (recorded), and our modules of them.

`layers.npz` holds 48 convolutions and linear layers with the answers of many engines,
`ops.npz` other operations; both have scales that make exact ties.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args
from zlib import crc32

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

import qlower
from qlower.codegen.targets.resolve import Target
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)
from qlower.runtime.executors import Executor, Level
from support import golden_directory
from support.lanes import LEVELS_VARIABLE, in_turn, is_asked_for
from support.machines.native import machine_levels

RUNTIMES = golden_directory() / "runtimes"
NEEDS_RECORDINGS = pytest.mark.skipif(
    not RUNTIMES.is_dir(), reason=f"no recorded answers in {RUNTIMES}"
)
LAYER_COUNT = 48

PARTS = 6
"""Recordings of which one runs in every executor."""


@dataclass(frozen=True)
class Recording:
    """A module of one operation, its inputs, and the answer of a system."""

    module: ModuleOp
    inputs: Sequence[Array]
    expected: Array


@cache
def read_recordings(name: str) -> tuple[dict[str, Array], Any]:
    """The arrays of a file of recordings and its description."""
    with np.load(RUNTIMES / name) as arrays:
        loaded = {key: arrays[key] for key in arrays.files}
    return loaded, json.loads(bytes(loaded.pop("meta")))


def make_executors(
    model: qlower.Model, contract: str | None, turn: int | None = None
) -> dict[str, Executor]:
    """Every way of running a model here, by name: the interpreter at each level of the
    IR, native code at each level of this machine, as users get it.

    One of many models that are alike may take a `turn`: native code for one of the
    levels, the next model's another, unless the environment asks for every level.
    """
    levels = machine_levels()
    chosen = levels if turn is None else in_turn(levels, turn)
    return executors_for(chosen, model, contract)


def executors_for(
    levels: Mapping[str, Target], model: qlower.Model, contract: str | None
) -> dict[str, Executor]:
    """The interpreter at each level of the IR, its kernels those for the last of the
    machine's levels, and native code for each of these, by name."""
    above = Compilation(model, contract)
    compilations = {name: above.for_target(level) for name, level in levels.items()}
    last = list(compilations.values())[-1]
    return {
        **{level: last.interpreter(level) for level in get_args(Level)},
        **{name: level.function() for name, level in compilations.items()},
    }


def check_recording(recording: Recording, contract: str) -> None:
    """The interpreter must give the recorded bits, and so must every executor for one
    recording in `PARTS`, at one of the levels in turn, unless the environment asks for
    all."""
    expected, model = recording.expected, qlower.Model(recording.module)
    turn, part = divmod(crc32(expected.tobytes()), PARTS)
    executors = (
        make_executors(model, contract, turn)
        if part == 0 or is_asked_for(LEVELS_VARIABLE)
        else {"qnn": Compilation(model, contract).interpreter("qnn")}
    )
    for name, executor in executors.items():
        ((result,), _) = executor.run(recording.inputs, {})
        assert result.dtype == expected.dtype, name
        np.testing.assert_array_equal(
            result.reshape(expected.shape), expected, err_msg=name
        )


def recorded_layer(
    index: int, engine: str, *, unsigned: bool = False, real_bias: bool = False
) -> Recording:
    """A convolution or linear layer of `layers.npz` and the answer of an engine.

    Values are recorded as u8, channels first; engines with i8 activations ran them 128
    lower, and so do we, unless `unsigned`: where pairs of products saturate, it is the
    stored codes that decide. With `real_bias` the bias is a float32 one.
    """
    store, offset = (np.asarray, 0) if unsigned else (_lowered, 128)
    arrays, meta = read_recordings("layers.npz")
    case = meta["cases"][index]
    prefix = f"c{index:02d}_"
    x = store(arrays[prefix + "x"])
    weights, scales = arrays[prefix + "w"], arrays[prefix + "ws"]
    bias = arrays[prefix + "bias_i32"].astype(np.int32)
    if real_bias:
        bias = arrays[prefix + "bias_f32"].astype(np.float32)
    outputs = weights.shape[0]
    axis = 0
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
            weights, axis = weights.transpose(3, 1, 2, 0), 3
    weights = np.ascontiguousarray(weights)
    weight_type = (
        quantized_per_axis(weights.shape, axis, scales.tolist())
        if scales.size > 1
        else quantized(weights.shape, float(scales.reshape(-1)[0]))
    )
    signed = not unsigned
    result = quantized(shape, case["os"], case["ozp"] - offset, signed=signed)

    def body(image: SSAValue) -> list[SSAValue]:
        w, b = constant(weights, weight_type), constant(bias)
        if case["kind"] == "linear":
            return [qnn.LinearOp(image, w, b, result).result]
        strides, pads = [case["st"]] * 2, [case["pd"]] * 4
        if case["kind"].startswith("dw"):
            depthwise = qnn.DepthwiseConv2DOp(
                image, w, b, result, stride=strides, pad=pads
            )
            return [depthwise.result]
        conv = qnn.Conv2DOp(
            image, w, b, result, stride=strides, pad=pads, groups=case["groups"]
        )
        return [conv.result]

    zero_point = case["xzp"] - offset
    input_type = quantized(x.shape, case["xs"], zero_point, signed=signed)
    expected = store(arrays[f"{prefix}y_{engine}"])
    return Recording(make_module([input_type], body), [x], expected)


def agreed_layer(
    index: int,
    engines: Sequence[str],
    *,
    unsigned: bool = False,
    real_bias: bool = False,
) -> Recording:
    """`recorded_layer` of several engines, which answered the same."""
    recording, *others = (
        recorded_layer(index, engine, unsigned=unsigned, real_bias=real_bias)
        for engine in engines
    )
    for other in others:
        np.testing.assert_array_equal(recording.expected, other.expected)
    return recording


def recorded_operations(engine: str) -> list[tuple[str, int]]:
    """Name and index of the operations of `ops.npz` that an engine ran."""
    if not RUNTIMES.is_dir():
        return []
    _, meta = read_recordings("ops.npz")
    return [
        (case["op"], index)
        for index, case in enumerate(meta)
        if case["engine"] == engine
    ]


def recorded_operation(index: int) -> Recording:
    """An operation of LiteRT in `ops.npz`."""
    arrays, meta = read_recordings("ops.npz")
    operation, p = meta[index]["op"], meta[index]["params"]
    inputs = [arrays[f"o{index:03d}_{name}"] for name in meta[index]["inputs"]]
    inputs = [x if x.dtype == np.float32 else x.astype(np.int8) for x in inputs]
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
                pool = qnn.AvgPool2DOp(
                    x, result, kernel=kernel, stride=stride, pad=[0] * 4
                )
                return [pool.result]
            case "MEAN":
                result = quantized((shape[0], 1, 1, shape[3]), p["so"], p["zo"])
                return [qnn.MeanOp(x, result, axes=[1, 2], keep_dims=True).result]
            case "QUANTIZE f32->i8":
                return [qnn.QuantizeOp(x, quantized(shape, p["s"], p["z"])).result]
            case "QUANTIZE i8->i8":
                return [qnn.RequantizeOp(x, quantized(shape, p["so"], p["zo"])).result]
            case _:
                op = {
                    "LOGISTIC": qnn.SigmoidOp,
                    "TANH": qnn.TanhOp,
                    "SOFTMAX": qnn.SoftmaxOp,
                }[operation]
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
    expected = arrays[f"o{index:03d}_y"].astype(np.int8)
    return Recording(make_module(types, body), inputs, expected)


def _lowered(values: Array) -> Array:
    """u8 values 128 lower, as i8."""
    return (values.astype(np.int16) - 128).astype(np.int8)
