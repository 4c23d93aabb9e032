"""Sums of products with constant weights: matrix products, implicit-GEMM convolution.

The nest's body must be `accumulator + (x - x0) * (w - w0)` with 8-bit x and constant
8-bit w; all loops but the vectorised one may walk x in any way, so a convolution reads
its image where it lies. Lanes are output channels. A tile of pixels times vectors of
channels is summed in registers by the target's dot product, four bytes of x at a time;
the tile then goes through the nest's own init and epilogue.

All sums are modulo 2^32, where addition may be reordered and terms moved out freely:

    sum (x - x0) (w - w0) = sum x' w' - x1 sum w' - w1 sum x' + K x1 w1

with x' = x - x0 + x1 and w' = w - w0 + w1 in the ranges that the dot product takes.
Everything but the first sum, and the third where w1 is not 0, is known at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from qlower.codegen.dot import DotStep, dot_step
from qlower.codegen.llvm import I64, Function, Type, Value, constant, zero
from qlower.codegen.nest import Nest, Operand, lanes_of
from qlower.codegen.point import PointCode, Segment, moved, nested, split, walk
from qlower.codegen.region import store_scalars
from qlower.codegen.target import Target

Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

_MAXIMUM_CHANNELS_IN_FLIGHT = 8


@dataclass(frozen=True)
class Factor:
    """`extend(operand) - offset`, where `offset` is a number or a constant operand."""

    operand: Operand
    signed: bool
    offset: int | Operand


@dataclass(frozen=True)
class Contraction:
    """A recognised nest, its loops by the part they play.

    `lane`: the output channels. `run`: the reduction loop along which x is contiguous,
    None if there is none (one tap). `taps`: the other reduction loops. `groups`: the
    parallel loops that choose weights. `pixels`: the others, the last one is tiled.
    """

    nest: Nest
    activation: Factor
    weight: Factor
    lane: int
    run: int | None
    taps: tuple[int, ...]
    groups: tuple[int, ...]
    pixels: tuple[int, ...]


def recognise(nest: Nest, target: Target) -> Contraction | None:
    """The contraction that the nest is, or None."""
    factors = _factors(nest)
    if factors is None:
        return None
    for activation, weight in (factors, factors[::-1]):
        found = _with_roles(nest, activation, weight)
        if found is not None:
            return found
    return None


def _factors(nest: Nest) -> tuple[Factor, Factor] | None:
    """The two factors of a body that adds their product to one i32 accumulator."""
    if len(nest.op.body.blocks) != 1:
        return None
    block = nest.op.body.block
    terminator = block.last_op
    if terminator is None or len(terminator.operands) != 1:
        return None
    accumulator = block.args[-1]
    if accumulator.type.__str__() != "i32":
        return None
    added = _operands_of(terminator.operands[0], "arith.addi")
    if added is None or accumulator not in added:
        return None
    product = added[1] if added[0] is accumulator else added[0]
    multiplied = _operands_of(product, "arith.muli")
    if multiplied is None:
        return None
    found = [_factor(nest, value) for value in multiplied]
    if found[0] is None or found[1] is None:
        return None
    return found[0], found[1]


def _operands_of(value: SSAValue, name: str) -> Sequence[SSAValue] | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == name:
        return tuple(owner.operands)
    return None


def _factor(nest: Nest, value: SSAValue) -> Factor | None:
    offset: int | Operand = 0
    difference = _operands_of(value, "arith.subi")
    if difference is not None:
        value, subtrahend = difference
        found = _offset(nest, subtrahend)
        if found is None:
            return None
        offset = found
    for name, signed in (("arith.extsi", True), ("arith.extui", False)):
        extended = _operands_of(value, name)
        if extended is not None:
            operand = _input(nest, extended[0])
            if operand is not None and operand.scalar == "i8":
                return Factor(operand, signed, offset)
    return None


def _offset(nest: Nest, value: SSAValue) -> int | Operand | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name == "arith.constant":
        attribute = owner.properties["value"]
        return attribute.value.data if isinstance(attribute, IntegerAttr) else None
    operand = _input(nest, value)
    return operand if operand is not None and operand.data is not None else None


def _input(nest: Nest, value: SSAValue) -> Operand | None:
    if isinstance(value, BlockArgument) and value.index < len(nest.inputs):
        return nest.inputs[value.index]
    return None


def _with_roles(nest: Nest, activation: Factor, weight: Factor) -> Contraction | None:
    x, w = activation.operand.strides, weight.operand.strides
    if weight.operand.data is None or not isinstance(activation.offset, int):
        return None
    parallel = range(len(nest.parallel))
    lanes = [
        loop
        for loop in parallel
        if x[loop] == 0
        and w[loop] != 0
        and all(result.strides[loop] == 1 for result in nest.results)
    ]
    if len(lanes) != 1:
        return None
    reduction = range(len(nest.parallel), len(nest.bounds))
    runs = [loop for loop in reduction if x[loop] == 1]
    if reduction and not runs:
        return None
    offset = weight.offset
    if isinstance(offset, Operand) and any(offset.strides[loop] for loop in reduction):
        return None
    chosen = [
        loop
        for loop in parallel
        if loop != lanes[0]
        and (w[loop] or (isinstance(offset, Operand) and offset.strides[loop]))
    ]
    return Contraction(
        nest,
        activation,
        weight,
        lanes[0],
        runs[0] if runs else None,
        tuple(loop for loop in reduction if loop not in runs[:1]),
        tuple(chosen),
        tuple(loop for loop in parallel if loop not in (lanes[0], *chosen)),
    )


# ----------------------------------------------------------------------------- weights


@dataclass(frozen=True)
class Packed:
    """Weights as the dot product wants them.

    `weights`: bytes [group][vector][tap][chunk] of the dot step's chunks of four
    products a lane. `correction`: i32 [group][vector][lane], what the sum starts from.
    `row_factor`: None, or w1 in the same layout.
    """

    weights: Value
    correction: Value
    row_factor: Value | None
    vectors: int
    chunks: int
    taps: int


def _pack(f: Function, contraction: Contraction, dot: DotStep) -> Packed:
    nest, weight = contraction.nest, contraction.weight
    run = [] if contraction.run is None else [contraction.run]
    order = (*contraction.groups, contraction.lane, *contraction.taps, *run)
    shape = [nest.bounds[loop] for loop in order]
    channel_axis = len(contraction.groups)
    groups, channels = prod(shape[:channel_axis]), shape[channel_axis]
    taps = prod(shape[channel_axis + 1 : channel_axis + 1 + len(contraction.taps)])
    length = shape[-1] if run else 1

    stored = _gather(weight.operand, order, shape)
    if not weight.signed:
        stored = stored & 0xFF
    offset: Integers | int = 0
    if isinstance(weight.offset, Operand):
        offset = _gather(weight.offset, order, shape)
    else:
        offset = weight.offset
    centred = (stored - offset).reshape(groups, channels, taps, length)

    low, high = dot.weight_range
    row = np.zeros((groups, channels), np.int64)
    if centred.min() < low or centred.max() > high:
        # back to the stored numbers, as s8: w' = w - 128 or w, so w1 = w' - (w - w0)
        shift = 0 if weight.signed else 128
        moved_by = stored.reshape(centred.shape) - shift - centred
        row = moved_by[:, :, 0, 0]
        centred = centred + moved_by
    x0 = contraction.activation.offset
    assert isinstance(x0, int)
    x1 = x0 + dot.activation_bias(contraction.activation.signed)
    correction = -x1 * centred.sum(axis=(2, 3)) + taps * length * x1 * row

    lanes = dot.lanes
    vectors, chunks = -(-channels // lanes), -(-length // 4)
    padded = np.zeros((groups, vectors * lanes, taps, chunks * 4), np.int64)
    padded[:, :channels, :, :length] = centred
    tiled = padded.reshape(groups, vectors, lanes, taps, chunks, 4)
    module = f.module
    return Packed(
        module.add_constant(dot.pack(tiled.transpose(0, 1, 3, 4, 2, 5))),
        module.add_constant(_padded_i32(correction, vectors * lanes)),
        module.add_constant(_padded_i32(row, vectors * lanes)) if row.any() else None,
        vectors,
        chunks,
        taps,
    )


def _gather(operand: Operand, order: Sequence[int], shape: Sequence[int]) -> Integers:
    """The constant's elements over the loops in `order`."""
    assert operand.data is not None
    elements = lanes_of(operand.scalar, operand.data)[operand.offset :]
    step = elements.itemsize
    view = np.lib.stride_tricks.as_strided(
        elements, shape, [operand.strides[loop] * step for loop in order]
    )
    return view.astype(np.int64)


