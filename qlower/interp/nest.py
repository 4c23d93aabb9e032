"""Perfect loop nests over tensors, many points at a time.

A nest has parallel and reduction loops, counted from zero, and operands that are read
or written at affine functions of the loop counters. For a block of parallel points and
one reduction point, an operand's elements are a strided view of its tensor: the lanes
that the nest's regions compute on. So the parallel loops run in numpy, and only the
reduction loops, in row-major order, in Python.

Lanes have one axis for each parallel loop, of extent 1 where the operand doesn't depend
on that loop, so that what is common to many points is computed once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImpl,
    PythonValues,
    impl,
)
from xdsl.ir.affine import (
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from qlower.dialects import kernel
from qlower.dialects.kernel import linear_form

from .values import Array, PartialTensor, Poison, Tensor

Lanes: TypeAlias = tuple[Any, ...]
"""One value for each operand, as `values.py` describes."""

Box: TypeAlias = tuple[slice, ...]
"""One range of counters for each loop."""

Point: TypeAlias = tuple[int, ...]
"""The counters of the reduction loops."""

UNREADABLE = PartialTensor(np.empty(0), np.zeros(0, np.bool_))
"""The lanes of what a region must not use: computing with it raises `Poison`."""

PLACE = "place in the loop nest"

BLOCK_LANES = 1 << 16
"""Parallel points that are computed in one step: the cache should hold their values."""


@dataclass(frozen=True)
class Loops:
    """The loops of a nest: trip counts, and which of them reduce."""

    bounds: tuple[int, ...]
    is_reduction: tuple[bool, ...]

    def blocks(self) -> Iterator[Box]:
        """The parallel points in boxes of about `BLOCK_LANES`.

        A box has one range for each loop; those of reduction loops are whole.
        """
        steps = list(self.bounds)
        lanes = math.prod(self._parallel_bounds())
        for dim in self._parallel_dims():
            if lanes <= BLOCK_LANES:
                break
            lanes //= steps[dim]
            steps[dim] = max(1, BLOCK_LANES // lanes)
        ranges = (
            [slice(at, min(at + step, bound)) for at in range(0, bound, step or 1)]
            if not reduces
            else [slice(0, bound)]
            for bound, step, reduces in zip(
                self.bounds, steps, self.is_reduction, strict=True
            )
        )
        return itertools.product(*ranges)

    def reduction_points(self) -> Iterator[Point]:
        """The counters of the reduction loops, in row-major order."""
        return itertools.product(
            *(
                range(bound)
                for bound, reduces in zip(self.bounds, self.is_reduction, strict=True)
                if reduces
            )
        )

    def _parallel_dims(self) -> Iterator[int]:
        return (dim for dim, reduces in enumerate(self.is_reduction) if not reduces)

    def _parallel_bounds(self) -> Iterator[int]:
        return (self.bounds[dim] for dim in self._parallel_dims())


class NoAccess:
    """A placeholder for a tensor that was never written: there is nothing to read."""

    depends_on_reduction = False

    def block(self, box: Box) -> Callable[[Point], PartialTensor]:
        """Nothing that could be read."""
        return lambda _point: UNREADABLE


class Access:
    """The elements that a nest reads or writes in one tensor.

    Raises `Poison` for a map that isn't affine or that leaves the tensor.
    """

    def __init__(self, array: Array, indexing_map: AffineMap, loops: Loops) -> None:
        start: list[slice] = []
        strides = [0] * len(loops.bounds)
        for axis, expression in enumerate(indexing_map.results):
            factors, constant = _linear_form(expression, len(loops.bounds))
            # What doesn't depend on a reduction is accessed even if that has no points.
            bounds = [
                1 if reduces and not factor else bound
                for bound, factor, reduces in zip(
                    loops.bounds, factors, loops.is_reduction, strict=True
                )
            ]
            _require_inside(constant, factors, bounds, array.shape[axis])
            start.append(slice(constant, None))
            for dim, factor in enumerate(factors):
                strides[dim] += factor * array.strides[axis]
        used = [stride != 0 for stride in strides]
        shape = [
            bound if is_used else 1
            for bound, is_used in zip(loops.bounds, used, strict=True)
        ]
        self._used = used
        parallel = [d for d, reduces in enumerate(loops.is_reduction) if not reduces]
        self._steps = [abs(strides[d]) for d in parallel]
        self._bounds = [loops.bounds[d] for d in parallel]
        self._whole: Array = (
            as_strided(array[(*start, ...)], shape, strides)
            if 0 not in shape
            else np.empty(shape, array.dtype)
        )
        # Reduction axes first, so that a reduction point is a leading index.
        self._order = sorted(range(len(shape)), key=lambda d: not loops.is_reduction[d])
        self._reduced = [used[d] for d in self._order if loops.is_reduction[d]]

    @property
    def depends_on_reduction(self) -> bool:
        """Whether the elements differ between reduction points."""
        return any(self._reduced)

    @property
    def repeats(self) -> bool:
        """Whether two parallel points may have the same element."""
        reach = 0
        points = zip(self._steps, self._bounds, strict=True)
        for step, bound in sorted(points):
            if bound > 1 and step <= reach:
                return True
            reach += step * max(0, bound - 1)
        return False

    def block(self, box: Box) -> Callable[[Point], Array]:
        """The lanes of a box of parallel points, at a reduction point."""
        whole = slice(None)
        part = (
            ends if is_used else whole
            for ends, is_used in zip(box, self._used, strict=True)
        )
        # With the ellipsis it is a view, also of an array without axes.
        elements = self._whole[(*part, ...)].transpose(self._order)
        reduced = self._reduced

        def lanes(point: Point) -> Array:
            counters = zip(point, reduced, strict=True)
            # The ellipsis makes it a view even when there is no parallel loop.
            return elements[(*(at if used else 0 for at, used in counters), ...)]

        return lanes


def evaluate_nest(
    interpreter: Interpreter,
    loops: Loops,
    inputs: Sequence[tuple[Tensor, AffineMap]],
    outputs: Sequence[tuple[Array, AffineMap]],
    *,
    init: Callable[[Lanes], Lanes],
    body: Callable[[Lanes, Lanes], Lanes],
    epilogue: Callable[[Lanes, Lanes], Lanes],
) -> None:
    """Run a nest and write its results into the arrays of `outputs`.

        accumulators = init(input lanes)
        accumulators = body(input lanes, accumulators)     for each reduction point
        output lanes = epilogue(input lanes, accumulators)

    `init` and `epilogue` can't use the lanes of inputs that depend on reduction loops.
    Without reduction loops, `body` runs once. Within the three, `loop_counter` gives
    the place. Raises `Poison` for an access outside a tensor, and for an output that
    depends on a reduction loop or has an element of several parallel points.
    """
    reads = [
        NoAccess()
        if isinstance(tensor, PartialTensor)
        else Access(tensor, indexing, loops)
        for tensor, indexing in inputs
    ]
    writes = [Access(array, indexing, loops) for array, indexing in outputs]
    if any(write.depends_on_reduction for write in writes):
        raise Poison("writes at a place that depends on a reduction loop")
    if any(write.repeats for write in writes):
        raise Poison("writes an element at more than one point of its parallel loops")

    first = (0,) * sum(loops.is_reduction)
    for box in loops.blocks():
        blocks = [read.block(box) for read in reads]
        common = tuple(
            UNREADABLE if read.depends_on_reduction else lanes_at(first)
            for read, lanes_at in zip(reads, blocks, strict=True)
        )
        _enter(interpreter, loops, box, None)
        accumulators = init(common)
        for point in loops.reduction_points():
            lanes = tuple(lanes_at(point) for lanes_at in blocks)
            _enter(interpreter, loops, box, point)
            accumulators = body(lanes, accumulators)
        _enter(interpreter, loops, box, None)
        results = epilogue(common, accumulators)
        for write, result in zip(writes, results, strict=True):
            np.copyto(write.block(box)(first), result)


def loop_counter(interpreter: Interpreter, dim: int) -> Array:
    """The counter of loop `dim` at the lanes of the region that is being run."""
    loops, box, point = interpreter.get_data(
        InterpreterFunctions, PLACE, lambda: (None, None, None)
    )
    if loops is None:
        raise Poison("stands outside a loop nest")
    if not loops.is_reduction[dim]:
        shape = [1] * sum(not reduces for reduces in loops.is_reduction)
        shape[sum(not reduces for reduces in loops.is_reduction[:dim])] = -1
        return np.arange(box[dim].start, box[dim].stop, dtype=np.int64).reshape(shape)
    if point is None:
        raise Poison(f"asks for reduction loop {dim} outside the reduction")
    return np.asarray(point[sum(loops.is_reduction[:dim])], np.int64)


def counting(
    op_type: type[IndexOp | kernel.IndexOp],
) -> OpImpl[InterpreterFunctions, IndexOp | kernel.IndexOp]:
    """The method of the operation that reads a loop's counter."""

    def run(
        _functions: InterpreterFunctions,
        interpreter: Interpreter,
        op: IndexOp | kernel.IndexOp,
        _args: PythonValues,
    ) -> PythonValues:
        return (loop_counter(interpreter, op.dim.value.data),)

    return impl(op_type)(run)


