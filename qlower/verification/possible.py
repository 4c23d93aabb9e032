"""Numbers on which two rules differ that sums of a layer's weights can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qlower.contracts.accumulator_range import centred_rows
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
    op, domain = run.op, question.domain
    if not isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp):
        return None
    rows = centred_rows(op)
    if question.reach is None or rows is None or run.result.dtype.kind == "f":
        return None
    try:
        one, other = (pieces_of(f, domain, _STORED) for f in question.functions)
    except InterpretationError:
        return None
    if isinstance(one, str) or isinstance(other, str):
        return None
    type = quantized_element(op.input.type)
    ends = type.storage_min - type.zero_point, type.storage_max - type.zero_point
    with_zero = not isinstance(op, qnn.LinearOp) and any(op.pad)
    apart = one.apart(other, domain.high)
    found: list[tuple[Index, int, int]] = []
    for lane in np.unique(apart[:, 0]).tolist():
        intervals = apart[apart[:, 0] == lane, 1:]
        for index in _elements(question, lane, rows):
            possible = are_sums(rows[index[-1]], ends, intervals, with_zero=with_zero)
            found += [(index, *pair) for pair in intervals[possible].tolist()]
    return sorted(found, key=lambda one: one[1] - one[2])


def _elements(question: Question, lane: int, rows: Integers) -> list[Index]:
    """An element of a lane for each of its channels that has other weights."""
    of = question.lanes.of
    elements = np.argwhere(of == lane).tolist()
    if of.shape[-1] == 1:
        elements = [[*elements[0][:-1], channel] for channel in range(len(rows))]
    by_row = {rows[one[-1]].tobytes(): tuple(map(int, one)) for one in elements}
    return list(by_row.values())
