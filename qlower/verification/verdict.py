"""The verdict on each layer: as text, as plain data, and as a record to check again."""

from __future__ import annotations

import base64
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from qlower.interp import Array
from qlower.observe.place import Index, show
from qlower.tables.table import Column, Table, Tabled, counted, show_cell

Kind: TypeAlias = Literal["equal", "differs", "undecided"]


@dataclass(frozen=True)
class Counterexample:
    """An input of a layer for which two contracts differ.

    `number` is the accumulator's sum of products, or what the element's result is a
    function of; None where that isn't known. `confirmed` are the executors that gave
    `results` by both contracts.
    """

    index: Index
    number: int | None
    results: tuple[float, float]
    inputs: Mapping[str, Array]
    confirmed: Sequence[str]

    def __str__(self) -> str:
        a, b = (f"{result:g}" for result in self.results)
        number = "" if self.number is None else f" at {self.number:,}"
        return f"{show(self.index)}{number}: {a} | {b}"

    def to_dict(self) -> dict[str, object]:
        """Plain data; inputs are compressed bytes in base64."""
        return {
            "index": list(self.index),
            "number": self.number,
            "a": self.results[0],
            "b": self.results[1],
            "confirmed": list(self.confirmed),
            "inputs": {name: pack(array) for name, array in self.inputs.items()},
        }


def by_source(read: Iterable[tuple[str, Mapping[str, Array]]]) -> dict[str, Array]:
    """The arrays that layers read, each named `layer<-source`."""
    return {
        f"{layer}<-{source}": array
        for layer, arrays in read
        for source, array in arrays.items()
    }


def pack(array: Array) -> dict[str, object]:
    """An array as plain data."""
    data = zlib.compress(np.ascontiguousarray(array).tobytes())
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "zlib": base64.b64encode(data).decode(),
    }


def unpack(
    packed: Mapping[str, object], shape: Sequence[int], dtype: np.dtype[np.generic]
) -> Array:
    """The array of that shape and type that `pack` wrote; ValueError, TypeError or
    KeyError if none did."""
    data = packed["zlib"]
    if not isinstance(data, str):
        raise TypeError("an array's bytes are text")
    if packed["dtype"] != dtype.name or packed["shape"] != list(shape):
        raise ValueError(f"an array isn't {dtype.name} of {list(shape)}")
    size = math.prod(shape) * dtype.itemsize
    stream = zlib.decompressobj()
    try:
        stored = stream.decompress(base64.b64decode(data, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(f"an array's bytes can't be unpacked: {error}") from error
    if len(stored) != size or not stream.eof or stream.unused_data:
        raise ValueError(f"an array hasn't {size} bytes")
    return np.frombuffer(stored, dtype).reshape(tuple(shape))


def plain(layer: str, kind: str, verdict: str, how: str) -> dict[str, object]:
    """The first entries of a verdict's plain data; `kind` is that of the layer."""
    return {"layer": layer, "op": kind, "verdict": verdict, "how": how}


def count_kinds(verdicts: Iterable[Kind]) -> str:
    """The verdicts in words: `3 equal, 2 differ, 1 undecided`."""
    counts = Counter(verdicts)
    words = {"differs": "differs" if counts["differs"] == 1 else "differ"}
    return ", ".join(
        f"{counts[kind]} {words.get(kind, kind)}" for kind in get_args(Kind)
    )


@dataclass(frozen=True)
class LayerVerdict:
    """Whether a layer is the same by two contracts.

    `how` says how it was decided, or why not. `numbers` is the number of decided
    accumulators (or other arguments of the results), in the given number of `lanes`;
    `apart` lanes differ.
    """

    layer: str
    kind: str
    verdict: Kind
    how: str
    numbers: int = 0
    lanes: int = 0
    apart: int = 0
    counterexample: Counterexample | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        example = self.counterexample
        return {
            **plain(self.layer, self.kind, self.verdict, self.how),
            "numbers": self.numbers,
            "channels": self.lanes,
            "channels_that_differ": self.apart,
            "counterexample": None if example is None else example.to_dict(),
        }


@dataclass(frozen=True, repr=False)
class Equality(Tabled[LayerVerdict]):
    """The verdicts of all layers of a model, under contracts `a` and `b`.

    `hashes` has the SHA-256 of the model, of the contracts and of the compiler;
    `layer_contracts` those of some layers, of both sides and of the second alone.
    """

    a: str
    b: str
    layers: Sequence[LayerVerdict]
    hashes: Mapping[str, str]
    layer_contracts: Sequence[Mapping[str, str]] = ({}, {})

    @property
    def holds(self) -> bool:
        """Whether every layer was shown to be equal for all inputs."""
        return all(layer.verdict == "equal" for layer in self.layers)

    @property
    def table(self) -> Table[LayerVerdict]:
        """A line for each layer."""
        columns: list[Column[LayerVerdict]] = [
            Column("layer", "layer", lambda row: row.layer, least=12),
            Column("op", "op", lambda row: row.kind, right=False, rank=2),
            Column("verdict", "verdict", lambda row: row.verdict, right=False),
            Column(
                "channels",
                "channels",
                lambda row: row.lanes or None,
                _show_channels,
                rank=3,
            ),
            Column(None, "channels_that_differ", lambda row: row.apart),
            Column("decided", "numbers", lambda row: row.numbers or None, rank=1),
            Column("how", "how", _reason, least=20),
        ]
        counts = count_kinds(row.verdict for row in self.layers)
        numbers = sum(row.numbers for row in self.layers)
        notes = [
            f"{counted(len(self.layers), 'layer')}: {counts}; {numbers:,} accumulators "
            "and pairs decided.",
        ]
        if any(row.counterexample for row in self.layers):
            notes.append(
                "For each layer that differs: an example element, its sum, and its "
                f"results by {self.a} and {self.b}; --save writes the layer's input."
            )
        title = f"{self.a} and {self.b} for all inputs"
        return Table(title, self.layers, columns, notes=notes, whole="--json")

    def to_dict(self) -> dict[str, object]:
        """Plain data, the verdict's file."""
        return {
            "question": "equal",
            "a": self.a,
            "b": self.b,
            "layer_contracts": [dict(one) for one in self.layer_contracts],
            "equal": self.holds,
            "sha256": dict(self.hashes),
            "layers": [layer.to_dict() for layer in self.layers],
        }

    def inputs(self) -> dict[str, Array]:
        """The counterexamples, by layer and the input or layer that it reads."""
        return by_source(
            (row.layer, row.counterexample.inputs)
            for row in self.layers
            if row.counterexample is not None
        )


def _show_channels(row: LayerVerdict) -> str:
    return f"{row.apart}/{row.lanes}" if row.apart else show_cell(row.lanes or None)


def _reason(row: LayerVerdict) -> str:
    return row.how if row.counterexample is None else str(row.counterexample)
