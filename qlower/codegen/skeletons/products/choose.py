"""The step that multiplies vectors on a target, by the instruction that it has."""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.skeletons.products.byte_products import (
    BroadcastBytes,
    SelectedBytes,
)
from qlower.codegen.skeletons.products.pairs import LoadedPairs, PairedWords, Pairs
from qlower.codegen.skeletons.products.step import VectorStep
from qlower.codegen.skeletons.products.word_products import (
    LoadedSingles,
    NarrowScalars,
    Scalars,
    SelectedSingles,
    Singles,
    SplatScalars,
)
from qlower.codegen.targets.resolve import Dot, DotKind, Target

_WIDEST_LANES = 16
"""Sums of a step that is made of several registers."""


def vector_step(target: Target, scalar: str, *, signed: bool) -> VectorStep:
    """The step that multiplies activations of the given signedness, i8 or i16 in
    memory."""
    lanes = target.vector_bits // 32
    dot = target.dot(scalar, signed=signed)
    if dot.kind is DotKind.SINGLES:
        if dot.loads_bytes:
            return LoadedSingles(lanes, lanes, dot, scalar=scalar, extends=True)
        return _single_class(dot, lanes)(lanes, lanes, dot, scalar=scalar)
    if dot.kind is DotKind.PAIRS:
        if scalar == "i16":
            return PairedWords(lanes, lanes, dot)
        return (LoadedPairs if dot.loads_bytes else Pairs)(lanes, lanes, dot)
    return (SelectedBytes if dot.selects_lane else BroadcastBytes)(lanes, lanes, dot)


def _single_class(dot: Dot, lanes: int) -> type[Singles]:
    if dot.selects_lane:
        return SelectedSingles
    if dot.takes_scalar:
        return SplatScalars
    return Singles if lanes > 1 else Scalars


def narrow_step(target: Target, step: VectorStep) -> VectorStep:
    """The step where flash holds the weights, if all of them have 4 bits."""
    if target.halves is None or not isinstance(step, Scalars):
        return step
    return NarrowScalars(step.lanes, step.vector_lanes, step.dot, scalar=step.scalar)


def wide_step(
    target: Target, channels: int, scalar: str, *, signed: bool
) -> VectorStep:
    """The step of the target's vectors, in several registers where a vector is narrow:
    activations are then loaded by 16, or by the 8 that a load widens.

    No lane is idle if there are as many channels as the vector has.
    """
    step = vector_step(target, scalar, signed=signed)
    lanes = step.lanes
    if step.dot.selects_lane:
        while lanes < _WIDEST_LANES and 2 * lanes <= channels:
            lanes *= 2
    elif isinstance(step, LoadedPairs) and 2 * lanes <= channels:
        lanes *= 2
    return replace(step, lanes=lanes)
