"""Boxes of detectors that overlap no better one, beside LiteRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import Option, TFLiteBuilder
from support.formats.tflite_general_cases import model
from support.systems.litert import run_litert

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

DETECTION = "TFLite_Detection_PostProcess"
OPTIONS: dict[str, Option] = {
    "max_detections": 7,
    "max_classes_per_detection": 1,
    "nms_score_threshold": 0.3,
    "nms_iou_threshold": 0.5,
    "num_classes": 3,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}
BOXES = 30


def results_of(options: dict[str, Option]) -> dict[str, tuple[int, ...]]:
    """The names and shapes of results."""
    width = options["max_classes_per_detection"]
    assert isinstance(width, int)
    rows = 7 * width
    return {"boxes": (1, rows, 4), "classes": (1, rows), "scores": (1, rows)} | {
        "count": (1,)
    }


def detector(
    dtype: str,
    *,
    classes: int = 3,
    anchors: NDArray[np.float32] | None = None,
    shape: tuple[int, ...] | None = None,
    without: str = "",
    anchors_type: str | None = None,
    **options: Option,
) -> bytes:
    """A model of the operator alone; with a shape the results have that one, and with a
    type the anchors."""
    builder, random = TFLiteBuilder(), np.random.default_rng(5)
    given = OPTIONS | options
    given.pop(without, None)
    if anchors is None:
        anchors = random.uniform(0.05, 0.6, (BOXES, 4)).astype(np.float32)
    is_real = dtype == "float32"
    scale, point = (None, 0) if is_real else (0.005, 3)
    codes = anchors if scale is None else np.round(anchors / np.float32(scale))
    scales, middle = ((None, None), 0) if is_real else ((0.07, 1 / 256), 120)
    x = builder.tensor("x", (1, BOXES, 4), dtype, scale=scales[0], zero_point=middle)
    scores = builder.tensor("s", (1, BOXES, classes), dtype, scale=scales[1])
    table = builder.tensor(
        "anchors",
        codes.shape,
        anchors_type or dtype,
        scale=scale,
        zero_point=point,
        data=codes + point,
    )
    results = [
        builder.tensor(name, sizes if shape is None else shape, "float32")
        for name, sizes in results_of(given).items()
    ]
    builder.operator(DETECTION, [x, scores, table], results, given)
    return builder.build([x, scores], results)


def inputs(dtype: str, classes: int, seed: int) -> list[NDArray[np.generic]]:
    """Encodings, and scores with many equal ones."""
    random = np.random.default_rng(seed)
    if dtype == "uint8":
        shapes = (1, BOXES, 4), (1, BOXES, classes)
        return [random.integers(0, 256, one).astype(np.uint8) for one in shapes]
    ninths = random.integers(0, 10, (1, BOXES, classes)) / 9
    encodings = random.normal(0, 4, (1, BOXES, 4))
    return [encodings.astype(np.float32), ninths.astype(np.float32)]


@pytest.mark.long
@pytest.mark.parametrize("threshold", [0.3, 0.8])
@pytest.mark.parametrize("regular", [False, True], ids=["together", "by_class"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_detections(
    dtype: str, regular: bool, threshold: float, tmp_path: Path
) -> None:
    """All results that LiteRT sets: without `use_regular_nms` only the detections."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    classes = 4 if regular else 3
    data = detector(
        dtype,
        classes=classes,
        shape=() if regular else None,
        use_regular_nms=regular,
        detections_per_class=3,
        nms_score_threshold=threshold,
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    model = qlower.load(path)
    for seed in range(4):
        given = inputs(dtype, classes, seed)
        *expected, count = run_litert(data, given)
        if not regular:
            for result in expected:
                result[:, int(count[0]) :] = 0
        for run in (qlower.jit(model), lambda *x: qlower.interpret(model, *x)):
            for found, result in zip(run(*given), (*expected, count), strict=True):
                np.testing.assert_array_equal(found, result)


@pytest.mark.parts(32)
@pytest.mark.parametrize("width", [2, 3, 8, 18])
@pytest.mark.parametrize("classes", [1, 3, 9, 16])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_classes_of_a_detection(
    dtype: str, classes: int, width: int, tmp_path: Path
) -> None:
    """Equal scores in the order of the C++ library's partial sort, NaN and infinities
    among them. Where there are fewer classes than places LiteRT leaves these as they
    are."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    data = detector(
        dtype,
        classes=classes + width % 2,
        num_classes=classes,
        max_classes_per_detection=width,
        nms_iou_threshold=0.9,
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    model = qlower.load(path)
    runs = [qlower.jit(model), lambda *x: qlower.interpret(model, *x)]
    for seed in range(12):
        encodings, scores = inputs(dtype, classes + width % 2, seed)
        if dtype == "uint8" and seed % 2:
            scores = (scores.astype(np.uint8) & 0xC0).astype(np.uint8)
        if dtype == "float32" and seed % 4 == 0:
            scores[scores == scores.max()] = (np.inf, np.nan, 1)[seed // 4 % 3]
            scores[scores == 0] = -np.inf
        *expected, count = run_litert(data, [encodings, scores])
        for number, result in enumerate(expected):
            table = result.reshape(7, width, -1)
            table[int(count[0]) :] = 0
            table[:, classes:] = 0
            expected[number] = table.reshape(result.shape)
        for run in runs[: 1 + (seed < 2)]:
            results = run(encodings, scores)
            for found, result in zip(results, (*expected, count), strict=True):
                np.testing.assert_array_equal(found, result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_detections": 0}, "max_detections 0 is out of range"),
        ({"without": "num_classes"}, "option num_classes is missing"),
        ({"classes": 5}, "classes of tensor 1 's' 5 is out of range [3, 4]"),
        ({"nms_iou_threshold": 0.0}, "nms_iou_threshold 0.0 is out of range (0, 1]"),
        (
            {"max_classes_per_detection": 2, "use_regular_nms": True},
            "max_classes_per_detection 2 is out of range [1, 1]",
        ),
        (
            {"max_classes_per_detection": 17, "num_classes": 20, "classes": 20},
            "classes of a detection 17 is out of range [1, 16]",
        ),
        ({"y_scale": 0.0}, "a scale of 0 among [0.0, 10.0, 5.0, 5.0]"),
        ({"dtype": "int8"}, "type INT8 is not supported by"),
        ({"anchors": np.zeros((BOXES, 4), np.float32)}, "sizes of anchors from 0.0 on"),
        ({"anchors": np.ones((2, 4), np.float32)}, "shape [2, 4], expected [30, 4]"),
        (
            {"anchors_type": "int32", "anchors": np.ones((BOXES, 4), np.float32)},
            "type INT32 is not supported together with FLOAT32",
        ),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"dtype": "float32", **options}
    data = detector(**given)
    with pytest.raises(QlowerError) as caught:
        import_tflite(data, name="m")
    assert message in caught.value.message


def suppression(
    boxes: int, count: int, limit: float, least: float, sigma: float | None
) -> bytes:
    """NON_MAX_SUPPRESSION_V4, or with a sigma V5."""
    real = [limit, least, *([] if sigma is None else [sigma])]
    version = 2 + len(real)
    return model(
        f"NON_MAX_SUPPRESSION_V{version}",
        [
            *(f"float32 {boxes}x4", f"float32 {boxes}", np.int32(count)),
            *np.array(real, np.float32),
        ],
        *(f"int32 {count}", *[f"float32 {count}"] * (version - 4), "int32 -"),
    )()


@pytest.mark.parts(27)
@pytest.mark.parametrize(("boxes", "count"), [(1, 3), (17, 9), (32, 40)])
@pytest.mark.parametrize("limit", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sigma", [None, 0.0, 0.3], ids=["v4", "v5", "soft"])
def test_suppression(
    sigma: float | None, limit: float, boxes: int, count: int, tmp_path: Path
) -> None:
    """Of equal scores the one on top of the C++ library's heap comes first; boxes
    without an area come again. With a sigma scores fall with each overlap."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    data = suppression(boxes, count, limit, 0.2, sigma)
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    loaded = qlower.load(path)
    run = qlower.jit(loaded)
    for seed in range(6):
        random = np.random.default_rng(seed)
        corners = random.integers(0, 6, (boxes, 4)).astype(np.float32)
        scores = random.integers(0, 5, boxes).astype(np.float32) / 4
        if seed % 2:
            corners = random.uniform(0, 6, (boxes, 4)).astype(np.float32)
        expected = run_litert(data, [corners, scores])
        found = [run(corners, scores)]
        if seed == 0 and not (sigma and boxes > 1):
            found.append(qlower.interpret(loaded, corners, scores))
        for results in found:
            for one, other in zip(results, expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_damaged_options() -> None:
    data = detector("float32")
    place = data.index(b"max_detections")
    for end in (b"\xff" * 30, b"max_detectionx"):
        damaged = data[:place] + end + data[place + len(end) :]
        with pytest.raises(QlowerError):
            import_tflite(damaged, name="m")
