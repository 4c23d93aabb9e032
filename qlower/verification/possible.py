"""Numbers on which two rules differ that sums of a layer's weights can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.interp import InterpretationError
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.pieces import pieces_of
from qlower.verification.questions import Question
from qlower.verification.reach import are_sums

_STORED = 32
"""The bits of a result that are compared."""


def possible_differences(
    question: Question, run: LayerRun
) -> Sequence[tuple[Index, int, int]] | None:
    """All intervals, the widest first, in which the rules differ and which have a sum
    of the weights, each with an element whose weights these are; None where they aren't
    known.

    Weights that share a factor, or are few, leave sums out. Where weights are many only
    the factor is looked at, so an interval may have no sum.
    """
    op, rows = run.op, question.rows
    found = None if rows is None else apart(question)
    if rows is None or found is None:
        return None
    assert isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp)
    type = quantized_element(op.input.type)
    ends = type.storage_min - type.zero_point, type.storage_max - type.zero_point
    with_zero = not isinstance(op, qnn.LinearOp) and any(op.pad)
    listed: list[tuple[Index, int, int]] = []
    for lane in np.unique(found[:, 0]).tolist():
        intervals = found[found[:, 0] == lane, 1:]
        for index in _elements(question, lane, rows):
            possible = are_sums(rows[index[-1]], ends, intervals, with_zero=with_zero)
            listed += [(index, *pair) for pair in intervals[possible].tolist()]
    return sorted(listed, key=lambda one: one[1] - one[2])


def shared_factor(question: Question, lane: int) -> int:
    """The greatest common factor of all weights of a lane, 1 where that isn't known:
    its numbers are multiples."""
    if question.rows is None:
        return 1
    of = question.lanes.of
    channels = (
        np.unique(np.nonzero(of == lane)[-1]) if of.shape[-1] > 1 else slice(None)
    )
    return int(np.gcd.reduce(question.rows[channels], axis=None)) or 1


def apart(question: Question) -> Integers | None:
    """The intervals in which integer rules differ: lane, first and last number of each,
    the widest first; None where they aren't known."""
    domain = question.domain
    try:
        one, other = (pieces_of(f, domain, _STORED) for f in question.functions)
    except InterpretationError:
        return None
    if isinstance(one, str) or isinstance(other, str):
        return None
    return one.apart(other, domain.high)


def _elements(question: Question, lane: int, rows: Integers) -> list[Index]:
    """An element of a lane for each of its channels that has other weights."""
    of = question.lanes.of
    elements = np.argwhere(of == lane).tolist()
    if of.shape[-1] == 1:
        elements = [[*elements[0][:-1], channel] for channel in range(len(rows))]
    by_row = {rows[one[-1]].tobytes(): tuple(map(int, one)) for one in elements}
    return list(by_row.values())
