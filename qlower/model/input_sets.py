"""Sets of inputs: one array that holds many examples for a model that takes one.

An array is one example, or a set with one more leading dimension; where the model's
leading dimension is 1, that dimension may count the examples as well, or be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, TensorSpec, layout_hint


@dataclass(frozen=True)
class Batch:
    """The examples of one input; `count` is None for a single one.

    `merged` means that the model's own leading dimension counts the examples.
    """

    examples: Sequence[Array]
    count: int | None
    merged: bool = False


@dataclass(frozen=True)
class InputSet:
    """Arguments for every run of a model, in order, and how to join what they give."""

    runs: Sequence[Mapping[str, Array]]
    is_set: bool
    merged: bool

    def arrays(self, name: str) -> list[Array]:
        """The arrays of an input, one for each run, or one for all."""
        first, last = self.runs[0][name], self.runs[-1][name]
        return [first] if first is last else [run[name] for run in self.runs]

    def join(self, results: Sequence[Array]) -> Array:
        """The results of all runs as one array, in the form that the inputs had."""
        first, *_ = results
        if not self.is_set:
            return first
        if self.merged and first.shape[:1] == (1,):
            return np.concatenate(results)
        return np.stack(results)

    def joined(self, stacked: Array) -> Array:
        """`join` of results that lie one after another, with an axis for the runs."""
        if self.merged and stacked.shape[1:2] == (1,):
            return stacked[:, 0]
        return stacked


def ordered_input_set(specs: Sequence[TensorSpec], arrays: Sequence[Array]) -> InputSet:
    """The set that `input_set` makes, of arrays in the order of the inputs."""
    names = [spec.name for spec in specs]
    return input_set(specs, dict(zip(names, arrays, strict=True)))


def input_set(specs: Sequence[TensorSpec], arrays: Mapping[str, Array]) -> InputSet:
    """Split the array of every input into examples; sets must have the same size."""
    batches = {spec.name: _split(spec, arrays[spec.name]) for spec in specs}
    sets = {name: b for name, b in batches.items() if b.count is not None}
    if not sets:
        return InputSet(
            [{name: batch.examples[0] for name, batch in batches.items()}], False, False
        )
    counts = {batch.count for batch in sets.values() if batch.count is not None}
    if len(counts) > 1:
        sizes = ", ".join(f"{name!r} has {b.count}" for name, b in sets.items())
        raise QlowerError(f"the sets of inputs differ in size: {sizes}")
    (count,) = counts
    if count == 0:
        raise QlowerError("the set of inputs is empty")
    runs = [
        {
            name: batch.examples[index if batch.count is not None else 0]
            for name, batch in batches.items()
        }
        for index in range(count)
    ]
    return InputSet(runs, True, all(batch.merged for batch in sets.values()))


def fits(spec: TensorSpec, array: Array) -> bool:
    """Whether an array has the shape and type of one example or of a set."""
    try:
        _split(spec, array)
    except QlowerError:
        return False
    return True


def _split(spec: TensorSpec, array: Array) -> Batch:
    shape = array.shape
    if array.dtype != spec.numpy_dtype or shape == spec.shape:
        return Batch([spec.check(array)], None)
    if shape[1:] == spec.shape:
        return Batch(list(array), len(array))
    if spec.shape[:1] == (1,):
        if len(shape) == len(spec.shape) and shape[1:] == spec.shape[1:]:
            return Batch(list(array[:, None]), len(array), merged=True)
        if shape == spec.shape[1:]:
            return Batch([array[None]], None)
    raise QlowerError(
        f"input {spec.name!r} has shape {list(shape)}, the model takes "
        f"{list(spec.shape)}",
        help=layout_hint(shape, spec.shape)
        or "a set of inputs has one more leading dimension",
    )
