"""The bytes of an `.espdl` file (esp-dl/fbs_loader/espdl.fbs) as nodes and tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qlower.files.arrays import Array
from qlower.frontends.model_files import contents

from ..graph.schema import MAX_RANK, AttributeValue, Node
from .tables import File, Table

HEADER = 16
MAGIC = b"EDL2"
DOMAIN = "esp-dl"
TYPES = {1: "FLOAT", 3: "INT8", 5: "INT16", 6: "INT32", 7: "INT64", 9: "BOOL"}
STORED = {"FLOAT": "<f4", "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8"}
ALIGNED = 16
"""Bytes of a structure of raw data."""

LEAST_EXPONENT, MOST_EXPONENT = -126, 126

LAYOUT = "layout ==> "
"""The words before the layout in a constant's description."""


@dataclass(frozen=True)
class Tensor:
    """A value as the file describes it; a constant with its numbers, in their order."""

    type: str
    shape: tuple[int | None, ...]
    exponents: tuple[int, ...]
    layout: str = ""
    array: Array | None = None


@dataclass(frozen=True)
class Content:
    """The content of a file; inputs and outputs are names in `tensors`."""

    size: int
    nodes: Sequence[Node]
    tensors: Mapping[str, Tensor]
    inputs: Sequence[str]
    outputs: Sequence[str]


def read_content(data: bytes, filename: str) -> Content:
    """The content of these bytes; raises a `QlowerError` located in `filename`."""
    whole = File(data, filename)
    if data[:4] != MAGIC:
        what = contents(data) or f": it doesn't begin with {MAGIC.decode()}"
        raise whole.error(f"not an .espdl file{what}")
    if whole.at("<I", 4):
        raise whole.error("the file is encrypted, which is not supported")
    size = whole.at("<I", 8)
    if size > len(data) - HEADER:
        raise whole.error(
            f"damaged file: {size} bytes are announced, there are {len(data) - HEADER}"
        )
    return _Reader(File(data[HEADER : HEADER + size], filename)).content()


class _Reader:
    """A method for each table of the schema."""

    def __init__(self, file: File) -> None:
        self.file = file

    def content(self) -> Content:
        graph = self.file.root().table(7)
        if graph is None:
            raise self.file.error("damaged file: it has no graph")
        tensors: dict[str, Tensor] = {}
        for info in (*graph.tables(6), *graph.tables(4), *graph.tables(5)):
            tensors[info.text(0)] = self.value(info)
        for tensor in graph.tables(2):
            tensors[tensor.text(6)] = self.constant(tensor)
        nodes = [self.node(*item) for item in enumerate(graph.tables(0))]
        inputs, outputs = (
            [info.text(0) for info in graph.tables(field)] for field in (4, 5)
        )
        return Content(len(self.file.data), nodes, tensors, inputs, outputs)

    def value(self, info: Table) -> Tensor:
        kind, shape = "unknown", None
        described = info.table(1)
        if described is not None and described.number(0, "<B") == 1:
            tensor = described.table(1)
            if tensor is not None:
                kind, shape = TYPES.get(tensor.number(0), "unknown"), tensor.table(1)
        sizes: list[int | None] = []
        for dimension in shape.tables(0) if shape is not None else ():
            value = dimension.table(0)
            size = value.number(1, "<q") if value is not None else 0
            sizes.append(size if size > 0 else None)
        return Tensor(kind, tuple(sizes), self.exponents(info, 3))

    def exponents(self, table: Table, field: int) -> tuple[int, ...]:
        found = table.integers(field)
        for value in found:
            if not LEAST_EXPONENT <= value <= MOST_EXPONENT:
                raise self.file.error(
                    f"exponent {value} is out of range"
                    f" [{LEAST_EXPONENT}, {MOST_EXPONENT}]"
                )
        return found

    def constant(self, table: Table) -> Tensor:
        """An initializer, whose bytes are padded to whole groups of 16."""
        name, kind = table.text(6), TYPES.get(table.number(1), "unknown")
        shape = table.integers(0)
        exponents = self.exponents(table, 13)
        count = math.prod(shape)
        raw = table.numbers(8, "u1", ALIGNED)
        if kind not in STORED or len(shape) > MAX_RANK or min(shape, default=1) < 0:
            raise self.file.error(f"initializer {name!r} of {kind} {list(shape)}")
        dtype = np.dtype(STORED[kind])
        if count * dtype.itemsize > raw.size:
            raise self.file.error(
                f"damaged file: initializer {name!r} has {raw.size} bytes of"
                f" {count * dtype.itemsize}"
            )
        array = raw[: count * dtype.itemsize].view(dtype).reshape(shape)
        layout = table.text(7).partition(LAYOUT)[2]
        layout = "" if layout in ("", "UNK") else layout
        return Tensor(kind, shape, exponents, layout, array)

    def node(self, index: int, table: Table) -> Node:
        inputs, outputs = table.texts(0), table.texts(1)
        name, kind = table.text(2), table.text(3)
        attributes = dict(self.attributes(table))
        return Node(index, DOMAIN, kind, name, inputs, outputs, attributes, kind)

    def attributes(self, table: Table) -> Iterator[tuple[str, AttributeValue]]:
        for attribute in table.tables(5):
            name = attribute.text(0)
            match attribute.number(3):
                case 1:
                    yield name, float(attribute.number(4, "<f"))
                case 2:
                    yield name, attribute.number(5, "<q")
                case 3:
                    yield name, attribute.text(6)
                case 6:
                    reals = attribute.numbers(10, "<f4")
                    yield name, tuple(float(value) for value in reals)
                case 7:
                    yield name, attribute.integers(11)
                case other:
                    yield name, f"attribute of kind {other}"