def _padded_i32(values: Integers, columns: int) -> bytes:
    padded = np.zeros((values.shape[0], columns), np.int64)
    padded[:, : values.shape[1]] = values
    return padded.astype(np.uint64).astype(np.uint32).tobytes()


# -------------------------------------------------------------------------------- code


def emit_contraction(f: Function, target: Target, contraction: Contraction) -> None:
    """The whole nest."""
    nest = contraction.nest
    dot = dot_step(target)
    packed = _pack(f, contraction, dot)
    pixel = contraction.pixels[-1] if contraction.pixels else None
    rows = nest.bounds[pixel] if pixel is not None else 1
    height, width = _tile(target, rows, packed)
    code = _Tile(f, target, nest, contraction.lane, contraction, dot, packed)
    channels = nest.bounds[contraction.lane]
    row_segments = _two_segments(rows, height)

    def block(start: Value, vectors: int, valid: int, indices: list[Value]) -> None:
        def tiles(now: list[Value]) -> None:
            for segment in row_segments:
                tile = partial(code.emit, start, vectors, valid, segment.width, pixel)
                walk(f, pixel, segment, now, tile)

        nested(f, nest.bounds, contraction.pixels[:-1], indices, tiles)

    def blocks(indices: list[Value]) -> None:
        step = width * dot.lanes
        whole = channels // step

        def one(index: Value, carried: list[Value]) -> list[Value]:
            block(f.scale(index, width), width, step, indices)
            return carried

        f.loop(whole, [], one)
        rest = channels - whole * step
        if rest:
            start = constant(I64, whole * width)
            block(start, packed.vectors - whole * width, rest, indices)

    indices = [constant(I64, 0)] * len(nest.bounds)
    nested(f, nest.bounds, contraction.groups, indices, blocks)


