"""The part of a nest's epilogue that is a non-decreasing function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Operation, SSAValue

from qlower.dialects.kernel import NestOp
from qlower.interp import Array
from qlower.interp.values import dtype_of
from qlower.transforms.prove_epilogues.channels import (
    accumulator_bounds,
    parallel_constants,
)
from qlower.transforms.prove_epilogues.monotone import (
    Values,
    non_decreasing,
    run_scalars,
)
from qlower.transforms.prove_epilogues.steps import Integers

_BLOCK = 1 << 16
"""The number of accumulators that are looked at in one step: enough that calls cost
next to nothing."""

_FEW_ACCUMULATORS = 1 << 17
"""The most accumulators of a single channel that are all looked at."""

_LEVELS = 256
"""The number of values of a stored byte."""


@dataclass(frozen=True)
class Located:
    """The place where a nest computes such a function: its result, and the extent of
    the channels along every parallel loop."""

    value: SSAValue
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Staircase(Located):
    """A non-decreasing function of the accumulator, with few levels.

    `ops` compute it from `accumulator` and the lanes of `constants`, in the order in
    which they read them; these are flat: one a channel. `low` and `high` bound the
    accumulator. Where all constants are single numbers, there is one channel.
    """

    ops: Sequence[Operation]
    accumulator: SSAValue
    constants: Values
    low: Integers
    high: Integers

    def __call__(self, channels: Integers, x: Integers) -> Integers:
        """The results for some accumulators of some channels (see `Function`)."""
        type = np.promote_types(dtype_of(self.value.type), np.int32)
        results = np.empty(x.shape, type)
        rows = max(1, _BLOCK * len(x) // max(x.size, 1))
        for first in range(0, len(x), rows):
            block = slice(first, first + rows)
            values: Values = {
                value: lanes[channels[block]] if lanes.ndim else lanes
                for value, lanes in self.constants.items()
            }
            values[self.accumulator] = x[block].astype(np.int32, copy=False)
            run_scalars(self.ops, values)
            results[block] = values[self.value]
        return results


def find_staircase(nest: NestOp) -> Staircase | None:
    """The longest part of the epilogue that is proved to be such a function.

    Raises InterpretationError where some accumulator has no result.
    """
    lanes = parallel_constants(nest)
    bounds = accumulator_bounds(nest, lanes)
    if bounds is None:
        return None
    block = nest.epilogue.block
    accumulator = block.args[-1]
    shape = np.broadcast_shapes(*(a.shape for a in (*bounds, *lanes.values())))

    def flat(array: Array) -> Array:
        return np.broadcast_to(array, shape).reshape(-1)

    type = dtype_of(accumulator.type)
    low, high = (flat(bound).astype(type) for bound in bounds)
    constants: Values = {block.args[i]: flat(array) for i, array in lanes.items()}
    # What depends on constants alone is computed at once; the rest is the chain.
    chain: list[Operation] = []
    dependent: set[SSAValue] = {accumulator}
    for op in tuple(block.ops)[:-1]:
        if not all(v in constants or v in dependent for v in op.operands):
            continue
        if dependent.isdisjoint(op.operands):
            run_scalars([op], constants)
        else:
            chain.append(op)
            dependent.update(op.results)
    read_by_chain = (v for op in chain for v in op.operands if v in constants)
    if all(constants[value].ndim == 0 for value in read_by_chain):
        # One function of all channels, on the interval that has all of theirs.
        shape = (1,) * len(shape)
        low, high = low.min(keepdims=True), high.max(keepdims=True)
    ends: Values = {
        value: lanes[:, np.newaxis] if lanes.ndim else lanes
        for value, lanes in constants.items()
    }
    ends[accumulator] = np.stack([low, high], axis=1)
    run_scalars(chain, ends)
    # Proved by looking at every accumulator where they are few, by the lemmas of
    # monotone.py where they are many.
    first, last = int(low[0]), int(high[0])
    if len(low) == 1 and last - first < _FEW_ACCUMULATORS:
        proved = _seen_not_to_decrease(chain, accumulator, first, last, constants)
    else:
        proved = non_decreasing(chain, accumulator, ends)
    # A non-decreasing result takes no more levels than there are from end to end.
    last_results = (
        result
        for op in reversed(chain)
        for result in reversed(op.results)
        if result in proved
        and isinstance(result.type, IntegerType)
        and np.diff(ends[result].astype(np.int64), axis=-1).max() < _LEVELS
    )
    value = next(last_results, None)
    if value is None:
        return None
    ops = _needed(chain, value)
    read = {v: constants[v] for op in ops for v in op.operands if v in constants}
    return Staircase(value, shape, ops, accumulator, read, low, high)


def _seen_not_to_decrease(
    ops: Sequence[Operation],
    accumulator: SSAValue,
    low: int,
    high: int,
    constants: Values,
) -> set[SSAValue]:
    """The integers that are non-decreasing, by looking at all accumulators."""
    values = {**constants, accumulator: np.arange(low, high + 1, dtype=np.int32)}
    run_scalars(ops, values)
    return {
        result
        for op in ops
        for result in op.results
        if result.type != i1
        and isinstance(result.type, IntegerType)
        and np.all(values[result][1:] >= values[result][:-1])
    }


def _needed(ops: Sequence[Operation], value: SSAValue) -> list[Operation]:
    """The operations that compute `value`, in order."""
    live = {value}
    needed: list[Operation] = []
    for op in reversed(ops):
        if not live.isdisjoint(op.results):
            live.update(op.operands)
            needed.append(op)
    return needed[::-1]
