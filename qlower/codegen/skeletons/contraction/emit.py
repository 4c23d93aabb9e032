"""Sums of products with constant weights: matrix products, implicit-GEMM convolution.

All loops but the vectorised one may walk the activations in any way, so a convolution
reads its image where it lies. Lanes are output channels. A tile of pixels times vectors
of channels is summed in registers by the target's dot product, four bytes of a run at a
time; the tile then goes through the nest's own init and epilogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, Type, Value, constant
from qlower.codegen.nests.nest import Span
from qlower.codegen.nests.point import nested, overlapping, split_lanes, walk
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.contraction.products import Column, Products
from qlower.codegen.skeletons.contraction.tiling import Tiling, VectorPlan
from qlower.codegen.skeletons.products.packing import (
    Data,
    Packed,
    constant_factors,
    group_position,
    with_data,
)
from qlower.codegen.skeletons.products.partial_sums import Parts, Spans
from qlower.codegen.targets.resolve import Target

_BLOCK = 64
"""Channels whose sums are in memory together, where columns are narrower than vectors
of results."""


def emit_contraction(f: Function, target: Target, plan: VectorPlan) -> None:
    """Emit the whole nest of `plan`, whose operands have been given addresses."""
    contraction, dot, tiling = plan.contraction, plan.dot, plan.tiling
    nest = contraction.nest
    # one pointer to the weights of a tile, or a stream of them for each vector
    block = tiling.width if dot.weights_are_joined else 1

    def pack(data: Data, products: Contraction) -> Packed:
        has_factors = products is contraction
        factors = plan.factors if has_factors else constant_factors(products, dot)
        return factors.pack(data, dot, block)

    packed = with_data(f.module, contraction, pack)
    common = f, target, nest, contraction.lane, contraction, dot, packed
    code = Tiles(*common, tiling, plan.factors.parts)
    indices = [constant(I64, 0)] * len(nest.bounds)
    nested(f, nest.bounds, contraction.groups, indices, code.group)


@dataclass(frozen=True)
class Tiles(Products):
    """Emits the tiles of a nest one after another: sums, then init and epilogue.

    Sums of `parts` are added up in 64 bits.
    """

    tiling: Tiling
    parts: Parts | None

    @property
    def sum_bytes(self) -> int:
        """Bytes that a sum takes in a tile's memory."""
        return 4 if self.parts is None else 8

    @property
    def channels(self) -> Span:
        """The output channels of a group that this function computes."""
        whole = Span(constant(I64, 0), self.nest.bounds[self.contraction.lane])
        return self.nest.channels or whole

    @property
    def column_channels(self) -> int:
        """The channels of a whole column."""
        return self.tiling.width * self.dot.lanes

    def group(self, indices: list[Value]) -> None:
        """All tiles of the group of channels at `indices`."""
        has_row_factor = self.packed.row_factor is not None
        is_one_column = self.channels.count <= self.column_channels
        # columns are narrower than vectors of results
        if self.target.whole_dot is not None and not is_one_column:
            most = max(self.column_channels, _BLOCK - _BLOCK % self.column_channels)
            row_bytes = min(most, self.channels.count) * self.sum_bytes
            height = max(segment.width for segment in self.tiling.segments)
            scratch = self.f.allocate(height * row_bytes)
            code = partial(self.row_of_blocks, scratch, row_bytes, most)
            return self.tiles(indices, code)
        # sums of activations are the same for all columns
        if has_row_factor and not is_one_column:
            return self.tiles(indices, self.row_of_columns)

        def column(column: Column) -> None:
            self.tiles(indices, partial(self.tile, column, None))

        return self.columns(self.channels, column)

    def columns(self, channels: Span, code: Callable[[Column], None]) -> None:
        """`code` for each column of channels."""
        f, width, step = self.f, self.tiling.width, self.column_channels
        first = f.divide(channels.first, self.dot.lanes)
        whole, rest = divmod(channels.count, step)

        def one(index: Value, carried: list[Value]) -> list[Value]:
            code(Column(f.add(first, f.scale(index, width)), width, step))
            return carried

        f.loop(whole, [], one)
        if rest:
            start = f.add(first, constant(I64, whole * width))
            code(Column(start, -(-rest // self.dot.lanes), rest))

    def tiles(
        self, indices: list[Value], code: Callable[[int, list[Value]], None]
    ) -> None:
        """`code` with the pixels of each tile, and the position of its first one."""

        def row(now: list[Value]) -> None:
            for segment in self.tiling.segments:
                walk(self.f, self.pixel, segment, now, partial(code, segment.width))

        outer = self.contraction.pixels[:-1]
        nested(self.f, self.nest.bounds, outer, indices, row)

    def row_of_columns(self, height: int, indices: list[Value]) -> None:
        """All columns of `height` pixels, whose activations are summed once."""
        sums = self.row_sums(height, indices)

        def column(column: Column) -> None:
            self.tile(column, sums, height, indices)

        self.columns(self.channels, column)

    def row_of_blocks(
        self,
        scratch: Value,
        row_bytes: int,
        most: int,
        height: int,
        indices: list[Value],
    ) -> None:
        """All channels of `height` pixels: the sums of a block of columns, of at most
        `most` channels, and then their results."""
        f, channels = self.f, self.channels
        row_sums = None
        if self.packed.row_factor is not None:
            row_sums = self.row_sums(height, indices)

        def block(first: Value, count: int) -> None:
            self.clear(scratch, height * row_bytes)

            def column(column: Column) -> None:
                start = f.scale(column.first, self.dot.lanes)
                distance = f.add(start, f.scale(first, -1))
                line = f.at(scratch, f.scale(distance, self.sum_bytes))
                self.put_sums(column, line, row_bytes, row_sums, height, indices)

            self.columns(Span(first, count), column)
            self.finish_rows(
                scratch, row_bytes, first, count, row_sums, height, indices
            )

        def one(index: Value, carried: list[Value]) -> list[Value]:
            block(f.add(channels.first, f.scale(index, most)), most)
            return carried

        whole, rest = divmod(channels.count, most)
        f.loop(whole, [], one)
        if rest:
            block(f.add(channels.first, constant(I64, whole * most)), rest)

    def tile(
        self,
        column: Column,
        row_sums: Value | None,
        height: int,
        indices: list[Value],
    ) -> None:
        """`height` pixels, the first of which is at `indices`, times a column.

        `row_sums` is the address where `row_sums` has put those of these pixels; None
        if it hasn't.
        """
        row_bytes = column.vectors * self.dot.lanes * self.sum_bytes
        scratch = self.f.allocate(height * row_bytes)
        self.clear(scratch, height * row_bytes)
        row_sums = self.put_sums(column, scratch, row_bytes, row_sums, height, indices)
        channel = self.f.scale(column.first, self.dot.lanes)
        place = scratch, row_bytes, channel, column.channels
        self.finish_rows(*place, row_sums, height, indices)

    def clear(self, scratch: Value, size: int) -> None:
        """Zeros to which the sums of parts are added."""
        if self.parts is not None:
            self.f.fill_bytes(scratch, 0, size)

    def packed_vector(self, indices: list[Value], number: Value) -> Value:
        """The number of a vector of the group at `indices` in the packed weights."""
        group = group_position(self.f, self.contraction, indices)
        return self.f.add(self.f.scale(group, self.packed.vectors), number)

    def put_sums(
        self,
        column: Column,
        scratch: Value,
        row_bytes: int,
        row_sums: Value | None,
        height: int,
        indices: list[Value],
    ) -> Value | None:
        """The sums of `height` pixels times a column at `scratch`; where the sums of
        their activations are, if need be."""
        f = self.f
        first = self.packed_vector(indices, column.first)
        points = self.points(height, indices)
        has_own = row_sums is None and self.packed.row_factor is not None

        def sums(spans: Spans) -> list[list[Value]]:
            vectors = column.vectors
            return self.sums(points, first, vectors, with_rows=has_own, spans=spans)

        if self.parts is None:
            rows = sums({})
            if has_own:
                row_sums = self.store_row_sums([row.pop() for row in rows])
            self.put(rows, scratch, row_bytes)
        else:

            def add_part(spans: Spans) -> None:
                self.put(sums(spans), scratch, row_bytes)

            self.parts.each(f, self.contraction, add_part)
        return row_sums

    def finish_rows(
        self,
        scratch: Value,
        row_bytes: int,
        channel: Value,
        count: int,
        row_sums: Value | None,
        height: int,
        indices: list[Value],
    ) -> None:
        """The results of `count` channels of `height` pixels from `channel` on, whose
        sums are at `scratch`."""
        f, lanes, lane = self.f, self.dot.lanes, self.contraction.lane
        first = self.packed_vector(indices, f.divide(channel, lanes))
        if self.target.widens_in_memory:
            width = self.target.vector_bits // 32
            segments = split_lanes(self.target, count, width)
            if count > width and self.nest.may_repeat:
                segments = overlapping(count, width, may_repeat=True)
        else:  # as many sums as make a whole vector of bytes
            segments = split_lanes(self.target, count, 4 * lanes)

        def finish_row(row: Value, carried: list[Value]) -> list[Value]:
            point = list(indices)
            if self.pixel is not None:
                point[self.pixel] = f.add(indices[self.pixel], row)
            line = f.at(scratch, f.scale(row, row_bytes))
            shift = None
            if row_sums is not None:
                shift = f.load(I32, f.at(row_sums, f.scale(row, 4)), 4)
            for segment in segments:
                place = line, channel, f.scale(first, lanes)
                code = partial(self.finish, *place, shift, segment.width)
                walk(f, lane, segment, point, code)
            return carried

        f.loop(height, [], finish_row)

    def put(self, sums: list[list[Value]], scratch: Value, row_bytes: int) -> None:
        """Stores the sums of each row at `scratch`, those of a part by adding them."""
        f, alignment = self.f, self.dot.lanes * 4
        for row, values in enumerate(sums):
            for vector, value in enumerate(values):
                offset = row * row_bytes + vector * self.dot.lanes * self.sum_bytes
                place = f.at(scratch, constant(I64, offset))
                total = f.cast("sext", value, f"i{8 * self.sum_bytes}")
                if self.parts is not None:
                    before = f.load(total.type, place, alignment)
                    total = f.binary("add", before, total)
                f.store(total, place, alignment)

    def finish(
        self,
        line: Value,
        channel: Value,
        packed_channel: Value,
        row_sum: Value | None,
        lanes: int,
        point: list[Value],
    ) -> None:
        """Complete `lanes` sums of a pixel, run the epilogue, store its results.

        `line` is the address of the pixel's sums from output channel `channel` on,
        which is number `packed_channel` of the packed weights. At `point` the lane loop
        counts from `channel`, as `line` does. `row_sum` is the pixel's sum of
        activations, i32, where the sums are too great by a multiple of it.
        """
        f, loop = self.f, self.contraction.lane
        distance, point[loop] = point[loop], f.add(channel, point[loop])
        size = self.sum_bytes
        type = Type(f"i{8 * size}", lanes)
        total = f.load(type, f.at(line, f.scale(distance, size)), size)
        if row_sum is not None:
            surplus = self.shift(row_sum, packed_channel, distance, lanes)
            total = f.binary("sub", total, surplus)
        accumulator = self.contraction.accumulator
        narrows = type.bits > Type(accumulator).bits
        total = f.cast("trunc" if narrows else "sext", total, accumulator)
        has_initial = self.packed.starts_from_initial
        self.complete(total, point, lanes, has_initial=has_initial)
