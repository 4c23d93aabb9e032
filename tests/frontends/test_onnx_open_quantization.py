"""Scales, zero points and weights that are inputs of a model: near ties give ONNX
Runtime's bits, and ONNX's own tests of such nodes theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_models import make_session
from support.machines.vnni import LACKS_VNNI, needs_vnni

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
ReferenceEvaluator: Any = pytest.importorskip("onnx.reference").ReferenceEvaluator

Feed = dict[str, Array]


def scales(random: np.random.Generator, *shape: int) -> Array:
    return np.asarray(np.exp(random.uniform(-6, -2, shape)), np.float32)


def codes(random: np.random.Generator, type: str, *shape: int) -> Array:
    limits = np.iinfo(type)
    return np.asarray(random.integers(limits.min, limits.max + 1, shape), type)


def compare(
    build: OnnxBuilder,
    feed: Feed,
    folder: Path,
    *,
    compiled: bool = True,
    with_runtime: bool = True,
) -> None:
    """Every operand is an input; native code and interpreter agree with ONNX Runtime,
    and by the other contract with ONNX's evaluator."""
    path = folder / "model.onnx"
    model = qlower.load(build.save(path))
    arrays = [feed[spec.name] for spec in model.inputs]
    with np.errstate(all="ignore"):
        sides: dict[str, Any] = {"onnx-reference": ReferenceEvaluator(str(path))}
        if with_runtime:
            sides["onnxruntime"] = make_session(path, "DISABLE_ALL")
        for contract, side in sides.items():
            (wanted,) = side.run(None, feed)
            if wanted.ndim > len(feed["x"].shape):
                continue  # the evaluator adds the bias of a row to a dimension more
            results = [qlower.interpret(model, *arrays, contract=contract)]
            if compiled:
                results.append(qlower.jit(model, contract=contract)(*arrays))
            for found in results:
                assert isinstance(found, np.ndarray)
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted, contract)


def program(operator: str, feed: Feed, type: str, **attributes: Any) -> OnnxBuilder:
    build = OnnxBuilder(opset=21)
    operands = [
        build.input(name, array.shape, array.dtype.str[1:])
        for name, array in feed.items()
    ]
    build.node(operator, operands, "y", **attributes)
    build.output("y", type)
    return build


TYPES = ("u1", "i1", "u2", "i2")
PLACES: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {
    "one": ((), {}),
    "axis": ((5,), {"axis": 1}),
    "blocks": ((3, 5, 2), {"axis": 2, "block_size": 4}),
}
"""The shape of scales for a tensor [3, 5, 8], and the attributes."""


Given = tuple[OnnxBuilder, Feed]


def dequantized(type: str, place: str) -> Given:
    random = np.random.default_rng(0)
    shape, attributes = PLACES[place]
    feed = {
        "x": codes(random, type, 3, 5, 8),
        "scale": scales(random, *shape),
        "zero": codes(random, type, *shape),
    }
    return program("DequantizeLinear", feed, "f4", **attributes), feed


def quantized(type: str, place: str) -> Given:
    """Half of the numbers lie near ties."""
    random = np.random.default_rng(1)
    shape, attributes = PLACES[place]
    scale = scales(random, *shape)
    steps = random.integers(-300, 300, (3, 5, 8)) + np.float32(0.5)
    step = scale[:, np.newaxis] if place == "axis" else scale
    if place == "blocks":
        step = scale.repeat(4, 2)
    x = (steps * step).astype(np.float32)
    x[0] = random.normal(0, 9, (5, 8))
    x[1, 0, :3] = np.inf, -np.inf, 1e30
    feed = {"x": x, "scale": scale, "zero": codes(random, type, *shape)}
    return program("QuantizeLinear", feed, type, **attributes), feed


@pytest.mark.parts(12)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type", TYPES)
def test_dequantize(type: str, place: str, tmp_path: Path) -> None:
    compare(*dequantized(type, place), tmp_path)


@pytest.mark.parts(8)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type", TYPES)
def test_quantize(type: str, place: str, tmp_path: Path) -> None:
    compare(*quantized(type, place), tmp_path)


