"""A layer's result as a function of its sum of products, or of stored integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qlower.dialects import qnn
from qlower.interp import InterpretationError
from qlower.observe.layer_run import CONTRACTIONS, LayerRun
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.pieces import Pieces, pieces_of
from qlower.verification.questions import POOLS, questions

SUMMING = (*CONTRACTIONS, qnn.MatMulOp, *POOLS)
"""Layers whose results are functions of a sum each."""


class Unfit(Exception):
    """Why something can't be decided."""


@dataclass(frozen=True)
class SumRule:
    """The results of a layer's rule for its sums: a piece's channel is the layer's.

    Sums of each channel lie in low ... high; the rule's accumulator is the sum and an
    `offset`, the bias.
    """

    pieces: Pieces
    low: Integers
    high: Integers
    offset: Integers


def sum_rule(run: LayerRun, *, of_registers: bool = False) -> SumRule:
    """The rule of a layer that sums, as it was run on anything; with `of_registers` the
    sums are what a register that cuts them can hold. Raises Unfit."""
    asked = questions((run, run), of_registers=of_registers)
    if isinstance(asked, str):
        raise Unfit(asked)
    (question,) = asked
    lanes, domain = question.lanes, question.domain
    if lanes.of.ndim and lanes.of.size != lanes.of.shape[-1]:
        raise Unfit("constants differ from pixel to pixel")
    bits = 8 * run.result.itemsize
    try:
        pieces = pieces_of(question.functions[0], domain, bits)
    except InterpretationError as error:
        raise Unfit(f"some sum has no result: {error.message}") from error
    if isinstance(pieces, str):
        raise Unfit(pieces)
    of = np.broadcast_to(lanes.of.reshape(-1), run.result.shape[-1:])
    offset = lanes.columns.get((0, "offset"), np.zeros((), np.int64))
    offsets = np.broadcast_to(offset, domain.low.shape)[of]
    return SumRule(pieces.spread(of), domain.low[of], domain.high[of], offsets)
