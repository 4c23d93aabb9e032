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

from qlower.transforms.operations import Operations
from qlower.transforms.prove_epilogues.forms import FREE, Lines, mended
from qlower.transforms.prove_epilogues.lines import HOPELESS, best_scale
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers, SeenSteps

_NEAR = sorted(range(-8, 9), key=abs)
"""How far from the best scale a factor is looked for."""


@dataclass(frozen=True)
class IntegerForm:
    """(factor * x + offset) >> 32, limited to least ... most, of an i32 and an i64."""

    least: int
    most: int

    def __str__(self) -> str:
        return "integer mul, add"

    def operations(
        self,
        accumulator: SSAValue,
        scale: SSAValue,
        offset: SSAValue,
        exceptions: Sequence[SSAValue] = (),
    ) -> list[Operation]:
        """As those of `Form`."""
        code = Operations()
        add = code.add
        given = accumulator, scale
        wide, factor = (add(arith.ExtSIOp(number, i64)) for number in given)
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
        return 4

    def values(self, scale: Integers, offset: Integers, x: Integers) -> Integers:
        """What the operations give at x; all shapes broadcast."""
        block = Block(arg_types=(i32, i32, i64))
        accumulator, factor, term = block.args
        ops = self.operations(accumulator, factor, term)
        block.add_ops(ops)
        narrow = x.astype(np.int32, copy=False), scale.astype(np.int32), offset
        values: Values = dict(zip(block.args, narrow, strict=True))
        run_scalars(ops, values)
        return values[ops[-1].results[0]]


def fit_integer_lines(form: IntegerForm, steps: SeenSteps) -> Lines | None:
    """Lines that are wrong at few of the points around the steps; None if at many."""
    scale = best_scale(steps)
    if not np.all(scale < 0.5):
        return None
    after = steps.places.astype(np.int64)
    before = after - 1
    levels = steps.levels.astype(np.int64) << 32
    # a column that is none repeats the first; a channel without steps is a constant
    for column in (before, after, levels):
        np.copyto(column, column[:, :1], where=~steps.valid)
    factor, offset = np.zeros((2, len(scale)), np.int64)
    gap = np.full(len(scale), np.iinfo(np.int64).min)
    for distance in _NEAR:
        near = np.maximum(np.rint(scale * 2.0**32).astype(np.int64) + distance, 0)
        least = (levels - near[:, np.newaxis] * after).max(axis=1, initial=-(1 << 62))
        most = (levels - near[:, np.newaxis] * before).min(axis=1, initial=1 << 62) - 1
        better = most - least > gap
        gap[better] = (most - least)[better]
        factor[better] = near[better]
        offset[better] = (least + (most - least) // 2)[better]
    constant = steps.bottom == steps.top
    factor[constant] = 0
    offset[constant] = steps.bottom[constant].astype(np.int64) << 32
    x, value = steps.points
    found = form.values(factor[:, np.newaxis], offset[:, np.newaxis], x)
    wrong = np.count_nonzero(found != value, axis=1)
    if np.any(wrong > HOPELESS):
        return None
    return Lines(form, factor.astype(np.int32), offset, wrong)
