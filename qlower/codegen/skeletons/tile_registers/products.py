"""The products of tile registers: weights as data, loads, and sums into memory.

A register has up to 16 rows of up to 64 bytes. Rows of activations are read in place,
one pixel a row and a piece of the run along it; a register of weights has a row for
every four bytes of the piece, with those of 16 channels side by side. Two registers of
pixels times two of channels are summed in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.nests.point import PointCode, moved
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.products.packing import (
    Data,
    Weights,
    padded_i32,
    with_data,
)
from qlower.codegen.skeletons.products.step import Integers
from qlower.codegen.skeletons.products.taps import Body, over_taps
from qlower.codegen.skeletons.tile_registers.plan import (
    LANES,
    PAIR,
    UNROLLED_STEPS,
    TiledContraction,
    TilePlan,
    packed_pieces,
    tile_factors,
)
from qlower.codegen.targets.resolve import TileRegisters

ROW_BYTES = 4 * LANES
"""Bytes of a register's row of sums, or of weights."""

_ACTIVATIONS, _WEIGHTS = 4, 6
"""The first registers of each; the sums have those before."""


@dataclass(frozen=True)
class TileData:
    """The facts about the weights at compile time, as data of the module.

    `weights`: as `packed_pieces`, with `tap_bytes` for a tap of a vector and
    `vector_bytes` for a vector. `start`, i32 [group, vector, lane]: the values that
    sums start from, with the initial accumulator in them if `starts_from_initial`.
    `row_factor`: the number that the sum of activations is multiplied by and
    subtracted, in the same layout, and `ones` the weights that give that sum; None
    where there is no such factor.
    """

    weights: Value
    vectors: int
    tap_bytes: int
    vector_bytes: int
    start: Value
    starts_from_initial: bool
    row_factor: Value | None
    ones: Value | None

    @classmethod
    def of(cls, module: Module, tiled: TiledContraction) -> TileData:
        """The data of a contraction, added to the module."""

        def pack(data: Data, products: Contraction) -> TileData:
            has_factors = products is tiled.contraction
            factors = tiled.factors if has_factors else tile_factors(Weights(products))
            return cls._packed(data, replace(tiled, factors=factors))

        return with_data(module, tiled.contraction, pack)

    @classmethod
    def _packed(cls, module: Data, tiled: TiledContraction) -> TileData:
        contraction, plan, factors = tiled.contraction, tiled.plan, tiled.factors
        assert contraction.run is not None
        length = contraction.nest.bounds[contraction.run]
        groups, vectors, lanes, taps, _, _ = factors.weights.shape
        weights = factors.weights.reshape(groups, vectors, lanes, taps, -1)
        tap_bytes = lanes * plan.depth * plan.pieces

        def i32(values: Integers) -> Value:
            return module.add_constant(padded_i32(values, vectors * lanes))

        start, row_factor, ones = factors.correction, None, None
        if factors.initial is not None:
            start = start + factors.initial
        if factors.has_row_factor:
            row_factor = i32(factors.row_factor)
            all_ones = np.ones((1, 1, lanes, taps, length), np.int64)
            ones = module.add_constant(packed_pieces(all_ones, plan))
        return cls(
            module.add_constant(packed_pieces(weights[..., :length], plan)),
            vectors,
            tap_bytes,
            taps * tap_bytes,
            i32(start),
            factors.initial is not None,
            row_factor,
            ones,
        )


@dataclass(frozen=True)
class Block:
    """Pixels whose sums are in registers together: `width` of the last pixel loop times
    `across`. The first `skipped` pixels of `width` have been finished before.

    `starts` are those of the registers along that loop, which may overlap.
    """

    width: int
    starts: tuple[int, ...]
    across: int
    skipped: int = 0


