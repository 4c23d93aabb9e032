"""Quantities that can exceed their width: accumulators, and pairs of products at 16
bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation

from qlower.contracts import Contract, contract_names, load_contract
from qlower.contracts.accumulator_range import (
    accumulator_range,
    constant_integers,
    sum_bounds,
)
from qlower.contracts.contractions import (
    SUMMED,
    Contraction,
    Product,
    RuledContraction,
    product_of,
    stated_bits,
)
from qlower.contracts.pair_range import PAIR_BITS, pair_bounds
from qlower.contracts.products import EXACT, FLAT, IN_PAIRS
from qlower.contracts.registers import own_bits
from qlower.contracts.values import contract_of
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import element_type, integer_range
from qlower.inspection.findings import ACCUMULATOR, BYTE, PAIRS, Finding
from qlower.model import Model
from qlower.model.layers import layer_name, layers, rules_inside
from qlower.model.signature import Array
from qlower.semantics.contraction import exact_sums
from qlower.semantics.pairs import pair_sums
from qlower.transforms.lower_qnn.bias import constant_start

Integers = NDArray[np.int64]


UNBOUNDED = (qnn.LstmOp, qnn.SvdfOp, qnn.SumOp, qnn.ProductOp, qnn.L2NormalizeOp)
"""Operations that sum, but in widths of their own."""


def lint(
    model: Model,
    contract: str | None = None,
    *,
    bits: int | None = None,
    pairs: bool = False,
    values: Sequence[Mapping[str, Array]] = (),
) -> list[Finding]:
    """The layers whose accumulators can leave `bits`, by default the contract's own or
    32, or whose pairs can saturate.

    Pairs are looked at where the contract (by default the model's own) multiplies in
    pairs, or everywhere with `pairs`, as neighbours in memory. `values` holds for each
    of some inputs the values of inputs and layers, by name.
    """
    found: list[Finding] = []
    for op in layers(model.module):
        is_summed = isinstance(op, SUMMED)
        chosen = _contract(model, op, contract) if is_summed else None
        width = _width(chosen, op, bits)
        if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp):
            product = EXACT if chosen is None else product_of(chosen, op)
            if product == EXACT and pairs:
                product = FLAT
            start = _start(op, chosen)
            start = np.zeros((), np.int64) if start is None else start
            found += _findings(model, op, product, start, width, values)
        else:
            found += _finding_of_sums(op, width)
    return found


@dataclass(frozen=True)
class _Width:
    """The bits that sums should not leave; `owner` is the contract whose register has
    them, if nobody says what it does beyond."""

    bits: int
    owner: str | None = None


def _width(contract: Contract | None, op: Operation, bits: int | None) -> _Width:
    """The narrower of the contract's register and what is asked for."""
    if contract is None or not isinstance(op, SUMMED):
        return _Width(32 if bits is None else bits)
    own = own_bits(contract, op)
    if own is None or (bits is not None and bits < own):
        return _Width(32 if bits is None else bits)
    return _Width(own, contract.name if stated_bits(contract) else None)


def saturates_elsewhere(model: Model, contract: str) -> bool:
    """Whether the contract's own system multiplies in pairs on some other machine: a
    contract of its own, which is named after this one."""
    names = [name for name in contract_names() if name.startswith(f"{contract}-")]
    return any(
        RuledContraction(load_contract(name), op).product in IN_PAIRS
        for name in names
        for op in layers(model.module)
        if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp)
    )


def not_looked_at(model: Model, contract: str | None = None) -> list[str]:
    """Kinds of layers with sums that `lint` doesn't bound, and layers with a bias that
    it doesn't know."""
    stated = model.index.own_arithmetic
    if stated is not None:
        return [f"layers of {stated}"]
    kinds = dict.fromkeys(
        op.name.removeprefix("qnn.")
        for op in layers(model.module)
        if isinstance(op, UNBOUNDED)
    )
    biased = [
        f"the bias of {layer_name(op)}"
        for op in layers(model.module)
        if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp)
        and _start(op, _contract(model, op, contract)) is None
    ]
    loops = [
        f"layers in the loop {layer_name(op)}"
        for op in layers(model.module)
        if rules_inside(op)
    ]
    return [*kinds, *biased, *loops]


def _contract(model: Model, op: Product, contract: str | None) -> Contract | None:
    """The contract of a layer; None if neither it nor the model names one."""
    default = contract or module_contract(model.module)
    if default is None and op.contract is None:
        return None
    return contract_of(op, default, cache(load_contract))


