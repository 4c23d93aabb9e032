"""Arrays of dumps that are layers in another form, and float tensors that are like
them, by hand."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.model.signature import Array, TensorSpec
from qlower.sides.dumps import stacked
from qlower.sides.structure import paired

IMAGE = TensorSpec("i", (1, 2, 3, 4), "int8", (0.5,), (-3,))
ROW = TensorSpec("r", (1, 1, 4), "int8", (0.5,), (-3,))


@pytest.mark.parametrize(
    ("spec", "shape", "runs", "first", "expected"),
    [
        (IMAGE, (1, 4, 2, 3), 1, True, (1, 1, 2, 3, 4)),
        (IMAGE, (2, 4, 2, 3), 2, True, (2, 1, 2, 3, 4)),
        (IMAGE, (2, 1, 4, 2, 3), 2, True, (2, 1, 2, 3, 4)),
        (IMAGE, (1, 2, 3, 4), 1, True, None),
        (IMAGE, (1, 2, 3, 4), 1, False, (1, 1, 2, 3, 4)),
        (IMAGE, (2, 3, 4), 1, False, (1, 1, 2, 3, 4)),
        (IMAGE, (2, 2, 3, 4), 2, False, (2, 1, 2, 3, 4)),
        (IMAGE, (2, 3, 4), 2, False, None),
        (IMAGE, (1, 4, 2, 3), 1, False, None),
        (ROW, (4,), 1, True, (1, 1, 1, 4)),
        (ROW, (4, 1), 1, False, (1, 1, 1, 4)),
        (ROW, (4,), 2, False, None),
        (ROW, (2, 4), 2, False, (2, 1, 1, 4)),
        (ROW, (2, 2), 1, False, None),
    ],
)
def test_forms_of_a_layer(
    spec: TensorSpec,
    shape: tuple[int, ...],
    runs: int,
    first: bool,
    expected: tuple[int, ...] | None,
) -> None:
    array = np.arange(np.prod(shape), dtype=np.int8).reshape(shape)
    found = stacked(spec, array, runs, first)
    assert (None if found is None else found.shape) == expected
    if found is not None and spec is IMAGE:
        moved = np.moveaxis(array, -3, -1) if first else array
        assert found.tobytes() == moved.tobytes()


def test_the_tensor_that_is_most_like_a_layer() -> None:
    """Channels last or first; at least 0.9 of the cosine, and real numbers."""
    nearest = vars(import_module("qlower.sides.structure"))["_nearest"]
    random = np.random.default_rng(0)
    stored = random.integers(-128, 128, (1, 1, 2, 3, 4)).astype(np.int8)
    own = ((stored + 3.0) * 0.5)[0].astype(np.float32)
    turned = np.moveaxis(own, -1, 1)
    noise = random.normal(size=own.shape).astype(np.float32)
    far = own + 40 * noise

    def found(**arrays: Array) -> str | None:
        return nearest(IMAGE, stored, arrays)

    assert found(a=far, b=own) == "b"
    assert found(a=far, b=turned) == "b"
    assert found(a=own + noise, b=turned) == "b"
    assert found(a=own, b=turned) == "a"
    assert found(a=far, b=-own, c=own[..., :3], d=0 * own) is None
    assert found(a=own.astype(np.int8)) is None


def test_what_was_done_to_arrays_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(SMALL_MODEL)
    model, image = qlower.load(path), np.array([-128, 5, 60, 127], np.int8)
    image = image.reshape(1, 2, 2, 1)
    layers: dict[str, Array] = {}
    qlower.interpret(model, image, at="qnn", layers=layers)
    dump = {
        "conv": layers["conv"],
        "scores": model.outputs[0].dequantize(layers["scores"]).astype(np.float32),
        "Flat_output_0": layers["flat"],
        "left": np.zeros(3, np.int8),
    }
    (note,) = qlower.diff("tflite", dump, model, image).notes
    assert note.partition(": ")[2] == (
        "2 by name, 1 by likeness (Flat_output_0 is flat), 1 changed (scores "
        "quantized), left out 1 (left: no layer has this name)"
    )
    (note,) = qlower.diff("tflite", {"scores": layers["scores"]}, model, image).notes
    assert note.endswith(": 1 by name, without 2 layers (conv, flat)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tflite", ("tflite", None, None)),
        ("interp", (None, "interp", None)),
        ("jit", (None, "jit", None)),
        ("tvm:jit", ("tvm", "jit", None)),
        ("tvm:interp", ("tvm", "interp", None)),
        ("x86-64-v3", (None, "jit", "x86-64-v3")),
        ("tvm:x86-64-v3", ("tvm", "jit", "x86-64-v3")),
        ("tflite:tvm", ("tflite:tvm", None, None)),
        ("exact", ("exact", None, None)),
        ("nosuch", ("nosuch", None, None)),
    ],
)
def test_a_side_names_a_contract_and_an_executor(
    text: str, expected: tuple[str | None, str | None, str | None]
) -> None:
    split = vars(import_module("qlower.sides.make_side"))["_split"]
    is_x86 = host_target().triple.startswith("x86_64")
    if not is_x86 and "x86" in text:
        pytest.skip("CPUs of this machine alone are sides")
    assert split(text) == expected


def test_a_layer_that_is_given_a_tensor_is_not_paired_by_its_name(
    tmp_path: Path,
) -> None:
    file = tmp_path / "small.mlir"
    file.write_text(SMALL_MODEL)
    model = qlower.load(file)
    arrays = {
        "other": np.zeros((1, 1, 2, 2, 2), np.float32),
        "conv": np.zeros((1, 1, 2, 2, 2), np.float32),
        "flat": np.zeros((1, 1, 8), np.float32),
        "scores": np.zeros((1, 1, 3), np.float32),
    }

    def own() -> dict[str, Array]:
        raise AssertionError("nothing is missing")

    found = paired(arrays, model, {"conv": "other"}, own)
    assert found == {"other": "conv", "flat": "flat", "scores": "scores"}
    found = paired(arrays, model, {}, own)
    assert found == {"conv": "conv", "flat": "flat", "scores": "scores"}
