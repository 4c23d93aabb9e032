"""The operations of a rounded line, and lines for many channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects.fixed import ConvertOp, RoundingMode
from qlower.interp import Array
from qlower.transforms.operations import Operations
from qlower.transforms.prove_epilogues.costs import cost
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers

Singles: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]

FREE = (-(1 << 31), (1 << 31) - 1)
"""Limits that don't limit an i32."""


@dataclass(frozen=True)
class Form:
    """round(scale * x + offset) + shift, limited to least ... most.

    Product and sum are rounded once if `fused`. If `odd` the offset's magnitude has the
    sign of x, so that it is non-decreasing too.
    """

    fused: bool
    odd: bool
    shift: int
    least: int
    most: int

    def __str__(self) -> str:
        name = "fma" if self.fused else "mul, add"
        return f"odd {name}" if self.odd else name

    @property
    def types(self) -> tuple[str, ...]:
        """The types of scale and offset."""
        return "f4", "f4"

    def operations(
        self,
        accumulator: SSAValue,
        parameters: Sequence[SSAValue],
        exceptions: Sequence[SSAValue] = (),
    ) -> list[Operation]:
        """The line's value at the i32 accumulator, as scalar operations.

        `exceptions`: accumulators and what is added there before the value is limited,
        in turn.
        """
        code = Operations()
        integers = map(code.integer, self.integers)
        given = accumulator, *parameters
        self.kind.write(code, given, integers, exceptions)
        return code.ops

    @property
    def kind(self) -> Kind:
        return Kind(self.fused, self.odd, bool(self.shift))

    @property
    def integers(self) -> list[int]:
        """The integers that the kind needs."""
        return [*([self.shift] if self.shift else []), self.least, self.most]

    @property
    def cost(self) -> int:
        return _cost(self.kind)

    @property
    def unlimited(self) -> Form:
        least, most = FREE
        return replace(self, least=least, most=most)

    def values(self, parameters: Sequence[Array], x: Integers) -> Integers:
        """The results of the operations at x; all shapes broadcast."""
        scale, offset = parameters
        integers = [np.array(number, np.int32) for number in self.integers]
        return self.kind.values(scale, offset, x, integers)


class Kind(NamedTuple):
    """The common part of forms that differ by integers only."""

    fused: bool
    odd: bool
    shifted: bool

    def write(
        self,
        code: Operations,
        given: Sequence[SSAValue],
        integers: Iterator[SSAValue],
        exceptions: Sequence[SSAValue] = (),
    ) -> None:
        """Appends the operations on accumulator, scale and offset.

        `integers`: what is added if shifted, the least and the most.
        """
        accumulator, scale, offset = given
        add = code.add

        single = code.make(arith.SIToFPOp, [accumulator], f32)
        if self.odd:
            offset = add(math.CopySignOp(offset, single))
        if self.fused:
            real = code.make(math.FmaOp, [single, scale, offset], f32)
        else:
            product = code.make(arith.MulfOp, [single, scale], f32)
            real = code.make(arith.AddfOp, [product, offset], f32)
        result = add(ConvertOp(real, i32, RoundingMode.HALF_EVEN))
        if self.shifted:
            result = code.make(arith.AddiOp, [result, next(integers)], i32)
        result = mended(code, accumulator, result, exceptions)
        result = code.make(arith.MaxSIOp, [result, next(integers)], i32)
        code.make(arith.MinSIOp, [result, next(integers)], i32)

    def values(
        self, scale: Singles, offset: Singles, x: Integers, integers: Sequence[Array]
    ) -> Integers:
        """The results of the operations at x; all shapes broadcast."""
        block, ops = _example(self)
        lanes = (x.astype(np.int32, copy=False), scale, offset, *integers)
        values: Values = dict(zip(block.args, lanes, strict=True))
        run_scalars(ops, values)
        return values[ops[-1].results[0]]


def mended(
    code: Operations,
    accumulator: SSAValue,
    result: SSAValue,
    exceptions: Sequence[SSAValue],
) -> SSAValue:
    """Appends what mends the result at accumulators by differences, in turn."""
    zero = code.integer(0) if exceptions else result
    for point, difference in zip(exceptions[::2], exceptions[1::2], strict=True):
        hit = code.add(arith.CmpiOp(accumulator, point, "eq"))
        step = code.add(arith.SelectOp(hit, difference, zero))
        result = code.add(arith.AddiOp(result, step))
    return result


@lru_cache(maxsize=64)
def _example(kind: Kind) -> tuple[Block, Sequence[Operation]]:
    """A kind's operations in a block with accumulator, scale, offset and integers."""
    block = Block(arg_types=(i32, f32, f32, *[i32] * (2 + kind.shifted)))
    code = Operations()
    kind.write(code, block.args[:3], iter(block.args[3:]))
    block.add_ops(code.ops)
    return block, code.ops


@lru_cache(maxsize=64)
def _cost(kind: Kind) -> int:
    return cost(_example(kind)[1])


class LineForm(Protocol):
    """A `Form`, of any numbers."""

    @property
    def cost(self) -> int: ...

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the parameters of a channel, as numpy names them."""
        ...

    @property
    def unlimited(self) -> LineForm:
        """The form without limits."""
        ...

    def operations(
        self,
        accumulator: SSAValue,
        parameters: Sequence[SSAValue],
        exceptions: Sequence[SSAValue] = (),
    ) -> list[Operation]: ...

    def values(self, parameters: Sequence[Array], x: Integers) -> Integers: ...


@dataclass(frozen=True)
class Lines:
    """A line for each channel, all of one form.

    `parameters` are as many as the form's `types`, each [channel]. A line differs from
    the steps at `wrong` of the points that decide.
    """

    form: LineForm
    parameters: tuple[Array, ...]
    wrong: Integers

    def __call__(self, channels: Integers, x: Integers) -> Integers:
        return self.form.values([one[channels] for one in self.parameters], x)

    @property
    def unlimited(self) -> Lines:
        """These lines, not limited to the least and the greatest value."""
        return replace(self, form=self.form.unlimited)
