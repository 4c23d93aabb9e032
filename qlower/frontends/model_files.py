"""Which files are models, told by their names."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from qlower.diagnostics import QlowerError

SUFFIXES = (".mlir", ".tflite", ".onnx")
"""The kinds of models that are read."""

KNOWN_UNSUPPORTED = {
    ".mlirbc": "MLIR bytecode can't be read; print it as text with mlir-opt first",
    **dict.fromkeys(
        (".pt", ".pt2", ".pth"),
        "PyTorch models can't be read; torch.onnx.export writes an .onnx file",
    ),
}


def check_model_path(path: str | PathLike[str]) -> Path:
    """`path` if it is a file of a kind that we read, else a `QlowerError`."""
    file = Path(path)
    if file.suffix in KNOWN_UNSUPPORTED:
        raise QlowerError(f"{file}: {KNOWN_UNSUPPORTED[file.suffix]}")
    if file.is_dir():
        raise QlowerError(f"cannot read {file}: it is a directory")
    if not file.exists():
        raise QlowerError(f"cannot read {file}: no such file")
    if file.suffix not in SUFFIXES:
        raise QlowerError(
            f"{file}: unknown kind of model {file.suffix or '(no suffix)'!r}",
            help="models are .mlir, .tflite or .onnx files",
        )
    return file
