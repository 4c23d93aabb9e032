"""How contractions are cut: tiles of pixels times vectors of channels in registers."""

from __future__ import annotations

from qlower.codegen.dot import DotStep, dot_step
from qlower.codegen.halves import halves_step
from qlower.codegen.matrix import matrix_step
from qlower.codegen.packing import Factors, constant_factors
from qlower.codegen.point import Segment, split
from qlower.codegen.recognise import Contraction
from qlower.codegen.target import Target

_MAXIMUM_CHANNELS_IN_FLIGHT = 8


def choose_step(
    target: Target, contraction: Contraction, rows: int, length: int
) -> tuple[DotStep, Factors]:
    """Products of matrices, where there are enough rows and bytes, or of vectors."""
    signed = contraction.activation.signed
    matrix = matrix_step(target, signed=signed)
    if matrix is not None and rows >= matrix.rows and length >= matrix.depth:
        factors = constant_factors(contraction, matrix)
        if not factors.has_row_factor:
            return matrix, factors
    halves = halves_step(target, signed=signed)
    dot = halves or dot_step(target, signed=signed)
    factors = constant_factors(contraction, dot)
    return dot.holding(factors.weights), factors


def choose_tile(
    target: Target, dot: DotStep, rows: int, length: int, factors: Factors
) -> tuple[tuple[Segment, ...], int]:
    """Pixels and vectors of tiles, by an estimate of the cycles of a run of `length`.

    Accumulators and a column's weights (one vector, two for matrices) must fit the
    registers, beside a broadcast activation with its temporaries, or what is loaded at
    once for all rows.
    """
    spare = target.vector_registers - 4
    # matrices join the pieces of two rows, and so fill as many registers as rows
    pieces = dot.activation_loads(min(length, dot.run_bytes))
    at_once = pieces if dot.rows == 1 else 1
    _, _, _, taps, chunks_of_run, _ = factors.weights.shape
    chunks = taps * chunks_of_run
    best, chosen = float("inf"), (whole_tiles(rows, 1), 1)
    for width in range(1, min(factors.vectors, _MAXIMUM_CHANNELS_IN_FLIGHT) + 1):
        for height in range(1, rows + 1):
            held = _whole_groups(dot, height)
            # a single column sums its activations itself, else there is one for that
            summed = width + int(factors.has_row_factor and width == factors.vectors)
            needed = (held + dot.rows) * summed
            if dot.selects_lane:
                needed += held * at_once - 2
            elif dot.is_pairs:
                needed = held * summed + 2 * min(held, summed) - 2
            if needed > spare and height * width > 1:
                break
            columns = divmod(factors.vectors, width)
            widths = [(summed, columns[0]), (columns[1], 1)]
            if factors.has_row_factor and summed == width:
                widths.append((1, 1))
            for segments in (even_tiles(rows, height), whole_tiles(rows, height)):
                steps = 0.0
                for w, count in widths:
                    for segment in segments if w else ():
                        cycles = chunks * _cycles(dot, length, segment.width, w)
                        cycles += _epilogue_cycles(dot, segment.width, w)
                        steps += count * segment.repeat * cycles
                if steps < best:
                    best, chosen = steps, (segments, width)
    return chosen


def whole_tiles(rows: int, height: int) -> tuple[Segment, ...]:
    """As many tiles of `height` as there are, and one for the rest."""
    repeat, rest = divmod(rows, height)
    return _segments((repeat, height), (1, rest))


def even_tiles(rows: int, height: int) -> tuple[Segment, ...]:
    """As few tiles of at most `height`, none of them more than one row lower."""
    tiles = -(-rows // height)
    low, higher = divmod(rows, tiles)
    return _segments((higher, low + 1), (tiles - higher, low))


def _segments(*repeated: tuple[int, int]) -> tuple[Segment, ...]:
    """Of steps and their width, those that hold anything, one after another."""
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
    """Of one chunk, in products: as many, and what goes on beside them.

    Without lanes to select from, an activation in all lanes and weights are loaded
    while products are made. The latency of a chain of dot products bounds all.
    """
    height = _whole_groups(dot, height)
    loads = height * dot.activation_loads(length) / -(-length // dot.depth)
    if dot.is_pairs:
        # four instructions a product, two to make an activation of what was loaded
        return height * width + 0.5 * loads + 0.3 * width
    if not dot.selects_lane:
        return max(height * width, loads + width, 10.0) + 0.25 * (loads + width)
    beside = dot.load_cost * (loads + dot.rows * width) + dot.join_cost * height
    return max(height * width + beside, 8.0) + 0.5


def _epilogue_cycles(dot: DotStep, height: int, width: int) -> float:
    """Of what a tile does once, and for each row and vector of bytes."""
    if dot.selects_lane:
        return 0.0
    parts = len(split(width * dot.lanes, 4 * dot.lanes))
    return 30.0 + height * 4.0 * parts
