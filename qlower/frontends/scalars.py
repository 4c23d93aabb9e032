"""Steps on scalars of a loop nest, as the reference kernels' C++ has them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IntegerType,
    f64,
    i1,
    i32,
)
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects.fixed import ConvertOp, RoundingMode
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.emit.reductions import axes_nest
from qlower.model.nests import (
    Emitter,
    Nest,
    row_major_index,
    scalar_constant,
    to_index,
)

PACKET = 4
"""Elements that Eigen computes together, from a multiple of 16 bytes on."""


@dataclass(frozen=True, slots=True)
class Scalars:
    """Adds steps to a nest; integers are signed unless `is_unsigned`."""

    nest: Nest
    is_unsigned: bool = False

    def step(self, operation: Operation) -> SSAValue:
        return self.nest.add(operation).results[0]

    def constant(self, value: float, type: Attribute) -> SSAValue:
        return self.nest.add(scalar_constant(value, type)).result

    def place(self, loop: int, type: Attribute) -> SSAValue:
        """The place of a loop of the nest, as an integer."""
        return self.step(arith.IndexCastOp(self.step(IndexOp(loop)), type))

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.step((arith.AddfOp if _real(x) else arith.AddiOp)(x, y))

    def subtract(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.step((arith.SubfOp if _real(x) else arith.SubiOp)(x, y))

    def multiply(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.step((arith.MulfOp if _real(x) else arith.MuliOp)(x, y))

    def divide(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The quotient of real numbers."""
        return self.step(arith.DivfOp(x, y))

    def negate(self, x: SSAValue) -> SSAValue:
        if _real(x):
            return self.step(arith.NegfOp(x))
        return self.subtract(self.constant(0, x.type), x)

    def absolute(self, x: SSAValue) -> SSAValue:
        return self.step((math.AbsFOp if _real(x) else math.AbsIOp)(x))

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """`lt`, `le`, `gt`, `ge`, `eq` or `ne`; NaN is unequal to all."""
        if _real(x):
            ordered = "u" if predicate == "ne" else "o"
            return self.step(arith.CmpfOp(x, y, f"{ordered}{predicate}"))
        if predicate not in ("eq", "ne"):
            predicate = ("u" if self.is_unsigned else "s") + predicate
        return self.step(arith.CmpiOp(x, y, predicate))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.step(arith.SelectOp(condition, x, y))

    def larger(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """`x > y ? x : y`"""
        return self.select(self.compare("gt", x, y), x, y)

    def smaller(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """`x < y ? x : y`"""
        return self.select(self.compare("lt", x, y), x, y)

    def maximum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The larger real number; NaN if one is."""
        return self.step(arith.MaximumfOp(x, y))

    def minimum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The smaller real number; NaN if one is."""
        return self.step(arith.MinimumfOp(x, y))

    def clamp(self, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
        """`x` between bounds; NaN stays, and so does a zero's sign."""
        if low is not None:
            bound = self.constant(low, x.type)
            x = self.select(self.compare("lt", x, bound), bound, x)
        if high is not None:
            bound = self.constant(high, x.type)
            x = self.select(self.compare("gt", x, bound), bound, x)
        return x

    def within(self, index: SSAValue, most: int) -> SSAValue:
        """An integer brought into [0, most]."""
        above = self.step(arith.MaxSIOp(index, self.constant(0, index.type)))
        return self.step(arith.MinSIOp(above, self.constant(most, index.type)))

    def logical(self, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.step({"and": arith.AndIOp, "or": arith.OrIOp}[name](x, y))

    def invert(self, x: SSAValue) -> SSAValue:
        return self.step(arith.XOrIOp(x, self.constant(1, i1)))

    def c(self, name: str, *operands: SSAValue) -> SSAValue:
        """A function of the C library, which LiteRT calls: glibc's, step by step."""
        return call_function(self.nest, "_glibc", name, *operands)

    def eigen(self, name: str, *operands: SSAValue) -> SSAValue:
        """A function as Eigen computes it for LiteRT's optimized kernels."""
        return call_function(self.nest, "_eigen", name, *operands)

    def floor(self, x: SSAValue) -> SSAValue:
        return self.step(math.FloorOp(x))

    def sqrt(self, x: SSAValue) -> SSAValue:
        return self.step(math.SqrtOp(x))

    def ceil(self, x: SSAValue) -> SSAValue:
        return self.step(math.CeilOp(x))

    def cast(self, x: SSAValue, type: Attribute) -> SSAValue:
        """C++'s static_cast; a real number beyond an integer's range saturates."""
        source = x.type
        if source == type:
            return x
        if type == i1:
            return self.compare("ne", x, self.constant(0, source))
        if type == f64:
            return self.step(arith.ExtFOp(x, type))
        if isinstance(source, Float32Type):
            return self.step(ConvertOp(x, type, RoundingMode.TOWARD_ZERO))
        assert isa(source, IntegerType)
        unsigned = self.is_unsigned or source == i1
        if isinstance(type, Float32Type):
            if source.bitwidth < 32:
                x = self.cast(x, i32)
                unsigned = False
            return self.step((arith.UIToFPOp if unsigned else arith.SIToFPOp)(x, type))
        assert isa(type, IntegerType)
        if type.bitwidth < source.bitwidth:
            return self.step(arith.TruncIOp(x, type))
        return self.step((arith.ExtUIOp if unsigned else arith.ExtSIOp)(x, type))


Unary: TypeAlias = Callable[[Scalars, SSAValue], SSAValue]
Binary: TypeAlias = Callable[[Scalars, SSAValue, SSAValue], SSAValue]
Steps: TypeAlias = Callable[..., SSAValue]
Compute: TypeAlias = Unary | Binary | Steps
"""The steps of a function of scalars."""


def text(library: str, name: str) -> Steps:
    """A function that is text beside the contracts."""

    def compute(steps: Scalars, *operands: SSAValue) -> SSAValue:
        return call_function(steps.nest, library, name, *operands)

    return compute


def by_packets(
    whole: Steps, alone: Steps, size: int = PACKET, *, of_rows: bool = False
) -> Steps:
    """A function of elements in packets of `size`, in row-major order; the last ones,
    of the whole or of each row, which fill none, are computed `alone`."""

    def compute(steps: Scalars, *operands: SSAValue) -> SSAValue:
        loops = range(steps.nest.parallel)[-1 if of_rows else 0 :]
        count = prod(steps.nest.bounds[loop] for loop in loops)
        first = count - count % size
        if not first:
            return alone(steps, *operands)
        result = whole(steps, *operands)
        if first == count:
            return result
        last, end = alone(steps, *operands), steps.constant(first, i32)
        is_last = steps.compare("ge", row_major_index(steps.nest, loops), end)
        return steps.select(is_last, last, result)

    return compute


def in_turn(compute: Binary) -> Steps:
    """A function of two numbers on the first ones, then on that and the next."""

    def of_all(steps: Scalars, *elements: SSAValue) -> SSAValue:
        return reduce(partial(compute, steps), elements)

    return of_all


def square(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.multiply(x, x)


def mapped(emit: Emitter, compute: Compute, *values: SSAValue) -> SSAValue:
    """Apply a function to the elements of tensors; the first one has the result's
    shape, the others its first dimensions."""
    call: Steps = compute
    nest = Nest(emit, shape_of(values[0]))
    elements = [nest.input(value, range(len(shape_of(value)))) for value in values]
    return nest.build_one(call(Scalars(nest), *elements))


def folded(
    emit: Emitter,
    value: SSAValue,
    axes: Collection[int],
    compute: Binary,
    start: float,
    before: Unary | None = None,
    *,
    is_unsigned: bool = False,
) -> SSAValue:
    """The elements of a tensor along axes, each after a function `before`, combined in
    turn from a number on."""
    nest, indices = axes_nest(emit, shape_of(value), axes)
    steps = Scalars(nest, is_unsigned)
    element: SSAValue = nest.input(value, indices)
    if before is not None:
        element = before(steps, element)
    init = emit.filled(nest.output_shape, element.type, start)
    return nest.reduce_one(init, lambda made: [compute(steps, made[0], element)])


def nearest(nest: Nest, index: SSAValue, size: int) -> SSAValue:
    """The place of a dimension that an index means, or the nearest to it."""
    return to_index(nest, Scalars(nest).within(index, size - 1))


def _real(x: SSAValue) -> bool:
    return isinstance(x.type, Float32Type | Float64Type)
