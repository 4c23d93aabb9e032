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
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod

import numpy as np

from qlower.codegen.dot import DotStep, Integers
from qlower.codegen.elements import store_scalars
from qlower.codegen.llvm import I64, Function, Type, Value, constant
from qlower.codegen.packing import Factors, constant_factors, padded_i32
from qlower.codegen.point import PointCode, Segment, moved, nested, split, walk
from qlower.codegen.recognise import Contraction
from qlower.codegen.target import Dot, DotKind, Target, TileRegisters

_LANES = 16
"""Channels in a register of weights, and i32 sums in a row of another."""

_ROW_BYTES = 4 * _LANES

_PAIR = 2
"""Registers of pixels, and of channels, that are multiplied with each other."""

_ACTIVATIONS, _WEIGHTS = 4, 6
"""The first registers of each; the sums have those before."""

_UNROLLED_STEPS = 12

_CONFIGURING_CYCLES = 250.0
"""Of describing the registers' shapes, and of releasing them."""

_PRODUCTS_PER_CYCLE = 90.0
"""Of dot products of vectors, in practice."""


class _TileStep(DotStep):
    """What the packing of weights asks: signed bytes, and activations as they are."""

    def activation_bias(self, signed: bool) -> int:
        return 0


_STEP = _TileStep(Dot(DotKind.SIGNED_BYTES), _LANES, _LANES)


@dataclass(frozen=True)
class TilePlan:
    """How a contraction is cut.

    A register has `height` pixels of the last pixel loop and `depth` bytes of the run,
    which has `pieces` of them. `along` registers are neighbours in the last pixel loop,
    or `across` in the one before.
    """

    height: int
    depth: int
    pieces: int
    along: int
    across: int


