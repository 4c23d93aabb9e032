"""A classifier whose answer depends on the machine, here and in ONNX Runtime."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from support.machines.vnni import LACKS_VNNI

import qlower

FOLDER = Path(__file__).parents[2] / "examples/one-answer"
MODEL = FOLDER / "classifier.onnx"


def images() -> np.ndarray:
    """The images of the digits' example as this model takes them."""
    stored = np.load(FOLDER.parent / "digits/test_images.npy").reshape(-1, 1, 64)
    return (stored.astype(np.int64) + 128).astype(np.uint8)


def test_the_script_makes_the_model() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    names = runpy.run_path(str(FOLDER / "make.py"))
    labels = np.load(FOLDER.parent / "digits/test_labels.npy")
    model = names["classifier"](images().reshape(-1, 64).astype(np.int64), labels)
    assert model.SerializeToString() == MODEL.read_bytes()
    assert (np.load(FOLDER / "nine.npy") == images()[names["NINE"]]).all()
    assert labels[names["NINE"]] == 9


@pytest.mark.parts(4)
def test_one_image_flips() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    functions = [
        qlower.jit(MODEL, name) for name in ("onnxruntime", "onnxruntime-avx2")
    ]
    found = [[function(x).argmax() for function in functions] for x in images()]
    assert [pair for pair in found if pair[0] != pair[1]] == [[0, 9]]


def test_onnx_runtime_gives_its_machines_answer() -> None:
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    function = qlower.jit(MODEL, "onnxruntime-avx2" if LACKS_VNNI else "onnxruntime")
    session = ort.InferenceSession(MODEL.read_bytes())
    for image in images():
        (live,) = session.run(None, {"x": image})
        np.testing.assert_array_equal(function(image), live)
