"""Reading a model from a file, of whatever kind it is."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.model.layers import name_layers
from qlower.model.signature import name_tensors
from qlower.text.parsing import parse_file, parse_module, verify_module

ModelOrPath: TypeAlias = Model | str | PathLike[str]

KNOWN_UNSUPPORTED = {
    ".onnx": "ONNX models can't be read yet",
    ".mlirbc": "MLIR bytecode can't be read; print it as text with mlir-opt first",
    ".pt2": "PyTorch models can't be read yet",
}


def load(path: str | PathLike[str]) -> Model:
    """Read a model from an `.mlir` or `.tflite` file.

    Raises `QlowerError` for a file that can't be read, is malformed, or uses something
    that isn't supported; the error names the place.
    """
    file = check_model_path(path)
    if file.suffix == ".tflite":
        from qlower.frontends.tflite import import_tflite

        module = import_tflite(file, name=str(file))
    else:
        module = parse_file(file)
    return _named(module, file)


def load_text(text: bytes, name: str) -> Model:
    """Read a model from MLIR text; `name` stands for a file in locations."""
    module = parse_module(text, name)
    verify_module(module)
    return _named(module, None)


def as_model(model: ModelOrPath) -> Model:
    """The model itself, loaded if it is a path."""
    return model if isinstance(model, Model) else load(model)


def check_model_path(path: str | PathLike[str]) -> Path:
    """`path` if it is a file of a kind that we read, else a `QlowerError`."""
    file = Path(path)
    if file.suffix in KNOWN_UNSUPPORTED:
        raise QlowerError(f"{file}: {KNOWN_UNSUPPORTED[file.suffix]}")
    if file.is_dir():
        raise QlowerError(f"cannot read {file}: it is a directory")
    if not file.exists():
        raise QlowerError(f"cannot read {file}: no such file")
    if file.suffix not in (".mlir", ".tflite"):
        raise QlowerError(
            f"{file}: unknown kind of model {file.suffix or '(no suffix)'!r}",
            help="models are .mlir or .tflite files",
        )
    return file


def _named(module: ModuleOp, file: Path | None) -> Model:
    name_layers(module)
    name_tensors(module)
    return Model(module, file)