@dataclass(frozen=True)
class TileProducts(PointCode):
    """Emits products of a contraction, as `plan` cuts it."""

    contraction: Contraction
    plan: TilePlan
    data: TileData

    @property
    def tiles(self) -> TileRegisters:
        assert self.target.tiles is not None
        return self.target.tiles

    @property
    def outer_pixel(self) -> int | None:
        """The pixel loop in which registers are neighbours `across`."""
        pixels = self.contraction.pixels
        return pixels[-2] if len(pixels) > 1 else None

    def instruction(self, name: str, *arguments: int | Value) -> None:
        """One of the target's; a number names a register."""
        tile_instruction(self.f, name, *arguments)

    def configure(self) -> None:
        """Give all registers their shapes."""
        plan = self.plan
        shapes = {
            register: (plan.height, ROW_BYTES) for register in range(_ACTIVATIONS)
        }
        for index in range(PAIR):
            shapes[_ACTIVATIONS + index] = (plan.height, plan.depth)
            shapes[_WEIGHTS + index] = (plan.depth // 4, ROW_BYTES)
        configuration = self.f.module.add_constant(self.tiles.configuration(shapes))
        self.instruction(self.tiles.configure, configuration)

    def corners(self, block: Block, point: list[Value]) -> list[list[Value]]:
        """The first pixel of each register."""
        last = self.contraction.pixels[-1]
        return [
            moved(self.f, moved(self.f, point, self.outer_pixel, row), last, start)
            for row in range(block.across)
            for start in block.starts
        ]

    def products(
        self,
        block: Block,
        point: list[Value],
        weights: Sequence[Value],
        start: Callable[[int, int], None],
        stored: Callable[[int, int], tuple[Value, int]],
    ) -> None:
        """The sums of a block of pixels for one or two vectors of channels.

        `weights` are the addresses of each vector's. `start(register, vector)` gives a
        register its first value; `stored(vector, line)` is where the sums go from a
        line of the block on, and the bytes from there to the next line.
        """
        f, tiles, plan = self.f, self.tiles, self.plan
        parallel = len(self.nest.parallel)
        corners = self.corners(block, point)
        sums = {
            (vector, row): PAIR * row + vector
            for vector in range(len(weights))
            for row in range(len(corners))
        }
        for (vector, _), register in sums.items():
            start(register, vector)
        activation = self.contraction.activation
        loop = self.contraction.pixels[-1]
        stride = constant(I64, activation.operand.strides[loop])
        multiply = tiles.multiply(signed=activation.signed)

        def step(position: list[Value], tap: Value, piece: Value) -> None:
            for row, corner in enumerate(corners):
                at = activation.operand.address(f, [*corner[:parallel], *position])
                self.instruction(tiles.load, _ACTIVATIONS + row, at, stride)
            of_tap = f.scale(tap, self.data.tap_bytes)
            offset = f.add(of_tap, f.scale(piece, LANES * plan.depth))
            for vector, base in enumerate(weights):
                at = f.at(base, offset)
                row_bytes = constant(I64, ROW_BYTES)
                self.instruction(tiles.load, _WEIGHTS + vector, at, row_bytes)
            for (vector, row), register in sums.items():
                self.instruction(
                    multiply, register, _ACTIVATIONS + row, _WEIGHTS + vector
                )

        self.steps(step)
        # a row may reach into the next one, whose first vector has to come later
        for (vector, row), register in sorted(sums.items(), key=lambda s: -s[0][0]):
            across, along = divmod(row, len(block.starts))
            line = across * block.width + block.starts[along]
            address, line_bytes = stored(vector, line)
            self.instruction(tiles.store, register, address, constant(I64, line_bytes))

    def steps(self, code: Callable[[list[Value], Value, Value], None]) -> None:
        """`code(position, tap, piece)` for every tap and piece of the run."""
        f, bounds, plan = self.f, self.nest.bounds, self.plan
        parallel = len(self.nest.parallel)
        run, taps = self.contraction.run, self.contraction.taps
        assert run is not None
        length = bounds[run]
        whole = length // plan.depth
        steps = prod(bounds[tap] for tap in taps) * plan.pieces

        def repeat(count: int, carried: list[Value], body: Body) -> list[Value]:
            if steps > UNROLLED_STEPS:
                return f.loop(count, carried, body)
            for index in range(count):
                carried = body(constant(I64, index), carried)
            return carried

        def pieces(
            position: list[Value], tap: Value, carried: list[Value]
        ) -> list[Value]:
            def piece(index: Value, start: Value) -> None:
                now = list(position)
                now[run - parallel] = start
                code(now, tap, index)

            def whole_piece(index: Value, carried: list[Value]) -> list[Value]:
                piece(index, f.scale(index, plan.depth))
                return carried

            if plan.leads:
                assert tap.constant is not None
                lead = plan.leads[tap.constant]
                piece(constant(I64, 0), constant(I64, -lead))
                return carried
            carried = repeat(whole, carried, whole_piece)
            if whole < plan.pieces:
                piece(constant(I64, whole), constant(I64, length - plan.depth))
            return carried

        over_taps(f, self.contraction, repeat, [], pieces, {})


def tile_instruction(f: Function, name: str, *arguments: int | Value) -> None:
    """An instruction of `TileRegisters`; a number names a register."""
    values = [constant(Type("i8"), a) if isinstance(a, int) else a for a in arguments]
    f.module.declare(name, Type("void"), (value.type for value in values))
    f.call_function(name, values)
