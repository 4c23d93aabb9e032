"""Sums of products with constant weights: matrix products, implicit-GEMM convolution.

All loops but the vectorised one may walk the activations in any way, so a convolution
reads its image where it lies. Lanes are output channels. A tile of pixels times vectors
of channels is summed in registers by the target's dot product, four bytes of a run at a
time; the tile then goes through the nest's own init and epilogue.

All sums are modulo 2^32, where additions may be reordered: the sum starts from what
`packing` knows at compile time, and an initial accumulator that it doesn't know is
added at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from qlower.codegen.llvm.text import I32, I64, Function, Type, Value, constant, zero
from qlower.codegen.nests.nest import Span
from qlower.codegen.nests.point import PointCode, moved, nested, split, walk
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.contraction.tiling import VectorPlan
from qlower.codegen.skeletons.products.packing import Packed, group_position
from qlower.codegen.skeletons.products.step import Step
from qlower.codegen.targets.resolve import Target
from qlower.codegen.values.elements import store_scalars


def emit_contraction(f: Function, target: Target, plan: VectorPlan) -> None:
    """The whole nest, which is placed."""
    contraction, dot, tiling = plan.contraction, plan.dot, plan.tiling
    nest = contraction.nest
    pixel = contraction.pixels[-1] if contraction.pixels else None
    width = tiling.width
    step = width * dot.lanes
    # one pointer to the weights of a tile, or a stream of them for each vector
    packed = plan.factors.pack(f.module, dot, width if dot.weights_are_joined else 1)
    code = _Tile(f, target, nest, contraction.lane, contraction, dot, packed)
    channels = nest.channels or Span(constant(I64, 0), nest.bounds[contraction.lane])

    def columns(code: Callable[[Value, int, int], None]) -> None:
        """`code` with the first vector, vectors and channels of each column."""
        first = f.divide(channels.first, dot.lanes)
        whole, rest = divmod(channels.count, step)

        def one(index: Value, carried: list[Value]) -> list[Value]:
            code(f.add(first, f.scale(index, width)), width, step)
            return carried

        f.loop(whole, [], one)
        if rest:
            start = f.add(first, constant(I64, whole * width))
            code(start, -(-rest // dot.lanes), rest)

    def tiles(indices: list[Value], code: Callable[[int, list[Value]], None]) -> None:
        """`code` with the pixels of each tile and the first one."""

        def row(now: list[Value]) -> None:
            for segment in tiling.segments:
                walk(f, pixel, segment, now, partial(code, segment.width))

        nested(f, nest.bounds, contraction.pixels[:-1], indices, row)

    def group(indices: list[Value]) -> None:
        def column(first: Value, vectors: int, valid: int) -> None:
            tiles(indices, partial(code.emit, (first, vectors, valid), None))

        # sums of activations are the same for all columns
        shared = packed.row_factor is not None and channels.count > step
        tiles(indices, row_of_columns) if shared else columns(column)

    def row_of_columns(height: int, indices: list[Value]) -> None:
        sums = code.row_sums(height, indices)

        def column(first: Value, vectors: int, valid: int) -> None:
            code.emit((first, vectors, valid), sums, height, indices)

        columns(column)

    indices = [constant(I64, 0)] * len(nest.bounds)
    return nested(f, nest.bounds, contraction.groups, indices, group)


LoadFactors: TypeAlias = Callable[[int, int, int], list[list[Value]]]
"""The weights of a chunk, from its number after the first one, how many bytes of the
run it has, and how many are before them at least."""


@dataclass(frozen=True)
class _Tile(PointCode):
    contraction: Contraction
    dot: Step
    packed: Packed

    @property
    def pixel(self) -> int | None:
        """The loop that a tile has several steps of."""
        return self.contraction.pixels[-1] if self.contraction.pixels else None

    def emit(
        self,
        column: tuple[Value, int, int],
        row_sums: Value | None,
        height: int,
        indices: list[Value],
    ) -> None:
        """`height` pixels times a column: its first vector, vectors and channels.

        `row_sums` are where `row_sums` has put those of these pixels, if it has.
        """
        first_vector, vectors, valid = column
        f, lanes = self.f, self.dot.lanes
        group = group_position(f, self.contraction, indices)
        first = f.add(f.scale(group, self.packed.vectors), first_vector)
        points = self.points(height, indices)
        has_own = row_sums is None and self.packed.row_factor is not None
        sums = self.sums(points, first, vectors, with_rows=has_own)
        if has_own:
            row_sums = self.store_row_sums([row.pop() for row in sums])
        row_bytes = vectors * lanes * 4
        scratch = f.allocate(height * row_bytes)
        for row, values in enumerate(sums):
            for vector, value in enumerate(values):
                offset = row * row_bytes + vector * lanes * 4
                f.store(value, f.at(scratch, constant(I64, offset)), lanes * 4)

        channel = f.scale(first_vector, lanes)

        def finish_row(row: Value, carried: list[Value]) -> list[Value]:
            point = list(indices)
            if self.pixel is not None:
                point[self.pixel] = f.add(indices[self.pixel], row)
            line = f.at(scratch, f.scale(row, row_bytes))
            shift = None
            if row_sums is not None:
                shift = f.load(I32, f.at(row_sums, f.scale(row, 4)), 4)
            # as many sums as make a whole vector of bytes
            for segment in split(valid, 4 * lanes):
                place = line, channel, f.scale(first, lanes)
                code = partial(self.finish, *place, shift, segment.width)
                walk(f, self.contraction.lane, segment, point, code)
            return carried

        f.loop(height, [], finish_row)

    def points(self, height: int, indices: list[Value]) -> list[list[Value]]:
        """Those of `height` pixels."""
        return [moved(self.f, indices, self.pixel, row) for row in range(height)]

    def finish(
        self,
        line: Value,
        channel: Value,
        column: Value,
        row_sum: Value | None,
        lanes: int,
        point: list[Value],
    ) -> None:
        """Complete the sums, run the epilogue, store.

        `line` holds a pixel's sums from `channel` on, which is packed as `column`;
        `point` counts from there.
        """
        f, nest, loop = self.f, self.nest, self.contraction.lane
        distance, point[loop] = point[loop], f.add(channel, point[loop])
        type = Type("i32", lanes)
        total = f.load(type, f.at(line, f.scale(distance, 4)), 4)
        if row_sum is not None:
            total = f.binary("sub", total, self.shift(row_sum, column, distance, lanes))
        if not self.packed.starts_from_initial:
            (initial,) = self.run(nest.op.init, point, [], lanes)
            total = f.binary("add", total, initial)
        stored = self.run(nest.op.epilogue, point, [total], lanes)
        for result, value in zip(nest.results, stored, strict=True):
            store_scalars(f, value, result.address(f, point))

    def row_sums(self, height: int, indices: list[Value]) -> Value:
        """Where the sums of activations of `height` pixels are."""
        dot = self.dot

        def ones(tap: Value, chunk: Value) -> LoadFactors:
            return lambda part, size, before: [dot.ones(size, before)]

        start = [zero(Type("i32", dot.lanes))]
        rows = self.products(self.points(height, indices), start, ones)
        return self.store_row_sums([total for (total,) in rows])

    def store_row_sums(self, sums: Sequence[Value]) -> Value:
        """Where they are, as i32; multiplied, if all channels have one row factor."""
        f, factor = self.f, self.packed.row_factor
        stored = f.allocate(4 * len(sums))
        for row, total in enumerate(sums):
            value = f.extract(total, 0)
            if isinstance(factor, int):
                value = f.binary("mul", value, constant(I32, factor))
            f.store(value, f.at(stored, constant(I64, 4 * row)), 4)
        return stored

    def shift(
        self, row_sum: Value, column: Value, distance: Value, lanes: int
    ) -> Value:
        """What a pixel's sums of `lanes` channels are too great by."""
        f, factor = self.f, self.packed.row_factor
        moved_by = f.splat(row_sum, lanes)
        if not isinstance(factor, Value):
            return moved_by
        address = f.at(factor, f.scale(f.add(column, distance), 4))
        return f.binary("mul", moved_by, f.load(Type("i32", lanes), address, 4))

    def sums(
        self, points: list[list[Value]], first: Value, vectors: int, *, with_rows: bool
    ) -> list[list[Value]]:
        """The sums but for the row sums' part: one list a pixel, one vector a block of
        channels, and one with the row sum if `with_rows`."""
        f, dot, packed = self.f, self.dot, self.packed
        vector_bytes = dot.lanes * 4
        at = f.at(packed.correction, f.scale(first, vector_bytes))
        start = [
            f.load(
                Type("i32", dot.lanes),
                f.at(at, constant(I64, vector * vector_bytes)),
                vector_bytes,
            )
            for vector in range(vectors)
        ]
        if with_rows:
            start.append(zero(start[0].type))
        panel = packed.taps * packed.chunks * dot.chunk_bytes
        weights = f.at(packed.weights, f.scale(first, panel))
        step, apart = vectors * dot.chunk_bytes, dot.chunk_bytes
        if packed.block == 1:
            step, apart = dot.chunk_bytes, panel

        def load(tap: Value, chunk: Value) -> LoadFactors:
            offset = f.scale(f.add(f.scale(tap, packed.chunks), chunk), step)

            def load_part(part: int, size: int, before: int) -> list[list[Value]]:
                at_part = f.add(offset, constant(I64, part * step))
                used = dot.products(size, before)
                loaded: list[list[Value]] = []
                for vector in range(vectors):
                    at = f.add(at_part, constant(I64, vector * apart))
                    loaded.append(dot.load_weights(f, f.at(weights, at), used))
                return [*loaded, dot.ones(size, before)] if with_rows else loaded

            return load_part

        return self.products(points, start, load)

    def products(
        self,
        points: list[list[Value]],
        start: list[Value],
        weights: Callable[[Value, Value], LoadFactors],
    ) -> list[list[Value]]:
        """Sums of products from `start` on, which has a vector for each of `weights`.

        These are those of a tap, from a chunk of its run on. One list a pixel.
        """
        f, dot = self.f, self.dot
        # a last group that isn't full repeats its last pixel
        groups = [
            [
                points[min(row, len(points) - 1)]
                for row in range(first, first + dot.rows)
            ]
            for first in range(0, len(points), dot.rows)
        ]
        flat = [dot.spread(f, value) for _ in groups for value in start]

        def chunk(
            position: list[Value],
            tap: Value,
            index: Value,
            size: int,
            before: int,
            flat: list[Value],
        ) -> list[Value]:
            """The products of `size` bytes, from chunk `index` of the run on.

            At least `before` bytes of the run lie before them.
            """
            load = weights(tap, index)
            loaded: list[list[list[Value]]] = []
            activation = self.contraction.activation
            for group in groups:
                addresses = [
                    activation.operand.address(
                        f, [*point[: len(self.nest.parallel)], *position]
                    )
                    for point in group
                ]
                loaded.append(
                    dot.load_activations(f, addresses, size, activation.signed, before)
                )
            for part in range(-(-size // dot.depth)):
                meant = min(dot.depth, size - dot.depth * part)
                factors = load(part, meant, before + dot.depth * part)
                flat = dot.multiply_all(f, flat, [x[part] for x in loaded], factors)
            return flat

        flat = self.reduce(flat, chunk)
        rows: list[list[Value]] = []
        for first in range(0, len(flat), len(start)):
            totals = flat[first : first + len(start)]
            collected = [dot.collect(f, total) for total in totals]
            rows += [list(row) for row in zip(*collected, strict=True)]
        return rows[: len(points)]

    def reduce(
        self,
        flat: list[Value],
        chunk: Callable[
            [list[Value], Value, Value, int, int, list[Value]], list[Value]
        ],
    ) -> list[Value]:
        """`chunk` for every tap, and along the run."""
        f, nest = self.f, self.nest
        parallel = len(nest.parallel)
        run = self.contraction.run
        length = nest.bounds[run] if run is not None else 1
        step_bytes = self.dot.run_bytes
        whole = length // step_bytes * step_bytes

        def at_tap(position: list[Value], tap: Value, flat: list[Value]) -> list[Value]:
            def step(index: Value, carried: list[Value]) -> list[Value]:
                now = list(position)
                if run is not None:
                    now[run - parallel] = f.scale(index, step_bytes)
                first = f.scale(index, step_bytes // self.dot.depth)
                return chunk(now, tap, first, step_bytes, 0, carried)

            flat = f.loop(length // step_bytes, flat, step)
            if whole < length:
                now = list(position)
                if run is not None:
                    now[run - parallel] = constant(I64, whole)
                flat = chunk(
                    now,
                    tap,
                    constant(I64, whole // self.dot.depth),
                    length - whole,
                    whole,
                    flat,
                )
            return flat

        def over_taps(
            loops: Sequence[int], position: list[Value], tap: Value, flat: list[Value]
        ) -> list[Value]:
            if not loops:
                return at_tap(position, tap, flat)
            loop, *rest = loops

            def step(index: Value, carried: list[Value]) -> list[Value]:
                now = list(position)
                now[loop - parallel] = index
                inner = f.add(f.scale(tap, nest.bounds[loop]), index)
                return over_taps(rest, now, inner, carried)

            return f.loop(nest.bounds[loop], flat, step)

        position = [constant(I64, 0)] * len(nest.reduction)
        return over_taps(self.contraction.taps, position, constant(I64, 0), flat)
