"""A staircase as a line of integers: the upper word of factor * x + offset.

A machine that adds a product of 32-bit numbers to one of 64 bits in an instruction
needs one more for it, to limit the result. With L a level, and q the last x below its
step,

    L 2^bits - factor * (q + 1) <= offset < L 2^bits - factor * q

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
from qlower.transforms.prove_epilogues.forms import FREE, Doubles, Lines, mended
from qlower.transforms.prove_epilogues.lines import HOPELESS
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers, SeenSteps

WORD = 32
"""Bits of a word."""

_MOST = 2.0**31 - 2**8
"""The bound of a factor near which others are looked for."""

_FAR = 1 << 60
"""A number beyond all offsets."""

_LIMIT = 2.0**62
"""The bound of sums, which wrap beyond 2^63."""

_NEAR = sorted(range(-8, 9), key=abs)
"""The largest distance from the best scale at which a factor is looked for."""


@dataclass(frozen=True)
class IntegerForm:
    """(factor * x + offset) >> bits, limited to least ... most, of an i32 and an i64.

    With 32 bits it is the upper word; with more, factors are finer and take another
    instruction. All offsets may have the same `upper` word: then the other is an i32.

    If `odd` another i32, not negative, is subtracted from the offset where x is below
    0: what is rounded half away from zero needs that.
    """

    odd: bool
    bits: int
    least: int
    most: int
    upper: int | None = None

    def __str__(self) -> str:
        return "odd integer mul, add" if self.odd else "integer mul, add"

    @property
    def types(self) -> tuple[str, ...]:
        """The types of factor, offset and, if odd, what is subtracted."""
        offset = "i8" if self.upper is None else "i4"
        return ("i4", offset, "i4") if self.odd else ("i4", offset)

    def operations(
        self,
        accumulator: SSAValue,
        parameters: Sequence[SSAValue],
        exceptions: Sequence[SSAValue] = (),
    ) -> list[Operation]:
        """The operations, as in `Form`."""
        factor, offset, *below = parameters
        code = Operations()
        add = code.add
        wide, factor = (add(arith.ExtSIOp(one, i64)) for one in (accumulator, factor))
        if self.upper is not None:
            whole = code.integer(self.upper << WORD, i64)
            offset = add(arith.AddiOp(add(arith.ExtUIOp(offset, i64)), whole))
        for difference in below:
            sign = add(arith.ShRSIOp(accumulator, code.integer(31)))
            difference = add(arith.AndIOp(difference, sign))
            offset = add(arith.SubiOp(offset, add(arith.ExtUIOp(difference, i64))))
        total = add(arith.AddiOp(add(arith.MuliOp(wide, factor)), offset))
        upper = add(arith.ShRSIOp(total, code.integer(self.bits, i64)))
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
        """Instructions, without those that every epilogue ends with."""
        return 4 + 2 * self.odd + (self.bits > WORD)

    def values(self, parameters: Sequence[Array], x: Integers) -> Integers:
        """The results of the operations at x; all shapes broadcast."""
        types = [i64 if type == "i8" else i32 for type in self.types]
        block = Block(arg_types=(i32, *types))
        accumulator, *given = block.args
        ops = self.operations(accumulator, given)
        block.add_ops(ops)
        narrow = x.astype(np.int32, copy=False), *parameters
        values: Values = dict(zip(block.args, narrow, strict=True))
        run_scalars(ops, values)
        return values[ops[-1].results[0]]


def most_bits(scale: Doubles) -> int:
    """The bits with which factors near the channels' scales are the finest that an i32
    holds."""
    largest = float(scale.max())
    return WORD if largest <= 0 else min(int(30 - np.log2(largest)), 50)


def fit_integer_lines(
    form: IntegerForm, steps: SeenSteps, scale: Doubles
) -> Lines | None:
    """Lines that are wrong at few of the points around the steps; None if at many.
    `scale` is the `best_scale` of the steps, for odd lines if the form is odd."""
    if not np.all(scale * 2.0**form.bits < _MOST):
        return None
    fit = _Fit.of(steps, form)
    found = np.zeros((4, len(scale)), np.int64)
    gap, offset = found[0], found[2]
    gap[:] = -_FAR
    for distance in _NEAR:
        near = np.rint(scale * 2.0**form.bits).astype(np.int64) + distance
        near = np.maximum(near, 0)
        room, *rest = fit.at(near)
        better = room > gap
        found[:, better] = np.stack([room, near, *rest])[:, better]
    constant = steps.bottom == steps.top
    found[1:, constant] = 0
    half = 1 << (form.bits - 1)
    offset[constant] = (steps.bottom[constant].astype(np.int64) << form.bits) + half
    gap[constant] = _FAR
    # With a factor of 0 or more the line is non-decreasing, and below the limit no sum
    # wraps: what the lemma of points (steps.py) asks of a function.
    reach = max(-float(steps.low.min()), float(steps.high.max()))
    if float(found[1].max()) * reach + float(np.abs(offset).max()) >= _LIMIT:
        return None
    # the line of the channel with the least room takes no memory where it will do for
    # all, and words half of that
    one = np.broadcast_to(found[1:, [int(gap.argmin())]], (3, len(scale)))
    upper = sorted((offset >> WORD).tolist())[len(offset) // 2]
    for rows, tried in ((one, form), (found[1:], replace(form, upper=upper))):
        lines = _seen(tried, rows, steps)
        if not np.any(lines.wrong):
            return lines
    lines = _seen(form, found[1:], steps)
    return None if np.any(lines.wrong > HOPELESS) else lines


def _seen(form: IntegerForm, rows: Integers, steps: SeenSteps) -> Lines:
    """The lines of factors, offsets and what is subtracted from these."""
    factor, offset, below = rows
    if form.upper is not None:
        first = form.upper << WORD
        words = np.clip(offset - first, 0, (1 << WORD) - 1)
        offset = words.astype(np.uint32).view(np.int32)
    parameters = factor.astype(np.int32), offset, below.astype(np.int32)
    parameters = parameters[: len(form.types)]
    x, value = steps.points
    values = form.values([lanes[:, np.newaxis] for lanes in parameters], x)
    return Lines(form, parameters, np.count_nonzero(values != value, axis=1))


@dataclass(frozen=True)
class _Fit:
    """Levels times 2^bits, and the last x before each and the first x after: [channel,
    step]. If `odd` those below 0 have an offset of their own."""

    levels: Integers
    before: Integers
    after: Integers
    odd: bool

    @staticmethod
    def of(steps: SeenSteps, form: IntegerForm) -> _Fit:
        after = steps.places.astype(np.int64)
        levels = steps.levels.astype(np.int64) << form.bits
        for column in (after, levels):  # a column that is none repeats the first
            np.copyto(column, column[:, :1], where=~steps.valid)
        return _Fit(levels, after - 1, after, form.odd)

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
