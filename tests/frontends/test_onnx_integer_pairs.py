"""Products of plain integers before VNNI: ONNX Runtime saturates pairs of some of them,
which contracts give, refuse, or the model's remarks say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_models import make_session
from support.machines.vnni import LACKS_VNNI

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

pytest.importorskip("onnx", reason="onnx is not installed")

BEFORE_VNNI = "onnxruntime-avx2"
ENDS = {"u1": (0, 255), "i1": (-128, 127)}
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "matrix": ((3, 9), (9, 2)),
    "row": ((9,), (9, 2)),
    "column": ((3, 9), (9,)),
    "batch": ((2, 3, 9), (2, 9, 2)),
    "image": ((1, 4, 3, 3), (2, 4, 2, 2)),
    "planes": ((1, 4, 3, 3), (4, 1, 2, 2)),
}


def drawn(type: str, shape: tuple[int, ...], seed: int) -> Array:
    """Codes, most of them at an end."""
    random = np.random.default_rng(seed)
    codes = random.integers(*ENDS[type], shape, endpoint=True)
    is_end = random.random(shape) < 0.7
    return np.where(is_end, random.choice(ENDS[type], shape), codes).astype(type)


def products(
    kind: str, types: str, is_constant: bool
) -> tuple[OnnxBuilder, list[Array]]:
    operands = [
        drawn(type, shape, seed)
        for seed, (type, shape) in enumerate(
            zip(types.split(), SHAPES[kind], strict=True)
        )
    ]
    build = OnnxBuilder()
    names = [build.input("x", operands[0].shape, operands[0].dtype.str[1:])]
    if is_constant:
        names.append(build.constant(operands.pop()))
    else:
        names.append(build.input("w", operands[1].shape, operands[1].dtype.str[1:]))
    if kind in ("image", "planes"):
        build.node("ConvInteger", names, "y", group=4 if kind == "planes" else 1)
    else:
        build.node("MatMulInteger", names, "y")
    build.output("y", "i4")
    return build, operands


def saturated(a: Array, b: Array) -> Array:
    """Of each two products along the last dimension of `a`, the sum within 16 bits."""
    depth = a.shape[-1]
    total = np.zeros((*a.shape[:-1], b.shape[-1]), np.int64)
    for k in range(0, depth, 2):
        pair = a[..., k : k + 2].astype(np.int64) @ b[..., k : k + 2, :].astype(
            np.int64
        )
        total += pair.clip(-(1 << 15), (1 << 15) - 1)
    return total.astype(np.int32)


@pytest.mark.parametrize("kind", ["matrix", "row"])
def test_a_constant_matrix_is_multiplied_in_pairs(kind: str, tmp_path: Path) -> None:
    build, (x,) = products(kind, "u1 i1", True)
    model = qlower.load(build.save(tmp_path / "m.onnx"))
    w = drawn("i1", SHAPES[kind][1], 1)
    wanted = saturated(np.atleast_2d(x), w).reshape(*x.shape[:-1], 2)
    assert (wanted != x.astype(np.int32) @ w).any()
    np.testing.assert_array_equal(qlower.jit(model, contract=BEFORE_VNNI)(x), wanted)
    found = qlower.interpret(model, x, contract=BEFORE_VNNI)
    np.testing.assert_array_equal(found, wanted)
    assert not any("VNNI" in remark for remark in model.remarks)


MIXED = {"MatMulInteger": "u1 i1", "ConvInteger": "i1 u1"}
"""The types of operands whose products saturate: filters are multiplied by pixels."""


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("types", ["u1 i1", "i1 u1", "u1 u1", "i1 i1"])
@pytest.mark.parametrize("kind", SHAPES)
def test_what_saturates_is_given_refused_or_remarked_on(
    kind: str, types: str, is_constant: bool, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    build, feed = products(kind, types, is_constant)
    model = qlower.load(build.save(path))
    operator = "ConvInteger" if kind in ("image", "planes") else "MatMulInteger"
    saturates = types == MIXED[operator]
    is_refused = saturates and is_constant and operator == "ConvInteger"
    is_given = is_constant and kind in ("matrix", "row")
    remarks = [remark for remark in model.remarks if "VNNI" in remark]
    expected = saturates and not (is_refused or is_given)
    assert remarks == expected * [
        f"{operator} 'y' has exact sums by every contract; before VNNI ONNX Runtime "
        "saturates their products of uint8 and int8 in pairs"
    ]
    if is_refused:
        with pytest.raises(
            QlowerError, match="multiplies uint8 filters by int8 pixels"
        ):
            qlower.interpret(model, *feed, contract=BEFORE_VNNI)
    elif not expected and LACKS_VNNI:
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        found = qlower.interpret(model, *feed, contract=BEFORE_VNNI)
        names: dict[str, Any] = dict(zip("xw", feed, strict=False))
        (wanted,) = make_session(path, "DISABLE_ALL").run(None, names)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("types", ["u1 i1", "u1 u1", "i1 i1"])
def test_matrices_that_are_computed(types: str, tmp_path: Path) -> None:
    """QLinearMatMul of two inputs."""
    build = OnnxBuilder()
    x, w = types.split()
    names = [build.input("x", (3, 9), x), build.input("w", (9, 2), w)]
    scale = build.constant(0.01)
    zeros = [build.constant(np.array(3, type)) for type in (x, w, x)]
    lhs, rhs, result = ([scale, zero] for zero in zeros)
    operands = [names[0], *lhs, names[1], *rhs, *result]
    build.node("QLinearMatMul", operands, "y")
    build.output("y", x)
    model = qlower.load(build.save(tmp_path / "m.onnx"))
    feed = [drawn(x, (3, 9), 0), drawn(w, (9, 2), 1)]
    wanted = qlower.interpret(model, *feed, contract="onnxruntime")
    if types == "u1 i1":
        with pytest.raises(QlowerError, match="products of uint8 and int8 saturate"):
            qlower.interpret(model, *feed, contract=BEFORE_VNNI)
    else:
        found = qlower.interpret(model, *feed, contract=BEFORE_VNNI)
        np.testing.assert_array_equal(found, wanted)
