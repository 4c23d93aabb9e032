"""Sources of examples: arrays in files or in memory, folders, and streams.

A source is cut into chunks. A file's chunks are ranges of rows, read where the chunk is
counted; a stream's chunks carry their rows.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array, unmasked
from qlower.files.mapped import MappedFile, map_array
from qlower.model.signature import TensorSpec
from qlower.validation.counts import Classes
from qlower.validation.preprocessing import NotFiniteError, Preprocessing

LABEL_KEYS = ("label", "labels", "y", "target")
"""The names of arrays and columns with the right classes."""


@dataclass(frozen=True)
class Row:
    """One example: what each input stores, and the classes that are right."""

    inputs: tuple[Array, ...]
    classes: Classes


class RowError(Exception):
    """A row that can't be used, and why."""

    def __init__(self, reason: str, error: QlowerError | None = None) -> None:
        super().__init__(reason)
        self.is_not_finite = isinstance(error, NotFiniteError)


@dataclass(frozen=True)
class Chunk:
    """Rows [start, stop) of a source; those of a stream come along."""

    start: int
    stop: int
    rows: tuple[Row | RowError, ...] | None = None


class Source(ABC):
    """Examples by number."""

    labels: Sequence[Classes] | None
    """The classes of each example, where they are given apart from the data."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of examples; None for a stream, where it is known at the end."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """The identity of this source, for resuming; empty for a stream."""

    @abstractmethod
    def describe(self) -> str:
        """The contents of a row, in a line."""

    @abstractmethod
    def rows(self, chunk: Chunk) -> Iterator[Row | RowError]:
        """The rows of a chunk, in order."""

    def chunks(self, size: int, limit: int | None) -> Iterator[Chunk]:
        """All rows, or the first `limit`, in chunks of `size`; the last may be less."""
        assert self.size is not None
        end = self.size if limit is None else min(limit, self.size)
        for start in range(0, end, size):
            yield Chunk(start, min(start + size, end))

    def classes(self, row: int) -> Classes:
        """The classes that `labels` has for a row."""
        return None if self.labels is None else self.labels[row]


@dataclass
class ArraySource(Source):
    """One array an input, the first dimension counting examples.

    An array is what numpy makes one of, a slice at a time: in memory, mapped from a
    file, or a `dask.array`. Paths in place of arrays are mapped where they are read.
    """

    specs: tuple[TensorSpec, ...]
    given: tuple[Any, ...]
    preprocessing: Preprocessing
    labels: Sequence[Classes] | None = None

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if k != "arrays"}

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays themselves."""
        opened = [
            map_array(given) if isinstance(given, MappedFile) else given
            for given in self.given
        ]
        pairs = zip(opened, self.specs, strict=True)
        return tuple(a[None] if _is_one(a.shape, spec) else a for a, spec in pairs)

    def check(self) -> None:
        """Refuse arrays whose sizes or first rows don't fit."""
        sizes = [len(array) if array.shape else 0 for array in self.arrays]
        if len(set(sizes)) != 1:
            raise QlowerError(f"the inputs' sets differ in size: {sizes}")
        if sizes[0] == 0:
            raise QlowerError("the set of examples is empty")
        if self.labels is not None and len(self.labels) != sizes[0]:
            raise QlowerError(
                f"there are {len(self.labels):,} labels for {sizes[0]:,} examples"
            )
        first = next(self.rows(Chunk(0, 1)))
        if isinstance(first, RowError) and not first.is_not_finite:
            raise QlowerError(f"example 0: {first}")

    @property
    def size(self) -> int:
        return len(self.arrays[0])

    @property
    def identity(self) -> str:
        digest = hashlib.sha256(repr(self.labels).encode())
        for given, array in zip(self.given, self.arrays, strict=True):
            digest.update(f"{array.shape} {array.dtype}".encode())
            if isinstance(given, MappedFile):
                digest.update(f"{given.name} {file_digest(given.path)}".encode())
            elif isinstance(given, np.ndarray):
                digest.update(np.ascontiguousarray(array).tobytes())
            else:  # which may not even fit into memory
                digest.update(f"{getattr(given, 'name', '')}".encode())
                for row in (0, len(array) // 2, len(array) - 1):
                    digest.update(np.ascontiguousarray(array[row]).tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        parts = [
            f"{spec.name} {'x'.join(map(str, array.shape[1:])) or 'a number'} "
            + (f"{array.dtype} to " if array.dtype != spec.numpy_dtype else "")
            + spec.dtype
            for spec, array in zip(self.specs, self.arrays, strict=True)
        ]
        return ", ".join(parts) + f"; label {shown(self.classes(0))}"

    def rows(self, chunk: Chunk) -> Iterator[Row | RowError]:
        slices = [unmasked(array[chunk.start : chunk.stop]) for array in self.arrays]
        for index in range(chunk.stop - chunk.start):
            try:
                inputs = tuple(
                    self.preprocessing.of_array(part[index], spec, is_picture=False)
                    for part, spec in zip(slices, self.specs, strict=True)
                )
            except QlowerError as error:
                yield RowError(error.message, error)
                continue
            yield Row(inputs, self.classes(chunk.start + index))


@dataclass
class Shards(Source):
    """Sources one after the other, such as the files of a folder."""

    parts: tuple[ArraySource, ...]
    labels: Sequence[Classes] | None

    @cached_property
    def starts(self) -> list[int]:
        """The number of the first row of each part, and that of all rows."""
        return [0, *accumulate(part.size for part in self.parts)]

    @property
    def size(self) -> int:
        return self.starts[-1]

    @property
    def identity(self) -> str:
        text = repr((self.labels, [part.identity for part in self.parts]))
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> str:
        return f"{self.parts[0].describe()}; the first of {len(self.parts)} files"

    def rows(self, chunk: Chunk) -> Iterator[Row | RowError]:
        row = chunk.start
        while row < chunk.stop:
            number = bisect_right(self.starts, row) - 1
            start, end = self.starts[number : number + 2]
            stop = min(chunk.stop, end)
            found = self.parts[number].rows(Chunk(row - start, stop - start))
            for index, example in enumerate(found, row):
                if self.labels is not None and isinstance(example, Row):
                    example = replace(example, classes=self.labels[index])
                yield example
            row = stop


@dataclass
class Stream(Source):
    """Examples of a Python iterable: arrays, or (array, label) pairs; of a model with
    several inputs a tuple or mapping of arrays in place of the array."""

    specs: tuple[TensorSpec, ...]
    given: Iterable[Any]
    preprocessing: Preprocessing
    labels: Sequence[Classes] | None = field(default=None, init=False)

    @property
    def size(self) -> int | None:
        return None

    @property
    def identity(self) -> str:
        return ""

    def describe(self) -> str:
        return ", ".join(map(str, self.specs)) + ", from a stream"

    def chunks(self, size: int, limit: int | None) -> Iterator[Chunk]:
        start, items = 0, islice(self.given, limit)
        while rows := tuple(map(self._row, islice(items, size))):
            yield Chunk(start, start + len(rows), rows)
            start += len(rows)

    def rows(self, chunk: Chunk) -> Iterator[Row | RowError]:
        assert chunk.rows is not None
        yield from chunk.rows

    def _row(self, item: object) -> Row | RowError:
        try:
            classes: Classes = None
            if (
                isinstance(item, tuple)
                and len(cast(Any, item)) == 2
                and np.ndim(cast(Any, item)[1]) == 0
            ):
                item, label = cast(tuple[Any, Any], item)
                classes = None if label is None else frozenset([int(label)])
            if isinstance(item, Mapping):
                named = cast(Mapping[str, Any], item)
                arrays = [named[spec.name] for spec in self.specs]
            else:
                several = len(self.specs) > 1
                arrays: list[Any] = list(cast(Any, item)) if several else [item]
            pairs = zip(arrays, self.specs, strict=True)
            inputs = [
                self.preprocessing.of_array(unmasked(a), s, is_picture=False)
                for a, s in pairs
            ]
        except QlowerError as error:
            return RowError(error.message, error)
        except (KeyError, TypeError, ValueError) as error:
            return RowError(f"no example: {error}")
        return Row(tuple(inputs), classes)


def file_digest(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def array_source(
    specs: Sequence[TensorSpec],
    files: Mapping[str, Any],
    preprocessing: Preprocessing,
    labels: Sequence[Classes] | None,
) -> ArraySource:
    """Arrays by name as a source: each input takes the array of its name, or else the
    remaining arrays in order. Labels may be among them."""
    left = dict(files)
    for key in label_keys(specs):
        if key in left and len(left) > len(specs):
            found = left.pop(key)
            if labels is None:
                labels = labels_of(found)
    given = {spec.name: left.pop(spec.name) for spec in specs if spec.name in left}
    rest = [spec.name for spec in specs if spec.name not in given]
    if len(rest) != len(left):
        names = ", ".join(files) or "none"
        raise QlowerError(
            f"the model takes {len(specs)} inputs, the data has {len(files)} arrays: "
            f"{names}",
            help=f"its inputs are {', '.join(map(str, specs))}; labels are called one "
            f"of {', '.join(LABEL_KEYS)}",
        )
    given.update(zip(rest, left.values(), strict=True))
    ordered = tuple(given[spec.name] for spec in specs)
    source = ArraySource(tuple(specs), ordered, preprocessing, labels)
    source.check()
    return source


def label_keys(specs: Sequence[TensorSpec]) -> list[str]:
    """What labels are called beside arrays of these inputs, whose names come first."""
    inputs = {spec.name for spec in specs}
    return [key for key in LABEL_KEYS if key not in inputs]


def labels_of(given: Any) -> tuple[Classes, ...]:
    """The classes in a list of integers, one per example."""
    array = np.asarray(map_array(given) if isinstance(given, MappedFile) else given)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise QlowerError(
            f"labels are a list of integers, not {list(array.shape)} of {array.dtype}"
        )
    return tuple(frozenset([label]) for label in array.tolist())


def _is_one(shape: Sequence[int], spec: TensorSpec) -> bool:
    """Whether an array has one example, not a set of them."""
    if spec.shape[:1] == (1,):
        return tuple(shape) == spec.shape[1:]
    return tuple(shape) == spec.shape


def shown(classes: Classes) -> str:
    """Classes as people read them."""
    return "unknown" if not classes else " or ".join(map(str, sorted(classes)))
