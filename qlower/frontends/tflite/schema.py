"""The content of a TFLite file, as small plain values.

These hold exactly what was read; whether a tensor or an operator makes sense is decided
where it is used (`types.py`, and the importer of each operator).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qlower.files.arrays import Array

LONGEST_QUOTED_NAME = 80
"""Converters join the names of fused operations; messages quote their beginning."""

OptionValue = int | float | str | tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Quantization:
    """Real value = scale * (stored - zero point), along `axis` if there are several."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    has_details: bool
    blocks: Blocks | None = None


@dataclass(frozen=True, slots=True)
class Blocks:
    """The tensor of scales of weights that have one for each `size` along a row."""

    scales: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class SparseLevel:
    """One dimension of a sparse tensor: all of `size` places, or only some of them.

    Those are `indices`; `segments` says where the ones of each place of the levels
    before begin, and where the last ones end.
    """

    size: int
    segments: Array | None = None
    indices: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sparsity:
    """The elements of a tensor that its constant has: by dimensions, in the order of
    `order`. After the tensor's own dimensions come those inside blocks; `blocks` says
    which of the tensor's dimensions they divide."""

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    levels: tuple[SparseLevel, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """An entry of the tensor table; `type` is the schema's name, such as "INT8".

    Of an INT8 tensor that `is_narrow` the numbers have 4 bits, and lie in bytes.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    """The shape with -1 where it is open; empty where nothing is."""
    type: str
    buffer: int
    quantization: Quantization | None
    is_variable: bool
    sparsity: Sparsity | None = None
    is_narrow: bool = False

    def __str__(self) -> str:
        name = self.name
        if len(name) > LONGEST_QUOTED_NAME:
            name = f"{name[:LONGEST_QUOTED_NAME]}..."
        return f"tensor {self.index} {name!r}"


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its schema name ("CONV_2D"), operand tensors and options.

    An operand of -1 is an optional one that is left out. Intermediate tensors have no
    values, but may have scales.
    """

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_kind: str | None
    options: Mapping[str, OptionValue] = field(default_factory=dict[str, OptionValue])
    subgraph: int = 0
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Operators, and tensors of their own; buffers are the model's."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A subgraph by a name, and its inputs by the names that they have there."""

    name: str
    subgraph: int
    arguments: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Model(Subgraph):
    """The subgraph of a file of `size` bytes that is read, the first but where a
    signature says otherwise, and by their numbers the others that it may run."""

    filename: str
    size: int
    buffers: tuple[bytes, ...]
    """The bytes of constants; empty for tensors that are computed."""
    others: Mapping[int, Subgraph] = field(default_factory=dict[int, Subgraph])
    arguments: Mapping[str, int] = field(default_factory=dict[str, int])
    """Inputs by the names that signatures of the subgraph have for them."""
    signatures: tuple[Signature, ...] = ()
