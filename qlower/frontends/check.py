"""Whether models can be read, and all that keeps others from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from qlower.diagnostics import QlowerError, file_location

from .import_options import ImportOptions
from .load import load
from .model_files import SUFFIXES, check_model_path


@dataclass(frozen=True)
class Checked:
    """A model's file, and everything that keeps it from being read."""

    path: Path
    problems: tuple[QlowerError, ...]

    @property
    def places(self) -> tuple[int | None, ...]:
        """The line of each problem: in a binary file, the operator's number."""
        locations = [file_location(problem.location) for problem in self.problems]
        return tuple(place and place.line.data for place in locations)


def check_model(path: Path, options: ImportOptions) -> Checked:
    """Read a model to tell what keeps it from being read; all of it, in its order."""
    try:
        file = check_model_path(path)
        if file.suffix == ".tflite":
            from qlower.frontends.tflite import check_tflite

            return Checked(file, tuple(check_tflite(file, options)))
        if file.suffix == ".onnx":
            from qlower.frontends.onnx import check_onnx

            return Checked(file, tuple(check_onnx(file, options)))
        if file.suffix == ".pt2":
            from qlower.frontends.pt2 import check_pt2

            return Checked(file, tuple(check_pt2(file, options)))
        load(file, shapes=options.shapes, outputs=options.outputs, qdq=options.qdq)
    except QlowerError as error:
        return Checked(path, (error,))
    return Checked(file, ())


def model_files(paths: Iterable[str]) -> Iterator[Path]:
    """The files among `paths`, and the models in the folders among them, sorted."""
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        if not found:
            raise QlowerError(f"no model in {path}: none of {', '.join(SUFFIXES)}")
        yield from found
