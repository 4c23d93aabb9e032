"""Cutting a nest into blocks that several threads can run.

A nest is cut along one parallel loop into contiguous blocks. Its iterations write
disjoint elements (the map of a result names each parallel loop once) and no sum is cut,
so the results are the same bits whichever thread runs a block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.nest import LoopNest, Span
from qlower.codegen.nests.operand import Operand
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.values.facts import indexed_loops

LEAST_NANOSECONDS = 2_500.0
"""Estimated work of a nest below which one thread has it: that it has begun and that it
is done takes a microsecond to be seen by other cores."""

_FETCH_NANOSECONDS_PER_BYTE = 0.04
"""The cost of data that one thread alone would fetch from the caches of others."""

_BLOCK_NANOSECONDS = 10_000.0
_BLOCKS_PER_THREAD = 4
"""More than one, for a thread that comes late or is slower: others take its blocks."""

_ALIGNED = 64
"""Iterations: along a loop that vectors follow blocks are multiples of it, so that all
but the last work on whole ones."""


@dataclass(frozen=True)
class Blocks:
    """`count` blocks of `size` iterations of a parallel loop; the last has `last`.

    Each thread has `per_thread` neighbouring ones, the last threads fewer.
    """

    loop: int
    count: int
    size: int
    last: int
    per_thread: int

    def bounds(self) -> list[int]:
        """The iterations of each block."""
        return [self.size] * (self.count - 1) + [self.last]

    def ranges(self) -> list[range]:
        """The iterations themselves, from the first to the last."""
        starts = (index * self.size for index in range(self.count))
        return [
            range(start, start + bound)
            for start, bound in zip(starts, self.bounds(), strict=True)
        ]


def plan_blocks(
    nest: LoopNest, nanoseconds: float, bytes: int, threads: int
) -> Blocks | None:
    """The blocks of the nest, or None where one thread is as good.

    `nanoseconds` is an estimate of its time, `bytes` is what it moves. A loop that
    moves a constant is not cut: weights are packed for all of it. Of the others the
    outermost is taken that gives all threads nearly the same work.
    """
    if not _is_enough(nanoseconds, bytes, threads):
        return None
    indexed = {
        nest.index_loops[loop]
        for region in nest.op.regions
        for loop in indexed_loops(region)
    }
    most = min(_BLOCKS_PER_THREAD, int(nanoseconds / threads / _BLOCK_NANOSECONDS))
    best: tuple[float, Blocks] | None = None
    for loop, bound in enumerate(nest.parallel):
        if loop in indexed or moves_constant(nest, loop):
            continue
        is_vector = any(operand.strides[loop] == 1 for operand in nest.results)
        step = _ALIGNED if is_vector else 1
        for per_thread in range(max(most, 1), 0, -1):
            blocks = _cut(loop, bound, threads, per_thread, step)
            share = min(per_thread * blocks.size, bound) / bound
            if blocks.count > 1 and (best is None or share < 0.95 * best[0]):
                best = share, blocks
    return best[1] if best else None


def plan_channel_blocks(
    contraction: Contraction,
    step: int,
    nanoseconds: float,
    bytes: int,
    threads: int,
) -> Blocks | None:
    """The cuts of a nest's channels, which are computed `step` at a time."""
    if not _is_enough(nanoseconds, bytes, threads):
        return None
    loop = contraction.lane
    blocks = _cut(loop, contraction.nest.bounds[loop], threads, 1, step)
    return blocks if blocks.count > 1 else None


def plan_copy_blocks(
    axis: int | None, nanoseconds: float, bytes: int, threads: int
) -> Blocks | None:
    """The blocks of a copy whose outermost axis has `axis` elements."""
    if axis is None or not _is_enough(nanoseconds, bytes, threads):
        return None
    blocks = _cut(0, axis, threads, 1, 1)
    return blocks if blocks.count > 1 else None


def _is_enough(nanoseconds: float, bytes: int, threads: int) -> bool:
    saved = nanoseconds + bytes * _FETCH_NANOSECONDS_PER_BYTE
    return threads > 1 and saved >= LEAST_NANOSECONDS


def _cut(loop: int, bound: int, threads: int, per_thread: int, step: int) -> Blocks:
    size = -(-bound // (threads * per_thread))
    size = -(-size // step) * step
    count = -(-bound // size)
    return Blocks(loop, count, size, bound - (count - 1) * size, per_thread)


def moves_constant(nest: LoopNest, loop: int) -> bool:
    """Whether a loop walks along a constant, such as the channels of weights."""
    return any(o.data is not None and o.strides[loop] for o in nest.inputs)


def block_of(nest: LoopNest, loop: int, bound: int) -> LoopNest:
    """`bound` iterations of a loop as a nest of its own; `starting_at` says which."""
    if moves_constant(nest, loop):
        return replace(nest, channels=Span(constant(I64, 0), bound))
    bounds = list(nest.parallel)
    bounds[loop] = bound
    return replace(nest, parallel=tuple(bounds))


def starting_at(f: Function, block: LoopNest, loop: int, first: Value) -> LoopNest:
    """A block, placed where the whole nest is, from iteration `first` on."""
    if block.channels is not None:
        return replace(block, channels=replace(block.channels, first=first))

    def moved(operand: Operand) -> Operand:
        if operand.pointer is None:
            return operand
        step = operand.strides[loop] * operand.element_bytes
        pointer = f.at(operand.pointer, f.scale(first, step))
        edges = tuple(edge.moved(f, loop, first) for edge in operand.edges)
        return replace(operand, pointer=pointer, edges=edges)

    return replace(
        block,
        inputs=tuple(map(moved, block.inputs)),
        results=tuple(map(moved, block.results)),
    )
