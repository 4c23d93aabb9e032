"""A worker's task: run every contract on the rows of a chunk, and count.

Everything that it needs travels to other processes and machines: object code with its
signature (about 100 KB a model), not the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from qlower.codegen.program.compiled import CompiledObject
from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.model.signature import TensorSpec
from qlower.runtime.executable import Executable
from qlower.runtime.executors import JitFunction, Variant
from qlower.validation.counts import (
    Classes,
    Counts,
    Partial,
    Signal,
    Spread,
    to_ticks,
)
from qlower.validation.sources import Chunk, RowError, Source

Metric: TypeAlias = Callable[[tuple[Array, ...], Classes], Mapping[str, float]]
"""A user's function: an example's outputs (real numbers where they are quantized) and
classes, to named numbers, whose means over the set are reported."""


class Reference(Protocol):
    """A system that contracts are held against, called with stored inputs."""

    @property
    def name(self) -> str: ...

    @property
    def output(self) -> TensorSpec: ...

    def run(self, inputs: Sequence[Array]) -> Array: ...


class Work(Protocol):
    """The work on chunks; it travels to other processes and machines."""

    def prepare(self) -> None:
        """Get ready, before threads begin."""
        ...

    def run(self, chunk: Chunk) -> Partial:
        """The counts of a chunk."""
        ...


@dataclass(frozen=True)
class Shipped:
    """A compiled model that can be pickled; loaded where it is first called."""

    compiled: CompiledObject
    variant: Variant

    @cached_property
    def function(self) -> JitFunction:
        """The code, loaded into this process."""
        return JitFunction(Executable(self.compiled), self.variant)

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if k != "function"}


@dataclass(frozen=True)
class Task:
    """The functions to run on each row, one per contract, and what they are compared
    with.

    `against` is one of the contracts by name, another system, or None.
    """

    source: Source
    functions: Mapping[str, Shipped]
    against: str | Reference | None
    metric: Metric | None

    def prepare(self) -> None:
        """Load the code, so that threads find it loaded."""
        for shipped in self.functions.values():
            _ = shipped.function

    def run(self, chunk: Chunk) -> Partial:
        """The counts of a chunk's rows."""
        found = Partial(rows=chunk.stop - chunk.start)
        inputs: list[tuple[Array, ...]] = []
        classes: list[Classes] = []
        specs = [s.function.outputs for s in self.functions.values()]
        count = int(np.prod(specs[0][0].shape))
        for number, row in enumerate(self.source.rows(chunk), chunk.start):
            if isinstance(row, RowError):
                found.fail(number, str(row))
                found.not_finite += row.is_not_finite
            elif any(not 0 <= label < count for label in row.classes or ()):
                labels = ", ".join(map(str, sorted(row.classes or ())))
                found.fail(number, f"label {labels} is not in [0, {count})")
            else:
                inputs.append(row.inputs)
                classes.append(row.classes)
        if inputs:
            self._count(found, inputs, classes)
        return found

    def _count(
        self,
        found: Partial,
        inputs: Sequence[tuple[Array, ...]],
        classes: Sequence[Classes],
    ) -> None:
        results = {
            name: [shipped.function.run(row, {}) for row in inputs]
            for name, shipped in self.functions.items()
        }
        outputs = {
            name: np.stack([arrays[0].reshape(-1) for arrays, _ in rows])
            for name, rows in results.items()
        }
        reference = self._reference(inputs, outputs)
        if reference is not None and not isinstance(self.against, str | None):
            own = found.counts[self.against.name] = Counts()
            own.count_classes(reference[1], classes)
        for name, rows in results.items():
            counts = found.counts[name] = Counts()
            spec = self.functions[name].function.outputs[0]
            counts.count_classes(outputs[name], classes)
            if reference is not None and name != self.against:
                counts.count_against(spec, outputs[name], *reference)
                counts.count_pairs(outputs[name], reference[1], classes)
                if isinstance(self.against, str):
                    variant = self.functions[name].variant
                    wanted = results[self.against]
                    for (_, own), (_, other) in zip(rows, wanted, strict=True):
                        count_layers(counts, variant, own, other)
            if self.metric is not None:
                specs = self.functions[name].function.outputs
                for (arrays, _), right in zip(rows, classes, strict=True):
                    pairs = zip(specs, arrays, strict=True)
                    real = tuple(
                        spec.dequantize(array) if spec.scales else array
                        for spec, array in pairs
                    )
                    _count_custom(counts, self.metric, real, right)

    def _reference(
        self, inputs: Sequence[tuple[Array, ...]], outputs: Mapping[str, Array]
    ) -> tuple[TensorSpec, Array] | None:
        if self.against is None:
            return None
        if isinstance(self.against, str):
            spec = self.functions[self.against].function.outputs[0]
            return spec, outputs[self.against]
        rows = np.stack([self.against.run(row).reshape(-1) for row in inputs])
        return self.against.output, rows


def _count_custom(
    counts: Counts, metric: Metric, real: tuple[Array, ...], right: Classes
) -> None:
    """Count what the user's function gives; QlowerError for what it raises, and where
    it gives no finite numbers by name."""
    try:
        counts.count_custom(metric(real, right))
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise QlowerError(
            f"the metric gives no finite numbers by name for an example: {what}"
        ) from error


def run_chunk(task: Work, chunk: Chunk) -> Partial:
    """`Work.run` as a function that travels by its name."""
    return task.run(chunk)


def add_partials(partials: Sequence[Partial]) -> Partial:
    """The sum of some counts."""
    total = Partial()
    for partial in partials:
        total.add(partial)
    return total


def count_layers(
    counts: Counts,
    variant: Variant,
    own: Mapping[str, Array],
    reference: Mapping[str, Array],
) -> None:
    """Count each layer's stored values against those of a reference, stored alike or
    real numbers, which may have more layers."""
    for name, stored in own.items():
        spec = variant.signature.outputs[variant.layers[name]]
        wanted = reference[name].reshape(stored.shape)
        is_real = wanted.dtype.kind == "f" and stored.dtype.kind != "f"
        other = TensorSpec(name, spec.shape, str(wanted.dtype)) if is_real else spec
        ticks = to_ticks(spec, spec, stored), to_ticks(spec, other, wanted)
        counts.layers.setdefault(name, Signal()).count(*ticks)
        if stored.dtype.kind in "iu" and spec.scale is not None:
            spread = counts.spreads.setdefault(name, Spread())
            spread.count(spec, stored, ticks[1])
