"""Running a `.tflite` model as TOSA: Arm's converter, then the TOSA reference model.

Needs the optional packages `tosa-converter-for-tflite` and `tosa-tools`; tests skip
without them.
"""

from __future__ import annotations

import subprocess
import sys
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


def has_tosa() -> bool:
    """Whether both packages are installed."""
    names = ("tosa_converter_for_tflite", "tosa_reference_model")
    return all(find_spec(name) is not None for name in names)


def run_tosa(
    model: Path, inputs: Sequence[NDArray[np.generic]]
) -> NDArray[np.generic] | None:
    """The output of a model with one, or None where the reference model calls it
    unpredictable. Files are made beside the model."""
    converter = import_module("tosa_converter_for_tflite")
    text, binary = model.with_suffix(".mlir"), model.with_suffix(".tosa")
    converter.tflite_flatbuffer_to_tosa_mlir(
        str(model), str(text), converter.TosaConverterOutputFormat.Text
    )
    command = [
        str(Path(sys.executable).with_name("tosa-opt")),
        "--tosa-serialize",
        f"--tosa-flatbuffer-filename={binary}",
        f"--tosa-flatbuffer-schema={_schema()}",
        str(text),
    ]
    subprocess.run(command, check=True, capture_output=True)
    reference_model = import_module("tosa_reference_model")
    run = cast(
        Callable[..., tuple[list[NDArray[np.generic]], _Status]], reference_model.run
    )
    outputs, status = run(binary.read_bytes(), list(inputs))
    return outputs[0] if status.name == "TOSA_VALID" else None


def _schema() -> Path:
    installed = files("tosa-tools") or []
    return next(
        Path(str(path.locate())) for path in installed if path.name == "tosa.fbs"
    )
