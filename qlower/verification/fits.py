"""Whether sums fit a width for all inputs, found without running the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from xdsl.ir import BlockArgument, Operation

from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.contracts.accumulator_range import constant_integers, product_terms
from qlower.contracts.contractions import (
    SUMMED,
    Contraction,
    RuledContraction,
)
from qlower.contracts.pair_range import PAIR_BITS, row_bounds, weight_rows
from qlower.contracts.products import IN_PAIRS
from qlower.contracts.registers import cut_channels, own_bits
from qlower.contracts.values import contract_of
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import integer_range, shape_of
from qlower.frontends.load import ModelOrPath
from qlower.interp import Array, InterpretationError
from qlower.model import Model
from qlower.model.layers import layer_name, layers
from qlower.model.made_up_sizes import check_size
from qlower.observe.layer_run import CONTRACTIONS, LayerRun, run_layer
from qlower.observe.products import products_of
from qlower.process.float_environment import default_floats
from qlower.transforms.lower_qnn.bias import constant_start
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.addends import Real, Unseen, addends_of, matrix_corners
from qlower.verification.fit_table import Fit, Fits, Order, Unbounded, WorstInput
from qlower.verification.hashes import hashes_of
from qlower.verification.reach import filled, is_inside, near_zero

Bounds: TypeAlias = tuple[Integers, Integers]
"""The least and the greatest sum on the way, [channel] each."""

Decided: TypeAlias = "Callable[[LayerSums, Integers], None]"
"""Is given a layer's sums, and what they start from, [channel] or a scalar."""

LARGEST_WEIGHT = 127


@default_floats()
def fits(
    model: ModelOrPath,
    bits: int,
    *,
    contract: str | None = None,
    order: Order = "any",
    layer_contracts: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    decided: Decided | None = None,
) -> Fits:
    """Whether no sum on the way to an accumulator leaves `bits`, for any input.

    These are the sums of products, of pools, means and sums, of the squares of a
    normalization and of the exponentials of a softmax. Where the contract, by default
    the model's own, multiplies in saturating pairs, these are looked at too, at 16
    bits. With `only` no other layers are looked at. `decided` is called for each
    contraction's accumulators, with what they start from.
    """
    chosen = dict(layer_contracts or {})
    loaded = Compilation(model, contract, layer_contracts=chosen).model
    default = contract or module_contract(loaded.module)
    found: list[Fit] = []
    others: list[Unbounded] = []
    stated = loaded.index.own_arithmetic
    for op in layers(loaded.module):
        name, kind = layer_name(op) or op.name, op.name.removeprefix("qnn.")
        if only is not None and name not in only:
            continue
        try:
            if stated is not None:
                raise Unseen(f"{stated} states its own arithmetic")
            found += _layer_fits(loaded, default, op, bits, order, decided)
        except Unseen as reason:
            others.append(Unbounded(name, kind, str(reason), isinstance(reason, Real)))
    names = [] if default is None else [default]
    hashes = hashes_of(loaded, loaded, *names)
    registers = {} if stated is not None else _registers(loaded, default)
    name = default or ""
    return Fits(name, order, found, others, hashes, bits, chosen, registers)


def _registers(model: Model, default: str | None) -> dict[str, int]:
    """The width of the register that each contract states for a layer's sums, the
    least by contract."""
    found: dict[str, int] = {}
    for op in layers(model.module):
        if not isinstance(op, SUMMED) or (default is None and op.contract is None):
            continue
        used = contract_of(op, default, cache(load_contract))
        bits = own_bits(used, op)
        if bits is not None:
            found[used.name] = min(bits, found.get(used.name, bits))
    return found


def _layer_fits(
    model: Model,
    contract: str | None,
    op: Operation,
    bits: int,
    order: Order,
    decided: Decided | None,
) -> list[Fit]:
    """The sums of a layer, none if it adds nothing. Raises Unseen."""
    if not isinstance(op, CONTRACTIONS):
        fit = _fit_of_addends(model, contract, layer_name(op) or op.name, bits, order)
        return [] if fit is None else [fit]
    used = contract_of(op, contract, cache(load_contract))
    start = constant_start(used, op)
    if constant_integers(op.weight) is None or start is None:
        raise Unseen("weights or bias aren't constant")
    work = LayerSums(model, contract, op, bits, order)
    product = RuledContraction(used, op).product
    sums = work.accumulator(start)
    if decided is not None:
        decided(work, start)
    return [sums, work.pairs(product)] if product in IN_PAIRS else [sums]


