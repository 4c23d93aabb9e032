"""The most multiply-accumulates a second that a core's dot products give.

A register-tiled matrix product and nothing around it: weights and activations in the
first-level cache, no border, no epilogue. It is emitted by the builder and the dot
steps that emit models, for several tiles, and with tile registers where there are any;
the fastest counts.
"""

from __future__ import annotations

from qlower.bench.kernels import at, least_seconds
from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant, zero
from qlower.codegen.skeletons.products.choose import vector_step
from qlower.codegen.skeletons.products.step import Activations, VectorStep
from qlower.codegen.skeletons.tile_registers.products import tile_instruction
from qlower.codegen.targets.resolve import Target, TileRegisters
from qlower.codegen.values.elements import storage_bytes

DEPTH = 512
"""Bytes of activations in a sum: with four vectors of channels 32 KB of weights."""

_REPEATS = 100
_CALLS = 60

_TILE_STEPS = 8
"""Steps in a row with tile registers: 32 KB of activations and weights."""


def measured_peak(target: Target, scalar: str) -> float:
    """G multiply-accumulates a second, on one core, of activations i8 or i16."""
    dot = vector_step(target, scalar, signed=scalar == "i16")
    size = storage_bytes(scalar)
    tiles = ((_rows(target, columns), columns) for columns in (1, 2, 3, 4, 5))
    speeds = [_speed(target, dot, size, rows, columns) for rows, columns in tiles]
    if target.tiles is not None and scalar == "i8":
        speeds.append(_tile_speed(target, target.tiles))
    return max(speeds)


def _rows(target: Target, columns: int) -> int:
    """The rows of a tile that has an accumulator for each row and column, and a vector
    of weights for each column."""
    return max(1, (target.vector_registers - 3) // columns - 1)


def _speed(
    target: Target, dot: VectorStep, size: int, rows: int, columns: int
) -> float:
    def emit(f: Function) -> int:
        return _emit(f, dot, size, rows, columns)

    products = rows * columns * dot.lanes * DEPTH // size
    return _REPEATS * products / least_seconds(target, emit, _CALLS) / 1e9


def _tile_speed(target: Target, tiles: TileRegisters) -> float:
    seconds = least_seconds(target, lambda f: emit_tiles(f, tiles), _CALLS)
    products = 4 * tiles.rows * tiles.row_bytes // 4 * tiles.row_bytes
    return _REPEATS * _TILE_STEPS * products / seconds / 1e9


def emit_tiles(f: Function, tiles: TileRegisters) -> int:
    """Four sums of two registers of activations with two of weights, `_REPEATS` times
    those of `_TILE_STEPS` in a row. Returns the arena's size."""
    sums, factors = (0, 1, 2, 3), (4, 5, 6, 7)
    size = tiles.rows * tiles.row_bytes
    stride = constant(I64, tiles.row_bytes)
    shapes = dict.fromkeys((*sums, *factors), (tiles.rows, tiles.row_bytes))
    configuration = f.module.add_constant(tiles.configuration(shapes))
    tile_instruction(f, tiles.configure, configuration)
    for register in sums:
        tile_instruction(f, tiles.zero, register)

    def step(index: Value, _: list[Value]) -> list[Value]:
        start = f.at(f.arguments[2], f.scale(index, len(factors) * size))
        for number, register in enumerate(factors):
            place = f.at(start, constant(I64, number * size))
            tile_instruction(f, tiles.load, register, place, stride)
        for register in sums:
            a, b = factors[register // 2], factors[2 + register % 2]
            tile_instruction(f, tiles.unsigned_multiply, register, a, b)
        return []

    f.loop(_REPEATS, [], lambda index, _: f.loop(_TILE_STEPS, [], step))
    behind = _TILE_STEPS * len(factors) * size
    for register in sums:
        place = at(f, behind + register * size)
        tile_instruction(f, tiles.store, register, place, stride)
    tile_instruction(f, tiles.release)
    return behind + len(sums) * size


def _emit(f: Function, dot: VectorStep, size: int, rows: int, columns: int) -> int:
    """`_REPEATS` times the sums of w [columns][chunk] and x [rows], `DEPTH` bytes each
    in numbers of `size` bytes.

    They lie in the arena, the sums behind them; what they are is of no matter. Returns
    its size.
    """
    pieces = DEPTH // (size * dot.run_length)
    parts = dot.run_length // dot.depth
    panel = pieces * parts * dot.chunk_bytes
    w = f.arguments[2]
    x = f.at(w, constant(I64, columns * panel))
    behind = columns * panel + rows * DEPTH
    type = Type("i32", dot.lanes)

    def step(index: Value, flat: list[Value]) -> list[Value]:
        base = f.scale(index, size * dot.run_length)
        factors = [
            dot.load_activations(f, Activations([at], dot.run_length, signed=False))
            for row in range(rows)
            for at in [f.at(x, f.add(base, constant(I64, row * DEPTH)))]
        ]
        for part in range(parts):
            chunk = f.add(f.scale(index, parts), constant(I64, part))
            at = f.scale(chunk, dot.chunk_bytes)
            weights = [
                dot.load_weights(
                    f, f.at(w, f.add(at, constant(I64, c * panel))), dot.depth
                )
                for c in range(columns)
            ]
            flat = dot.multiply_all(f, flat, [x[part] for x in factors], weights)
        return flat

    def sums(index: Value, flat: list[Value]) -> list[Value]:
        return f.loop(pieces, flat, step)

    flat = f.loop(_REPEATS, [zero(type)] * (rows * columns), sums)
    for value in flat:
        f.store(value, f.at(w, constant(I64, behind)), 4)
        behind += 4 * dot.lanes
    return behind
