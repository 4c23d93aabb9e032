"""Identity of a model's file."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.kept.journal import Journal, read_file, read_given


def file_digest(path: Path) -> str:
    """The SHA-256 in hex of a model's file; of an ONNX file with external data that of
    the file's and the data's, as far as it can be read; of ncnn's two files that of
    both."""
    journal = Journal()
    with journal.kept():
        content = read_given(path)
        if path.suffix == ".onnx":
            from .onnx.reader import read_model

            with suppress(QlowerError):
                read_model(content, str(path), path.parent)
        if path.suffix == ".param":
            with suppress(OSError):
                read_file(path.with_suffix(".bin"))
    digest = hashlib.sha256(content)
    if journal.hashes:
        digest = hashlib.sha256(b"".join([digest.digest(), *journal.hashes.values()]))
    return digest.hexdigest()
