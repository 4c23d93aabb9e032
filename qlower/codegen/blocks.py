"""Cutting a nest into blocks that several threads can run.

A nest is cut along one parallel loop into contiguous blocks. Its iterations write
disjoint elements (the map of a result names each parallel loop once) and no sum is cut,
so the results are the same bits whoever runs which block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from qlower.codegen.llvm import Function, Value
from qlower.codegen.nest import Nest, Operand
from qlower.codegen.region import indexed_loops

LEAST_NANOSECONDS = 4_000.0
"""Estimated work of a nest below which one thread has it: a block that was written by
another core has to be fetched from its cache."""

_BLOCK_NANOSECONDS = 2_000.0
_BLOCKS_PER_THREAD = 2
"""More than one, for a thread that comes late or is slower."""

_ALIGNED = 64
"""Iterations: blocks of at least as many are multiples of it, so that all but the last
work on whole vectors."""


@dataclass(frozen=True)
class Blocks:
    """`count` blocks of `size` iterations of a parallel loop; the last has `last`."""

    loop: int
    count: int
    size: int
    last: int

    def functions(self, name: str) -> dict[str, int]:
        """The functions that blocks need, with the iterations of each."""
        if self.last == self.size:
            return {name: self.size}
        return {name: self.size, f"{name}_last": self.last}


def plan_blocks(nest: Nest, nanoseconds: float, threads: int) -> Blocks | None:
    """How to cut the nest, or None where one thread is as good.

    `nanoseconds` is an estimate of its time. A loop that moves a constant is not cut:
    weights are packed for all of it. Of the others the outermost is taken that gives
    all threads nearly the same work.
    """
    if threads == 1 or nanoseconds < LEAST_NANOSECONDS:
        return None
    indexed = {
        nest.index_loops[loop]
        for region in nest.op.regions
        for loop in indexed_loops(region)
    }
    wanted = min(_BLOCKS_PER_THREAD * threads, nanoseconds / _BLOCK_NANOSECONDS)
    best: tuple[float, Blocks] | None = None
    for loop, bound in enumerate(nest.parallel):
        constants = (o for o in nest.inputs if o.pointer is None)
        if loop in indexed or any(o.strides[loop] for o in constants):
            continue
        blocks = _cut(loop, bound, max(threads, int(wanted)))
        share = -(-blocks.count // threads) * blocks.size / bound
        if blocks.count > 1 and (best is None or share < 0.9 * best[0]):
            best = share, blocks
    return best[1] if best else None


def _cut(loop: int, bound: int, wanted: int) -> Blocks:
    size = -(-bound // wanted)
    if size >= _ALIGNED:
        size = -(-size // _ALIGNED) * _ALIGNED
    count = -(-bound // size)
    return Blocks(loop, count, size, bound - (count - 1) * size)


def block_of(f: Function, nest: Nest, loop: int, first: Value, bound: int) -> Nest:
    """`bound` iterations of a loop, from `first` on, as a nest of its own."""

    def moved(operand: Operand) -> Operand:
        if operand.pointer is None:
            return operand
        step = operand.strides[loop] * operand.element_bytes
        pointer = f.at(operand.pointer, f.scale(first, step))
        return replace(operand, pointer=pointer)

    bounds = list(nest.parallel)
    bounds[loop] = bound
    return replace(
        nest,
        parallel=tuple(bounds),
        inputs=tuple(map(moved, nest.inputs)),
        results=tuple(map(moved, nest.results)),
    )
