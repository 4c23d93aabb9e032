"""The most multiply-accumulates a second that a core's dot product gives.

A register-tiled matrix product and nothing around it: weights and activations in the
first-level cache, no border, no epilogue. It is emitted by the builder and the dot
steps that emit models, for several tiles; the fastest counts.
"""

from __future__ import annotations

import time

from qlower.codegen.llvm.text import (
    I32,
    I64,
    POINTER,
    Function,
    Module,
    Type,
    Value,
    constant,
    zero,
)
from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.codegen.program.module import machine_code
from qlower.codegen.skeletons.products.choose import vector_step
from qlower.codegen.skeletons.products.step import VectorStep
from qlower.codegen.targets.resolve import Target
from qlower.model.signature import Signature
from qlower.runtime.executable import Executable

DEPTH = 512
"""Products in a sum: with four vectors of channels 32 KB of weights."""

_REPEATS = 100
_CALLS = 60


def measured_peak(target: Target) -> float:
    """G multiply-accumulates a second, on one core."""
    dot = vector_step(target, signed=False)
    tiles = ((_rows(target, columns), columns) for columns in (1, 2, 3, 4, 5))
    return max(_speed(target, dot, rows, columns) for rows, columns in tiles)


def _rows(target: Target, columns: int) -> int:
    """With an accumulator for each row and column, and a vector of weights a column."""
    return max(1, (target.vector_registers - 3) // columns - 1)


def _speed(target: Target, dot: VectorStep, rows: int, columns: int) -> float:
    module = Module(target.triple, target.function_attributes)
    pointers = [POINTER] * 3
    f = Function(module, ENTRY, pointers, [""] * 3, result=I32, internal=False)
    arena = _emit(f, dot, rows, columns)
    code = machine_code(str(module), target)
    run = Executable(CompiledObject(code, Signature((), ()), arena, target))
    call = run.bind([], [])
    best = float("inf")
    for _ in range(_CALLS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return _REPEATS * rows * columns * dot.lanes * DEPTH / best / 1e9


def _emit(f: Function, dot: VectorStep, rows: int, columns: int) -> int:
    """`_REPEATS` times the sums of w [columns][chunk] and x [rows][DEPTH].

    They lie in the arena, the sums behind them; what they are is of no matter. Returns
    its size.
    """
    panel = DEPTH // 4 * dot.chunk_bytes
    w = f.arguments[2]
    x = f.at(w, constant(I64, columns * panel))
    behind = columns * panel + rows * DEPTH
    type = Type("i32", dot.lanes)

    def step(index: Value, flat: list[Value]) -> list[Value]:
        base = f.scale(index, dot.run_bytes)
        factors = [
            dot.load_activations(
                f,
                [f.at(x, f.add(base, constant(I64, row * DEPTH)))],
                dot.run_bytes,
                signed=False,
            )
            for row in range(rows)
        ]
        for part in range(dot.run_bytes // 4):
            chunk = f.add(f.scale(index, dot.run_bytes // 4), constant(I64, part))
            at = f.scale(chunk, dot.chunk_bytes)
            weights = [
                dot.load_weights(f, f.at(w, f.add(at, constant(I64, c * panel))), 4)
                for c in range(columns)
            ]
            flat = dot.multiply_all(f, flat, [x[part] for x in factors], weights)
        return flat

    def sums(index: Value, flat: list[Value]) -> list[Value]:
        return f.loop(DEPTH // dot.run_bytes, flat, step)

    flat = f.loop(_REPEATS, [zero(type)] * (rows * columns), sums)
    for value in flat:
        f.store(value, f.at(w, constant(I64, behind)), 4)
        behind += 4 * dot.lanes
    f.finish(constant(I32, 0))
    return behind
