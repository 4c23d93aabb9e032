"""Models to hash: those of all tests of operators, as files, and the real ones.

Files are what every commit reads alike, whatever its tests and its levels look like.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import models_directory
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_cases import CASES as ONNX
from support.formats.pt2_builder import Pt2Builder
from support.formats.pt2_cases import REAL as PT2
from support.formats.pt2_cases import network
from support.formats.tflite_cases import CASES as TFLITE
from support.formats.tflite_lstm import Lstm
from support.formats.tflite_real_lstm import RealLstm
from support.formats.tflite_streams import keyword_spotter, looped, svdf
from support.formats.tflite_word_cases import WORDS
from support.layers.random_layers import LAYERS
from support.layers.run_files import RUN_TESTS

ROOT = Path(__file__).parents[2]

SEEDS = range(3)
"""Layers of so many seeds are drawn of each kind that has no case of its own."""

REAL_MODELS = "real"
"""The folder of models whose machine code is hashed, too."""


def write_corpus(folder: Path) -> int:
    """Write the models of all tests below a folder, and return how many there are."""
    count = 0
    for name, content in _models():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        count += 1
    for model in sorted(models_directory().glob("*/model.*")):
        path = folder / REAL_MODELS / f"{model.parent.name}{model.suffix}"
        path.parent.mkdir(exist_ok=True)
        shutil.copyfile(model, path)
        count += 1
    return count


def _models() -> Iterator[tuple[str, bytes]]:
    """Each model's path in the corpus, and its content."""
    for name, make in TFLITE.items():
        yield f"tflite/{name}.tflite", make()
    for name, build in WORDS.items():
        yield f"tflite/words_{name}.tflite", build(0)
    for name, draw in LAYERS.items():
        for seed in SEEDS:
            for dtype in ("int8", "uint8"):
                yield f"tflite/drawn_{name}_{dtype}_{seed}.tflite", draw(seed, dtype)
    yield "tflite/lstm.tflite", Lstm().build()
    yield "tflite/real_lstm.tflite", RealLstm().build()
    yield "tflite/keyword_spotter.tflite", keyword_spotter()
    yield "tflite/looped.tflite", looped(3)
    yield "tflite/svdf.tflite", svdf(0)
    for name, case in ONNX.items():
        yield f"onnx/{name}.onnx", case().build()
    yield from _resized()
    yield from _recurrent()
    for name, case in PT2.items():
        yield f"pt2/{name}.pt2", case().build()
    for dtype in ("u1", "i1"):
        yield f"pt2/network_{dtype}.pt2", network(dtype).build()
    for test in RUN_TESTS:
        yield f"run/{str(test).replace('/', '_')}.mlir", test.text.encode()
    for kind in ("tosa", "stablehlo", "linalg"):
        for path in sorted((ROOT / "tests/frontends" / kind).rglob("*.mlir")):
            yield f"{kind}/{path.stem}.mlir", path.read_bytes()
    for path in sorted((ROOT / "filecheck").rglob("*.mlir")):
        place = "_".join(path.relative_to(ROOT / "filecheck").with_suffix("").parts)
        for number, part in enumerate(path.read_text().split("// -----\n")):
            yield f"filecheck/{place}_{number}.mlir", part.encode()


def _resized() -> Iterator[tuple[str, bytes]]:
    """Images of real and of stored numbers, by each rule for the places of pixels."""
    scales = np.array([1, 1, 1.5, 0.5], np.float32)
    for mode, dtype in (*(("linear", "f4"), ("linear", "u1")), ("cubic", "f4")):
        for rule in ("half_pixel", "asymmetric", "align_corners"):
            onnx = OnnxBuilder()
            inputs = [onnx.input("x", (1, 2, 4, 6), dtype), "", onnx.constant(scales)]
            given = {"mode": mode, "coordinate_transformation_mode": rule}
            onnx.output(onnx.node("Resize", inputs, **given), dtype)
            yield f"onnx/resized_{mode}_{dtype}_{rule}.onnx", onnx.build()
    for kind, shape, corners in (
        ("linear1d", (2, 6, 5), True),
        *(("bilinear2d", (1, 9, 4, 6), corners) for corners in (True, False)),
        ("bilinear2d", (1, 3, 90, 60), False),
        ("nearest2d", (1, 3, 4, 6), None),
    ):
        sizes = [17, 9][: len(shape) - 2]
        pt2 = Pt2Builder()
        more = {} if corners is None else {"align_corners": corners}
        x, target = pt2.input("x", shape), f"aten.upsample_{kind}.vec"
        pt2.output(pt2.call(target, input=x, output_size=sizes, **more))
        yield f"pt2/{kind}_{shape[1]}_{corners}.pt2", pt2.build()


def _recurrent() -> Iterator[tuple[str, bytes]]:
    """Layers of ONNX with all that they may be given."""
    random = np.random.default_rng(1)
    units, inputs = 5, 3
    for kind, gates, is_linear in (("LSTM", 4, 0), ("GRU", 3, 0), ("GRU", 3, 1)):
        build = OnnxBuilder()

        def real(*shape: int, build: OnnxBuilder = build) -> str:
            return build.constant(random.normal(size=shape).astype(np.float32))

        x = build.input("x", (4, 2, inputs))
        rows = gates * units
        operands = [x, real(2, rows, inputs), real(2, rows, units), real(2, 2 * rows)]
        operands += ["", real(2, 2, units)]
        if kind == "LSTM":
            operands += [real(2, 2, units), real(2, 3 * units)]
        given: dict[str, Any] = {"hidden_size": units, "direction": "bidirectional"}
        if is_linear:
            given["linear_before_reset"] = 1
        build.output(build.node(kind, operands, **given))
        yield f"onnx/{kind.lower()}_{is_linear}.onnx", build.build()
