"""Cutting contractions: tiles of pixels times vectors of channels in registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir import Attribute

from qlower.codegen.nests.point import Segment, split
from qlower.codegen.nests.recognise import Contraction
from qlower.codegen.skeletons.products.choose import vector_step
from qlower.codegen.skeletons.products.halves import halves_step
from qlower.codegen.skeletons.products.matrix import matrix_step
from qlower.codegen.skeletons.products.nibbles import nibble_step
from qlower.codegen.skeletons.products.packing import Factors, Weights
from qlower.codegen.skeletons.products.step import WORD_BYTES, DotStep
from qlower.codegen.skeletons.products.whole_products import whole_step
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import TileAttr

_MAXIMUM_CHANNELS_IN_FLIGHT = 8

_LEAST_NIBBLES = 2048
"""Weights that save three times the code that they ask for, about 350 bytes."""

_LEAST_CHANNELS = 8
"""Channels to which the sums of activations that they share add a tenth at most."""


@dataclass(frozen=True)
class VectorPlan:
    """A contraction in vector registers: its products, packed weights and tiles."""

    contraction: Contraction
    dot: DotStep
    factors: Factors
    tiling: Tiling

    @property
    def channels(self) -> int:
        """Channels of a tile; a thread's part of all channels is a multiple of them."""
        return self.tiling.width * self.dot.lanes


def plan_vectors(
    target: Target,
    contraction: Contraction,
    weights: Weights,
    schedule: Attribute | None,
) -> VectorPlan:
    """The tiles of the schedule, or those of the least estimate."""
    dot, factors = choose_step(target, contraction, weights)
    wanted = schedule if isinstance(schedule, TileAttr) else None
    sizes = Sizes.of(contraction, factors)
    tiling = choose_tile(target.vector_registers, dot, sizes, wanted)
    return VectorPlan(contraction, dot, factors, tiling)


def tile_candidates(
    target: Target, contraction: Contraction, weights: Weights
) -> list[Tiling]:
    """All tilings of the nest in vector registers, the best by estimate first."""
    dot, factors = choose_step(target, contraction, weights)
    sizes = Sizes.of(contraction, factors)
    tilings = possible_tilings(target.vector_registers, dot, sizes)
    return sorted(tilings, key=lambda tiling: tiling.cycles)


def _rows_and_length(contraction: Contraction) -> tuple[int, int]:
    """Pixels that may be in a tile, and activations of a run."""
    bounds, run = contraction.nest.bounds, contraction.run
    rows = bounds[contraction.pixels[-1]] if contraction.pixels else 1
    return rows, bounds[run] if run is not None else 1


def choose_step(
    target: Target, contraction: Contraction, weights: Weights
) -> tuple[DotStep, Factors]:
    """Products of matrices, where there are enough rows and bytes, or of vectors."""
    rows, length = _rows_and_length(contraction)
    scalar, signed = contraction.activation.scalar, contraction.activation.signed
    matrix = matrix_step(target, scalar, signed=signed)
    if matrix is not None and rows >= matrix.rows and length >= matrix.depth:
        factors = weights.factors(matrix)
        if not factors.has_row_factor:
            return matrix, factors
    if target.whole_dot is not None:
        dot = whole_step(target.whole_dot, scalar)
    elif target.halves is None:
        dot = vector_step(target, scalar, signed=signed)
        narrow = nibble_step(dot)
        if (
            narrow is not None
            and narrow.pays(weights.count, weights.uses)
            and _takes_nibbles(contraction, length, weights)
        ):
            dot = narrow
    else:
        nibbles = nibbles_save(contraction, weights)
        dot = halves_step(target, scalar, signed=signed, nibbles=nibbles)
    factors = weights.factors(dot)
    return dot.holding(factors.weights), factors


def nibbles_save(contraction: Contraction, weights: Weights) -> bool:
    """Whether weights of 4 bits save memory, where halves are multiplied."""
    _, length = _rows_and_length(contraction)
    is_many = weights.count >= _LEAST_NIBBLES
    return is_many and _takes_nibbles(contraction, length, weights)


def _takes_nibbles(contraction: Contraction, length: int, weights: Weights) -> bool:
    """Whether weights have 4 bits, and enough channels share the activation sums of a
    run of this length."""
    channels = contraction.nest.bounds[contraction.lane]
    return channels >= _LEAST_CHANNELS and length > WORD_BYTES and weights.are_nibbles


@dataclass(frozen=True)
class Sizes:
    """The numbers that decide how a contraction is cut for its step: `rows` pixels may
    be in a tile, a run has `length` activations, all taps together have `chunks`; and
    whether rows have a factor of their own."""

    rows: int
    length: int
    vectors: int
    chunks: int
    has_row_factor: bool

    @classmethod
    def of(cls, contraction: Contraction, factors: Factors) -> Sizes:
        """The sizes of a contraction with its packed weights."""
        rows, length = _rows_and_length(contraction)
        _, vectors, _, taps, chunks_of_run, _ = factors.weights.shape
        chunks = taps * chunks_of_run
        return cls(rows, length, vectors, chunks, factors.has_row_factor)


_MANY_REGISTERS = 32


