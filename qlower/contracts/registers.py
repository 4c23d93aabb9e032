"""The numbers that a register of sums made in turn (`products.py`) can hold."""

from __future__ import annotations

import numpy as np

from qlower.contracts import Contract
from qlower.contracts.accumulator_range import Integers, product_terms
from qlower.contracts.contractions import Contraction, RuledContraction
from qlower.contracts.products import IN_TURN
from qlower.dialects.types import integer_range
from qlower.interp.values import Array

MOST_SUMS = 1 << 25
"""More sums than these are not tried one by one."""


def register_bits(contract: Contract) -> int:
    """The largest width whose two ends a register keeps."""
    for bits in range(32, 1, -1):
        ends = np.array(integer_range(bits), np.int32)
        if (_left(contract, ends) == ends).all():
            return bits
    return 1


def keeps_sums(contract: Contract, op: Contraction, start: Array) -> bool:
    """Whether no sum on the way is cut: all between the least and the largest are tried
    where a contract sums in turn. Weights have to be constant."""
    if RuledContraction(contract, op).product != IN_TURN:
        return True
    terms = product_terms(op)
    if terms is None:
        return False
    least, most = _ends(*terms, start.astype(np.int64))
    if most - least >= MOST_SUMS:
        return False
    sums = np.arange(least, most + 1, dtype=np.int32)
    return bool((_left(contract, sums) == sums).all())


def _ends(low: Integers, high: Integers, start: Array) -> tuple[int, int]:
    """The ends of all sums of some of the products [channel, weight], and the start."""
    least = start + np.minimum(low, 0).sum(axis=1)
    most = start + np.maximum(high, 0).sum(axis=1)
    return int(min(least.min(), start.min())), int(max(most.max(), start.max()))


def _left(contract: Contract, sums: Array) -> Array:
    (found,) = contract.rule("accumulate").evaluate({"accumulator": sums})
    return found
