"""The content of an exported program, as small plain values.

These hold exactly what was read; whether a call makes sense is decided where it is
used. Ports and constants are those of the graph that it becomes (`graph.schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..graph.schema import Constant, Port


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the graph, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Unread:
    """An argument of a kind that no supported operator takes."""

    kind: str


Scalar = bool | int | float | str
Argument = Scalar | Tensor | Unread | tuple[Scalar | Tensor | Unread | None, ...] | None


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an operator, such as aten.conv2d.default.

    Arguments have the names of the operator's schema; those that are its defaults are
    left out. `index` is that of the node in the file.
    """

    index: int
    target: str
    arguments: Mapping[str, Argument]
    results: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """One graph, its calls in the order in which they run. `size` is the file's."""

    filename: str
    size: int
    calls: tuple[Call, ...]
    constants: Mapping[str, Constant]
    inputs: tuple[Port, ...]
    outputs: tuple[str, ...]
