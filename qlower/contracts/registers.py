"""The numbers that a register of sums made in turn (`products.py`) can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from qlower.contracts import Contract
from qlower.contracts.accumulator_range import (
    Integers,
    accumulator_range,
    product_terms,
)
from qlower.contracts.contractions import (
    Contraction,
    Product,
    group_of,
    input_channels,
    product_of,
    stated_bits,
    turn_values,
)
from qlower.contracts.products import IN_TURN
from qlower.contracts.walk import walk_function
from qlower.dialects import fixed, qnn
from qlower.dialects.types import integer_range, shape_of
from qlower.interp import make_interpreter
from qlower.interp.values import Array

MOST_SUMS = 1 << 25
"""More sums than these are not tried one by one."""


def register_bits(contract: Contract, op: Product) -> int:
    """The largest width whose two ends the register of each channel keeps, but for
    places that it cuts: at most 32, or 64 for elements of 16 bits."""
    type = _sum_type(contract)
    for bits in range(8 * type.itemsize, 1, -1):
        low, high = integer_range(bits)
        kept = _kept(contract, op, np.array([low, high], type))
        if all((ends[0] == low).all() and (ends[1] > high // 2).all() for ends in kept):
            return bits
    return 1


def own_bits(contract: Contract, op: Product) -> int | None:
    """The width of the register that a contract states for a layer's sums; None where
    it states none."""
    if product_of(contract, op) == IN_TURN:
        return register_bits(contract, op)
    return None if isinstance(op, qnn.MatMulOp) else stated_bits(contract)


def keeps_sums(contract: Contract, op: Product, start: Array) -> bool:
    """Whether no sum on the way is cut, where a contract sums in turn: by a proof for
    all between the least and the largest, or as all of these are tried. Weights have to
    be constant. Of a rule that looks at products it isn't known."""
    if product_of(contract, op) != IN_TURN:
        return True
    if "product" in contract.rule("accumulate").values:
        return False
    ends = _ends(op, start.astype(np.int64))
    if ends is None:
        return False
    least, most = ends
    if _keeps_all(contract, op, least, most):
        return True
    if (most - least) * len(_places(contract, op)) >= MOST_SUMS:
        return False
    sums = np.arange(least, most + 1).astype(_sum_type(contract))
    return _keeps(contract, op, sums)


def held_sums(
    contract: Contract, op: Product, start: Array
) -> tuple[Integers, Integers] | None:
    """The ends of what the register of each channel can hold in the end, [channel];
    None where that isn't known.

    A register that cuts none of the sums holds one of these. Another holds numbers of
    its width, if the rule leaves nothing else of one and a group of products.
    """
    rule, values = contract.rule("accumulate"), turn_values(op)
    ends = _ends_of_channels(op, start.astype(np.int64))
    if ends is None or not {"input_channel", "product"}.isdisjoint(rule.values):
        return None
    least, most = ends
    low, high = integer_range(register_bits(contract, op))
    step = _largest_product(op) * group_of(contract, op)
    first = min(low - step, int(least.min()))
    last = max(high + step, int(most.max()))
    if last - first >= MOST_SUMS:
        return None
    sums = np.arange(first, last + 1).astype(_sum_type(contract))
    near = slice(low - step - first, high + step - first + 1)
    kept = sums
    for channel in range(least.size):
        if not channel or "channel" in rule.values:
            own = {**values, "channel": np.array(channel, np.int32)}
            (kept,) = rule.evaluate({**own, "accumulator": sums})
        exact = slice(least[channel] - first, most[channel] - first + 1)
        if (kept[exact] == sums[exact]).all():
            continue
        left = (kept[near].min(), kept[near].max(), *start.flat)
        if min(left) < low or max(left) > high:
            return None
        least[channel], most[channel] = low, high
    return least, most


def _ends_of_channels(op: Product, start: Integers) -> tuple[Integers, Integers] | None:
    """The ends of all sums of some of the products, and the start, [channel]."""
    if not isinstance(op, qnn.MatMulOp):
        return _channel_ends(op, start)
    columns = shape_of(op.result)[-1]
    ends = _ends(op, start)
    assert ends is not None, "matrices have a range"
    return np.full(columns, ends[0]), np.full(columns, ends[1])


def _largest_product(op: Product) -> int:
    """The largest magnitude of a product; weights are constant."""
    if isinstance(op, qnn.MatMulOp):
        reach = accumulator_range(op)
        assert reach is not None, "matrices have a range"
        return max(-reach.minimum, reach.maximum) // input_channels(op)
    terms = product_terms(op)
    assert terms is not None, "the weights are constant"
    return int(np.abs(terms).max())