def _two_segments(bound: int, width: int) -> list[Segment]:
    """As many steps of `width` as there are, and one for the rest."""
    repeat, rest = divmod(bound, width)
    segments = [Segment(0, repeat, width), Segment(repeat * width, 1, rest)]
    return [s for s in segments if s.repeat and s.width]


def _tile(target: Target, rows: int, packed: Packed) -> tuple[int, int]:
    """Pixels and vectors of a tile, by an estimate of the cycles of a reduction step.

    Accumulators, one vector of weights a column, and a broadcast activation with its
    temporaries must fit the registers.
    """
    spare = target.vector_registers - 4
    extra = 1 if packed.row_factor is not None else 0
    best, chosen = float("inf"), (1, 1)
    for width in range(1, min(packed.vectors, _MAXIMUM_CHANNELS_IN_FLIGHT) + 1):
        for height in range(1, rows + 1):
            if (height + 1) * (width + extra) > spare and height * width > 1:
                break
            steps = 0.0
            for w, columns in (
                (width, packed.vectors // width),
                (packed.vectors % width, 1),
            ):
                for h, count in ((height, rows // height), (rows % height, 1)):
                    if w and h:
                        steps += columns * count * _cycles(h, w + extra)
            if steps < best:
                best, chosen = steps, (height, width)
    return chosen


def _cycles(height: int, width: int) -> float:
    """Of one step: products, one operation to prepare each activation; the latency of
    a chain of dot products bounds it from below."""
    return max(height * width + 0.5 * height, 5.0) + 0.5


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
            for segment in split(valid, lanes):
                code = partial(self.finish, line, channel, segment.width)
                walk(f, self.contraction.lane, segment, point, code)
            return carried

        f.loop(height, [], finish_row)

    def finish(
        self, line: Value, channel: Value, lanes: int, point: list[Value]
    ) -> None:
        """Add the initial accumulators to the sums, run the epilogue, store.

        `line` holds a pixel's sums from `channel` on; `point` counts from there.
        """
        f, nest, loop = self.f, self.nest, self.contraction.lane
        address = f.at(line, f.scale(point[loop], 4))
        point[loop] = f.add(channel, point[loop])
        total = f.load(Type("i32", lanes), address, 4)
        (initial,) = self.run(nest.op.init, point, [], lanes)
        accumulator = f.binary("add", total, initial)
        stored = self.run(nest.op.epilogue, point, [accumulator], lanes)
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
        flat = [value for _ in points for value in (*start, *none)]
        panel = packed.taps * packed.chunks * dot.chunk_bytes
        weights = f.at(packed.weights, f.scale(first, panel))

        def chunk(
            position: list[Value],
            tap: Value,
            index: Value,
            size: int,
            flat: list[Value],
        ) -> list[Value]:
            """Four products (`size` of them meant) into every accumulator."""
            offset = f.scale(f.add(f.scale(tap, packed.chunks), index), dot.chunk_bytes)
            loaded = [
                dot.load_weights(
                    f,
                    f.at(weights, f.add(offset, constant(I64, vector * panel))),
                    size,
                )
                for vector in range(vectors)
            ]
            if with_rows:
                loaded.append(dot.ones(size))
            after: list[Value] = []
            for row, point in enumerate(points):
                here = [*point[: len(self.nest.parallel)], *position]
                address = self.contraction.activation.operand.address(f, here)
                factor = dot.load_activation(
                    f, address, size, self.contraction.activation.signed
                )
                for column, weight in enumerate(loaded):
                    accumulator = flat[row * len(loaded) + column]
                    after.append(dot.multiply(f, accumulator, factor, weight))
            return after

        flat = self.reduce(flat, chunk)
        width = vectors + len(none)
        rows = [flat[i : i + width] for i in range(0, len(flat), width)]
        if packed.row_factor is None:
            return rows
        factors = constants(packed.row_factor)
        return [
            [
                f.binary("sub", value, f.binary("mul", row[-1], factor))
                for value, factor in zip(row[:-1], factors, strict=True)
            ]
            for row in rows
        ]

    def reduce(
        self,
        flat: list[Value],
        chunk: Callable[[list[Value], Value, Value, int, list[Value]], list[Value]],
    ) -> list[Value]:
        """`chunk` for every tap and every four bytes of the run."""
        f, nest = self.f, self.nest
        parallel = len(nest.parallel)
        run = self.contraction.run
        length = nest.bounds[run] if run is not None else 1

        def at_tap(position: list[Value], tap: Value, flat: list[Value]) -> list[Value]:
            def step(index: Value, carried: list[Value]) -> list[Value]:
                now = list(position)
                if run is not None:
                    now[run - parallel] = f.scale(index, 4)
                return chunk(now, tap, index, 4, carried)

            flat = f.loop(length // 4, flat, step)
            if length % 4:
                now = list(position)
                if run is not None:
                    now[run - parallel] = constant(I64, length // 4 * 4)
                last = constant(I64, length // 4)
                flat = chunk(now, tap, last, length % 4, flat)
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
