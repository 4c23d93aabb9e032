"""Running a `.tflite` model as TOSA: Arm's converter, then the TOSA reference model.

Needs the optional packages `tosa-converter-for-tflite` and `tosa-tools`; tests skip
without them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

TOSA_LAYER = Path(__file__).with_name("tosa_layer.mlir")
"""A convolution between unsigned borders, whose batch and names are left open."""


class _Status(Protocol):
    name: str


class NotConverted(Exception):
    """The converter doesn't make TOSA of the model, or leaves a part of it as it is."""


def has_reference_model() -> bool:
    """Whether tosa-tools is installed."""
    return find_spec("tosa_reference_model") is not None


def has_tosa() -> bool:
    """Whether both packages are installed."""
    return has_reference_model() and find_spec("tosa_converter_for_tflite") is not None


def convert_to_tosa(model: Path, text: Path) -> None:
    """Write a `.tflite` model as TOSA, in text; raises `NotConverted`."""
    converter = import_module("tosa_converter_for_tflite")
    try:
        converter.tflite_flatbuffer_to_tosa_mlir(
            str(model), str(text), converter.TosaConverterOutputFormat.Text
        )
    except RuntimeError as error:
        raise NotConverted(error) from error
    if '"tfl.' in text.read_text():
        raise NotConverted("operators of TensorFlow Lite are left")


def serialize(text: Path, binary: Path) -> bytes:
    """A TOSA file of MLIR text."""
    command = [
        str(installed("bin/tosa-opt")),
        "--tosa-serialize",
        f"--tosa-flatbuffer-filename={binary}",
        f"--tosa-flatbuffer-schema={installed('bin/tosa.fbs')}",
        str(text),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return binary.read_bytes()


def reference_outputs(
    program: bytes, inputs: Sequence[NDArray[np.generic]]
) -> list[NDArray[np.generic]] | None:
    """What the reference model gives; None where it calls that unpredictable."""
    reference_model = import_module("tosa_reference_model")
    run = cast(
        Callable[..., tuple[list[NDArray[np.generic]], _Status]], reference_model.run
    )
    outputs, status = run(program, list(inputs))
    return outputs if status.name == "TOSA_VALID" else None


def run_reference_model(
    text: str, inputs: Sequence[NDArray[np.generic]]
) -> list[NDArray[np.generic]]:
    """What the reference model gives for a module in text, all of it predictable."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.mlir")
        path.write_text(text)
        outputs = reference_outputs(serialize(path, path.with_suffix(".tosa")), inputs)
    assert outputs is not None, "an unpredictable result"
    return outputs


def run_tosa(
    model: Path, input_sets: Sequence[Sequence[NDArray[np.generic]]], rounding: str
) -> list[NDArray[np.generic] | None]:
    """The output of a model with one, for each set of inputs; None where the reference
    model calls it unpredictable. Files are made beside the model.

    Raises `NotConverted`. `rounding` is the mode of every RESCALE for which the
    converter takes DOUBLE_ROUND.
    """
    text = model.with_suffix(".mlir")
    convert_to_tosa(model, text)
    text.write_text(text.read_text().replace("DOUBLE_ROUND", rounding))
    program = serialize(text, model.with_suffix(".tosa"))
    answers = [reference_outputs(program, inputs) for inputs in input_sets]
    return [None if answer is None else answer[0] for answer in answers]


def installed(name: str) -> Path:
    """A file of tosa-tools by its name inside the package."""
    installed = files("tosa-tools") or []
    return next(Path(str(path.locate())) for path in installed if str(path) == name)
