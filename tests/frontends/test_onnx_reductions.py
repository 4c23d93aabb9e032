"""Reductions and rearrangements of real numbers give ONNX Runtime's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_layers import LEVELS, Layers

import qlower
from qlower.diagnostics import QlowerError

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SHAPES = [((5, 7), [1]), ((9, 8), [0]), ((3, 9, 8), [1]), ((2, 23, 5, 2), [2, 3])]
SUMS = ("ReduceMean", "ReduceL1", "ReduceL2", "ReduceProd", "ReduceSumSquare")


@pytest.mark.parts(10)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(keepdims: int, tmp_path: Path) -> None:
    """Of the last dimensions, the first, those between and all."""
    build = Layers()
    for shape, axes in (*SHAPES, ((4, 6), [0, 1])):
        x = build.value(*shape)
        for kind in SUMS if len(axes) < len(shape) else SUMS[:3]:
            build.returned(build.node(kind, [x], axes=axes, keepdims=keepdims))
        along = build.constant(np.array(axes))
        build.returned(build.node("ReduceSum", [x, along], keepdims=keepdims))
        size = build.node("Abs", [x])
        logarithm = build.node("ReduceLogSum", [size], axes=axes, keepdims=keepdims)
        build.returned(logarithm)
    build.check(tmp_path)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_rearrangements(qdq: str, tmp_path: Path) -> None:
    """Of float32, and of what is quantized before and after."""
    build = Layers()

    def integers(*values: int) -> str:
        return build.constant(np.array(values))

    kinds: list[tuple[str, list[str], dict[str, Any]]] = [
        ("Tile", [integers(1, 2, 1, 3)], {}),
        ("Expand", [integers(2, 1, 1, 4, 6)], {}),
        ("Slice", [integers(-1), integers(-100), integers(3), integers(-2)], {}),
        ("DepthToSpace", [], {"blocksize": 2}),
        ("DepthToSpace", [], {"blocksize": 2, "mode": "CRD"}),
        ("SpaceToDepth", [], {"blocksize": 2}),
        ("GatherElements", [build.constant(np.array([[[[3, -1]]]]))], {"axis": 3}),
        *(
            ("Pad", [integers(0, 0, 1, 2, 0, 0, 2, 1)], {"mode": mode})
            for mode in ("constant", "edge", "reflect")
        ),
        ("Pad", [integers(0, 1, 0, 0, 0, 0, 0, 0), build.constant(0.7)], {}),
    ]
    for kind, more, attributes in kinds:
        x = build.value(1, 4, 4, 6)
        build.returned(build.node(kind, [x, *more], **attributes))
        paired = build.node(kind, [build.pair(x, 0.02, 5), *more], **attributes)
        build.returned(build.pair(paired, 0.03, 7))
    x = build.value(2, 4, 5)
    for upper in (0, 1):
        build.returned(build.node("Trilu", [x, integers(1)], upper=upper))
    build.check(tmp_path, qdq)


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_places_of_images(qdq: str, tmp_path: Path) -> None:
    """Grids, whose places may lie outside, curves through pixels, and roots of sums."""
    build = Layers(20)
    for padding in ("zeros", "border", "reflection"):
        for mode, corners in (("linear", 0), ("linear", 1), ("nearest", 0)):
            operands = [build.value(2, 3, 6, 7), build.value(2, 4, 5, 2)]
            made = build.node(
                "GridSample",
                operands,
                mode=mode,
                padding_mode=padding,
                align_corners=corners,
            )
            build.returned(made)
    for mode in ("half_pixel", "asymmetric", "align_corners"):
        for factors in ((2.0, 1.5), (0.6, 1.0)):
            scales = build.constant(np.array([1, 1, *factors], np.float32))
            made = build.node(
                "Resize",
                [build.value(1, 2, 9, 6), "", scales],
                mode="cubic",
                coordinate_transformation_mode=mode,
            )
            build.returned(made)
    for power in (1, 2):
        build.returned(build.node("GlobalLpPool", [build.value(2, 3, 4, 5)], p=power))
    build.check(tmp_path, qdq)


WINDOWS: list[dict[str, Any]] = [
    {},
    {"pads": [1, 0, 1, 1]},
    {"strides": [2, 1], "ceil_mode": 1},
    {"dilations": [2, 1]},
]


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_norms(qdq: str, tmp_path: Path) -> None:
    """Of windows and rows; rows that are 0, that overflow, and that have no number."""
    build = Layers(18)
    for power in (1, 2):
        for window in WINDOWS:
            x = build.value(2, 3, 8, 9)
            pool = build.node("LpPool", [x], kernel_shape=[3, 2], p=power, **window)
            build.returned(pool)
        for shape, axis in (((4, 37), 1), ((3, 5, 7, 4), 1), ((65,), 0)):
            x = build.value(*shape)
            build.returned(build.node("LpNormalization", [x], axis=axis, p=power))
        rows = build.input(f"rows{power}", (5, 2))
        build.returned(build.node("LpNormalization", [rows], p=power))
    build.returned(build.node("LpPool", [build.value(2, 3, 9)], kernel_shape=[3]))
    edges = [[-0.0, 0.0], [1e30, 1.0], [1e-30, 0.0], [np.inf, 1.0], [np.nan, 0.0]]
    rows = np.array(edges, np.float32)
    build.check(tmp_path, qdq, {"rows1": rows, "rows2": rows})


@pytest.mark.parts(2)
@pytest.mark.parametrize("qdq", LEVELS)
def test_normalization_of_any_axes(qdq: str, tmp_path: Path) -> None:
    """Rows that begin at every alignment."""
    build = Layers()
    for shape in ((2, 3, 4, 5), (3, 2, 7, 11)):
        for axes in ([2, 3], [1, 2, 3], [-1], [1], [0, 1, 2, 3]):
            x = build.value(*shape)
            build.returned(build.node("MeanVarianceNormalization", [x], axes=axes))
    for shape in ((2, 3, 5, 5), (2, 3, 5)):
        build.returned(build.node("MeanVarianceNormalization", [build.value(*shape)]))
    build.check(tmp_path, qdq)


@pytest.mark.parametrize(
    ("kind", "attributes", "message"),
    [
        ("LpPool", {"p": 3, "kernel_shape": [2, 2]}, "p 3 is out of range"),
        ("LpNormalization", {"p": 3}, "p 3 is out of range"),
        ("MeanVarianceNormalization", {"axes": [1, 1]}, "repeat a dimension"),
    ],
)
def test_refused_norms(
    kind: str, attributes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    build = Layers()
    build.returned(build.node(kind, [build.value(1, 3, 5, 5)], **attributes))
    with pytest.raises(QlowerError, match=message):
        qlower.load(build.save(tmp_path / "model.onnx"))


LOCAL: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 5, 4, 4), {"size": 3}),
    ((1, 9, 3, 5), {"size": 5, "alpha": 0.5, "beta": 0.5, "bias": 2.0}),
    ((1, 6, 3, 3), {"size": 7, "alpha": 3.0, "beta": 1.3, "bias": -4.0}),
    ((1, 3, 7, 1), {"size": 9, "alpha": 2.0, "beta": 1.0}),
]


def test_responses_of_channels(tmp_path: Path) -> None:
    """Windows wider than the image is deep, and sums below 0, which give NaN."""
    build = Layers()
    for shape, attributes in LOCAL:
        x = build.node("Mul", [build.value(*shape), build.constant(3.0)])
        build.returned(build.node("LRN", [x], **attributes))
    build.check(tmp_path)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"size": 4}, "size 4 is not supported; expected an odd number"),
        ({"size": 3, "beta": 2.0}, "beta 2.0 is not supported; expected 1 or"),
    ],
)
def test_refused_responses(
    attributes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    build = Layers()
    build.returned(build.node("LRN", [build.value(1, 3, 2, 2)], **attributes))
    with pytest.raises(QlowerError, match=message):
        qlower.load(build.save(tmp_path / "one.onnx"))


@pytest.mark.parts(4)
@pytest.mark.parametrize("qdq", LEVELS)
@pytest.mark.parametrize("type", ["u1", "i1"])
def test_interpolation(qdq: str, type: str, tmp_path: Path) -> None:
    """Of float32, of dequantized pixels and of stored ones."""
    build = Layers()
    for mode in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        for factors in ((2.0, 2.0), (1.5, 0.5), (1.0, 3.0)):
            scales = build.constant(np.array([1, 1, *factors], np.float32))
            x = build.value(1, 2, 4, 6)
            for value, scale in (
                (x, None),
                (build.pair(x, 0.02, 5, type), 0.03),
                (build.pair(x, 0.02, 5, type), 0.02),
            ):
                made = build.node(
                    "Resize",
                    [value, "", scales],
                    mode="linear",
                    coordinate_transformation_mode=mode,
                )
                build.returned(build.pair(made, scale, 5, type) if scale else made)
    build.check(tmp_path, qdq)