def plan_tiles(target: Target, contraction: Contraction) -> TilePlan | None:
    """How to cut, or None where there are no such registers or vectors are faster."""
    tiles, run = target.tiles, contraction.run
    if tiles is None or run is None or not contraction.pixels:
        return None
    bounds = contraction.nest.bounds
    length, rows = bounds[run], bounds[contraction.pixels[-1]]
    if length < 4:
        return None
    registers = -(-rows // tiles.rows)
    height = -(-rows // registers)
    # pieces of equal size, none of which reaches beyond the run
    depth = min(_piece(length, tiles.row_bytes), length // 4 * 4)
    pieces = -(-length // depth)
    others = contraction.pixels[:-1]
    across = registers == 1 and bool(others) and bounds[others[-1]] > 1
    plan = TilePlan(
        height, depth, pieces, min(_PAIR, registers), _PAIR if across else 1
    )
    by_vectors = prod(bounds) / _PRODUCTS_PER_CYCLE
    return plan if _cycles(contraction, plan) < by_vectors else None


def _piece(length: int, most: int) -> int:
    """The least multiple of four that covers the run in as few pieces as can be."""
    pieces = -(-length // most)
    return -(-length // (4 * pieces)) * 4


def _cycles(contraction: Contraction, plan: TilePlan) -> float:
    """Of all products: as many as a register has rows, and at least ten."""
    bounds = contraction.nest.bounds
    vectors = -(-bounds[contraction.lane] // _LANES)
    last = contraction.pixels[-1]
    others = (*contraction.groups, *contraction.pixels[:-1], *contraction.taps)
    products = prod(bounds[loop] for loop in others) * plan.pieces * vectors
    products *= -(-bounds[last] // plan.height)
    return products * max(plan.height, 10) + _CONFIGURING_CYCLES


def emit_tiles(
    f: Function, target: Target, contraction: Contraction, plan: TilePlan
) -> None:
    """The whole nest."""
    assert target.tiles is not None
    nest = contraction.nest
    factors = constant_factors(contraction, _STEP)
    code = _Tiles(f, target, nest, contraction.lane, contraction, plan, factors)
    shapes = {register: (plan.height, _ROW_BYTES) for register in range(_ACTIVATIONS)}
    for index in range(_PAIR):
        shapes[_ACTIVATIONS + index] = (plan.height, plan.depth)
        shapes[_WEIGHTS + index] = (plan.depth // 4, _ROW_BYTES)
    configuration = f.module.add_constant(target.tiles.configuration(shapes))
    code.instruction(target.tiles.configure, configuration)
    indices = [constant(I64, 0)] * len(nest.bounds)
    nested(f, nest.bounds, contraction.groups, indices, code.group)
    code.instruction(target.tiles.release)


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
class _Tiles(PointCode):
    contraction: Contraction
    plan: TilePlan
    factors: Factors

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

    def weights_by_run(self) -> Integers:
        """The weights [group, vector, lane, tap, position in the run]."""
        assert self.contraction.run is not None
        weights = self.factors.weights
        joined = weights.reshape(*weights.shape[:4], -1)
        return joined[..., : self.nest.bounds[self.contraction.run]]

    def group(self, indices: list[Value]) -> None:
        """All pixels and channels of one group, whichever are more inside."""
        few_weights = self.factors.weights.size <= _image_bytes(self.contraction)
        if few_weights or self.factors.has_row_factor:
            self.pixels(indices, self.all_channels)
        else:
            self.channels(
                lambda first, valid: self.pixels(
                    indices,
                    lambda block, point: self.tile(block, point, first, valid, None),
                )
            )

    def all_channels(self, block: _Block, point: list[Value]) -> None:
        """The tiles of a block of pixels."""
        sums = self.row_sums(block, point) if self.factors.has_row_factor else None
        self.channels(lambda first, valid: self.tile(block, point, first, valid, sums))

    def channels(self, code: Callable[[Value, int], None]) -> None:
        """`code` with a first vector and a number of channels, for all."""
        f = self.f
        whole, rest = divmod(self.nest.bounds[self.contraction.lane], _PAIR * _LANES)

        def pair(index: Value, carried: list[Value]) -> list[Value]:
            code(f.scale(index, _PAIR), _PAIR * _LANES)
            return carried

        f.loop(whole, [], pair)
        if rest:
            code(constant(I64, _PAIR * whole), rest)

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

    def row_sums(self, block: _Block, point: list[Value]) -> Value:
        """Sums of activations alone, in all lanes: [across, pixel, lane]."""
        run = self.contraction.run
        assert run is not None
        ones = np.ones((1, 1, _LANES, 1, self.nest.bounds[run]), np.int64)
        weights = self.f.module.add_constant(_packed(ones, self.plan))
        return self.products(block, point, [weights], 0)

    def products(
        self,
        block: _Block,
        point: list[Value],
        weights: Sequence[Value],
        tap_bytes: int,
    ) -> Value:
        """Where the products' sums are: [vector, across, pixel, lane].

        `weights` are the addresses of each vector's, with `tap_bytes` for a tap.
        """
        f, tiles, plan = self.f, self.tiles, self.plan
        parallel = len(self.nest.parallel)
        corners = self.corners(block, point)
        sums = {
            (vector, row): _PAIR * row + vector
            for vector in range(len(weights))
            for row in range(len(corners))
        }
        for register in sums.values():
            self.instruction(tiles.zero, register)
        activation = self.contraction.activation
        loop = self.contraction.pixels[-1]
        stride = constant(I64, activation.operand.strides[loop])
        multiply = tiles.multiply(signed=activation.signed)
        row_bytes = constant(I64, _ROW_BYTES)

        def step(position: list[Value], tap: Value, piece: Value) -> None:
            for row, corner in enumerate(corners):
                at = activation.operand.address(f, [*corner[:parallel], *position])
                self.instruction(tiles.load, _ACTIVATIONS + row, at, stride)
            offset = f.add(f.scale(tap, tap_bytes), f.scale(piece, _LANES * plan.depth))
            for vector, base in enumerate(weights):
                at = f.at(base, offset)
                self.instruction(tiles.load, _WEIGHTS + vector, at, row_bytes)
            for (vector, row), register in sums.items():
                self.instruction(
                    multiply, register, _ACTIVATIONS + row, _WEIGHTS + vector
                )

        self.steps(step)
        scratch = f.allocate(len(weights) * block.across * block.width * _ROW_BYTES)
        for (vector, row), register in sums.items():
            across, along = divmod(row, len(block.starts))
            line = (vector * block.across + across) * block.width
            line += block.starts[along]
            at = f.at(scratch, constant(I64, line * _ROW_BYTES))
            self.instruction(tiles.store, register, at, row_bytes)
        return scratch

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
            if steps <= _UNROLLED_STEPS:
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

    def tile(
        self,
        block: _Block,
        point: list[Value],
        first: Value,
        valid: int,
        row_sums: Value | None,
    ) -> None:
        """`valid` channels, from vector `first` on, of a block of pixels."""
        f, plan, factors = self.f, self.plan, self.factors
        _, vectors, _, taps, _, _ = factors.weights.shape
        group = constant(I64, 0)
        for loop in self.contraction.groups:
            group = f.add(f.scale(group, self.nest.bounds[loop]), point[loop])
        first_column = f.add(f.scale(group, vectors), first)
        tap_bytes = _LANES * plan.depth * plan.pieces
        base = f.module.add_constant(_packed(self.weights_by_run(), plan))
        count = -(-valid // _LANES)
        sums = self.products(
            block,
            point,
            [
                f.at(
                    base,
                    f.scale(
                        f.add(first_column, constant(I64, vector)), taps * tap_bytes
                    ),
                )
                for vector in range(count)
            ],
            tap_bytes,
        )
        for vector, across in product(range(count), range(block.across)):
            corner = moved(f, point, self.outer_pixel, across)
            line = (vector * block.across + across) * block.width * _ROW_BYTES
            ones_line = constant(I64, across * block.width * _ROW_BYTES)
            for segment in split(min(_LANES, valid - _LANES * vector), _LANES):
                start = constant(I64, _LANES * vector + segment.start)
                self.finish(
                    corner,
                    Segment(block.skipped, block.width - block.skipped, 1),
                    f.add(f.scale(first, _LANES), start),
                    f.add(f.scale(first_column, _LANES), start),
                    segment.width,
                    f.at(sums, constant(I64, line + 4 * segment.start)),
                    None if row_sums is None else f.at(row_sums, ones_line),
                )

    def finish(
        self,
        corner: list[Value],
        rows: Segment,
        channel: Value,
        column: Value,
        lanes: int,
        sums: Value,
        row_sums: Value | None,
    ) -> None:
        """Init and epilogue of `lanes` channels for a column of pixels.

        `column` counts channels through all groups, as they are packed.
        """
        f, nest, loop = self.f, self.nest, self.contraction.pixels[-1]
        columns = self.factors.vectors * _LANES
        type = Type("i32", lanes)

        def of_channels(values: Integers) -> Value:
            data = f.module.add_constant(padded_i32(values, columns))
            return f.load(type, f.at(data, f.scale(column, 4)), 4)

        def row(index: Value, carried: list[Value]) -> list[Value]:
            index = f.add(index, constant(I64, rows.start))
            line = f.scale(index, _ROW_BYTES)
            point = list(corner)
            point[loop] = f.add(corner[loop], index)
            point[self.contraction.lane] = channel
            (initial,) = self.run(nest.op.init, point, [], lanes)
            # of constants first: they are the same for all pixels
            start = f.binary("add", initial, of_channels(self.factors.correction))
            total = f.binary("add", f.load(type, f.at(sums, line), 4), start)
            if row_sums is not None:
                ones = f.load(type, f.at(row_sums, line), 4)
                factor = of_channels(self.factors.row_factor)
                total = f.binary("sub", total, f.binary("mul", ones, factor))
            stored = self.run(nest.op.epilogue, point, [total], lanes)
            for result, value in zip(nest.results, stored, strict=True):
                store_scalars(f, value, result.address(f, point))
            return carried

        f.loop(rows.repeat, [], row)


def _image_bytes(contraction: Contraction) -> int:
    """Bytes of the activations that all pixels together read, roughly."""
    bounds, strides = contraction.nest.bounds, contraction.activation.operand.strides
    return max((bounds[loop] * strides[loop] for loop in contraction.pixels), default=0)


def _packed(weights: Integers, plan: TilePlan) -> bytes:
    """Weights [group, vector, lane, tap, position in the run] as registers.

    In bytes [group, vector, tap, piece, position / 4, lane, position % 4].
    """
    length, depth = weights.shape[-1], plan.depth
    starts = [min(piece * depth, length - depth) for piece in range(plan.pieces)]
    pieces = np.stack([weights[..., at : at + depth] for at in starts], axis=-2)
    pieces[..., -1, : plan.pieces * depth - length] = 0
    quads = pieces.reshape(*pieces.shape[:-1], depth // 4, 4)
    return quads.transpose(0, 1, 3, 4, 5, 2, 6).astype(np.int8).tobytes()