@pytest.mark.parts(4)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("type", TYPES)
def test_interpreted_steps(type: str, place: str, tmp_path: Path) -> None:
    for given in (dequantized(type, place), quantized(type, place)):
        compare(*given, tmp_path, compiled=False)


def operands(
    random: np.random.Generator, x: Array, weights: Array, units: int, depth: int
) -> Feed:
    """The operands of a QLinearConv or QLinearMatMul whose results lie near ties: the
    result's scale is an even number of steps of the sums."""
    x_scale, w_scale = scales(random), scales(random, *[units] * (units > 1))
    step = np.float32(x_scale * w_scale.reshape(-1)[0])
    y_scale = np.float32(step * 2 * random.integers(depth, 9 * depth))
    return {
        "x": x,
        "x_scale": x_scale,
        "x_zero": codes(random, x.dtype.str[1:]),
        "w": weights,
        "w_scale": w_scale,
        "w_zero": np.zeros(w_scale.shape, weights.dtype),
        "y_scale": np.array(y_scale),
        "y_zero": codes(random, x.dtype.str[1:]),
    }


def product(type: str, units: int) -> Given:
    random = np.random.default_rng(2)
    x, weights = codes(random, type, 2, 50, 24), codes(random, "i1", 24, 6)
    feed = operands(random, x, weights, units, 24)
    return program("QLinearMatMul", feed, type), feed


CONVOLUTIONS: Mapping[
    str, tuple[tuple[int, ...], tuple[int, ...], dict[str, list[int] | int]]
] = {
    "image": ((2, 3, 6, 5), (4, 3, 3, 3), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
    "grouped": ((1, 6, 7, 6), (4, 3, 3, 2), {"group": 2, "dilations": [1, 2]}),
    "row": ((1, 3, 20), (4, 3, 5), {"pads": [2, 2]}),
}


def convolutions(name: str) -> list[Given]:
    """Between integers, and the sums alone."""
    shape, weights, attributes = CONVOLUTIONS[name]
    random = np.random.default_rng(3)
    x, filters = codes(random, "u1", *shape), codes(random, "i1", *weights)
    feed = operands(random, x, filters, weights[0], int(np.prod(weights[1:])))
    feed["bias"] = random.integers(-3000, 3000, weights[0]).astype(np.int32)
    some = {name: feed[name] for name in ("x", "w", "x_zero")}
    return [
        (program("QLinearConv", feed, "u1", **attributes), feed),
        (program("ConvInteger", some, "i4", **attributes), some),
    ]


@needs_vnni
@pytest.mark.parts(2)
@pytest.mark.parametrize("type", ["u1", "i1"])
@pytest.mark.parametrize("units", [1, 6])
def test_products(type: str, units: int, tmp_path: Path) -> None:
    compare(*product(type, units), tmp_path)


@needs_vnni
@pytest.mark.parts(2)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, tmp_path: Path) -> None:
    for given in convolutions(name):
        compare(*given, tmp_path)


def test_interpreted_sums(tmp_path: Path) -> None:
    """Without VNNI ONNX Runtime saturates pairs of products; the evaluator never."""
    given = [product(type, units) for type in ("u1", "i1") for units in (1, 6)]
    given += [one for name in CONVOLUTIONS for one in convolutions(name)]
    for build, feed in given:
        compare(build, feed, tmp_path, compiled=False, with_runtime=not LACKS_VNNI)


def test_scales_of_another_shape_are_refused(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    feed = {"x": codes(random, "u1", 3, 5, 8), "scale": scales(random, 4)}
    build = program("DequantizeLinear", feed, "f4", axis=1)
    message = r"scales or zero points of shape \[4\] for \[3, 5, 8\]; expected \[5\]"
    with pytest.raises(QlowerError, match=message):
        qlower.load(build.save(tmp_path / "model.onnx"))


def test_other_contracts_are_refused(tmp_path: Path) -> None:
    """Steps of run time are a contract's, or the contract has none."""
    random = np.random.default_rng(5)
    feed = {"x": codes(random, "u1", 8), "scale": scales(random)}
    build = program("DequantizeLinear", feed, "f4")
    model = qlower.load(build.save(tmp_path / "model.onnx"))
    with pytest.raises(QlowerError, match="tflite has no rule dequantize_with"):
        qlower.interpret(model, *feed.values(), contract="tflite")
