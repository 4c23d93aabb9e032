"""Bands of rows: what a band of a layer's result needs, and the ops that compute it.

Rows are those of axis 1, the height of an image of [N, H, W, C]. A nest reads rows of
an input by an index that is linear in the loop of its result's rows: for the band
[a, b) it needs rows from the least index of row a on, to the greatest of row b - 1. A
copy that cuts or pads shifts rows, and its border has none. Bands of neighbours
overlap, and the rows that both need are computed twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qlower.dialects.integers import values_of
from qlower.dialects.kernel import CopyOp, NestOp, linear_form
from qlower.dialects.types import AnyTensor, tensor_type
from qlower.transforms.form_kernels.factors import is_constant
from qlower.transforms.form_kernels.regions import uses_index

AXIS = 1
"""The axis that is cut."""


@dataclass(frozen=True)
class Rows:
    """Rows `start` to `stop` - 1 of a value."""

    start: int
    stop: int

    def joined(self, other: Rows | None) -> Rows:
        """The rows from the first to the last of both."""
        if other is None:
            return self
        return Rows(min(self.start, other.start), max(self.stop, other.stop))

    @property
    def count(self) -> int:
        return self.stop - self.start


Bands: TypeAlias = Mapping[SSAValue, tuple[SSAValue, int]]
"""The band that replaces each value, and the value's row at which it begins."""


@dataclass(frozen=True, eq=False)
class DivisibleNest:
    """A nest of one result, whose rows are those of `loop`. `reads` has, for each input
    that moves with it, the step of its rows and the first and last that row 0 reads;
    None for an input that is read as a whole."""

    op: NestOp
    loop: int
    reads: Sequence[tuple[int, int, int] | None]

    @property
    def work(self) -> float:
        """Points of the loops, for a row of the result."""
        return math.prod(self.op.bounds) / self.op.bounds[self.loop]

    def reads_by_rows(self, value: SSAValue) -> bool:
        """Whether bands of `value` are enough for bands of the result."""
        reads = zip(self.op.inputs, self.reads, strict=True)
        return value not in self.op.tables and all(
            read is not None for other, read in reads if other is value
        )

    def needs(self, rows: Rows) -> dict[SSAValue, Rows]:
        """The rows of inputs that a band of the result needs."""
        found: dict[SSAValue, Rows] = {}
        for value, read in zip(self.op.inputs, self.reads, strict=True):
            if read is not None:
                step, first, last = read
                low, high = step * rows.start + first, step * (rows.stop - 1) + last
                found[value] = Rows(low, high + 1).joined(found.get(value))
        return found

    def band(self, rows: Rows, bands: Bands) -> NestOp:
        """A nest that computes a band of the result, of bands or wholes of inputs."""
        op = self.op
        inputs: list[SSAValue] = []
        maps: list[AffineMap] = []
        for value, map, read in zip(op.inputs, op.input_maps, self.reads, strict=True):
            band, start = bands.get(value, (value, 0))
            inputs.append(band)
            shift = read[0] * rows.start - start if read else 0
            results = [*map.results]
            if shift:
                results[AXIS] = results[AXIS] + shift
            maps.append(AffineMap(map.num_dims, map.num_symbols, tuple(results)))
        parallel = [*op.parallel_bounds]
        parallel[self.loop] = rows.count
        new = NestOp(
            inputs,
            op.tables,
            op.family.data,
            parallel,
            op.reduction_bounds,
            [*maps, *op.result_maps],
            op.init.clone(),
            op.body.clone(),
            op.epilogue.clone(),
            [_with_height(op.res[0], rows.count)],
        )
        new.location, new.attributes = op.location, dict(op.attributes)
        return new


@dataclass(frozen=True, eq=False)
class DivisibleCopy:
    """A copy that cuts or pads a computed tensor, without strides."""

    op: CopyOp
    work = 0.0

    def reads_by_rows(self, value: SSAValue) -> bool:
        """Whether bands of `value`, the source, are enough for bands of the result."""
        return value is self.op.source

    def needs(self, rows: Rows) -> dict[SSAValue, Rows]:
        """The rows of the source that a band of the result has."""
        return {self.op.source: self._copied(rows)[0]}

    def band(self, rows: Rows, bands: Bands) -> CopyOp:
        """A copy that makes a band of the result, of a band or all of the source."""
        op = self.op
        source, start = bands.get(op.source, (op.source, 0))
        read, at = self._copied(rows)
        source_offsets, sizes, offsets = (
            [*values_of(each)] for each in (op.source_offsets, op.sizes, op.offsets)
        )
        source_offsets[AXIS], sizes[AXIS] = read.start - start, read.count
        offsets[AXIS] = at
        ones = values_of(op.strides)
        type = _with_height(op.result, rows.count)
        new = CopyOp(source, op.fill, source_offsets, sizes, ones, offsets, ones, type)
        new.location = op.location
        return new

    def _copied(self, rows: Rows) -> tuple[Rows, int]:
        """The rows of the source, and the row of the band at which they begin."""
        into, out_of, size = (
            values_of(each)[AXIS]
            for each in (self.op.offsets, self.op.source_offsets, self.op.sizes)
        )
        first, stop = max(rows.start, into), min(rows.stop, into + size)
        return Rows(first - into + out_of, stop - into + out_of), first - rows.start


