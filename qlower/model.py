"""A model in memory, and reading one from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.layers import name_layers
from qlower.parsing import parse_file
from qlower.signature import Signature, TensorSpec, name_tensors

KNOWN_UNSUPPORTED = {
    ".onnx": "ONNX models can't be read yet",
    ".mlirbc": "MLIR bytecode can't be read; print it as text with mlir-opt first",
    ".pt2": "PyTorch models can't be read yet",
}


@dataclass(frozen=True)
class Model:
    """A quantized network: a verified module, usually at the qnn level.

    `path` is the file it came from, if any.
    """

    module: ModuleOp
    path: Path | None = None

    @cached_property
    def signature(self) -> Signature:
        """Inputs and outputs."""
        return Signature.of_module(self.module)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the model takes: name, shape, dtype, scale and zero point of each."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the model gives: name, shape, dtype, scale and zero point of each."""
        return self.signature.outputs

    def __str__(self) -> str:
        lines = [f"model {self.path or ''}".rstrip()]
        lines += [f"  input {spec}" for spec in self.inputs]
        lines += [f"  output {spec}" for spec in self.outputs]
        return "\n".join(lines)


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
    name_layers(module)
    name_tensors(module)
    return Model(module, file)


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
