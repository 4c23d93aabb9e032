"""Sums of products by registers that hold small matrices of bytes.

A register has up to 16 rows of up to 64 bytes. Rows of activations are read where they
lie, one pixel a row and a piece of the run along it; a register of weights has a row
for every four bytes of the piece, with those of 16 channels side by side. Two registers
of pixels times two of channels are summed at once, then go through memory to the nest's
own init and epilogue, a vector of channels at a time, so that its constants are loaded
once for all pixels.

Nothing outside of a run or a row of pixels is read: a last piece that is not whole
begins earlier, and has weights 0 for what was there before; a last tile of pixels that
is not whole begins earlier too, and finishes only what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np

from qlower.codegen.dot import Integers
from qlower.codegen.elements import store_scalars
from qlower.codegen.joined_pixels import JoinedPixels, join_pixels
from qlower.codegen.llvm import I32, I64, Function, Module, Type, Value, constant
from qlower.codegen.packing import padded_i32
from qlower.codegen.point import PointCode, Segment, moved, nested, split, walk
from qlower.codegen.recognise import Contraction
from qlower.codegen.target import Target, TileRegisters
from qlower.codegen.tile_plan import (
    LANES,
    PAIR,
    UNROLLED_STEPS,
    TilePlan,
    packed_pieces,
    tile_factors,
)

_ROW_BYTES = 4 * LANES

_FINISHED_CHANNELS = 4 * LANES
"""Channels that go through the epilogue together: as bytes they fill a vector."""

_ACTIVATIONS, _WEIGHTS = 4, 6
"""The first registers of each; the sums have those before."""


def emit_tiles(
    f: Function, target: Target, contraction: Contraction, plan: TilePlan
) -> None:
    """The whole nest."""
    assert target.tiles is not None
    nest = contraction.nest
    data = _Data.of(f.module, contraction, plan)
    joined = None
    if data.row_factor is None:
        joined = join_pixels(contraction, _FINISHED_CHANNELS)
    code = _Tiles(f, target, nest, contraction.lane, contraction, plan, data, joined)
    shapes = {register: (plan.height, _ROW_BYTES) for register in range(_ACTIVATIONS)}
    for index in range(PAIR):
        shapes[_ACTIVATIONS + index] = (plan.height, plan.depth)
        shapes[_WEIGHTS + index] = (plan.depth // 4, _ROW_BYTES)
    configuration = f.module.add_constant(target.tiles.configuration(shapes))
    code.instruction(target.tiles.configure, configuration)
    indices = [constant(I64, 0)] * len(nest.bounds)
    groups = contraction.groups
    nested(f, nest.bounds, groups, indices, lambda now: code.pixels(now, code.block))
    code.instruction(target.tiles.release)


@dataclass(frozen=True)
class _Data:
    """What is known of the weights at compile time, as data of the module.

    `weights`: as `packed_pieces`, with `tap_bytes` for a tap of a vector and
    `vector_bytes` for a vector. `start`, i32 [group, vector, lane]: what sums start
    from, with the initial accumulator in it if `starts_from_initial`. `row_factor`:
    what the sum of activations is multiplied by and subtracted, laid out alike, and
    `ones` the weights that give that sum; None where there is no such factor.
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
    def of(cls, module: Module, contraction: Contraction, plan: TilePlan) -> _Data:
        assert contraction.run is not None
        length = contraction.nest.bounds[contraction.run]
        factors = tile_factors(contraction)
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
class _Block:
    """Pixels whose sums are in registers at once: `width` of the last pixel loop, the
    first `skipped` of which have been finished before, times `across`.

    `starts` are those of the registers along that loop, which may overlap.
    """

    width: int
    starts: tuple[int, ...]
    across: int
    skipped: int = 0


@dataclass(frozen=True)
class _Sums:
    """The sums of pixels: where those of the first are, and the bytes to the next.

    `ones`: where the sums of their activations are, 16 equal ones a pixel, and `factor`
    what those are multiplied by; None where there is no such factor.
    """

    first: Value
    line_bytes: int
    ones: Value | None = None
    factor: Value | None = None