def _finding_of_sums(op: Operation, width: _Width) -> Iterator[Finding]:
    """The finding of a pool, a mean or a product of matrices, which has one range."""
    bounds = accumulator_range(op)
    if bounds is None:
        return
    ends = np.array([bounds.minimum]), np.array([bounds.maximum])
    out = _outside(ends, width.bits)
    if out is not None:
        yield _finding(op, ACCUMULATOR, out, width, None)


def _findings(
    model: Model,
    op: Contraction,
    product: str,
    start: Integers,
    width: _Width,
    values: Sequence[Mapping[str, Array]],
) -> Iterator[Finding]:
    sums = sum_bounds(op, saturates=False)
    out = _outside((sums[0] + start, sums[1] + start), width.bits)
    if out is not None:
        data = _accumulators_on_data(model, op, start, width.bits, values)
        yield _finding(op, ACCUMULATOR, out, width, data)
    pairs = pair_bounds(op, product) if product in IN_PAIRS and _has_pairs(op) else None
    out = _outside(pairs, PAIR_BITS) if pairs is not None else None
    if out is not None:
        data = _pairs_on_data(model, op, product, values)
        yield _finding(op, PAIRS, out, _Width(PAIR_BITS), data)


def _has_pairs(op: Contraction) -> bool:
    """Whether machines that multiply in pairs do so with its types: bytes, the weights
    signed."""
    weight, input = quantized_element(op.weight.type), quantized_element(op.input.type)
    return weight.signed and max(weight.storage_width, input.storage_width) <= BYTE


def _outside(
    bounds: tuple[Integers, Integers], bits: int
) -> tuple[Integers, Integers, Integers] | None:
    """The bounds, and by how much each channel is beyond the width, if any is."""
    low, high = integer_range(bits)
    least, most = bounds
    beyond = np.maximum(np.maximum(low - least, most - high), 0)
    return (least, most, beyond) if beyond.any() else None


def _finding(
    op: Operation,
    what: str,
    out: tuple[Integers, Integers, Integers],
    width: _Width,
    on_data: tuple[int, int] | None,
) -> Finding:
    least, most, beyond = out
    worst = int(beyond.argmax())
    return Finding(
        layer_name(op) or op.name,
        op.name.removeprefix("qnn."),
        what,
        len(beyond),
        int(np.count_nonzero(beyond)),
        worst,
        int(least[worst]),
        int(most[worst]),
        width.bits,
        on_data,
        width.owner,
    )


def _accumulators_on_data(
    model: Model,
    op: Contraction,
    start: Integers,
    bits: int,
    values: Sequence[Mapping[str, Array]],
) -> tuple[int, int] | None:
    low, high = integer_range(bits)
    totals = [
        exact_sums(op, stored, weight).astype(np.int64) + start
        for stored, weight in _operands(model, op, values)
    ]
    return _counts([(total < low) | (total > high) for total in totals])


def _pairs_on_data(
    model: Model, op: Contraction, product: str, values: Sequence[Mapping[str, Array]]
) -> tuple[int, int] | None:
    return _counts(
        [
            pair_sums(op, product, stored, weight)
            != exact_sums(op, stored, weight).astype(np.int64)
            for stored, weight in _operands(model, op, values)
        ]
    )


def _counts(out: Sequence[NDArray[np.bool_]]) -> tuple[int, int] | None:
    if not out:
        return None
    return sum(int(np.count_nonzero(o)) for o in out), sum(o.size for o in out)


def _operands(
    model: Model, op: Contraction, values: Sequence[Mapping[str, Array]]
) -> Iterator[tuple[Array, Array]]:
    """The layer's stored input for each of the model's inputs, and its weights."""
    weight = constant_integers(op.weight)
    name = layer_name(op)
    if not values or weight is None or name is None:
        return
    sources = model.index.sources(name)
    for recorded in values:
        yield recorded[sources[0]], weight


def _start(op: Contraction, contract: Contract | None) -> Integers | None:
    """The value that each channel's sum starts from: a bias as the contract quantizes
    it, or without a contract a bias of integers. None where it isn't known."""
    if contract is not None:
        return constant_start(contract, op)
    if op.bias is None:
        return np.zeros((), np.int64)
    is_integer = element_type(op.bias.type) in (i32, i64)
    return constant_integers(op.bias) if is_integer else None
