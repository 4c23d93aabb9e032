"""A worker's task for some points: compile each, run it on all rows, measure it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

from qlower.circuits.area import area_of, luts_of
from qlower.circuits.requantizer import requantizer
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.frontends.load import as_model
from qlower.validation.counts import Counts, Partial
from qlower.validation.sources import Chunk, Source
from qlower.validation.work import Reference, Shipped, Task

AreaUnit: TypeAlias = Literal["luts", "cells", "bits"]

ROWS = 32
"""Rows that are read, run and counted at a time."""

AREA, BITS, REFUSED = "area", "bits", "refused"
"""Counts of a point, in addition to its outputs."""


@dataclass(frozen=True)
class PointsTask:
    """Points by the names of their contracts; a chunk is a stretch of them.

    The first `limit` rows of `source` are used; `against` is a contract
    or a reference that all outputs are held against.
    """

    model: Path
    names: Sequence[str]
    source: Source
    against: str | Reference | None
    limit: int | None
    unit: AreaUnit

    def prepare(self) -> None:
        """Nothing: each point is compiled where it is looked at."""

    def run(self, chunk: Chunk) -> Partial:
        """The counts of a chunk's points, each on all rows."""
        found = Partial(rows=chunk.stop - chunk.start)
        for number in range(chunk.start, chunk.stop):
            name = self.names[number]
            try:
                counts, failures = self._point(name)
            except QlowerError:
                counts, failures = Counts(custom={REFUSED: Fraction(1)}), Partial()
            found.counts[name] = counts
            if number == 0:
                found.failed, found.failures = failures.failed, failures.failures
                found.not_finite = failures.not_finite
        return found

    def _point(self, name: str) -> tuple[Counts, Partial]:
        model = as_model(self.model)
        circuit = requantizer(model, load_contract(name))
        bits = circuit.bits[1]
        measures = {
            "luts": lambda: luts_of(circuit),
            "cells": lambda: area_of(circuit).cells,
            "bits": lambda: bits,
        }
        contracts = [name]
        if isinstance(self.against, str) and self.against != name:
            contracts.append(self.against)
        functions: dict[str, Shipped] = {}
        for one in contracts:
            compiled = Compilation(self.model, one).for_target(host_target())
            functions[one] = Shipped(compiled.object.without_text(), compiled.variant)
        task, total = Task(self.source, functions, self.against, None), Partial()
        for rows in self.source.chunks(ROWS, self.limit):
            total.add(task.run(rows))
        counts = total.counts[name]
        counts.custom = {AREA: Fraction(measures[self.unit]()), BITS: Fraction(bits)}
        return counts, total