Divisible: TypeAlias = DivisibleNest | DivisibleCopy


def divisible(op: Operation) -> Divisible | None:
    """The op, if bands of its only result can be computed on their own."""
    match op:
        case NestOp():
            return _divisible_nest(op)
        case CopyOp():
            ones = (1,) * len(op.sizes)
            if (
                op.destination is None
                and len(ones) > AXIS
                and not is_constant(op.source)
                and values_of(op.source_strides) == values_of(op.strides) == ones
            ):
                return DivisibleCopy(op)
        case _:
            pass
    return None


def needed_by(ops: Sequence[Divisible], rows: Rows) -> dict[SSAValue, Rows] | None:
    """The rows of each value that `ops`, in their order, read or make for a band of the
    last one's result, without values that are read as a whole. None if some would have
    no row: a band in the border alone."""
    found: dict[SSAValue, Rows] = {ops[-1].op.results[0]: rows}
    for each in reversed(ops):
        for value, read in each.needs(found[each.op.results[0]]).items():
            if read.count < 1:
                return None
            found[value] = read.joined(found.get(value))
    return found


def bands_of(ops: Sequence[Divisible], cuts: Sequence[int]) -> list[NestOp | CopyOp]:
    """New ops, in no block yet, that compute the result of the last of `ops` in bands
    of rows between the `cuts`, and copy each into the whole result: the last op's."""
    whole = ops[-1].op.results[0]
    new: list[NestOp | CopyOp] = []
    joined: SSAValue | None = None
    for start, stop in itertools.pairwise(cuts):
        wanted = needed_by(ops, Rows(start, stop))
        assert wanted is not None, "the border alone"
        bands: dict[SSAValue, tuple[SSAValue, int]] = {}
        for each in ops:
            rows = wanted[each.op.results[0]]
            new.append(each.band(rows, bands))
            bands[each.op.results[0]] = new[-1].results[0], rows.start
        band, _ = bands[whole]
        shape = tensor_type(band).get_shape()
        zeros, ones = (0,) * len(shape), (1,) * len(shape)
        at = (*zeros[:AXIS], start, *zeros[AXIS + 1 :])
        copy = CopyOp(band, joined, zeros, shape, ones, at, ones, whole.type)
        copy.location = ops[-1].op.location
        joined = copy.result
        new.append(copy)
    return new


def _divisible_nest(op: NestOp) -> DivisibleNest | None:
    """The nest, unless it has several results, or anything but rows of inputs that are
    computed depends on the counter of its rows."""
    (map, *others) = op.result_maps
    if others or len(map.results) <= AXIS:
        return None
    row = map.results[AXIS]
    if not isinstance(row, AffineDimExpr):
        return None
    regions = (op.init, op.body, op.epilogue)
    if any(uses_index(block) for region in regions for block in region.blocks):
        return None
    loop = row.position
    reads: list[tuple[int, int, int] | None] = []
    for value, read in zip(op.inputs, op.input_maps, strict=True):
        axes = [n for n, index in enumerate(read.results) if loop in index.used_dims()]
        if axes and (axes != [AXIS] or is_constant(value)):
            return None
        reads.append(_read(op, read, loop) if axes else None)
    return DivisibleNest(op, loop, reads)


def _read(op: NestOp, map: AffineMap, loop: int) -> tuple[int, int, int]:
    steps, first = linear_form(map.results[AXIS], len(op.bounds))
    last = first
    for number, (step, bound) in enumerate(zip(steps, op.bounds, strict=True)):
        if number != loop:
            first, last = (
                first + min(0, step * (bound - 1)),
                last + max(0, step * (bound - 1)),
            )
    return steps[loop], first, last


def _with_height(value: SSAValue, rows: int) -> AnyTensor:
    type = tensor_type(value)
    shape = [*type.get_shape()]
    shape[AXIS] = rows
    return TensorType(type.element_type, shape)
