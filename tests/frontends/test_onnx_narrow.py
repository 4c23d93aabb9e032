"""Floats of 8 and 4 bits as stored values, and scales of float16: at ties and next to
them, beyond the largest number and below the smallest, ONNX Runtime's bits and those of
ONNX's evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_models import make_session

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
ml_dtypes: Any = pytest.importorskip("ml_dtypes")
numpy_helper: Any = pytest.importorskip("onnx.numpy_helper")
ReferenceEvaluator: Any = pytest.importorskip("onnx.reference").ReferenceEvaluator

FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
EDGES = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e-30)


def around(grid: Array) -> Array:
    """A type's numbers, the middles between them and what lies next to these."""
    known = np.unique(grid[np.isfinite(grid)]).astype(np.float32)
    middles = (known[1:] + known[:-1]) / 2
    near = [np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf)]
    beyond = known.max() * np.array([1.03, 1.0625, 1.07, 1.2, 2], np.float32)
    all = np.concatenate([known, middles, *near, beyond, -beyond, EDGES])
    return all.astype(np.float32)


def runs(model: qlower.Model, arrays: list[Array], contract: str) -> list[Any]:
    """The outputs of native code and of the interpreter."""
    return [
        qlower.jit(model, contract=contract)(*arrays),
        qlower.interpret(model, *arrays, contract=contract),
    ]


@pytest.mark.parametrize("dtype", [*FLOAT8, "float4_e2m1fn"])
def test_codes(dtype: str, tmp_path: Path) -> None:
    """Codes, and the numbers that DequantizeLinear makes of all of them."""
    type = getattr(ml_dtypes, dtype)
    bits = 4 if "float4" in dtype else 8
    codes = np.arange(1 << bits, dtype=np.uint8)
    x = around(codes.view(type).astype(np.float32)) * np.float32(2)
    build = OnnxBuilder(opset=23 if bits == 4 else 21)
    scale, zero = build.constant(2.0), build.constant(np.zeros((), type))
    build.input("x", x.shape)
    build.input("c", codes.shape, type)
    build.node("QuantizeLinear", ["x", scale, zero], "q")
    build.node("DequantizeLinear", ["q", scale, zero], "y")
    build.node("DequantizeLinear", ["c", scale, zero], "z")
    build.output("q", type)
    build.output("y")
    build.output("z")
    build.save(tmp_path / "model.onnx")
    with np.errstate(all="ignore"):
        wanted = (x / np.float32(2) + np.float32(0 if bits == 4 else -0.0)).astype(type)
        if bits == 8:
            wanted = numpy_helper.saturate_cast(x / np.float32(2), type)
            del build.inputs[1:], build.outputs[2], build.outputs[0], build.nodes[2]
            session = make_session(build.save(tmp_path / "cut.onnx"), "DISABLE_ALL")
            (numbers,) = session.run(None, {"x": x})
        else:
            numbers = wanted.astype(np.float32) * np.float32(2)
    every = codes.view(type).astype(np.float32) * np.float32(2)
    model = qlower.load(tmp_path / "model.onnx")
    for found, real, table in runs(model, [x, codes], "onnxruntime"):
        is_number = ~np.isnan(wanted.astype(np.float32))
        np.testing.assert_array_equal(
            found[is_number], wanted.view(np.uint8)[is_number]
        )
        assert np.isnan(found.view(type).astype(np.float32)[~is_number]).all()
        np.testing.assert_array_equal(real, numbers)
        np.testing.assert_array_equal(table, every)


def test_saturation_that_is_switched_off_is_refused(tmp_path: Path) -> None:
    build = OnnxBuilder(opset=21)
    zero = build.constant(np.zeros((), ml_dtypes.float8_e5m2))
    operands = [build.input("x", [3]), build.constant(1.0), zero]
    build.output(
        build.node("QuantizeLinear", operands, saturate=0), ml_dtypes.float8_e5m2
    )
    with pytest.raises(QlowerError, match="saturate 0 is not supported; expected 1"):
        qlower.load(build.save(tmp_path / "model.onnx"))


