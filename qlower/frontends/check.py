"""Whether models can be read, and all that keeps others from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from qlower.diagnostics import QlowerError, without_repeats
from qlower.model import Model

from .import_options import ImportOptions
from .load import format_of, graph_kind, load
from .model_files import SUFFIXES, check_model_path


@dataclass(frozen=True)
class Checked:
    """A model's file, everything that keeps it from being read, and what has no machine
    code."""

    path: Path
    problems: tuple[QlowerError, ...]
    without_code: tuple[QlowerError, ...] = ()
    model: Model | None = None
    """The model that was read; None where something prevents that."""

    @property
    def reasons(self) -> tuple[QlowerError, ...]:
        """Why the model can't be read, or can't be compiled."""
        return self.problems or self.without_code


@without_repeats()
def check_model(path: Path, options: ImportOptions) -> Checked:
    """Read a model to find all that keeps it from being read, in the model's order.

    If there is something, the model is read twice.
    """
    try:
        file = check_model_path(path)
        try:
            model = load(
                file,
                shapes=options.shapes,
                outputs=options.outputs,
                qdq=options.qdq,
                signature=options.signature,
            )
        except QlowerError:
            if not (problems := _find_problems(file, options)):
                raise
            return Checked(file, tuple(problems))
    except QlowerError as error:
        return Checked(path, (error,))
    return Checked(file, (), model=model)


def _find_problems(file: Path, options: ImportOptions) -> list[QlowerError]:
    """All of them, of the formats that go on after the first."""
    kind = graph_kind(file)
    if kind is None:
        return []
    return format_of(kind).problems(file, options)


def model_files(paths: Iterable[str]) -> Iterator[Path]:
    """The files among `paths`, and the models in the folders among them, sorted."""
    for path in map(Path, paths):
        if not os.path.isdir(path):
            yield path
            continue
        found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        if not found:
            raise QlowerError(f"no model in {path}: none of {', '.join(SUFFIXES)}")
        yield from found
