"""Pass prove-epilogues: cheaper arithmetic, where it is proved to give the same bits.

What computes a byte from one or two other bytes has 65,536 arguments at most: cheaper
operations are run in the interpreter on all of them (byte_functions.py,
substitutes.py). This serves elementwise layers, also as parts of other nests.

What makes a stored byte of an i32 accumulator is a non-decreasing function with at most
255 steps, and so is a line that is computed by one fused multiply-add and rounded to an
integer. Two such functions are equal on an interval exactly when they agree at its ends
and on both sides of each step. So for each nest

1. the accumulators that its weights and biases can give are bounded, channel by channel
   (channels.py);
2. the epilogue's operations are proved to be non-decreasing there (monotone.py);
3. the steps of each channel are found (steps.py), and a line for them (lines.py), for
   all nests with such operations in one step (together.py);
4. the line's operations are run in the interpreter on both sides of all steps.

Where a line misses a step by a few accumulators, these are exceptions, which are mended
by comparisons. A nest that needs more of them than pays (cheapest.py) stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qlower.codegen.targets.set_target import target_of
from qlower.dialects.kernel import NestOp
from qlower.interp import InterpretationError
from qlower.model.entry import defined_functions
from qlower.model.layers import layer_name
from qlower.tally import Rewrites, count, timed_layer
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction
from qlower.transforms.prove_epilogues.cheapest import cheapest_lines
from qlower.transforms.prove_epilogues.machine import Machine
from qlower.transforms.prove_epilogues.positions import fold_positions
from qlower.transforms.prove_epilogues.proved_before import (
    Found,
    Proved,
    prove_once,
)
from qlower.transforms.prove_epilogues.rewrite import (
    replace_by_line,
    replace_by_substitutes,
)
from qlower.transforms.prove_epilogues.signed_zeros import fold_additions_of_zero
from qlower.transforms.prove_epilogues.staircase import (
    Located,
    Staircase,
    find_staircase,
)
from qlower.transforms.prove_epilogues.substitutes import Substitute, find_substitute
from qlower.transforms.prove_epilogues.together import in_groups


@dataclass(frozen=True)
class Proof:
    """The outcome for a nest whose accumulators are known, or for bytes made of bytes.

    `form` says what replaces the operations of all channels, None where the contract's
    stay; `exceptions` of them are mended.
    """

    layer: str | None
    channels: int
    form: str | None = None
    exceptions: int = 0

    @property
    def proved(self) -> int:
        """The channels for which the form is proved to be what the contract says."""
        return 0 if self.form is None else self.channels

    def __str__(self) -> str:
        if self.form is None:
            return "as written"
        mended = f", {self.exceptions} mended" if self.exceptions else ""
        return f"{self.form}{mended}"


@dataclass(frozen=True)
class ProveEpiloguesPass(ModulePass):
    """Replace requantization by cheaper operations, where all results stay the same.

    The module says which machine it is for. With `limit`, only that many are replaced,
    from the first on.
    """

    name = "prove-epilogues"

    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = Machine.of(target_of(op))
        if machine is not None:
            prove_epilogues(op, machine, self.limit)


def prove_epilogues(
    module: ModuleOp, machine: Machine, limit: int | None = None
) -> list[Proof]:
    """Rewrites the epilogues of all nests that can be proved to give the same bits."""
    rewrites = Rewrites("epilogues proved", limit)
    nests: list[tuple[NestOp, list[Proof]]] = []
    for function in defined_functions(module):
        for nest in tuple(function.body.block.ops):
            if isinstance(nest, NestOp) and machine.floats:
                with timed_layer(nest):
                    nests.append(_prove_bytes(nest, machine, rewrites))
            elif isinstance(nest, NestOp):
                nests.append((nest, []))
    reductions = [nest for nest, _ in nests if nest.reduction_bounds]
    proved = prove_once(_prove, reductions, machine)
    lines = dict(zip(reductions, proved, strict=True))
    proofs: list[Proof] = []
    for nest, found in nests:
        proofs += found
        if (known := lines.get(nest)) is not None:
            with timed_layer(nest):
                proofs.append(_replace(nest, *known, rewrites))
    count("exceptions mended", sum(proof.exceptions for proof in proofs))
    count("epilogues as written", sum(proof.form is None for proof in proofs))
    return proofs


def _prove_bytes(
    nest: NestOp, machine: Machine, rewrites: Rewrites
) -> tuple[NestOp, list[Proof]]:
    """Rewrites the functions between bytes in a nest's epilogue."""
    fold_positions(nest)
    fold_additions_of_zero(nest)
    proofs: list[Proof] = []

    def choose(function: ByteFunction) -> Substitute | None:
        try:
            found = find_substitute(
                function,
                fused=machine.fused,
                tables=machine.tables,
                rounds_fast=not machine.mended,
            )
        except InterpretationError:
            return None  # some byte has no result: its error stays as it is
        owner = function.value.owner
        assert isinstance(owner, Operation)
        if found is not None and not rewrites.allow(owner):
            found = None
        proofs.append(Proof(layer_name(owner), 1, found and found.name))
        return found

    return replace_by_substitutes(nest, choose), proofs


def _replace(nest: NestOp, place: Located, found: Found, rewrites: Rewrites) -> Proof:
    """Rewrites a nest's requantization if lines are found for it."""
    channels = math.prod(place.shape)
    if found is None or not rewrites.allow(nest):
        return Proof(layer_name(nest), channels)
    lines, exceptions = found
    replace_by_line(nest, place, lines, exceptions)
    return Proof(layer_name(nest), channels, str(lines.form), len(exceptions))


def _prove(nests: Sequence[NestOp], machine: Machine) -> list[Proved | None]:
    """The staircases of epilogues, and lines for those where they are cheaper.

    None where an epilogue has no steps, or some accumulator no result: its error stays
    as it is.
    """
    proved: list[Proved | None] = [None] * len(nests)
    owners: list[int] = []
    staircases: list[Staircase] = []
    for owner, nest in enumerate(nests):
        with timed_layer(nest), suppress(InterpretationError):
            staircase = find_staircase(nest)
            if staircase is not None:
                owners.append(owner)
                staircases.append(staircase)
    for group in in_groups(staircases):
        with timed_layer(*(nests[owners[position]] for position in group)):
            together = [staircases[position] for position in group]
            found = _prove_together(together, machine)
        for position, lines in zip(group, found, strict=True):
            proved[owners[position]] = lines
    return proved


def _prove_together(
    staircases: Sequence[Staircase], machine: Machine
) -> Sequence[Proved | None]:
    """Lines for a group; if there is an error, for each of the group alone."""
    try:
        lines = cheapest_lines(staircases, machine)
    except InterpretationError:
        if len(staircases) == 1:
            return [None]
        return [_prove_together([one], machine)[0] for one in staircases]
    return list(zip(staircases, lines, strict=True))