def _hardly_longer(registers: int) -> float:
    """The factor within which two estimates count as equal; it is smaller where few
    sums are in registers together.

    NASNet-Mobile and MobileNetV2 take as long as by the least estimate, and the
    generation of code for their contractions a fifth and a third less; with SSE's
    registers, tiles of an estimate of 1.03 made DS-CNN take 1.14 times as long.
    """
    return 1.04 if registers >= _MANY_REGISTERS else 1.02


@dataclass(frozen=True)
class Tiling:
    """Pixels in `segments` of tiles of mostly `height`, times `width` vectors of
    channels; `cycles` is an estimate."""

    height: int
    width: int
    segments: tuple[Segment, ...]
    cycles: float

    def kinds(self, vectors: int) -> int:
        """The number of different tiles for `vectors` vectors of channels."""
        whole, rest = divmod(vectors, self.width)
        return len(self.segments) * ((whole > 0) + (rest > 0))


@lru_cache(maxsize=1 << 10)
def choose_tile(
    registers: int, dot: DotStep, sizes: Sizes, schedule: TileAttr | None = None
) -> Tiling:
    """The schedule's tiles, or those with the least estimate. Among tilings that take
    hardly longer, the one with the fewest kinds of tiles: each is code of its own."""
    if schedule is None:
        tilings = possible_tilings(registers, dot, sizes)
    else:
        height = min(schedule.rows.data, sizes.rows)
        width = min(schedule.vectors.data, sizes.vectors)
        tilings = _tilings(dot, sizes, height, width)
    least = min(tiling.cycles for tiling in tilings)
    most = least * _hardly_longer(registers)
    near = (tiling for tiling in tilings if tiling.cycles <= most)
    return min(near, key=lambda tiling: (tiling.kinds(sizes.vectors), tiling.cycles))


def possible_tilings(registers: int, dot: DotStep, sizes: Sizes) -> list[Tiling]:
    """All tilings whose sums the vector registers hold.

    Accumulators and a column's weights (one vector, two for matrices) must fit the
    registers, together with a broadcast activation and its temporaries, or with the
    activations that are loaded together for all rows.
    """
    spare = registers - 4
    loads = dot.activation_loads(min(sizes.length, dot.run_length))
    found: list[Tiling] = []
    for width in range(1, min(sizes.vectors, _MAXIMUM_CHANNELS_IN_FLIGHT) + 1):
        for height in range(1, sizes.rows + 1):
            held = _whole_groups(dot, height)
            needed = dot.registers(held, _summed(sizes, width), loads)
            if needed > spare and height * width > 1:
                break
            found += _tilings(dot, sizes, height, width)
    return found


def _summed(sizes: Sizes, width: int) -> int:
    """Vectors that are summed in a column of `width`: a single one sums its activations
    itself, if need be, else there is a column for that."""
    return width + int(sizes.has_row_factor and width == sizes.vectors)


def _tilings(dot: DotStep, sizes: Sizes, height: int, width: int) -> list[Tiling]:
    """The two ways to cut the rows into tiles of `height`."""
    summed = _summed(sizes, width)
    columns = divmod(sizes.vectors, width)
    widths = [(summed, columns[0]), (columns[1], 1)]
    if sizes.has_row_factor and summed == width:
        widths.append((1, 1))
    found: list[Tiling] = []
    for segments in (even_tiles(sizes.rows, height), whole_tiles(sizes.rows, height)):
        total = 0.0
        for w, count in widths:
            for segment in segments if w else ():
                cycles = sizes.chunks * _cycles(dot, sizes.length, segment.width, w)
                cycles += _epilogue_cycles(dot, segment.width, w)
                total += count * segment.repeat * cycles
        found.append(Tiling(height, width, segments, total))
    return found


def whole_tiles(rows: int, height: int) -> tuple[Segment, ...]:
    """`rows` pixels as tiles of `height`, and one tile for the rest."""
    repeat, rest = divmod(rows, height)
    return _segments((repeat, height), (1, rest))


def even_tiles(rows: int, height: int) -> tuple[Segment, ...]:
    """The fewest tiles of at most `height`, none of them more than one row lower."""
    tiles = -(-rows // height)
    low, higher = divmod(rows, tiles)
    return _segments((higher, low + 1), (tiles - higher, low))


def _segments(*repeated: tuple[int, int]) -> tuple[Segment, ...]:
    """Segments one after another from pairs of steps and width, without empty ones."""
    found: list[Segment] = []
    start = 0
    for repeat, width in repeated:
        if repeat and width:
            found.append(Segment(start, repeat, width))
            start += repeat * width
    return tuple(found)


def _whole_groups(dot: DotStep, height: int) -> int:
    """Rows that are multiplied for `height` of them."""
    return -(-height // dot.rows) * dot.rows


def _cycles(dot: DotStep, length: int, height: int, width: int) -> float:
    """The time of one chunk for `height` pixels and `width` vectors, in products.

    Activations are loaded for all chunks of the run, weights for each.
    """
    height = _whole_groups(dot, height)
    loads = height * dot.activation_loads(length) / -(-length // dot.depth)
    return dot.cost.of_chunk(loads, dot.rows * width, height, width)


def _epilogue_cycles(dot: DotStep, height: int, width: int) -> float:
    """The time of what a tile does once, and for each pixel and vector of bytes."""
    parts = len(split(width * dot.lanes, 4 * dot.lanes))
    return dot.cost.tile + height * dot.cost.part * parts
