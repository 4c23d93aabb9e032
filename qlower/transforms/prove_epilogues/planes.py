"""A function between bytes as a rounded plane, computed in float32.

    round(a * x + (b * y + c)), limited to least ... most

x and y are the numbers that the function's sources stand for; instead of them there may
be one product of both, each less its zero point. The offset may have the sign of the
product, where ties are rounded away from zero. A plane is proved by running its
operations in the interpreter in all cases, 65,536 at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, f32, i8, i32
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode, SaturateOp
from qlower.interp import Array
from qlower.transforms.operations import Operations
from qlower.transforms.prove_epilogues.best_plane import best_plane
from qlower.transforms.prove_epilogues.byte_functions import (
    ByteFunction,
    every_case,
    numbers_of,
)
from qlower.transforms.prove_epilogues.costs import cost
from qlower.transforms.prove_epilogues.forms import Doubles, Singles
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers

_NEAR = 1e-3
"""Cases within so much of a step can be wrong for a neighbour in float32."""

_MOST_NEAR = 1024
"""Cases by which neighbors are chosen."""

_NEIGHBOURS = np.array([0, 1, -1, 2, -2], np.float32)
"""Changes of each factor and offset that are tried, in units of the last place."""


@dataclass(frozen=True)
class PlaneForm:
    """The operations of planes, whatever their numbers are.

    `unsigned` says which sources' bits, and whether the result's, are those of numbers
    from 0 to 255. They are multiplied in `order`, the first one last; or there is a
    product of both, each less a zero point. If `odd` the offset's magnitude has its
    sign, and if `shifted` something is added to what is rounded. Products and sums are
    rounded once if `fused`.
    """

    unsigned: tuple[bool, ...]
    is_unsigned: bool
    fused: bool
    order: tuple[int, ...]
    is_product: bool
    odd: bool
    shifted: bool

    def operations(
        self,
        code: Operations,
        sources: Sequence[SSAValue],
        coefficients: Sequence[SSAValue],
        integers: Iterator[SSAValue],
    ) -> None:
        """Appends what makes the result's bits of those of the sources.

        `integers`: zero points, what is added, the least and the most result.
        """
        add = code.add

        def single(index: int) -> SSAValue:
            kind = arith.UIToFPOp if self.unsigned[index] else arith.SIToFPOp
            return add(kind(sources[index], f32))

        def centred(index: int) -> SSAValue:
            kind = arith.ExtUIOp if self.unsigned[index] else arith.ExtSIOp
            wide = add(kind(sources[index], i32))
            return add(arith.SubiOp(wide, next(integers)))

        *factors, real = coefficients
        if self.is_product:
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
        if self.shifted:
            result = add(arith.AddiOp(result, next(integers)))
        result = add(arith.MaxSIOp(result, next(integers)))
        result = add(arith.MinSIOp(result, next(integers)))
        add(SaturateOp(result, i8, unsigned=self.is_unsigned))

    @property
    def cost(self) -> int:
        return cost(_example(self)[1])

    def bits(
        self, lanes: Sequence[Array], coefficients: Singles, integers: Sequence[int]
    ) -> Array:
        """The results of the operations; lanes and coefficients[i] broadcast."""
        block, ops = _example(self)
        numbers = np.array(integers, np.int32)
        values: Values = dict(
            zip(block.args, [*lanes, *coefficients, *numbers], strict=True)
        )
        run_scalars(ops, values)
        return values[ops[-1].results[0]]


@lru_cache(maxsize=64)
def _example(form: PlaneForm) -> tuple[Block, Sequence[Operation]]:
    """A form's operations in a block with sources, coefficients and integers."""
    sources, coefficients = len(form.unsigned), len(form.order) + 1
    integers = (sources if form.is_product else 0) + form.shifted + 2
    types = [*[i8] * sources, *[f32] * coefficients, *[i32] * integers]
    block = Block(arg_types=types)
    split = sources + coefficients
    code = Operations()
    given, numbers = block.args[:split], iter(block.args[split:])
    form.operations(code, given[:sources], given[sources:], numbers)
    block.add_ops(code.ops)
    return block, code.ops


