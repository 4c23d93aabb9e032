"""What tosa-converter-for-tflite makes of real models, beside the `.tflite` files.

Values are those of the file's own import, layer by layer: under `tflm`, which has the
converter's fully connected layers, or for uint8 under `tosa-double`, because LiteRT
multiplies their scales in float32 and the converter in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.tosa import convert_to_tosa, has_tosa

import qlower
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array
from qlower.model.layers import layer_name, layers

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.tflite"))
SMALL = ("hello_world_int8", "micro_speech_int8")

AVERAGE = "AvgPool_1a"
"""The converter averages unsigned numbers less 128, of which ties go away from zero:
from this layer on uint8 models may differ."""

INPUTS = 3

pytestmark = [
    pytest.mark.skipif(not NAMES, reason=f"no models in {MODELS}"),
    pytest.mark.skipif(not has_tosa(), reason="the converter is not installed"),
]


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    "name",
    [
        name if name in SMALL else pytest.param(name, marks=pytest.mark.long)
        for name in NAMES
    ],
)
def test_layers(name: str, tmp_path: Path):
    text = tmp_path / "model.mlir"
    file = MODELS / name / "model.tflite"
    convert_to_tosa(file, text)
    tosa, tflite = qlower.load(text), qlower.load(file)
    contract = "tosa-double" if "uint8" in name else "tflm"
    # Padding before a convolution becomes a part of it.
    padded = {layer_name(op) for op in layers(tflite.module) if op.name == "qnn.pad"}
    runs = [
        Compilation(tosa, with_layers=True).function(),
        Compilation(tflite, contract, with_layers=True).function(),
    ]
    with np.load(MODELS / name / "inputs.npz") as arrays:
        examples = arrays[arrays.files[0]][:INPUTS]
    for example in examples:
        inputs = [example.reshape(run.inputs[0].shape) for run in runs]
        (_, found), (_, wanted) = (
            run.run([array], {}) for run, array in zip(runs, inputs, strict=True)
        )
        kept = {key: values for key, values in wanted.items() if key not in padded}
        check_layers(found, kept, last=AVERAGE if "uint8" in name else None)


def check_layers(
    found: Mapping[str, Array], wanted: Mapping[str, Array], last: str | None
) -> None:
    """Every layer's values are those of an operation of TOSA, in the same order."""
    operations = list(found.values())
    for name, values in wanted.items():
        if name == last:
            return
        place = next((i for i, v in enumerate(operations) if same(v, values)), None)
        assert place is not None, name
        operations = operations[place:]


def same(found: Array, wanted: Array) -> bool:
    """Whether numbers are equal; TOSA has unsigned ones less 128."""
    if found.size != wanted.size:
        return False
    if wanted.dtype == np.uint8 and found.dtype == np.int8:
        wanted = (wanted.astype(np.int16) - 128).astype(np.int8)
    return np.array_equal(found.reshape(-1), wanted.reshape(-1))
