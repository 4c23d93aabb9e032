"""A staircase as a line of integers: the upper word of factor * x + offset.

A machine that adds a product of 32-bit numbers to one of 64 bits in an instruction
needs one more for it, to limit the result. With L a level, and q the last x below its
step,

    L 2^32 - factor * (q + 1) <= offset < L 2^32 - factor * q

for all steps: for a given factor an interval of offsets, which is exact. The factor is
looked for near the best scale of `lines`. As there, a poor search costs speed, no bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block, Operation, SSAValue

from qlower.interp import Array
from qlower.transforms.operations import Operations
from qlower.transforms.prove_epilogues.forms import FREE, Lines, mended
from qlower.transforms.prove_epilogues.lines import HOPELESS, best_scale
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers, SeenSteps

_FAR = 1 << 60
"""Beyond all offsets."""

_NEAR = sorted(range(-8, 9), key=abs)
"""How far from the best scale a factor is looked for."""


@dataclass(frozen=True)
class IntegerForm:
    """(factor * x + offset) >> 32, limited to least ... most, of an i32 and an i64.

    If `odd` another i32, not negative, is subtracted from the offset where x is below
    0: what is rounded half away from zero needs that.
    """

    odd: bool
    least: int
    most: int

    def __str__(self) -> str:
        return "odd integer mul, add" if self.odd else "integer mul, add"

    @property
    def types(self) -> tuple[str, ...]:
        """The types of factor, offset and, if odd, what is subtracted."""
        return ("i4", "i8", "i4") if self.odd else ("i4", "i8")

    def operations(
        self,
        accumulator: SSAValue,
        parameters: Sequence[SSAValue],
        exceptions: Sequence[SSAValue] = (),
    ) -> list[Operation]:
        """As those of `Form`."""
        factor, offset, *below = parameters
        code = Operations()
        add = code.add
        wide, factor = (add(arith.ExtSIOp(one, i64)) for one in (accumulator, factor))
        for difference in below:
            sign = add(arith.ShRSIOp(accumulator, code.integer(31)))
            difference = add(arith.AndIOp(difference, sign))
            offset = add(arith.SubiOp(offset, add(arith.ExtUIOp(difference, i64))))
        total = add(arith.AddiOp(add(arith.MuliOp(wide, factor)), offset))
        upper = add(arith.ShRSIOp(total, code.integer(32, i64)))
        result = add(arith.TruncIOp(upper, i32))
        result = mended(code, accumulator, result, exceptions)
        result = add(arith.MaxSIOp(result, code.integer(self.least)))
        add(arith.MinSIOp(result, code.integer(self.most)))
        return code.ops

    @property
    def unlimited(self) -> IntegerForm:
        return replace(self, least=FREE[0], most=FREE[1])

    @property
    def cost(self) -> int:
        """Instructions, beside those that every epilogue ends with."""
        return 6 if self.odd else 4

    def values(self, parameters: Sequence[Array], x: Integers) -> Integers:
        """What the operations give at x; all shapes broadcast."""
        block = Block(arg_types=(i32, i32, i64, *[i32] * self.odd))
        accumulator, *given = block.args
        ops = self.operations(accumulator, given)
        block.add_ops(ops)
        narrow = x.astype(np.int32, copy=False), *parameters
        values: Values = dict(zip(block.args, narrow, strict=True))
        run_scalars(ops, values)
        return values[ops[-1].results[0]]


def fit_integer_lines(form: IntegerForm, steps: SeenSteps, middle: int) -> Lines | None:
    """Lines that are wrong at few of the points around the steps; None if at many.
    `middle` is the value of 0."""
    scale = best_scale(steps, odd=form.odd, middle=middle)
    if not np.all(scale < 0.5):
        return None
    fit = _Fit.of(steps, form.odd)
    found = np.zeros((4, len(scale)), np.int64)
    gap, factor, offset, below = found
    gap[:] = -_FAR
    for distance in _NEAR:
        near = np.maximum(np.rint(scale * 2.0**32).astype(np.int64) + distance, 0)
        room, *rest = fit.at(near)
        better = room > gap
        found[:, better] = np.stack([room, near, *rest])[:, better]
    constant = steps.bottom == steps.top
    factor[constant], below[constant] = 0, 0
    offset[constant] = steps.bottom[constant].astype(np.int64) << 32
    narrow = (one.astype(np.int32) for one in (factor, below))
    parameters = next(narrow), offset, *narrow
    parameters = parameters[: len(form.types)]
    x, value = steps.points
    values = form.values([one[:, np.newaxis] for one in parameters], x)
    wrong = np.count_nonzero(values != value, axis=1)
    return None if np.any(wrong > HOPELESS) else Lines(form, parameters, wrong)


@dataclass(frozen=True)
class _Fit:
    """Levels times 2^32, and the last x before each and the first x after: [channel,
    step]. If `odd` those below 0 have an offset of their own."""

    levels: Integers
    before: Integers
    after: Integers
    odd: bool

    @staticmethod
    def of(steps: SeenSteps, odd: bool) -> _Fit:
        after = steps.places.astype(np.int64)
        levels = steps.levels.astype(np.int64) << 32
        for column in (after, levels):  # a column that is none repeats the first
            np.copyto(column, column[:, :1], where=~steps.valid)
        return _Fit(levels, after - 1, after, odd)

    def at(self, factor: Integers) -> tuple[Integers, Integers, Integers]:
        """For a factor of each channel the room for its offsets, the offset in the
        middle, and what is subtracted from it below 0."""
        low, high = (
            self.levels - factor[:, np.newaxis] * x for x in (self.after, self.before)
        )
        if not self.odd:
            least, most = low.max(axis=1), high.min(axis=1) - 1
            return most - least, least + (most - least) // 2, np.zeros_like(least)
        sides: list[tuple[Integers, Integers]] = []
        for negative in (False, True):
            least = np.where((self.after < 0) == negative, low, -_FAR).max(axis=1)
            most = np.where((self.before < 0) == negative, high, _FAR).min(axis=1) - 1
            sides.append((least, most))
        (least, most), (below_least, below_most) = sides
        # a side without steps takes what the other has
        middle = np.clip(least + (most - least) // 2, below_least, None)
        below = np.clip(below_least + (below_most - below_least) // 2, None, middle)
        room = np.minimum(most - least, below_most - below_least)
        return room, middle, np.clip(middle - below, 0, (1 << 31) - 1)
