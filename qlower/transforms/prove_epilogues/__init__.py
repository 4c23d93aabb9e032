"""Pass prove-epilogues: requantization as one multiplication, where that is proved.

What makes a stored byte of an i32 accumulator is a non-decreasing function with at most
255 steps, and so is a line that is computed by one fused multiply-add and rounded to an
integer. Two such functions are equal on an interval exactly when they agree at its ends
and on both sides of each step. So for each nest

1. the accumulators that its weights and biases can give are bounded, channel by channel
   (channels.py);
2. the epilogue's operations are proved to be non-decreasing there (monotone.py);
3. the steps of each channel are found (steps.py), and a line for them (lines.py);
4. the line's operations are run in the interpreter on both sides of all steps.

Where a line misses a step by a few accumulators, these are exceptions, which are mended
by comparisons. A nest that needs more of them than pays (costs.py) stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.diagnostics import layer_name
from qlower.dialects.kernel import NestOp
from qlower.interp import InterpretationError
from qlower.transforms.prove_epilogues.costs import EXCEPTION, cost
from qlower.transforms.prove_epilogues.exceptions import Exceptions, find_exceptions
from qlower.transforms.prove_epilogues.lines import Form, Lines, fit_lines
from qlower.transforms.prove_epilogues.rewrite import replace_by_line
from qlower.transforms.prove_epilogues.staircase import Staircase, find_staircase
from qlower.transforms.prove_epilogues.steps import Steps, find_steps


@dataclass(frozen=True)
class Proof:
    """What came of a nest whose accumulators are known.

    `form` is that of the lines which replace the epilogue of all channels, None where
    the contract's operations stay; `exceptions` of them are mended.
    """

    layer: str | None
    channels: int
    form: Form | None = None
    exceptions: int = 0

    @property
    def proved(self) -> int:
        """Of how many channels the lines are proved to be what the contract says."""
        return 0 if self.form is None else self.channels

    def __str__(self) -> str:
        if self.form is None:
            return "as written"
        mended = f", {self.exceptions} mended" if self.exceptions else ""
        return f"{self.form}{mended}"


@dataclass(frozen=True)
class ProveEpiloguesPass(ModulePass):
    """Replace requantization by multiply-adds where all results stay the same.

    They are rounded once if `fused`: for machines with an instruction for that. Without
    `mended` none may have exceptions: for machines on which integers round fast.
    """

    name = "prove-epilogues"

    fused: bool = True
    mended: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        prove_epilogues(op, fused=self.fused, mended=self.mended)


def prove_epilogues(
    module: ModuleOp, *, fused: bool = True, mended: bool = True
) -> list[Proof]:
    """Rewrites the epilogues of all nests that can be proved to give the same bits."""
    proofs = [
        prove_epilogue(nest, fused=fused, mended=mended)
        for function in module.ops
        if isinstance(function, func.FuncOp) and not function.is_declaration
        for nest in tuple(function.body.block.ops)
        if isinstance(nest, NestOp) and nest.reduction_bounds
    ]
    return [proof for proof in proofs if proof is not None]


def prove_epilogue(
    nest: NestOp, *, fused: bool = True, mended: bool = True
) -> Proof | None:
    """Rewrites a nest's epilogue if that is proved; None if it has no such steps."""
    try:
        staircase = find_staircase(nest)
        if staircase is None:
            return None
        found = _cheapest_lines(staircase, fused, mended)
    except InterpretationError:
        return None  # some accumulator has no result: its error stays as it is
    channels = len(staircase.low)
    if found is None:
        return Proof(layer_name(nest), channels)
    lines, exceptions = found
    replace_by_line(nest, staircase, lines, exceptions)
    return Proof(layer_name(nest), channels, lines.form, len(exceptions))


def _cheapest_lines(
    staircase: Staircase, fused: bool, mended: bool
) -> tuple[Lines, Exceptions] | None:
    """Lines that are proved, cheaper than the epilogue as it is."""
    steps = find_steps(staircase, staircase.low, staircase.high)
    if steps is None:
        return None
    least, most = int(steps.bottom.min()), int(steps.top.max())
    if not steps.places.size or least < -(1 << 31) or most >= 1 << 31:
        return None  # there is no step, or a line's int32 can't hold the values
    limit = cost(staircase.ops, rounds_fast=not mended)
    best: tuple[Lines, Exceptions] | None = None
    for odd, shift in ((False, 0), (True, _middle(staircase, steps))):
        form = Form(fused, odd, shift, least, most)
        slots = (limit - 1 - form.cost) // EXCEPTION
        if slots < 0:
            continue  # it wouldn't pay
        lines = fit_lines(form, steps)
        if lines is None:
            continue
        exceptions = find_exceptions(staircase, lines, steps, slots if mended else 0)
        if exceptions is not None:
            best = lines, exceptions
            limit = form.cost + EXCEPTION * exceptions.slots
    return best


def _middle(staircase: Staircase, steps: Steps) -> int:
    """What most channels give for the accumulator 0: their zero point."""
    nearest = np.clip(0, steps.low, steps.high)
    return int(np.median(staircase(np.arange(len(nearest)), nearest)))
