"""The content of a graph's file, as small plain values.

These hold exactly what was read; whether a node makes sense is decided where it is
used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from qlower.files.arrays import Array

NEWEST_OPSET = 26
"""The newest version of ONNX's operators that is read."""

MAX_RANK = 8
MAX_ELEMENTS = 1 << 30
"""Elements of one tensor; more is taken for a damaged shape."""


@dataclass(frozen=True, eq=False)
class Constant:
    """A tensor that is part of the file.

    `type` is the schema's name of the element type, such as UINT8. `array` is None for
    a type that no array here holds, and for data that can't be read; `problem` then
    gives the reason.
    """

    type: str
    shape: tuple[int, ...]
    array: Array | None
    problem: str = ""


AttributeValue = (
    int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Constant
)


@dataclass(eq=False)
class Node:
    """One node; an input that isn't given has the name "".

    `index` is that of the file's node that it was made of. `spelled` is what the file
    calls the operator, where that isn't domain and kind.
    """

    index: int
    domain: str
    kind: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: Mapping[str, AttributeValue] = field(
        default_factory=dict[str, AttributeValue]
    )
    spelled: str = ""

    def like(
        self,
        kind: str,
        inputs: Iterable[str],
        outputs: Iterable[str],
        attributes: Mapping[str, AttributeValue] | None = None,
        *,
        domain: str = "",
    ) -> Node:
        """A node that replaces this one, under its name."""
        operands, results, given = list(inputs), list(outputs), attributes or {}
        made = self.index, domain, kind, self.name, operands, results, given
        return Node(*made, self.spelled)

    @property
    def result(self) -> str:
        """The name of the first result."""
        return self.outputs[0]

    @property
    def operator(self) -> str:
        """The operator's name in the file, with a domain that isn't ONNX's own."""
        if self.spelled:
            return self.spelled
        return f"{self.domain}.{self.kind}" if self.domain else self.kind


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the model; a dimension that the file leaves open is None,
    and so is an unknown rank."""

    name: str
    type: str
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, eq=False)
class Model:
    """One graph. `size` is that of the file, without external data; `producer` is the
    tool that wrote it."""

    filename: str
    size: int
    opset: int
    nodes: tuple[Node, ...]
    constants: Mapping[str, Constant]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    producer: str = ""
    is_text: bool = False
    """Whether the file is text, whose lines the indices of nodes are."""

    @property
    def noun(self) -> str:
        """The word for what the index of a node counts."""
        return "line" if self.is_text else "node"
