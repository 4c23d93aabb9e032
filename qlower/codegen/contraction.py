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

from qlower.codegen.dot import DotStep
from qlower.codegen.elements import store_scalars
from qlower.codegen.llvm import I64, Function, Type, Value, constant, zero
from qlower.codegen.nest import Span
from qlower.codegen.packing import Factors, Packed
from qlower.codegen.point import PointCode, Segment, moved, nested, split, walk
from qlower.codegen.recognise import Contraction
from qlower.codegen.target import Target
from qlower.codegen.tile_plan import plan_tiles
from qlower.codegen.tile_registers import emit_tiles
from qlower.codegen.tiling import choose_step, choose_tile


def emit_contraction(f: Function, target: Target, contraction: Contraction) -> None:
    """The whole nest."""
    nest = contraction.nest
    plan = plan_tiles(target, contraction) if nest.channels is None else None
    if plan is not None:
        return emit_tiles(f, target, contraction, plan)
    pixel = contraction.pixels[-1] if contraction.pixels else None
    dot, factors, row_segments, width = _tiling(target, contraction)
    step = width * dot.lanes
    # one pointer to the weights of a tile, or a stream of them for each vector
    packed = factors.pack(f.module, dot, width if dot.selects_lane else 1)
    code = _Tile(f, target, nest, contraction.lane, contraction, dot, packed)
    channels = nest.channels or Span(constant(I64, 0), nest.bounds[contraction.lane])

    def block(start: Value, vectors: int, valid: int, indices: list[Value]) -> None:
        def tiles(now: list[Value]) -> None:
            for segment in row_segments:
                tile = partial(code.emit, start, vectors, valid, segment.width, pixel)
                walk(f, pixel, segment, now, tile)

        nested(f, nest.bounds, contraction.pixels[:-1], indices, tiles)

    def blocks(indices: list[Value]) -> None:
        first = f.divide(channels.first, dot.lanes)
        whole, rest = divmod(channels.count, step)

        def one(index: Value, carried: list[Value]) -> list[Value]:
            start = f.add(first, f.scale(index, width))
            block(start, width, step, indices)
            return carried

        f.loop(whole, [], one)
        if rest:
            start = f.add(first, constant(I64, whole * width))
            block(start, -(-rest // dot.lanes), rest, indices)

    indices = [constant(I64, 0)] * len(nest.bounds)
    return nested(f, nest.bounds, contraction.groups, indices, blocks)


def channels_of_tile(target: Target, contraction: Contraction) -> int:
    """What the channels of a part of the nest are a multiple of, but in the last."""
    dot, _, _, width = _tiling(target, contraction)
    return width * dot.lanes


def _tiling(
    target: Target, contraction: Contraction
) -> tuple[DotStep, Factors, tuple[Segment, ...], int]:
    """The step, what it multiplies, how pixels are cut, and vectors of channels."""
    bounds, run = contraction.nest.bounds, contraction.run
    rows = bounds[contraction.pixels[-1]] if contraction.pixels else 1
    length = bounds[run] if run is not None else 1
    dot, factors = choose_step(target, contraction, rows, length)
    return dot, factors, *choose_tile(target, dot, rows, length, factors)


@dataclass(frozen=True)
class _Tile(PointCode):
    contraction: Contraction
    dot: DotStep
    packed: Packed

    def emit(
        self,
        first_vector: Value,
        vectors: int,
        valid: int,
        height: int,
        pixel: int | None,
        indices: list[Value],
    ) -> None:
        """`height` pixels times `valid` channels, from `first_vector` on."""
        f, lanes = self.f, self.dot.lanes
        points = [moved(f, indices, pixel, row) for row in range(height)]
        group = self.group(indices)
        first = f.add(f.scale(group, self.packed.vectors), first_vector)
        sums = self.sums(points, first, vectors)
        row_bytes = vectors * lanes * 4
        scratch = f.allocate(height * row_bytes)
        for row, values in enumerate(sums):
            for vector, value in enumerate(values):
                offset = row * row_bytes + vector * lanes * 4
                f.store(value, f.at(scratch, constant(I64, offset)), lanes * 4)

        channel = f.scale(first_vector, lanes)

        def finish_row(row: Value, carried: list[Value]) -> list[Value]:
            point = list(indices)
            if pixel is not None:
                point[pixel] = f.add(indices[pixel], row)
            line = f.at(scratch, f.scale(row, row_bytes))
            # as many sums as make a whole vector of bytes
            for segment in split(valid, 4 * lanes):
                code = partial(self.finish, line, channel, segment.width)
                walk(f, self.contraction.lane, segment, point, code)
            return carried

        f.loop(height, [], finish_row)

    def finish(
        self, line: Value, channel: Value, lanes: int, point: list[Value]
    ) -> None:
        """Complete the sums, run the epilogue, store.

        `line` holds a pixel's sums from `channel` on; `point` counts from there.
        """
        f, nest, loop = self.f, self.nest, self.contraction.lane
        address = f.at(line, f.scale(point[loop], 4))
        point[loop] = f.add(channel, point[loop])
        total = f.load(Type("i32", lanes), address, 4)
        if not self.packed.starts_from_initial:
            (initial,) = self.run(nest.op.init, point, [], lanes)
            total = f.binary("add", total, initial)
        stored = self.run(nest.op.epilogue, point, [total], lanes)
        for result, value in zip(nest.results, stored, strict=True):
            store_scalars(f, value, result.address(f, point))

    def group(self, indices: Sequence[Value]) -> Value:
        """The position in the packed weights that the group loops choose."""
        position = constant(I64, 0)
        for loop in self.contraction.groups:
            scaled = self.f.scale(position, self.nest.bounds[loop])
            position = self.f.add(scaled, indices[loop])
        return position

    def sums(
        self, points: list[list[Value]], first: Value, vectors: int
    ) -> list[list[Value]]:
        """The corrected sums: one list a pixel, one vector a block of channels."""
        f, dot, packed = self.f, self.dot, self.packed
        lanes_type = Type("i32", dot.lanes)
        vector_bytes = dot.lanes * 4
        at = f.scale(first, vector_bytes)

        def constants(base: Value) -> list[Value]:
            return [
                f.load(
                    lanes_type,
                    f.at(base, f.add(at, constant(I64, vector * vector_bytes))),
                    vector_bytes,
                )
                for vector in range(vectors)
            ]

        start = constants(packed.correction)
        with_rows = packed.row_factor is not None
        none = [zero(lanes_type)] if with_rows else []
        # a last group that isn't full repeats its last pixel
        groups = [
            [
                points[min(row, len(points) - 1)]
                for row in range(first, first + dot.rows)
            ]
            for first in range(0, len(points), dot.rows)
        ]
        flat = [dot.spread(f, value) for _ in groups for value in (*start, *none)]
        panel = packed.taps * packed.chunks * dot.chunk_bytes
        weights = f.at(packed.weights, f.scale(first, panel))
        step, apart = vectors * dot.chunk_bytes, dot.chunk_bytes
        if packed.block == 1:
            step, apart = dot.chunk_bytes, panel

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
            offset = f.scale(f.add(f.scale(tap, packed.chunks), index), step)
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
                at_part = f.add(offset, constant(I64, part * step))
                chunk_weights = [
                    dot.load_weights(
                        f,
                        f.at(
                            weights,
                            f.add(at_part, constant(I64, vector * apart)),
                        ),
                        dot.products(meant, before + dot.depth * part),
                    )
                    for vector in range(vectors)
                ]
                if with_rows:
                    chunk_weights.append(dot.ones(meant, before + dot.depth * part))
                flat = dot.multiply_all(
                    f, flat, [x[part] for x in loaded], chunk_weights
                )
            return flat

        flat = self.reduce(flat, chunk)
        width = vectors + len(none)
        rows: list[list[Value]] = []
        for start_of_group in range(0, len(flat), width):
            totals = flat[start_of_group : start_of_group + width]
            collected = [dot.collect(f, total) for total in totals]
            rows += [list(row) for row in zip(*collected, strict=True)]
        rows = rows[: len(points)]
        if packed.row_factor is None:
            return rows
        row_factors = constants(packed.row_factor)
        return [
            [
                f.binary("sub", value, f.binary("mul", row[-1], factor))
                for value, factor in zip(row[:-1], row_factors, strict=True)
            ]
            for row in rows
        ]

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