def _fit_of_addends(
    model: Model, contract: str | None, name: str, bits: int, order: Order
) -> Fit | None:
    """The sums of a layer without weights. Raises Unseen."""
    module, sources, _ = model.index.detach([name])
    (op,) = layers(module)

    def run() -> LayerRun:
        try:
            check_size([op])
            return run_layer(model, contract, name, _any_values(op, sources))
        except QlowerError as error:
            raise Unseen(error.message) from error

    addends = addends_of(op, run)
    if addends is None:
        return None
    least, most = _sums(addends.least, addends.most, np.zeros((), np.int64), order)
    row = int(np.maximum(most, ~least).argmax())
    low, high = int(least[row]), int(most[row])
    kind = op.name.removeprefix("qnn.")
    fit = Fit(name, kind, "accumulator", bits, None, low, high)
    if fit.fits:
        return fit
    is_high = high >= ~low
    index, operands = addends.ends(row, is_high)
    values = {
        sources[value.index]: array
        for value, array in operands.items()
        if isinstance(value, BlockArgument)
    }
    exact = int((addends.most if is_high else addends.least)[row].sum())
    try:
        held = _held(run_layer(model, contract, name, values))
    except InterpretationError:  # a contract may refuse sums that wrap
        return fit
    shape = shape_of(op.results[0])
    worst = WorstInput(index, values, exact, int(np.broadcast_to(held, shape)[index]))
    return replace(fit, worst=worst)


def _any_values(op: Operation, sources: Sequence[str]) -> dict[str, Array]:
    """Values that a layer could read: real zeros, or what is nearest."""
    return {
        sources[value.index]: near_zero(value)
        for value in op.operands
        if isinstance(value, BlockArgument)
    }


def _held(run: LayerRun) -> Array:
    """The sums that the last rule was given; the result where those are the result."""
    if not run.evaluations:
        return run.result
    values = run.evaluations[-1].values
    return values["accumulator" if "accumulator" in values else "sum"]


def _sums(least: Integers, most: Integers, start: Integers, order: Order) -> Bounds:
    """The ends of the sums on the way, [row], of terms [row, term]."""
    if order == "any":
        low = np.minimum(least, 0).sum(axis=1) + np.minimum(start, 0)
        return low, np.maximum(most, 0).sum(axis=1) + np.maximum(start, 0)
    first = np.broadcast_to(start, len(least))[:, np.newaxis]
    sums = (np.cumsum(np.hstack([first, part]), axis=1) for part in (least, most))
    low, high = sums
    return low.min(axis=1), high.max(axis=1)


def turning_inputs(
    model: Model, contract: str | None, op: Operation, *, at_end: bool = False
) -> Iterator[Mapping[str, Array]]:
    """Inputs of a layer for which all products up to some place move a sum one way, and
    all behind it the other way: a narrow register is cut in between. If that place is
    the `at_end`, the sums of a contraction are the greatest and the least."""
    if isinstance(op, qnn.MatMulOp):
        yield from _turning_matrices(model, op)
        return
    assert isinstance(op, CONTRACTIONS), "only these have products"
    work = LayerSums(model, contract, op, 32, "any")
    terms = product_terms(op)
    assert terms is not None, "the weights are constant"
    spans = (terms[1] - terms[0]).sum(axis=1)
    used = contract_of(op, contract, cache(load_contract))
    start = constant_start(used, op)
    if start is not None and not at_end:
        spans = np.where(cut_channels(used, op, start), spans, 0)
    channel, count = int(spans.argmax()), terms[0].shape[1]
    type = quantized_element(op.input.type)
    ends = type.storage_min, type.storage_max
    for place in (count,) if at_end else _turns(count):
        for is_up in (True, False):

            def stored(
                number: int, weight: int, up: bool = is_up, at: int = place
            ) -> int:
                return ends[((weight > 0) == up) == (number < at)]

            yield work.held(channel, stored).inputs


def _turns(count: int) -> tuple[int, ...]:
    """The numbers of products after which a sum turns round, of a `count` in all."""
    return count // 2, count * 3 // 4, count * 7 // 8


def _turning_matrices(model: Model, op: qnn.MatMulOp) -> Iterator[Mapping[str, Array]]:
    """Computed matrices that give the largest product up to some place, and the
    smallest behind it, or the other way round."""
    sources = model.index.sources(layer_name(op) or op.name)
    corners = matrix_corners(op)
    places = _turns(shape_of(op.lhs)[-1])
    for place, (first, last) in product(places, ((-1, 0), (0, -1))):
        _, *ends = corners[first]
        lhs, rhs = map(filled, op.operands, ends)
        _, lhs[..., place:], rhs[..., place:, :] = corners[last]
        yield {
            sources[value.index]: array
            for value, array in zip(op.operands, (lhs, rhs), strict=True)
            if isinstance(value, BlockArgument)
        }


