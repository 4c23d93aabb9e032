"""Layers that have the same rules on both sides, which decides them immediately."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.traits import SymbolTable

from qlower.contracts.contractions import SUMMED, group_of
from qlower.contracts.products import IN_TURN
from qlower.contracts.rows import WHOLE_ROWS, kinds_of
from qlower.contracts.walk import ROWS
from qlower.interp.values import Array
from qlower.observe.layer_run import CONTRACTIONS, LayerRun

Runs: TypeAlias = tuple[LayerRun, LayerRun]
"""A layer by both sides, on the same values."""


def have_same_rules(runs: Runs) -> bool:
    """Whether a layer has the same rules with the same constants on both sides."""
    a, b = runs
    if (a.product, a.order) != (b.product, b.order):
        return False
    if a.product == IN_TURN and not _accumulate_alike(a, b):
        return False
    if len(a.evaluations) != len(b.evaluations):
        return False
    if isinstance(a.op, CONTRACTIONS):
        if not np.array_equal(a.start, b.start):
            return False
    elif not _prepared_alike(runs):
        return False
    seen: set[tuple[FuncOp, FuncOp]] = set()
    return all(
        _same_function(one.rule.function, other.rule.function, seen)
        and one.rule.values == other.rule.values
        and all(
            _are_equal(one.values.get(name), other.values.get(name))
            for name in one.rule.values
        )
        for one, other in zip(a.evaluations, b.evaluations, strict=True)
    )


def _are_equal(one: Array | None, other: Array | None) -> bool:
    """Whether values are the same; of a row a rule may be given nothing but sums."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _prepared_alike(runs: Runs) -> bool:
    """Whether the rules that are evaluated when a model is compiled give the same."""
    first, second = (run.prepared for run in runs)
    if [one.rule.name for one in first] != [one.rule.name for one in second]:
        return False
    return all(
        np.array_equal(a, b)
        for one, other in zip(first, second, strict=True)
        for a, b in zip(
            one.rule.evaluate(one.values),
            other.rule.evaluate(other.values),
            strict=True,
        )
    )


def _same_function(a: FuncOp, b: FuncOp, seen: set[tuple[FuncOp, FuncOp]]) -> bool:
    """Whether two functions are the same text, and all that they call: `seen` are pairs
    that are compared already, or being compared."""
    if (a, b) in seen:
        return True
    seen.add((a, b))
    if not a.body.is_structurally_equivalent(b.body):
        return False
    if not _of_rows_alike(a, b):
        return False
    return all(
        _same_function(_callee(one), _callee(other), seen)
        for one, other in zip(a.body.block.ops, b.body.block.ops, strict=True)
        if isinstance(one, CallOp) and isinstance(other, CallOp)
    )


def _of_rows_alike(a: FuncOp, b: FuncOp) -> bool:
    """Whether functions do the same with rows; orders of sums are compared before."""
    kinds = [kinds_of(one) if ROWS in one.attributes else () for one in (a, b)]
    return kinds[0] == kinds[1] or all(
        kind and kind[0] not in WHOLE_ROWS for kind in kinds
    )


def _callee(op: CallOp) -> FuncOp:
    function = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(function, FuncOp)
    return function


def _accumulate_alike(a: LayerRun, b: LayerRun) -> bool:
    """Whether registers of both sides are cut alike."""
    if not isinstance(a.op, SUMMED) or not isinstance(b.op, SUMMED):
        return True
    one, other = (run.contract.rule("accumulate").function for run in (a, b))
    alike = group_of(a.contract, a.op) == group_of(b.contract, b.op)
    return alike and _same_function(one, other, set())
