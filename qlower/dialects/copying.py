"""Copies of single operations, which rules, regions and modules are copied by."""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Operation, OpResult, SSAValue, SSAValues

OpT = TypeVar("OpT", bound=Operation)


def copy_operation(op: OpT, values: dict[SSAValue, SSAValue]) -> OpT:
    """What `op.clone(values)` gives, in half the time for an operation without regions,
    as nearly all are: its properties need no defaults, its lists no checks.

    Operands are taken from `values`, or stay; the results are added there.
    """
    if op.regions or len(op.successors):
        return op.clone(values)
    copy = op.__class__.__new__(op.__class__)
    copy.operands = [values.get(operand, operand) for operand in op.operands]
    copy.results = SSAValues(
        [OpResult(result.type, copy, at) for at, result in enumerate(op.results)]
    )
    copy.properties = op.properties.copy()
    copy.attributes = op.attributes.copy()
    copy.location = op.location
    for result, copied in zip(op.results, copy.results, strict=True):
        values[result] = copied
        if result.name_hint is not None:
            copied.name_hint = result.name_hint
    return copy
