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
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray


class _Status(Protocol):
    name: str


class NotConverted(Exception):
    """The converter doesn't make TOSA of the model, or leaves a part of it as it is."""


def has_tosa() -> bool:
    """Whether both packages are installed."""
    names = ("tosa_converter_for_tflite", "tosa_reference_model")
    return all(find_spec(name) is not None for name in names)


def run_tosa(
    model: Path, input_sets: Sequence[Sequence[NDArray[np.generic]]], rounding: str
) -> list[NDArray[np.generic] | None]:
    """The output of a model with one, for each set of inputs; None where the reference
    model calls it unpredictable. Files are made beside the model.

    Raises `NotConverted`. `rounding` is the mode of every RESCALE for which the
    converter takes DOUBLE_ROUND.
    """
    converter = import_module("tosa_converter_for_tflite")
    text, binary = model.with_suffix(".mlir"), model.with_suffix(".tosa")
    try:
        converter.tflite_flatbuffer_to_tosa_mlir(
            str(model), str(text), converter.TosaConverterOutputFormat.Text
        )
    except RuntimeError as error:
        raise NotConverted(error) from error
    if '"tfl.' in text.read_text():
        raise NotConverted("operators of TensorFlow Lite are left")
    text.write_text(text.read_text().replace("DOUBLE_ROUND", rounding))
    command = [
        str(_installed("bin/tosa-opt")),
        "--tosa-serialize",
        f"--tosa-flatbuffer-filename={binary}",
        f"--tosa-flatbuffer-schema={_installed('bin/tosa.fbs')}",
        str(text),
    ]
    subprocess.run(command, check=True, capture_output=True)
    reference_model = import_module("tosa_reference_model")
    run = cast(
        Callable[..., tuple[list[NDArray[np.generic]], _Status]], reference_model.run
    )
    program = binary.read_bytes()
    answers: list[NDArray[np.generic] | None] = []
    for inputs in input_sets:
        outputs, status = run(program, list(inputs))
        answers.append(outputs[0] if status.name == "TOSA_VALID" else None)
    return answers


def _installed(name: str) -> Path:
    """A file of tosa-tools by its name inside the package."""
    installed = files("tosa-tools") or []
    return next(Path(str(path.locate())) for path in installed if str(path) == name)
