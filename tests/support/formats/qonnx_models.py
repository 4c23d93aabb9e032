"""Models of QONNX's operators, and the package `qonnx`, which runs them in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from qlower.interp.values import Array
from support.formats.onnx_builder import OnnxBuilder

GENERAL = "qonnx.custom_op.general"


def quantizer(
    build: OnnxBuilder,
    x: str,
    scale: Array | float,
    zero_point: float,
    bits: float,
    output: str = "",
    **attributes: Any,
) -> str:
    """Add an IntQuant."""
    given = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **attributes}
    numbers = (scale, zero_point, bits)
    steps = [build.constant(np.asarray(n, np.float32)) for n in numbers]
    return build.node("IntQuant", [x, *steps], output, GENERAL, **given)


def one_quantizer(
    shape: Sequence[int],
    scale: Array | float,
    zero_point: float,
    bits: float,
    **more: Any,
) -> bytes:
    build = OnnxBuilder()
    build.input("x", shape)
    quantizer(build, "x", scale, zero_point, bits, "y", **more)
    build.output("y", shape=shape)
    return build.build()


def one_threshold(shape: Sequence[int], thresholds: Array, **attributes: Any) -> bytes:
    build = OnnxBuilder()
    build.input("x", shape)
    inputs = ["x", build.constant(thresholds)]
    given = {"out_dtype": "INT8", **attributes}
    build.node("MultiThreshold", inputs, "y", GENERAL, **given)
    build.output("y", shape=shape)
    return build.build()


def run_qonnx(model: bytes, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
    """The outputs that the package computes, node by node."""
    wrapper: Any = import_module("qonnx.core.modelwrapper").ModelWrapper
    shapes: Any = import_module("qonnx.transformation.infer_shapes").InferShapes
    run = cast(
        Callable[..., Mapping[str, Array]],
        import_module("qonnx.core.onnx_exec").execute_onnx,
    )
    proto = import_module("onnx").load_from_string(model)
    return run(wrapper(proto).transform(shapes()), dict(inputs))
