"""The kinds of model files, by their names."""

from __future__ import annotations

import os
from os import PathLike, fspath
from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.files.addresses import refuse_address

CONVERTED = (".mlirbc", ".tosa")
"""The kinds of models that a tool of another project turns into MLIR text."""

SUFFIXES = (".mlir", ".tflite", ".onnx", ".pt2", ".param", ".espdl", *CONVERTED)
"""The kinds of models that are read."""

KNOWN_UNSUPPORTED = {
    **dict.fromkeys(
        (".pt", ".pth"),
        "pickles, which can run any code, are not read; qlower.from_eager and"
        " qlower.from_fx take quantized modules from memory, torch.export.save writes"
        " a .pt2 file of a PT2E model",
    ),
}


def check_model_path(path: str | PathLike[str]) -> Path:
    """`path` if it is a file of a kind that we read, else a `QlowerError`."""
    file = Path(path)
    refuse_address(fspath(path))
    if file.suffix in KNOWN_UNSUPPORTED:
        raise QlowerError(f"{file}: {KNOWN_UNSUPPORTED[file.suffix]}")
    if os.path.isdir(file):
        raise QlowerError(f"cannot read {file}: it is a directory")
    if not os.path.exists(file):
        raise QlowerError(f"cannot read {file}: no such file")
    if file.suffix not in SUFFIXES:
        raise QlowerError(
            f"{file}: unknown kind of model {file.suffix or '(no suffix)'!r}",
            help=f"models are {', '.join(SUFFIXES)} files",
        )
    return file


def contents(data: bytes) -> str:
    """Return what a file looks like that isn't a model: the end of a message, or ""."""
    if not data:
        return ": the file is empty"
    if data.startswith(b"version https://git-lfs"):
        return ": it is a pointer of Git LFS, and `git lfs pull` gets the file"
    head = data[:256].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html")):
        return ": it is a page in HTML"
    is_text = data[:4096].isascii() and not set(data[:4096]) & set(range(9))
    return ": it is text" if is_text else ""
