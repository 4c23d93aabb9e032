"""Staircases that differ by constants only, as one of all their channels.

Most layers of a network are requantized by the same operations. What is found of a
channel depends on no other, and a call of a numpy function for many channels costs
little more than one for few.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from qlower.interp import Array
from qlower.transforms.prove_epilogues.staircase import Staircase
from qlower.transforms.prove_epilogues.steps import SeenSteps, find_steps

_CHANNELS = 1024
"""About how many channels are looked at together; more would take memory."""


def in_groups(staircases: Sequence[Staircase]) -> Iterator[list[int]]:
    """Yields which staircases can be joined, so that they have few channels."""
    groups: dict[Hashable, list[int]] = {}
    for position, staircase in enumerate(staircases):
        chain = _chain(staircase)
        group = groups.setdefault(chain, [])
        channels = sum(_counts([staircases[own] for own in (*group, position)]))
        if group and channels > _CHANNELS:
            yield group
            group = groups[chain] = []
        group.append(position)
    yield from groups.values()


def steps_of_each(staircases: Sequence[Staircase]) -> list[SeenSteps | None]:
    """`find_steps` of each of a group."""
    joined = _joined(staircases)
    steps = find_steps(joined, joined.low, joined.high)
    if steps is not None:
        return [steps.of(own).trimmed() for own in slices(_counts(staircases))]
    if len(staircases) == 1:
        return [None]
    return [steps for one in staircases for steps in steps_of_each([one])]


def slices(counts: Sequence[int]) -> Iterator[slice]:
    """Slices of the given lengths, one after another."""
    for first, last in pairwise(accumulate(counts, initial=0)):
        yield slice(first, last)


def _counts(staircases: Sequence[Staircase]) -> list[int]:
    return [len(staircase.low) for staircase in staircases]


def _chain(staircase: Staircase) -> Hashable:
    """The common part of staircases that can be joined."""
    variables = [staircase.accumulator, *staircase.constants]
    numbers = {variable: number for number, variable in enumerate(variables)}
    ops: list[Hashable] = []
    for op in staircase.ops:
        operands = tuple(numbers[operand] for operand in op.operands)
        for result in op.results:
            numbers[result] = len(numbers)
        attributes = (*op.properties.items(), *op.attributes.items())
        ops.append((type(op), operands, attributes, tuple(op.result_types)))
    types = tuple(variable.type for variable in variables)
    return types, tuple(ops), numbers[staircase.value]


def _joined(staircases: Sequence[Staircase]) -> Staircase:
    """The staircase of all channels in turn."""
    first = staircases[0]
    counts = _counts(staircases)
    each = [list(staircase.constants.values()) for staircase in staircases]
    lanes = [_lanes(own, counts) for own in zip(*each, strict=True)]
    return Staircase(
        first.value,
        (sum(counts),),
        first.ops,
        first.accumulator,
        dict(zip(first.constants, lanes, strict=True)),
        np.concatenate([staircase.low for staircase in staircases]),
        np.concatenate([staircase.high for staircase in staircases]),
    )


def _lanes(lanes: Sequence[Array], counts: Sequence[int]) -> Array:
    """A constant of each staircase in turn; one number if it is the same for all of
    them."""
    if all(own.ndim == 0 and own.tobytes() == lanes[0].tobytes() for own in lanes):
        return lanes[0]
    pairs = zip(lanes, counts, strict=True)
    return np.concatenate([np.broadcast_to(own, count) for own, count in pairs])