@dataclass(frozen=True)
class Plane:
    """A plane whose numbers come from a function's sources.

    With `zero_points` the product of both, less these, is the only number; `shift` is
    added to what is rounded. `coefficients` are the numbers' factors and the offset.
    The others are as in `PlaneForm`.
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
    def form(self) -> PlaneForm:
        function = self.function
        return PlaneForm(
            tuple(map(function.reads_unsigned, range(len(function.sources)))),
            function.is_unsigned,
            self.fused,
            self.order,
            bool(self.zero_points),
            self.odd,
            bool(self.shift),
        )

    @property
    def _integers(self) -> list[int]:
        """The integers that the form needs."""
        values = self.function.numbers
        shift = [self.shift] if self.shift else []
        return [*self.zero_points, *shift, int(values.min()), int(values.max())]

    @property
    def columns(self) -> Doubles:
        """The factors of the coefficients, in all cases: [case, coefficient]."""
        return _columns(self.form.unsigned, self.zero_points, self.odd)

    def write(self) -> list[Operation]:
        """The operations that take the place of the function's."""
        constants = [arith.ConstantOp(FloatAttr(c, f32)) for c in self.coefficients]
        values = [constant.result for constant in constants]
        code = Operations()
        integers = map(code.integer, self._integers)
        self.form.operations(code, self.function.sources, values, integers)
        return [*constants, *code.ops]

    def bits(self, coefficients: Singles, cases: Integers | None = None) -> Array:
        """The results of the operations in some cases, or in all; coefficients[i]
        broadcasts with the cases."""
        function = self.function
        if cases is None:
            bits = self.form.bits(function.grid, coefficients, self._integers)
            return function.flat(bits)
        lanes = [bits[cases] for bits in function.lanes]
        return self.form.bits(lanes, coefficients, self._integers)


@lru_cache(maxsize=8)
def _columns(
    unsigned: tuple[bool, ...], zero_points: tuple[int, ...], odd: bool
) -> Doubles:
    """The columns of a plane whose sources are of that signedness; not to be written
    to."""
    grid = every_case(len(unsigned))
    numbers = [numbers_of(b, unsigned=u) for b, u in zip(grid, unsigned, strict=True)]
    if zero_points:
        x, y = (n - z for n, z in zip(numbers, zero_points, strict=True))
        numbers = [x * y]
    cases = (256,) * len(unsigned)
    columns = np.ones((256 ** len(unsigned), len(numbers) + 1))
    for index, number in enumerate(numbers):
        columns[:, index] = np.broadcast_to(number, cases).reshape(-1)
    if odd:
        columns[columns[:, 0] < 0, 1] = -1
    return columns


def prove_plane(function: ByteFunction, *, fused: bool, limit: int) -> Plane | None:
    """A plane that gives the function in all cases, at a cost below the limit.

    None if none is found.
    """
    for shape in _shapes(function, fused=fused):
        if shape.form.cost >= limit:
            continue
        columns = shape.columns
        best = best_plane(columns, function.numbers - shape.shift, 0.5)
        if best is None:
            continue
        coefficients, _ = best
        real = columns @ coefficients
        real -= np.floor(real) + 0.5
        near = np.flatnonzero(np.abs(real, out=real) < _NEAR)
        near = near[:: len(near) // _MOST_NEAR + 1]
        for order in permutations(shape.order):
            plane = shape if order == shape.order else replace(shape, order=order)
            tried = _neighbours(coefficients)
            chosen = tried[:, 0]
            if np.any(plane.bits(chosen, near) != function.bits[near]):
                wrong = plane.bits(tried[..., np.newaxis], near) != function.bits[near]
                chosen = tried[:, np.count_nonzero(wrong, axis=-1).argmin()]
            if np.array_equal(plane.bits(chosen), function.bits):
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
    """The result of the function for a product of nearly zero: its zero point."""
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
    """The number that the function subtracts from each source, 0 if none."""
    found = [0] * len(function.sources)
    for op in function.ops:
        if isinstance(op, arith.SubiOp | arith.AddiOp):
            computed = function.values[op.result]
            for index, number in enumerate(function.source_numbers):
                if computed.shape == number.shape:
                    less = np.unique(number - computed)
                    if len(less) == 1:
                        found[index] = int(less[0])
    return tuple(found)
