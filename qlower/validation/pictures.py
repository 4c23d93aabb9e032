"""Folders of pictures, and tables of them (Parquet) as data sets are published in."""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.process.extras import install_line
from qlower.validation.counts import Classes
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.sources import (
    Chunk,
    Row,
    RowError,
    Source,
    file_digest,
    label_keys,
    shown,
)

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURES = frozenset((".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".webp"))
"""The suffixes of pictures' names."""

_IMAGE_KEYS = ("image", "img", "picture")


@dataclass
class PictureFolder(Source):
    """Pictures in a folder, in the order of their names; a picture's class is its
    folder's place among its neighbours by name, where pictures lie in such folders."""

    spec: TensorSpec
    paths: tuple[Path, ...]
    preprocessing: Preprocessing
    labels: Sequence[Classes] | None

    @property
    def size(self) -> int:
        return len(self.paths)

    @property
    def identity(self) -> str:
        digest = hashlib.sha256(repr(self.labels).encode())
        for path in self.paths:
            digest.update(f"{path} {file_digest(path)} ".encode())
        return digest.hexdigest()

    def describe(self) -> str:
        first = self.paths[0]
        try:
            with _open_picture(first) as picture:
                size = f"{picture.width}x{picture.height} {picture.mode}"
        except QlowerError as error:
            size = error.message
        return (
            f"{first.name} ({size}) to {self.spec.dtype}: {self.preprocessing}; "
            f"label {shown(self.classes(0))}"
        )

    def rows(self, chunk: Chunk) -> Iterator[Row | RowError]:
        for index in range(chunk.start, chunk.stop):
            try:
                with _open_picture(self.paths[index]) as picture:
                    array = self.preprocessing.of_picture(picture, self.spec)
            except QlowerError as error:
                yield RowError(f"{self.paths[index].name}: {error.message}", error)
                continue
            yield Row((array,), self.classes(index))


@dataclass
class ParquetSource(Source):
    """Rows of Parquet files: a column of pictures (bytes, or a struct with `bytes` as
    `datasets` writes it) or of numbers for each input, and maybe one of classes."""

    specs: tuple[TensorSpec, ...]
    paths: tuple[Path, ...]
    columns: tuple[str, ...]
    label: str | None
    preprocessing: Preprocessing
    labels: Sequence[Classes] | None

    @cached_property
    def groups(self) -> list[tuple[int, Path, int]]:
        """The first row of each row group, its file, and its number there."""
        parquet = _import("pyarrow.parquet")
        found: list[tuple[int, Path, int]] = []
        start = 0
        for path in self.paths:
            metadata = parquet.ParquetFile(path).metadata
            for group in range(metadata.num_row_groups):
                found.append((start, path, group))
                start += int(metadata.row_group(group).num_rows)
        found.append((start, Path(), 0))
        return found

    @property
    def size(self) -> int:
        return self.groups[-1][0]

    @property
    def identity(self) -> str:
        content = [(str(path), file_digest(path)) for path in self.paths]
        text = repr((content, self.columns, self.label, self.labels))
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> str:
        names = ", ".join(self.columns)
        right = (
            f"column {self.label!r}" if self.labels is None and self.label else "given"
        )
        if self.labels is None and self.label is None:
            right = "unknown"
        return (
            f"{names} of {len(self.paths)} files: {self.preprocessing}; label {right}"
        )

    def rows(self, chunk: Chunk) -> Iterator[Row | RowError]:
        starts = [start for start, _, _ in self.groups]
        row = chunk.start
        while row < chunk.stop:
            number = bisect_right(starts, row) - 1
            stop = min(chunk.stop, starts[number + 1])
            records = self._read(number, row - starts[number], stop - starts[number])
            for offset, record in enumerate(records):
                yield self._row(row + offset, record)
            row = stop

    def _read(self, number: int, start: int, stop: int) -> list[dict[str, Any]]:
        parquet = _import("pyarrow.parquet")
        _, path, group = self.groups[number]
        wanted = [*self.columns, *([] if self.label is None else [self.label])]
        with _refused(path):  # it may have changed since it was opened
            table = parquet.ParquetFile(path).read_row_group(group, columns=wanted)
            rows = table.slice(start, stop - start).to_pylist()
        return cast(list[dict[str, Any]], rows)

    def _row(self, index: int, record: Mapping[str, Any]) -> Row | RowError:
        inputs: list[Any] = []
        try:
            for column, spec in zip(self.columns, self.specs, strict=True):
                value = record[column]
                if isinstance(value, Mapping):
                    value = cast(Mapping[str, Any], value).get("bytes")
                if isinstance(value, bytes):
                    with _open_picture(io.BytesIO(value)) as picture:
                        inputs.append(self.preprocessing.of_picture(picture, spec))
                    continue
                if value is None:
                    raise QlowerError(f"{column!r} is empty")
                array = np.asarray(value)
                is_wide = array.dtype == np.int64 and spec.dtype != "int64"
                if is_wide and _fits(array, spec):  # Python's integers, stored values
                    array = array.astype(spec.dtype)
                inputs.append(
                    self.preprocessing.of_array(array, spec, is_picture=False)
                )
            classes = self.classes(index)
            if self.labels is None and self.label is not None:
                label = record[self.label]
                classes = None if label is None else frozenset([int(label)])
        except QlowerError as error:
            return RowError(error.message, error)
        except (TypeError, ValueError) as error:
            return RowError(str(error))
        return Row(tuple(inputs), classes)


def picture_folder(
    spec: TensorSpec,
    folder: Path,
    names: Sequence[str] | None,
    preprocessing: Preprocessing,
    labels: Sequence[Classes] | None,
) -> PictureFolder:
    """The pictures below a folder. `names` are the classes' names in order; without
    them, the folders that pictures lie in are numbered by name."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in PICTURES)
    if not paths:
        raise QlowerError(f"{folder} holds no pictures: the set of examples is empty")
    if labels is None:
        found = {path.parent.name for path in paths if path.parent != folder}
        known = {name: n for n, name in enumerate(names or sorted(found))}
        unknown = sorted(found - set(known))
        if unknown:
            raise QlowerError(
                f"{folder / unknown[0]}: no class is called {unknown[0]!r}"
            )
        if found:
            labels = [
                frozenset([known[p.parent.name]]) if p.parent != folder else None
                for p in paths
            ]
    elif len(labels) != len(paths):
        raise QlowerError(
            f"there are {len(labels):,} labels for {len(paths):,} pictures"
        )
    _import("PIL.Image")
    return PictureFolder(spec, tuple(paths), preprocessing, labels)


def parquet_source(
    specs: Sequence[TensorSpec],
    paths: Sequence[Path],
    preprocessing: Preprocessing,
    labels: Sequence[Classes] | None,
) -> ParquetSource:
    """Parquet files as one source; columns are found by the inputs' names, or by what
    columns of pictures and classes are usually called."""
    parquet = _import("pyarrow.parquet")
    with _refused(paths[0]):
        known = [str(name) for name in parquet.read_schema(paths[0]).names]
        label = next((key for key in label_keys(specs) if key in known), None)
        left = [name for name in known if name != label]
        columns = [spec.name for spec in specs if spec.name in known]
        if not columns and len(specs) == 1:
            columns = [key for key in _IMAGE_KEYS if key in known][:1]
            columns = columns or (left if len(left) == 1 else [])
        if len(columns) != len(specs):
            raise QlowerError(
                f"{paths[0]}: of its columns ({', '.join(known)}) none is called like "
                f"an input: {', '.join(spec.name for spec in specs)}"
            )
        source = ParquetSource(
            tuple(specs), tuple(paths), tuple(columns), label, preprocessing, labels
        )
        size = source.size
    if size == 0:
        raise QlowerError(f"{paths[0]}: the set of examples is empty")
    if labels is not None and len(labels) != size:
        raise QlowerError(f"there are {len(labels):,} labels for {size:,} rows")
    return source


@contextmanager
def _refused(path: Path) -> Generator[None]:
    """Within it, a file that Arrow can't read is a QlowerError."""
    arrow = _import("pyarrow")
    try:
        yield
    except (OSError, ValueError, OverflowError, arrow.ArrowException) as error:
        raise QlowerError(f"cannot read {path}: {error}") from error


def _open_picture(file: Path | BinaryIO) -> Image:
    """A picture, decoded. QlowerError for one that Pillow can't read."""
    from PIL import Image

    try:
        with Image.open(file) as picture:
            picture.load()
    except Exception as error:  # Pillow's decoders raise whatever they like
        raise QlowerError(f"no picture: {str(error).split(chr(10))[0]}") from error
    return picture


def _fits(array: Any, spec: TensorSpec) -> bool:
    if spec.numpy_dtype.kind not in "iu":
        return False
    limits = np.iinfo(spec.dtype)
    return bool(limits.min <= array.min() and array.max() <= limits.max)


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise QlowerError(
            f"{module.partition('.')[0]} is not installed", help=install_line("data")
        ) from error