@dataclass(frozen=True)
class _Tiles(PointCode):
    contraction: Contraction
    plan: TilePlan
    data: _Data
    joined: JoinedPixels | None

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
        f = self.f
        values = [
            constant(Type("i8"), a) if isinstance(a, int) else a for a in arguments
        ]
        f.module.declare(name, Type("void"), (value.type for value in values))
        f.call_function(name, values)

    # ------------------------------------------------------------------ blocks

    def pixels(
        self, indices: list[Value], code: Callable[[_Block, list[Value]], None]
    ) -> None:
        """`code` for blocks that are all pixels together."""
        f, bounds, plan = self.f, self.nest.bounds, self.plan
        *outer, last = self.contraction.pixels

        def block(width: int, across: int, skipped: int = 0) -> _Block:
            starts = range(0, width, plan.height)
            kept = tuple(min(start, width - plan.height) for start in starts)
            return _Block(width, kept, across, skipped)

        def row(across: int, now: list[Value]) -> None:
            width = min(plan.along * plan.height, bounds[last])
            repeat, rest = divmod(bounds[last], width)
            whole = Segment(0, repeat, width)
            walk(f, last, whole, now, partial(code, block(width, across)))
            if rest:
                width = -(-rest // plan.height) * plan.height
                point = list(now)
                point[last] = constant(I64, bounds[last] - width)
                code(block(width, across, width - rest), point)

        def rows(now: list[Value]) -> None:
            if plan.across == 1:
                return row(1, now)
            count = bounds[outer[-1]]
            pairs = count // plan.across
            for segment in (
                Segment(0, pairs, plan.across),
                Segment(pairs * plan.across, 1, count % plan.across),
            ):
                if segment.width:
                    walk(f, outer[-1], segment, now, partial(row, segment.width))
            return None

        nested(f, bounds, outer if plan.across == 1 else outer[:-1], indices, rows)

    # ---------------------------------------------------------------- products

    def corners(self, block: _Block, point: list[Value]) -> list[list[Value]]:
        """The first pixel of each register."""
        last = self.contraction.pixels[-1]
        return [
            moved(self.f, moved(self.f, point, self.outer_pixel, row), last, start)
            for row in range(block.across)
            for start in block.starts
        ]

    def products(
        self,
        block: _Block,
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
                row_bytes = constant(I64, _ROW_BYTES)
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

        def repeat(count: int, body: Callable[[Value], None]) -> None:
            if steps <= UNROLLED_STEPS:
                for index in range(count):
                    body(constant(I64, index))
                return

            def once(index: Value, carried: list[Value]) -> list[Value]:
                body(index)
                return carried

            f.loop(count, [], once)

        def pieces(position: list[Value], tap: Value) -> None:
            def piece(index: Value, start: Value) -> None:
                now = list(position)
                now[run - parallel] = start
                code(now, tap, index)

            if plan.leads:
                assert tap.constant is not None
                lead = plan.leads[tap.constant]
                return piece(constant(I64, 0), constant(I64, -lead))
            repeat(whole, lambda index: piece(index, f.scale(index, plan.depth)))
            if whole < plan.pieces:
                piece(constant(I64, whole), constant(I64, length - plan.depth))

        def over(loops: Sequence[int], position: list[Value], tap: Value) -> None:
            if not loops:
                return pieces(position, tap)
            loop, *rest = loops

            def one(index: Value) -> None:
                now = list(position)
                now[loop - parallel] = index
                over(rest, now, f.add(f.scale(tap, bounds[loop]), index))

            return repeat(bounds[loop], one)

        position = [constant(I64, 0)] * len(self.nest.reduction)
        over(taps, position, constant(I64, 0))

    # ------------------------------------------------------------------ finish

    def block(self, block: _Block, point: list[Value]) -> None:
        """All channels of a block of pixels."""
        f = self.f
        row_sums = self.row_sums(block, point)
        whole, rest = divmod(self.nest.bounds[self.lane], _FINISHED_CHANNELS)
        vectors = _FINISHED_CHANNELS // LANES

        def full(index: Value, carried: list[Value]) -> list[Value]:
            first = f.scale(index, vectors)
            self.tile(block, point, first, _FINISHED_CHANNELS, row_sums)
            return carried

        f.loop(whole, [], full)
        if rest:
            self.tile(block, point, constant(I64, whole * vectors), rest, row_sums)

    @property
    def lane(self) -> int:
        return self.contraction.lane

    def row_sums(self, block: _Block, point: list[Value]) -> Value | None:
        """Sums of activations alone, where they are needed: i32 [line, 16 of it]."""
        f, ones = self.f, self.data.ones
        if ones is None:
            return None
        scratch = f.allocate(block.across * block.width * _ROW_BYTES)

        def stored(vector: int, line: int) -> tuple[Value, int]:
            return f.at(scratch, constant(I64, line * _ROW_BYTES)), _ROW_BYTES

        def start(register: int, vector: int) -> None:
            self.instruction(self.tiles.zero, register)

        self.products(block, point, [ones], start, stored)
        return scratch

    def tile(
        self,
        block: _Block,
        point: list[Value],
        first: Value,
        valid: int,
        row_sums: Value | None,
    ) -> None:
        """`valid` channels, from vector `first` on, of a block of pixels."""
        f, data = self.f, self.data
        group = constant(I64, 0)
        for loop in self.contraction.groups:
            group = f.add(f.scale(group, self.nest.bounds[loop]), point[loop])
        column = f.add(f.scale(group, data.vectors), first)
        weights = f.at(data.weights, f.scale(column, data.vector_bytes))
        starts = f.at(data.start, f.scale(column, _ROW_BYTES))
        vectors = -(-valid // LANES)
        joined = self.joined
        line_bytes = 4 * valid if joined else vectors * _ROW_BYTES
        scratch = f.allocate(block.across * block.width * line_bytes + _ROW_BYTES)
        for pair in reversed(range(0, vectors, PAIR)):

            def stored(vector: int, line: int, pair: int = pair) -> tuple[Value, int]:
                offset = line * line_bytes + (pair + vector) * _ROW_BYTES
                return f.at(scratch, constant(I64, offset)), line_bytes

            def start(register: int, vector: int, pair: int = pair) -> None:
                # the same row in all rows
                at = f.at(starts, constant(I64, (pair + vector) * _ROW_BYTES))
                self.instruction(self.tiles.load, register, at, constant(I64, 0))

            now = [
                f.at(weights, constant(I64, vector * data.vector_bytes))
                for vector in range(pair, min(pair + PAIR, vectors))
            ]
            self.products(block, point, now, start, stored)
        start_row, end = block.skipped, block.width
        for across in range(block.across):
            corner = moved(f, point, self.outer_pixel, across)
            corner[self.lane] = f.scale(first, LANES)
            line = across * block.width
            sums = _Sums(f.at(scratch, constant(I64, line * line_bytes)), line_bytes)
            if row_sums is not None and data.row_factor is not None:
                ones = f.at(row_sums, constant(I64, line * _ROW_BYTES))
                factor = f.at(data.row_factor, f.scale(column, _ROW_BYTES))
                sums = replace(sums, ones=ones, factor=factor)
            done = start_row
            if joined:
                together = (end - start_row) // joined.count
                done += together * joined.count
                rows = Segment(start_row, together, joined.count)
                code = replace(self, nest=joined.nest)
                code.finish(corner, rows, joined.count * valid, sums)
            self.finish(corner, Segment(done, end - done, 1), valid, sums)

    def finish(
        self, corner: list[Value], rows: Segment, valid: int, sums: _Sums
    ) -> None:
        """Init and epilogue of `valid` channels for `rows` of the last pixel loop."""
        f, nest, loop = self.f, self.nest, self.contraction.pixels[-1]

        def lanes(start: int, width: int) -> None:
            type = Type("i32", width)
            offset = constant(I64, 4 * start)

            def row(index: Value, carried: list[Value]) -> list[Value]:
                index = f.add(f.scale(index, rows.width), constant(I64, rows.start))
                point = list(corner)
                point[loop] = f.add(corner[loop], index)
                point[self.lane] = f.add(corner[self.lane], constant(I64, start))
                line = f.at(sums.first, f.scale(index, sums.line_bytes))
                total = f.load(type, f.at(line, offset), 4)
                if not self.data.starts_from_initial:
                    (initial,) = self.run(nest.op.init, point, [], width)
                    total = f.binary("add", total, initial)
                if sums.ones is not None and sums.factor is not None:
                    one = f.load(I32, f.at(sums.ones, f.scale(index, _ROW_BYTES)), 4)
                    factor = f.load(type, f.at(sums.factor, offset), 4)
                    moved_by = f.binary("mul", f.splat(one, width), factor)
                    total = f.binary("sub", total, moved_by)
                stored = self.run(nest.op.epilogue, point, [total], width)
                for result, value in zip(nest.results, stored, strict=True):
                    store_scalars(f, value, result.address(f, point))
                return carried

            f.loop(rows.repeat, [], row)

        for segment in split(valid, _FINISHED_CHANNELS):
            for index in range(segment.repeat):
                lanes(segment.start + index * segment.width, segment.width)
