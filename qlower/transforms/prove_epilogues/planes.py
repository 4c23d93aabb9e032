"""A function between bytes as a rounded plane, computed in float32.

    round(a * x + (b * y + c)), limited to least ... most

x and y are the numbers that the function's sources stand for; in place of them there
may be one product of both, each less its zero point. The offset may have the sign of
the product, where ties are rounded away from zero. A plane is proved by running its
operations in the interpreter in all cases, 65,536 at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, f32, i32
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode, SaturateOp
from qlower.interp import Array
from qlower.transforms.operations import Operations
from qlower.transforms.prove_epilogues.best_plane import best_plane
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction
from qlower.transforms.prove_epilogues.costs import cost
from qlower.transforms.prove_epilogues.lines import Doubles, Singles
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers

_NEAR = 1e-3
"""Cases within so much of a step can be wrong for a neighbour in float32."""

_MOST_NEAR = 1024
"""Such cases that neighbours are chosen by."""

_SPARSE = 251
"""Every so many cases are looked at first."""

_NEIGHBOURS = np.array([0, 1, -1, 2, -2], np.float32)
"""Changes of each factor and offset that are tried, in units of the last place."""


@dataclass(frozen=True)
class Plane:
    """The operations of a plane whose numbers come from a function's sources.

    They are multiplied in `order`, the first one last. With `zero_points` the product
    of both, less these, is the only number; if `odd` the offset's magnitude has its
    sign, and `shift` is added to what is rounded. Products and sums are rounded once if
    `fused`. `coefficients` are the numbers' factors and the offset.
    """

    function: ByteFunction
    fused: bool
    order: tuple[int, ...]
    zero_points: tuple[int, ...] = ()
    odd: bool = False
    shift: int = 0
    coefficients: tuple[float, ...] = ()

    def __str__(self) -> str:
        name = "fma" if self.fused else "mul, add"
        if self.zero_points:
            return f"{'odd ' if self.odd else ''}{name} of product"
        return f"{len(self.order)} x {name}" if len(self.order) > 1 else name

    @cached_property
    def columns(self) -> Doubles:
        """What the coefficients belong to, in all cases: [case, coefficient]."""
        numbers = self.function.source_numbers
        if self.zero_points:
            centred = zip(numbers, self.zero_points, strict=True)
            numbers = [np.prod([x - zero for x, zero in centred], axis=0)]
        last = np.ones_like(numbers[0])
        if self.odd:
            last = np.where(numbers[0] < 0, -1, 1)
        return np.stack([*numbers, last], axis=1).astype(float)

    @property
    def cost(self) -> int:
        return cost(self._code.ops)

    def write(self) -> list[Operation]:
        """The operations that take the place of the function's."""
        constants = [arith.ConstantOp(FloatAttr(c, f32)) for c in self.coefficients]
        values = [constant.result for constant in constants]
        return [*constants, *self._operations(self.function.sources, values)]

    def _operations(
        self, sources: Sequence[SSAValue], coefficients: Sequence[SSAValue]
    ) -> list[Operation]:
        """The result's bits, from those of the sources."""
        code = Operations()
        add, number = code.add, code.integer

        def single(index: int) -> SSAValue:
            unsigned = self.function.reads_unsigned(index)
            kind = arith.UIToFPOp if unsigned else arith.SIToFPOp
            return add(kind(sources[index], f32))

        def centred(index: int) -> SSAValue:
            unsigned = self.function.reads_unsigned(index)
            kind = arith.ExtUIOp if unsigned else arith.ExtSIOp
            wide = add(kind(sources[index], i32))
            return add(arith.SubiOp(wide, number(self.zero_points[index])))

        *factors, real = coefficients
        if self.zero_points:
            both = add(arith.MuliOp(centred(0), centred(1)))
            numbers = [add(arith.SIToFPOp(both, f32))]
            if self.odd:
                real = add(math.CopySignOp(real, numbers[0]))
        else:
            numbers = [single(index) for index in range(len(sources))]
        for index in reversed(self.order):
            if self.fused:
                real = add(math.FmaOp(numbers[index], factors[index], real))
            else:
                scaled = add(arith.MulfOp(numbers[index], factors[index]))
                real = add(arith.AddfOp(scaled, real))
        result = add(ConvertOp(real, i32, RoundingMode.HALF_EVEN))
        if self.shift:
            result = add(arith.AddiOp(result, number(self.shift)))
        values = self.function.numbers
        result = add(arith.MaxSIOp(result, number(int(values.min()))))
        result = add(arith.MinSIOp(result, number(int(values.max()))))
        type = self.function.value.type
        add(SaturateOp(result, type, unsigned=self.function.is_unsigned))
        return code.ops

    @cached_property
    def _code(self) -> Block:
        """The operations with sources and coefficients as arguments."""
        sources = self.function.sources
        count = len(self.order) + 1
        block = Block(arg_types=[*(v.type for v in sources), *[f32] * count])
        split = len(sources)
        block.add_ops(self._operations(block.args[:split], block.args[split:]))
        return block

    def bits(self, cases: Integers, coefficients: Singles) -> Array:
        """What the operations give in some cases; coefficients[i] broadcasts."""
        block = self._code
        lanes = [bits[cases] for bits in self.function.lanes]
        values: Values = dict(zip(block.args, [*lanes, *coefficients], strict=True))
        run_scalars(tuple(block.ops), values)
        assert block.last_op is not None
        return values[block.last_op.results[0]]


