"""Epilogues of several pixels together, where one has too few channels to fill vectors.

In a dense result the channels of one pixel follow those of the one before, so a loop
over the channels of several pixels is a loop over neighbours; constants of channels are
repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.operand import Operand, lanes_of
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.values.facts import indexed_loops

_MOST_PIXELS = 8


@dataclass(frozen=True)
class JoinedPixels:
    """`count` pixels together: in `nest` the loop of lanes runs over the channels of
    all."""

    nest: LoopNest
    count: int


def join_pixels(contraction: Contraction, lanes: int) -> JoinedPixels | None:
    """The number of pixels whose channels make whole vectors of `lanes`; None where
    there is no need, or where an operand of init or epilogue has another layout."""
    nest, lane, pixel = contraction.nest, contraction.lane, contraction.pixels[-1]
    channels = nest.bounds[lane]
    count = lanes // gcd(channels, lanes)
    indexed = {
        nest.index_loops[loop]
        for region in (nest.op.init, nest.op.epilogue)
        for loop in indexed_loops(region)
    }
    if (
        channels >= lanes
        or count > _MOST_PIXELS
        or contraction.groups
        or {lane, pixel} & indexed
    ):
        return None
    inputs: list[Operand] = []
    for index, operand in enumerate(nest.inputs):
        blocks = (nest.op.init.block, nest.op.epilogue.block)
        is_used = any(block.args[index].uses for block in blocks)
        joined = _joined(operand, lane, pixel, channels, count) if is_used else operand
        if joined is None:
            return None
        inputs.append(joined)
    if any(result.strides[pixel] != channels for result in nest.results):
        return None
    parallel = list(nest.parallel)
    parallel[lane] = count * channels
    return JoinedPixels(
        replace(nest, parallel=tuple(parallel), inputs=tuple(inputs)), count
    )


def _joined(
    operand: Operand, lane: int, pixel: int, channels: int, count: int
) -> Operand | None:
    along, across = operand.strides[lane], operand.strides[pixel]
    if (along, across) in ((0, 0), (1, channels)):
        return operand
    others = (s for loop, s in enumerate(operand.strides) if loop != lane)
    if operand.data is None or any(others):
        return None
    elements = lanes_of(operand.scalar, operand.data)[operand.offset :: along]
    repeated = np.tile(elements[:channels], count)
    strides = [int(loop == lane) for loop in range(len(operand.strides))]
    return replace(operand, data=repeated.tobytes(), offset=0, strides=tuple(strides))
