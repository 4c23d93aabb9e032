"""Sharing a nest among threads, through the OpenMP runtime's binary interface.

A nest is cut along one parallel loop into contiguous blocks. Its iterations write
disjoint elements (the map of a result names each parallel loop once) and no sum is cut,
so the results are the same bits for any number of threads. All runtimes (GCC's libgomp,
LLVM's libomp, Intel's libiomp5) have these symbols of GCC's interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qlower.codegen.llvm import (
    I32,
    I64,
    Function,
    Module,
    Value,
    constant,
    symbol,
)
from qlower.codegen.nest import Nest, Operand
from qlower.codegen.region import indexed_loops
from qlower.codegen.target import Target
from qlower.codegen.work import estimated_nanoseconds

OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
"""What code for several threads calls."""

LEAST_NANOSECONDS = 20_000.0
"""Estimated work of a nest below which one thread has it: waking others costs 1 to 5
microseconds, and they have to fetch what this one has in its cache."""

_ALIGNED = 64
"""Iterations: blocks of a loop as long as this many a thread are multiples of it, so
that all but the last work on whole vectors."""


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


def plan_blocks(nest: Nest, target: Target, threads: int) -> Blocks | None:
    """How to share the nest, or None where one thread is as good.

    A loop that moves a constant is not cut: weights are packed for all of it. Of the
    others the outermost is taken that gives all threads nearly the same work.
    """
    if threads == 1 or estimated_nanoseconds(nest, target) < LEAST_NANOSECONDS:
        return None
    indexed = {
        nest.index_loops[loop]
        for region in nest.op.regions
        for loop in indexed_loops(region)
    }
    best: tuple[float, Blocks] | None = None
    for loop, bound in enumerate(nest.parallel):
        constants = (o for o in nest.inputs if o.pointer is None)
        if loop in indexed or any(o.strides[loop] for o in constants):
            continue
        blocks = _cut(loop, bound, threads)
        share = blocks.size / bound
        if blocks.count > 1 and (best is None or share < 0.9 * best[0]):
            best = share, blocks
    return best[1] if best else None


def _cut(loop: int, bound: int, threads: int) -> Blocks:
    size = -(-bound // threads)
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


def call_shared(
    f: Function, name: str, blocks: Blocks, pointers: Sequence[Value], threads: int
) -> None:
    """Run the blocks in `threads` threads.

    Their functions take `pointers` and the block's first iteration.
    """
    module = f.module
    module.functions += _share(name, blocks, len(pointers))
    data = f.allocate(8 * len(pointers))
    for index, pointer in enumerate(pointers):
        f.store(pointer, f.at(data, constant(I64, 8 * index)), 8)
    _declare(module)
    f.call_function(
        "GOMP_parallel",
        (symbol(f"{name}_share"), data, constant(I32, threads), constant(I32, 0)),
    )


def _declare(module: Module) -> None:
    module.declarations["GOMP_parallel"] = (
        "declare void @GOMP_parallel(ptr, ptr, i32, i32)"
    )
    for name in OPENMP_SYMBOLS[1:]:
        module.declare(name, I32, ())


def _share(name: str, blocks: Blocks, count: int) -> list[str]:
    """What each thread runs: every n-th block, n being the threads that there are."""
    pointers = ", ".join(f"ptr %p{index}" for index in range(count))
    loads: list[str] = []
    for index in range(count):
        loads += [
            f"  %a{index} = getelementptr ptr, ptr %data, i64 {index}",
            f"  %p{index} = load ptr, ptr %a{index}, align 8",
        ]
    first, *other = blocks.functions(name)
    last = other[0] if other else first
    return [
        f"define internal void @{name}_share(ptr %data) nounwind #0 {{",
        "entry:",
        *loads,
        "  %thread32 = call i32 @omp_get_thread_num()",
        "  %threads32 = call i32 @omp_get_num_threads()",
        "  %thread = zext i32 %thread32 to i64",
        "  %threads = zext i32 %threads32 to i64",
        f"  %any = icmp ult i64 %thread, {blocks.count}",
        "  br i1 %any, label %run, label %done",
        "run:",
        "  %block = phi i64 [ %thread, %entry ], [ %next, %run ]",
        f"  %first = mul i64 %block, {blocks.size}",
        f"  %is_last = icmp eq i64 %block, {blocks.count - 1}",
        f"  %code = select i1 %is_last, ptr @{last}, ptr @{name}",
        f"  call void %code({pointers}, i64 %first)",
        "  %next = add i64 %block, %threads",
        f"  %more = icmp ult i64 %next, {blocks.count}",
        "  br i1 %more, label %run, label %done",
        "done:",
        "  ret void",
        "}",
    ]
