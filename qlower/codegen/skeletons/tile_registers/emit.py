"""Contractions in tile registers: blocks of pixels and channels, and their epilogues.

Sums go through memory to the nest's own init and epilogue, whole vectors of bytes at a
time; a loop over pixels is inside, so that constants of channels are loaded once for
all of them. A last block of pixels that is not whole begins earlier, and finishes only
what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, Type, Value, constant
from qlower.codegen.nests.point import Segment, moved, nested, split, walk
from qlower.codegen.skeletons.products.packing import group_position
from qlower.codegen.skeletons.tile_registers.joined_pixels import (
    JoinedPixels,
    join_pixels,
)
from qlower.codegen.skeletons.tile_registers.plan import LANES, PAIR, TiledContraction
from qlower.codegen.skeletons.tile_registers.products import (
    ROW_BYTES,
    Block,
    TileData,
    TileProducts,
)
from qlower.codegen.targets.resolve import Target
from qlower.codegen.values.elements import store_scalars

_FINISHED_CHANNELS = 4 * LANES
"""Channels that go through the epilogue together: as bytes they fill a vector."""


def emit_tiles(f: Function, target: Target, tiled: TiledContraction) -> None:
    """The whole nest, which is placed."""
    contraction, plan = tiled.contraction, tiled.plan
    nest = contraction.nest
    data = TileData.of(f.module, tiled)
    joined = None
    if data.row_factor is None:
        joined = join_pixels(contraction, _FINISHED_CHANNELS)
    code = _Tiles(f, target, nest, contraction.lane, contraction, plan, data, joined)
    code.configure()
    indices = [constant(I64, 0)] * len(nest.bounds)
    groups = contraction.groups
    nested(f, nest.bounds, groups, indices, lambda now: code.pixels(now, code.block))
    code.instruction(code.tiles.release)


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
class _Tiles(TileProducts):
    joined: JoinedPixels | None

    def pixels(
        self, indices: list[Value], code: Callable[[Block, list[Value]], None]
    ) -> None:
        """`code` for blocks that are all pixels together."""
        f, bounds, plan = self.f, self.nest.bounds, self.plan
        *outer, last = self.contraction.pixels

        def block(width: int, across: int, skipped: int = 0) -> Block:
            starts = range(0, width, plan.height)
            kept = tuple(min(start, width - plan.height) for start in starts)
            return Block(width, kept, across, skipped)

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

    def block(self, block: Block, point: list[Value]) -> None:
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

    def row_sums(self, block: Block, point: list[Value]) -> Value | None:
        """Sums of activations alone, where they are needed: i32 [line, 16 of it]."""
        f, ones = self.f, self.data.ones
        if ones is None:
            return None
        scratch = f.allocate(block.across * block.width * ROW_BYTES)

        def stored(vector: int, line: int) -> tuple[Value, int]:
            return f.at(scratch, constant(I64, line * ROW_BYTES)), ROW_BYTES

        def start(register: int, vector: int) -> None:
            self.instruction(self.tiles.zero, register)

        self.products(block, point, [ones], start, stored)
        return scratch

    def tile(
        self,
        block: Block,
        point: list[Value],
        first: Value,
        valid: int,
        row_sums: Value | None,
    ) -> None:
        """`valid` channels, from vector `first` on, of a block of pixels."""
        f, data = self.f, self.data
        group = group_position(f, self.contraction, point)
        column = f.add(f.scale(group, data.vectors), first)
        weights = f.at(data.weights, f.scale(column, data.vector_bytes))
        starts = f.at(data.start, f.scale(column, ROW_BYTES))
        vectors = -(-valid // LANES)
        joined = self.joined
        line_bytes = 4 * valid if joined else vectors * ROW_BYTES
        scratch = f.allocate(block.across * block.width * line_bytes + ROW_BYTES)
        for pair in reversed(range(0, vectors, PAIR)):

            def stored(vector: int, line: int, pair: int = pair) -> tuple[Value, int]:
                offset = line * line_bytes + (pair + vector) * ROW_BYTES
                return f.at(scratch, constant(I64, offset)), line_bytes

            def start(register: int, vector: int, pair: int = pair) -> None:
                # the same row in all rows
                at = f.at(starts, constant(I64, (pair + vector) * ROW_BYTES))
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
                ones = f.at(row_sums, constant(I64, line * ROW_BYTES))
                factor = f.at(data.row_factor, f.scale(column, ROW_BYTES))
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
                    one = f.load(I32, f.at(sums.ones, f.scale(index, ROW_BYTES)), 4)
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
