"""A model's outputs, each in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.model.signature import Array, TensorSpec
from qlower.tables.table import Column, Table

TOP = 3
"""The number of largest values that are shown."""

FEW = 16
"""The most elements of an output that is shown whole."""


@dataclass(frozen=True)
class OutputSummary:
    """The largest elements of one output (all in order, if they are `FEW`).

    `indices` are those of the flattened array, `stored` the elements, `real` their real
    values. `run` is the input's number in a set.
    """

    run: int
    spec: TensorSpec
    indices: tuple[int, ...]
    stored: tuple[int | float, ...]
    real: tuple[float, ...]
    all_stored: tuple[int | float, ...] | None

    @staticmethod
    def of(run: int, spec: TensorSpec, array: Array) -> OutputSummary:
        """Look at one output of one run."""
        flat = array.ravel()
        real = spec.dequantize(array).ravel()
        order = np.argsort(-real, kind="stable")[:TOP]
        return OutputSummary(
            run,
            spec,
            tuple(map(int, order)),
            tuple(flat[order].tolist()),
            tuple(real[order].tolist()),
            tuple(flat.tolist()) if flat.size <= FEW else None,
        )

    @property
    def kind(self) -> str:
        """The output's shape and type."""
        shape = "x".join(str(extent) for extent in self.spec.shape)
        return f"{shape} {self.spec.dtype}" if shape else self.spec.dtype

    @property
    def values(self) -> str:
        """The largest elements, as real numbers."""
        pairs = zip(self.indices, self.real, strict=True)
        return ", ".join(f"[{index}] {real:.4g}" for index, real in pairs)

    @property
    def lines(self) -> list[str]:
        """All of it for people."""
        size = int(np.prod(self.spec.shape))
        what = "largest" if size > TOP else "values"
        lines = [f"{self.spec.name} ({self.kind}): {what} {self.values}"]
        if self.all_stored is not None and self.spec.scale is not None:
            lines.append(f"  stored: {' '.join(map(str, self.all_stored))}")
        return lines


def output_table(rows: Sequence[OutputSummary]) -> Table[OutputSummary]:
    """A line for each output of each run."""
    columns: list[Column[OutputSummary]] = [
        Column("input", "input", lambda row: row.run),
        Column("output", "output", lambda row: row.spec.name, least=12),
        Column("type", "type", lambda row: row.kind, right=False, rank=1),
        Column("largest", None, lambda row: row.values, least=24),
        Column(None, "indices", lambda row: row.indices),
        Column(None, "stored", lambda row: row.stored),
        Column(None, "real", lambda row: row.real),
    ]
    return Table("outputs", rows, columns)
