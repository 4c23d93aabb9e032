"""The products of a contraction: the sums of a tile of pixels times a column.

All sums are modulo 2^32, where additions may be reordered: the sum starts from the
values that `packing` knows at compile time, and an initial accumulator that it doesn't
know is added at the end. Where the accumulator is wider, the parts that are summed
together don't wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qlower.codegen.llvm.values import I64, Type, Value, constant, zero
from qlower.codegen.nests.nest import Span
from qlower.codegen.nests.point import PointCode, moved
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.products.packing import Packed
from qlower.codegen.skeletons.products.partial_sums import Spans
from qlower.codegen.skeletons.products.step import Activations, DotStep, SummingStep
from qlower.codegen.skeletons.products.taps import over_taps


@dataclass(frozen=True)
class Column:
    """Neighbouring output channels that are summed together: whole vectors of them.

    `first` is the number of the first vector in its group of channels. `vectors` are
    at most a tile's width, and `channels` the lanes of theirs that are channels: all
    of them but in the last column.
    """

    first: Value
    vectors: int
    channels: int


@dataclass(frozen=True)
class Part:
    """Up to a chunk's depth of a piece: `size` activations, with at least `before` of
    the run before them. `number` counts the piece's parts from 0."""

    number: int
    size: int
    before: int


@dataclass(frozen=True)
class Piece:
    """`size` activations of a tap's run that are loaded together, the first of them in
    chunk `chunk`.

    `position` has an index for each reduction loop, and `tap` is the number of the tap
    in row-major order. At least `before` others of the run lie before the piece.
    """

    position: list[Value]
    tap: Value
    chunk: Value
    size: int
    before: int

    def parts(self, depth: int) -> Iterator[Part]:
        """The piece in chunks of `depth`, the last of which may have fewer."""
        for number, start in enumerate(range(0, self.size, depth)):
            yield Part(number, min(depth, self.size - start), self.before + start)


LoadFactors: TypeAlias = Callable[[Part], list[list[Value]]]
"""Loads what the activations of a part are multiplied by: a list of operands of the
dot product for each sum of a pixel."""