def cut_channels(
    contract: Contract, op: Contraction, start: Array
) -> NDArray[np.bool_]:
    """Whether each channel's register cuts the least or the largest of its sums.
    Weights have to be constant."""
    ends = _channel_ends(op, start.astype(np.int64))
    assert ends is not None, "the weights are constant"
    rule, values = contract.rule("accumulate"), turn_values(op)
    cut = np.zeros(ends[0].shape, np.bool_)
    for sums in (end.astype(_sum_type(contract)) for end in ends):
        for place in _places(contract, op):
            given = {**values, "accumulator": sums, "input_channel": place}
            given["product"] = np.zeros_like(sums)
            (kept,) = rule.evaluate(given)
            cut |= kept != sums
    return cut


def _channel_ends(op: Contraction, start: Integers) -> tuple[Integers, Integers] | None:
    """The ends of all sums of the start and some of the products, [channel]."""
    terms = product_terms(op)
    if terms is None:
        return None
    least = start + np.minimum(terms[0], 0).sum(axis=1)
    return least, start + np.maximum(terms[1], 0).sum(axis=1)


def _ends(op: Product, start: Integers) -> tuple[int, int] | None:
    """The ends of all sums of some of the products, and the start."""
    if isinstance(op, qnn.MatMulOp):
        reach = accumulator_range(op)
        assert reach is not None, "matrices have a range"
        return min(reach.minimum, 0), max(reach.maximum, 0)
    ends = _channel_ends(op, start)
    return None if ends is None else (int(ends[0].min()), int(ends[1].max()))


def _sum_type(contract: Contract) -> np.dtype[np.generic]:
    return np.dtype(np.int64 if contract.suffix else np.int32)


def _keeps(contract: Contract, op: Product, sums: Array) -> bool:
    """Whether each channel's register leaves all of these sums as they are."""
    kept = _kept(contract, op, sums)
    return all((found == sums[..., np.newaxis]).all() for found in kept)


def _kept(contract: Contract, op: Product, sums: Array) -> Iterator[Array]:
    """What each channel's register, or that of all, leaves of these sums, [sum, place]
    or [sum, 1]."""
    rule, values = contract.rule("accumulate"), turn_values(op)
    channels = values["channel"] if "channel" in rule.values else [0]
    values["accumulator"] = sums[..., np.newaxis]
    values["input_channel"] = _places(contract, op)
    values["product"] = np.zeros_like(sums[:1])
    for channel in channels:
        yield from rule.evaluate({**values, "channel": np.array(channel)})


def _places(contract: Contract, op: Product) -> NDArray[np.int32]:
    """The places among a pixel's channels that the rule distinguishes."""
    is_placed = "input_channel" in contract.rule("accumulate").values
    return np.arange(input_channels(op) if is_placed else 1, dtype=np.int32)


_Seen: TypeAlias = "Array | int | None"
"""A value of a rule: a constant, or the places that each sum is moved up, or None for
anything else."""


def _keeps_all(contract: Contract, op: Product, least: int, most: int) -> bool:
    """Whether the rule is seen to leave each sum in least ... most as it is: bounds
    beyond them change none, nor do shifts up and down again that lose no bit."""
    rule = contract.rule("accumulate")
    interpreter = make_interpreter(ModuleOp([]))

    def run(op: Operation, operands: Sequence[_Seen]) -> Sequence[_Seen]:
        constants = [one for one in operands if isinstance(one, np.ndarray)]
        if len(constants) == len(operands):
            return list(map(np.asarray, interpreter.run_op(op, tuple(constants))))
        (type,) = op.result_types
        places = _moved(op, operands, least, most)
        if places is None or not isa(type, IntegerType):
            return [None]
        low, high = integer_range(type.width.data)
        return [places if low <= least << places and most << places <= high else None]

    values: dict[str, _Seen] = {**turn_values(op), "accumulator": 0}
    arguments = [values.get(name) for name in rule.values]
    (result,) = walk_function(rule.function, arguments, run)
    return isinstance(result, int) and result == 0


def _moved(
    op: Operation, operands: Sequence[_Seen], least: int, most: int
) -> int | None:
    """The places that an operation's result has each sum moved up, if it does."""
    match op, operands:
        case arith.MaxSIOp(), [int(places), np.ndarray() as bound]:
            return places if (bound <= least << places).all() else None
        case arith.MinSIOp(), [int(places), np.ndarray() as bound]:
            return places if (bound >= most << places).all() else None
        case arith.ShLIOp(), [int(places), np.ndarray() as count]:
            return places + int(count)
        case arith.ShRSIOp(), [int(places), np.ndarray() as count]:
            return places - int(count) if count <= places else None
        case arith.SelectOp(), [_, int(places), int(other)]:
            return places if places == other else None
        case ((arith.ExtSIOp() | arith.TruncIOp() | fixed.SaturateOp()), [int(places)]):
            return places
        case _:
            return None