def prove_plane(function: ByteFunction, *, fused: bool, limit: int) -> Plane | None:
    """A plane that gives the function in all cases, at a cost below the limit.

    None if none is found.
    """
    for shape in _shapes(function, fused=fused):
        if shape.cost >= limit:
            continue
        columns = shape.columns
        best = best_plane(columns, function.numbers - shape.shift, 0.5)
        if best is None:
            continue
        coefficients, _ = best
        real = columns @ coefficients
        near = np.flatnonzero(np.abs(real - np.floor(real) - 0.5) < _NEAR)
        near = near[:: len(near) // _MOST_NEAR + 1]
        for order in permutations(shape.order):
            plane = shape if order == shape.order else replace(shape, order=order)
            tried = _neighbours(coefficients)
            wrong = plane.bits(near, tried[..., np.newaxis]) != function.bits[near]
            chosen = tried[:, np.count_nonzero(wrong, axis=-1).argmin()]
            everywhere = plane.bits(np.arange(len(real)), chosen)
            if np.array_equal(everywhere, function.bits):
                return replace(plane, coefficients=tuple(chosen.tolist()))
    return None


def _shapes(function: ByteFunction, *, fused: bool) -> Iterator[Plane]:
    """The planes that a function may be, without coefficients."""
    count = len(function.sources)
    yield Plane(function, fused, tuple(range(count)))
    if count == 2:
        product = Plane(function, fused, (0,), _zero_points(function))
        yield product
        yield replace(product, odd=True, shift=_at_zero(product))


def _at_zero(product: Plane) -> int:
    """What the function gives for a product of nearly zero: its zero point."""
    return int(product.function.numbers[np.abs(product.columns[:, 0]).argmin()])


def _neighbours(coefficients: Doubles) -> Singles:
    """Coefficients in float32, and all combinations of their neighbours: [each, any].

    They come first as they are.
    """
    single = coefficients.astype(np.float32)
    around = single[:, np.newaxis] + np.spacing(single)[:, np.newaxis] * _NEIGHBOURS
    grid = np.meshgrid(*around.astype(np.float32), indexing="ij")
    return np.stack([axis.reshape(-1) for axis in grid])


def _zero_points(function: ByteFunction) -> tuple[int, ...]:
    """What the function subtracts of each source, 0 if nothing."""
    found = [0] * len(function.sources)
    for op in function.ops:
        if isinstance(op, arith.SubiOp | arith.AddiOp):
            computed = function.values[op.result]
            for index, number in enumerate(function.source_numbers):
                first = number[0] - computed[0]
                few = number[::_SPARSE] - computed[::_SPARSE] == first
                if np.all(few) and np.all(number - computed == first):
                    found[index] = int(first)
    return tuple(found)
