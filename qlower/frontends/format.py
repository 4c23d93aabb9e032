"""The interface of all formats whose files become modules at the qnn level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError

from .import_options import ImportOptions

Source: TypeAlias = str | Path | bytes
"""A file's path, or its content."""

Content = TypeVar("Content")


@dataclass(frozen=True)
class Format(Generic[Content]):
    """A format of quantized models.

    `read` takes a source, the file name of locations and messages, and options; `build`
    makes a module of what it returns, and `check` lists all that keeps it from that.
    """

    read: Callable[[Source, str, ImportOptions], Content]
    build: Callable[[Content, ImportOptions], ModuleOp]
    check: Callable[[Content, ImportOptions], list[QlowerError]]

    def module(
        self, source: Source, *, name: str, options: ImportOptions | None = None
    ) -> ModuleOp:
        """Read a quantized model into a module at the qnn level.

        `name` is the file name of locations and messages; `options` says which part of
        the model is read, and how. Weights that a format keeps in a file of their own
        are read from beside the path. Raises `QlowerError` when a file can't be read,
        is damaged, or has something that is not supported; the message names the
        operator, the value and the legal range.
        """
        options = options or ImportOptions()
        return self.build(self.read(source, name, options), options)

    def problems(self, path: Path, options: ImportOptions) -> list[QlowerError]:
        """Everything that keeps `module` from reading a file."""
        return self.check(self.read(path, str(path), options), options)
