"""A core's speed of reading memory, by the size of the data that it reads repeatedly.

What fits in a level of the cache comes from there, so a few sizes show all levels,
whatever the machine has.
"""

from __future__ import annotations

from qlower.bench.kernels import at, least_seconds
from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant, zero
from qlower.codegen.targets.resolve import Target

SIZES = tuple(
    kilobytes << 10
    for kilobytes in (16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536)
)
"""Bytes that are read again and again: in common caches, near their borders."""

_LEAST_BYTES = 1 << 22
"""Bytes that one call reads, at least."""

_CALLS = 12
_VECTORS = 8
"""Loads that wait for no other."""


def measured_bandwidths(target: Target) -> dict[int, float]:
    """Read bandwidths in GB/s, by the number of bytes that are read again and again."""
    return {size: _bandwidth(target, size) for size in SIZES}


def _bandwidth(target: Target, size: int) -> float:
    repeats = max(1, _LEAST_BYTES // size)
    type = Type("i32", target.vector_bits // 32)
    step_bytes = _VECTORS * target.vector_bits // 8

    def emit(f: Function) -> int:
        def step(index: Value, sums: list[Value]) -> list[Value]:
            start = f.at(f.arguments[2], f.scale(index, step_bytes))
            loads = [
                f.load(type, f.at(start, constant(I64, n * step_bytes // _VECTORS)), 4)
                for n in range(_VECTORS)
            ]
            pairs = zip(sums, loads, strict=True)
            return [f.binary("xor", total, load) for total, load in pairs]

        def whole(index: Value, sums: list[Value]) -> list[Value]:
            # The sums of a round differ from those before: it can't be left out.
            f.store(sums[0], at(f, size), 4)
            return f.loop(size // step_bytes, sums, step)

        sums = f.loop(repeats, [zero(type)] * _VECTORS, whole)
        for number, total in enumerate(sums):
            f.store(total, at(f, size + number * target.vector_bits // 8), 4)
        return size + step_bytes

    return repeats * size / least_seconds(target, emit, _CALLS) / 1e9
