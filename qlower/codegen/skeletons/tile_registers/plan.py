"""Cutting a contraction for tile registers, if that is worth it, and its weights.

No byte is read that isn't one of the activations. A last piece of the run that is not
whole begins earlier, and has weights 0 for what was there before; a last tile of pixels
begins earlier, too. A run that is no multiple of four bytes may be read together with
what comes next, or before, where another tap reads as far.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import Attribute

from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.products.packing import Factors, Weights
from qlower.codegen.skeletons.products.step import Integers, WeightLayout
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import TileAttr, TileRegistersAttr

LANES = 16
"""Channels in a register of weights, and i32 sums in a row of another."""

PAIR = 2
"""Registers of pixels, and of channels, that are multiplied with each other."""

_CONFIGURING_CYCLES = 250.0
"""Estimated cycles of describing the registers' shapes and of releasing them.
`examples/benchmark/estimates.py` compares the estimates for tiles with what is measured
on a machine that has them, and `--tune` finds the layers that are faster without."""


UNROLLED_STEPS = 12
"""Taps times pieces that are written out one by one."""


_LAYOUT = WeightLayout(LANES)
"""Signed bytes, and activations as they are."""


@dataclass(frozen=True)
class TilePlan:
    """The cut of a contraction.

    A register has `height` pixels of the last pixel loop and `depth` bytes of the run,
    which has `pieces` of them. `along` registers are neighbours in the last pixel loop,
    or `across` in the one before.

    `leads` is for a run of one piece that is shorter than `depth`: for each tap, how
    many bytes before the run its register begins. It is empty where runs are long
    enough.
    """

    height: int
    depth: int
    pieces: int
    along: int
    across: int
    leads: tuple[int, ...] = ()


@dataclass(frozen=True)
class TiledContraction:
    """A contraction in tile registers: how it is cut, and its packed weights."""

    contraction: Contraction
    plan: TilePlan
    factors: Factors


def plan_tiles(
    target: Target, contraction: Contraction, schedule: Attribute | None
) -> TilePlan | None:
    """The cut, or None where there are no such registers or vectors are faster.

    A schedule decides, if there is one. Raises QlowerError if it can't be followed.
    """
    if isinstance(schedule, TileAttr):
        return None
    plan = possible_tiles(target, contraction)
    if isinstance(schedule, TileRegistersAttr):
        if plan is None:
            raise QlowerError(
                f"{target.cpu} has no tile registers for this nest, which its "
                "schedule asks for",
                contraction.nest.op.location,
            )
        return plan
    if plan is None or contraction.run is None:
        return None
    length = contraction.nest.bounds[contraction.run]
    is_faster = product_cycles(contraction, plan) < _cycles_of_vectors(
        contraction, length
    )
    return plan if is_faster else None


def possible_tiles(target: Target, contraction: Contraction) -> TilePlan | None:
    """The cut, whether or not it is worth it; None where that can't be done."""
    tiles, run = target.tiles, contraction.run
    if tiles is None or run is None or not contraction.pixels:
        return None
    if contraction.activation.scalar != "i8":
        return None
    bounds = contraction.nest.bounds
    length, rows = bounds[run], bounds[contraction.pixels[-1]]
    leads = _leads(contraction, -length % 4)
    if length < 4 and not leads:
        return None
    registers = -(-rows // tiles.rows)
    height = -(-rows // registers)
    depth = _piece(length, tiles.row_bytes)
    if depth <= length:
        leads = ()
    elif not leads:
        depth = length // 4 * 4
    pieces = -(-length // depth)
    others = contraction.pixels[:-1]
    across = registers == 1 and bool(others) and bounds[others[-1]] > 1
    along, across = min(PAIR, registers), PAIR if across else 1
    return TilePlan(height, depth, pieces, along, across, leads)


def _leads(contraction: Contraction, spare: int) -> tuple[int, ...]:
    """The way to read `spare` bytes more for each tap: after the run where another tap
    follows far enough away, else before it. Empty where there is no such loop."""
    bounds, taps = contraction.nest.bounds, contraction.taps
    strides = contraction.activation.operand.strides
    counts = [bounds[tap] for tap in taps]
    if prod(counts) > UNROLLED_STEPS:
        return ()
    for axis, tap in enumerate(taps):
        if counts[axis] > 1 and strides[tap] >= spare:
            last = np.indices(counts)[axis].ravel() == counts[axis] - 1
            return tuple(spare * int(is_last) for is_last in last)
    return ()


def _piece(length: int, most: int) -> int:
    """The least multiple of four that covers the run in as few pieces as can be."""
    pieces = -(-length // most)
    return -(-length // (4 * pieces)) * 4


def product_cycles(contraction: Contraction, plan: TilePlan) -> float:
    """Estimated cycles of all products: one takes a cycle for each row of a register,
    and ten at least."""
    bounds = contraction.nest.bounds
    vectors = -(-bounds[contraction.lane] // LANES)
    last = contraction.pixels[-1]
    others = (*contraction.groups, *contraction.pixels[:-1], *contraction.taps)
    products = prod(bounds[loop] for loop in others) * plan.pieces * vectors
    products *= -(-bounds[last] // plan.height)
    return products * max(plan.height, 10) + _CONFIGURING_CYCLES


def _cycles_of_vectors(contraction: Contraction, length: int) -> float:
    """Estimated cycles by dot products of vectors: a cycle takes one and a half.

    Four bytes of activations are loaded for up to eight vectors; bytes that are no four
    are loaded one by one.
    """
    bounds = contraction.nest.bounds
    vectors = -(-bounds[contraction.lane] // LANES)
    others = (*contraction.groups, *contraction.pixels, *contraction.taps)
    runs = prod(bounds[loop] for loop in others)
    quads = -(-length // 4)
    loads = quads / 2 + (length % 4 != 0) * 2
    return runs * (vectors * quads / 1.5 + loads * -(-vectors // 8))


def tile_factors(weights: Weights) -> Factors:
    """The weights as signed bytes, activations being what is stored."""
    return weights.factors(_LAYOUT)


def packed_pieces(weights: Integers, plan: TilePlan) -> bytes:
    """Weights [group, vector, lane, tap, position in the run] as registers.

    In bytes [group, vector, tap, piece, position / 4, lane, position % 4].
    """
    length, depth = weights.shape[-1], plan.depth
    if plan.leads:
        padded = np.zeros((*weights.shape[:-1], depth), np.int64)
        for tap, lead in enumerate(plan.leads):
            padded[..., tap, lead : lead + length] = weights[..., tap, :]
        weights, length = padded, depth
    starts = [min(piece * depth, length - depth) for piece in range(plan.pieces)]
    pieces = np.stack([weights[..., at : at + depth] for at in starts], axis=-2)
    pieces[..., -1, : plan.pieces * depth - length] = 0
    quads = pieces.reshape(*pieces.shape[:-1], depth // 4, 4)
    return quads.transpose(0, 1, 3, 4, 5, 2, 6).astype(np.int8).tobytes()