def test_other_operators_refuse_such_numbers(tmp_path: Path) -> None:
    build = OnnxBuilder(opset=21)
    operands = [build.input("x", [3], "f2"), build.input("y", [3], "f2")]
    build.output(build.node("Mod", operands), "f2")
    with pytest.raises(QlowerError, match="'x' of type FLOAT16 is not supported for"):
        qlower.load(build.save(tmp_path / "model.onnx"))


@pytest.mark.parts(4)
@pytest.mark.parametrize("place", ["constant", "input"])
@pytest.mark.parametrize("shape", [(), (5,)])
def test_half_scales(shape: tuple[int, ...], place: str, tmp_path: Path) -> None:
    """Half of the numbers lie next to ties."""
    random = np.random.default_rng(len(shape))
    scale = np.asarray(np.exp(random.uniform(-6, -2, shape)), np.float16)
    zero = np.asarray(random.integers(0, 256, shape), np.uint8)
    x = ((random.integers(-300, 300, (40, 5)) + 0.5) * scale).astype(np.float16)
    x[20:] = random.normal(0, 9, (20, 5))
    x[0] = np.inf, -np.inf, 6e4, -6e4, 1e-7
    codes = random.integers(0, 256, (40, 5)).astype(np.uint8)
    build = OnnxBuilder(opset=21)
    feed = {"x": x, "c": codes}
    for name, array in feed.items():
        build.input(name, array.shape, array.dtype.str[1:])
    steps = {"s": scale, "z": zero}
    for name, array in steps.items():
        if place == "input":
            build.input(name, array.shape, array.dtype.str[1:])
            feed[name] = array
        else:
            build.constant(array, name)
    build.node("QuantizeLinear", ["x", "s", "z"], "q")
    build.node("DequantizeLinear", ["c", "s", "z"], "y")
    build.output("q", "u1")
    build.output("y", "f2")
    path = build.save(tmp_path / "model.onnx")
    model = qlower.load(path)
    held = [a.astype(np.float32) if a.dtype == np.float16 else a for a in feed.values()]
    sides: dict[str, Any] = {
        "onnxruntime": make_session(path, "DISABLE_ALL"),
        "onnx-reference": ReferenceEvaluator(str(path)),
    }
    for contract, side in sides.items():
        with np.errstate(all="ignore"):
            wanted = side.run(None, feed)
        for found in runs(model, held, contract):
            for array, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(array, other, contract)


def test_float8_weights(tmp_path: Path) -> None:
    """A constant matrix is made of the codes when the file is read."""
    random = np.random.default_rng(3)
    weights = random.normal(0, 1, (8, 5)).astype(ml_dtypes.float8_e4m3fn)
    scale = np.exp(random.uniform(-3, 0, 5)).astype(np.float32)
    build = OnnxBuilder(opset=21)
    real = build.node(
        "DequantizeLinear", [build.constant(weights), build.constant(scale)], axis=1
    )
    build.output(build.node("MatMul", [build.input("x", [4, 8]), real]))
    path = build.save(tmp_path / "model.onnx")
    x = random.normal(0, 1, (4, 8)).astype(np.float32)
    (wanted,) = make_session(path, "DISABLE_ALL").run(None, {"x": x})
    for qdq in ("integer", "as-written"):
        found = qlower.jit(qlower.load(path, qdq=qdq))(x)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("operator", "types", "attributes", "message"),
    [
        ("QuantizeLinear", "f4 f2", {}, "FLOAT divided by a scale of FLOAT16 is not"),
        ("QuantizeLinear", "f4 f4", {"precision": 10}, "expected 0 or 1"),
        ("DequantizeLinear", "u1 f4", {"output_dtype": 10}, "output_dtype 10 is not"),
        ("DequantizeLinear", "u1 f2", {"output_dtype": 1}, "output_dtype 1 is not"),
    ],
)
def test_mixed_types_are_refused(
    operator: str,
    types: str,
    attributes: dict[str, Any],
    message: str,
    tmp_path: Path,
) -> None:
    build = OnnxBuilder(opset=23)
    names = zip("xs", types.split(), ([3], []), strict=True)
    operands = [build.input(name, shape, type) for name, type, shape in names]
    build.output(build.node(operator, operands, **attributes), "u1")
    with pytest.raises(QlowerError, match=message):
        qlower.load(build.save(tmp_path / "model.onnx"))