def pair_fit(model: Model, contract: str | None, op: Operation, product: str) -> Fit:
    """Whether no pair of a contraction's products saturates."""
    assert isinstance(op, CONTRACTIONS), "only these have products"
    return LayerSums(model, contract, op, PAIR_BITS, "any").pairs(product)


@dataclass(frozen=True)
class LayerSums:
    """A contraction of a model that is looked at."""

    model: Model
    contract: str | None
    op: Contraction
    bits: int
    order: Order

    @property
    def name(self) -> str:
        """The layer's name."""
        return layer_name(self.op) or self.op.name

    def accumulator(self, start: Integers) -> Fit:
        """The sums of products and bias."""

        def scaled(weight: int) -> Bounds:
            share = weight / LARGEST_WEIGHT
            terms = product_terms(self.op, share)
            assert terms is not None, "the weights are constant"
            begin = np.rint(start * share).astype(np.int64)
            return _sums(*terms, begin, self.order)

        return self._fit("accumulator", scaled, self.bits)

    def sums(self, least: Integers, most: Integers, start: Integers) -> Bounds:
        """The ends of all sums on the way, from those of products [channel, weight]."""
        return _sums(least, most, start, self.order)

    def pairs(self, product: str) -> Fit:
        """The sums of two products of codes."""
        weights = constant_integers(self.op.weight)
        assert weights is not None, "the products are known"
        rows = weight_rows(self.op, weights, product)
        type = quantized_element(self.op.input.type)
        shift = 128 if type.signed else 0

        def scaled(weight: int) -> Bounds:
            less = np.rint(rows * (weight / LARGEST_WEIGHT)).astype(np.int64)
            return row_bounds(less, type.storage_min + shift, type.storage_max + shift)

        return self._fit("pairs", scaled, PAIR_BITS)

    def _fit(
        self,
        what: Literal["accumulator", "pairs"],
        scaled: Callable[[int], Bounds],
        bits: int,
    ) -> Fit:
        """The bits that sums need; `scaled` computes them for smaller weights."""
        least, most = scaled(LARGEST_WEIGHT)
        worst = int(np.maximum(most, ~least).argmax())
        low, high = int(least[worst]), int(most[worst])
        fit = Fit(self.name, self.op.kind, what, bits, worst, low, high)
        if fit.fits:
            return fit
        limits = integer_range(bits)
        smaller = (
            weight
            for weight in range(LARGEST_WEIGHT - 1, 0, -1)
            if _is_within(scaled(weight), limits)
        )
        try:
            found = self._worst_input(what, worst, high >= ~low)
        except (InterpretationError, QlowerError):  # a contract may refuse long sums
            found = None
        return replace(fit, largest_weight=next(smaller, None), worst=found)

    def _worst_input(self, what: str, channel: int, is_high: bool) -> WorstInput:
        """Each input at the end that makes its product largest, or smallest."""
        type = quantized_element(self.op.input.type)
        points = quantized_element(self.op.weight.type).zero_points
        point = points[channel if len(points) > 1 else 0] if what == "pairs" else 0
        ends = type.storage_min, type.storage_max
        return self.held(
            channel, lambda number, weight: ends[(weight + point > 0) == is_high]
        )

    def held(self, channel: int, stored: Callable[[int, int], int]) -> WorstInput:
        """The sums of an element in the middle of a channel, where inputs are `stored`
        for the number and the weight of each product. Outside the image it has none."""
        op, name = self.op, self.name
        sources = self.model.index.sources(name)
        given = near_zero(op.input)
        values = {sources[0]: given}
        if isinstance(op, qnn.FusedAddOp):
            values[sources[1]] = near_zero(op.operands[-1])
        shape = shape_of(op.results[0])
        index = (*(size // 2 for size in shape[:-1]), channel)
        run = run_layer(self.model, self.contract, name, values)
        for number, tap in enumerate(products_of(run, index)):
            if is_inside(op.input, tap.at):
                given[tap.at] = stored(number, tap.weight)
        run = run_layer(self.model, self.contract, name, values)
        assert run.exact_sums is not None
        held = _held(run)
        start = np.broadcast_to(run.start, held.shape)[index]
        exact = int(run.exact_sums[index]) + int(start)
        return WorstInput(index, values, exact, int(held[index]))


def _is_within(bounds: Bounds, limits: tuple[int, int]) -> bool:
    return bool(bounds[0].min() >= limits[0] and bounds[1].max() <= limits[1])