def _enter(
    interpreter: Interpreter, loops: Loops, box: Box, point: Point | None
) -> None:
    """Note the position of the region that runs next."""
    interpreter.set_data(InterpreterFunctions, PLACE, (loops, box, point))


def _linear_form(expression: AffineExpr, dims: int) -> tuple[tuple[int, ...], int]:
    """The expression's factors of each loop, and its constant; `Poison` if it has none,
    such as a floordiv or a symbol."""
    try:
        return linear_form(expression, dims)
    except ValueError as error:
        raise Poison(f"has the indexing {expression}, which is not linear") from error


def _require_inside(
    constant: int, factors: Sequence[int], bounds: Sequence[int], extent: int
) -> None:
    """Poison unless 0 <= constant + factors * counters < extent at every point."""
    if 0 in bounds:
        return
    ends = [factor * (bound - 1) for factor, bound in zip(factors, bounds, strict=True)]
    low = constant + sum(end for end in ends if end < 0)
    high = constant + sum(end for end in ends if end > 0)
    if low < 0 or high >= extent:
        raise Poison(
            f"indexes {low if low < 0 else high} in an axis of {extent} elements"
        )


def infer_bounds(
    indexing_maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """The trip counts of the loops whose counters index a tensor's axis by themselves.

    `Poison` if two tensors disagree, or if none gives a loop's bound.
    """
    bounds: dict[int, int] = {}
    for indexing_map, shape in zip(indexing_maps, shapes, strict=True):
        for expression, extent in zip(indexing_map.results, shape, strict=True):
            if not isinstance(expression, AffineDimExpr):
                continue
            dim = expression.position
            if bounds.setdefault(dim, extent) != extent:
                raise Poison(
                    f"has a loop d{dim} of both {bounds[dim]} and {extent} steps"
                )
    dims = indexing_maps[0].num_dims
    if len(bounds) < dims:
        unknown = min(set(range(dims)) - set(bounds))
        raise Poison(f"has a loop d{unknown} whose bound no operand tells")
    return tuple(bounds[dim] for dim in range(dims))