@dataclass(frozen=True)
class Products(PointCode):
    """Emits the sums of a contraction: dot products with its `packed` weights."""

    contraction: Contraction
    dot: DotStep
    packed: Packed

    @property
    def pixel(self) -> int | None:
        """The loop that a tile has several steps of."""
        return self.contraction.pixels[-1] if self.contraction.pixels else None

    def points(self, height: int, indices: list[Value]) -> list[list[Value]]:
        """The positions of `height` neighbouring pixels, the first at `indices`."""
        return [moved(self.f, indices, self.pixel, row) for row in range(height)]

    def row_sums(self, height: int, indices: list[Value]) -> Value:
        """The address of the sums of activations of `height` pixels, i32 [height]."""

        def ones(piece: Piece) -> LoadFactors:
            return lambda part: [self.ones(part)]

        start = [zero(Type("i32", self.dot.lanes))]
        rows = self.products(self.points(height, indices), start, ones, {})
        return self.store_row_sums([total for (total,) in rows])

    def ones(self, part: Part) -> list[Value]:
        """Weights that give the sum of a part's activations."""
        assert isinstance(self.dot, SummingStep)  # what has a row factor chose one
        return self.dot.ones(part.size, part.before)

    def store_row_sums(self, sums: Sequence[Value]) -> Value:
        """The address where lane 0 of each of `sums` is stored, as i32.

        They are multiplied by the row factor if it is the same for all channels.
        """
        f, factor = self.f, self.packed.row_factor
        stored = f.allocate(4 * len(sums))
        for row, total in enumerate(sums):
            value = f.extract(total, 0)
            if isinstance(factor, int):
                value = f.binary("mul", value, f.number(factor))
            f.store(value, f.at(stored, constant(I64, 4 * row)), 4)
        return stored

    def shift(
        self, row_sum: Value, column: Value, distance: Value, lanes: int
    ) -> Value:
        """The excess of a pixel's sums of `lanes` channels, i32 [lanes].

        The first of these is the packed channel `column` + `distance`.
        """
        f, factor = self.f, self.packed.row_factor
        moved_by = f.splat(row_sum, lanes)
        if not isinstance(factor, Value):
            return moved_by
        address = f.at(factor, f.scale(f.add(column, distance), 4))
        return f.binary("mul", moved_by, f.load(Type("i32", lanes), address, 4))

    def sums(
        self,
        points: list[list[Value]],
        first: Value,
        vectors: int,
        *,
        with_rows: bool,
        spans: Spans,
    ) -> list[list[Value]]:
        """The sums at `points` for `vectors` from packed vector `first` on, but for the
        row sums' part, over the spans of the reduction loops.

        One list a pixel, of one i32 [dot.lanes] a vector, and one more with the pixel's
        sum of activations in each lane if `with_rows`.
        """
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

        def load(piece: Piece) -> LoadFactors:
            chunk = f.add(f.scale(piece.tap, packed.chunks), piece.chunk)
            base, offset = weights, f.scale(chunk, step)
            if self.target.hides_addresses:
                base, offset = f.hidden(f.at(base, offset)), constant(I64, 0)

            def load_part(part: Part) -> list[list[Value]]:
                at_part = f.add(offset, constant(I64, part.number * step))
                used = dot.products(part.size, part.before)
                loaded: list[list[Value]] = []
                for vector in range(vectors):
                    at = f.add(at_part, constant(I64, vector * apart))
                    loaded.append(dot.load_weights(f, f.at(base, at), used))
                if with_rows:
                    loaded.append(self.ones(part))
                return loaded

            return load_part

        return self.products(points, start, load, spans)

    def products(
        self,
        points: list[list[Value]],
        start: list[Value],
        factors: Callable[[Piece], LoadFactors],
        spans: Spans,
    ) -> list[list[Value]]:
        """The sums of products of the pixels at `points`, one list a pixel.

        Each list begins as `start`, i32 [dot.lanes] each, and has a sum for each list
        that `factors` loads.
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

        def add(piece: Piece, flat: list[Value]) -> list[Value]:
            load = factors(piece)
            loaded = [self.load_activations(group, piece) for group in groups]
            for part in piece.parts(dot.depth):
                xs = [of_group[part.number] for of_group in loaded]
                flat = dot.multiply_all(f, flat, xs, load(part))
            return flat

        flat = self.reduce(flat, add, spans)
        rows: list[list[Value]] = []
        for first in range(0, len(flat), len(start)):
            totals = flat[first : first + len(start)]
            collected = [dot.collect(f, total) for total in totals]
            rows += [list(row) for row in zip(*collected, strict=True)]
        return rows[: len(points)]

    def load_activations(
        self, points: list[list[Value]], piece: Piece
    ) -> list[list[Value]]:
        """The activations of a piece for `dot.rows` pixels: a list for each part."""
        activation = self.contraction.activation
        outer = len(self.nest.parallel)
        addresses = [
            activation.operand.address(self.f, [*point[:outer], *piece.position])
            for point in points
        ]
        part = Activations(addresses, piece.size, activation.signed, piece.before)
        return self.dot.load_activations(self.f, part)

    def reduce(
        self,
        flat: list[Value],
        code: Callable[[Piece, list[Value]], list[Value]],
        spans: Spans,
    ) -> list[Value]:
        """The value that `code` makes of `flat` over all pieces of the runs of all
        taps."""
        f, dot, run = self.f, self.dot, self.contraction.run
        span = Span(constant(I64, 0), 1 if run is None else self.nest.bounds[run])
        if run is not None:
            span = spans.get(run, span)
        whole, rest = divmod(span.count, dot.run_length)

        def at(position: list[Value], start: Value) -> list[Value]:
            now = list(position)
            if run is not None:
                now[run - len(self.nest.parallel)] = start
            return now

        def at_tap(position: list[Value], tap: Value, flat: list[Value]) -> list[Value]:
            def piece(index: Value, size: int, before: int) -> Piece:
                start = f.add(span.first, f.scale(index, dot.run_length))
                first = f.divide(span.first, dot.depth)
                chunk = f.add(first, f.scale(index, dot.run_length // dot.depth))
                return Piece(at(position, start), tap, chunk, size, before)

            def step(index: Value, carried: list[Value]) -> list[Value]:
                return code(piece(index, dot.run_length, 0), carried)

            flat = f.loop(whole, flat, step)
            if rest:
                last = piece(constant(I64, whole), rest, whole * dot.run_length)
                flat = code(last, flat)
            return flat

        return over_taps(f, self.contraction, f.loop, flat, at_tap, spans)
