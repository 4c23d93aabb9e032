"""Whether sums fit a width for all inputs, found without running the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from xdsl.ir import Operation

from qlower.compilation import Compilation
from qlower.contracts import load_contract
from qlower.contracts.accumulator_range import constant_integers, product_terms
from qlower.contracts.contractions import (
    Contraction,
    product_of,
)
from qlower.contracts.pair_range import PAIR_BITS, row_bounds, weight_rows
from qlower.contracts.products import EXACT
from qlower.contracts.values import contract_of
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import integer_range, shape_of
from qlower.explain.observe import CONTRACTIONS, run_layer
from qlower.explain.place import Index, show
from qlower.explain.products import products_of
from qlower.float_environment import default_floats
from qlower.frontends.load import ModelOrPath
from qlower.interp import Array, InterpretationError
from qlower.model import Model
from qlower.model.extract import detach_layers
from qlower.model.layers import layer_name, layers
from qlower.report.table import Column, Table, Tabled
from qlower.transforms.lower_qnn.bias import constant_start
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.hashes import hashes_of
from qlower.verification.reach import filled, is_inside
from qlower.verification.verdict import pack

Order: TypeAlias = Literal["any", "memory"]
"""In which order products are added: any at all, with the bias anywhere, or the bias
first and then as the weights lie in memory."""

ORDERS: Mapping[Order, str] = {"any": "any order", "memory": "the order of memory"}

Bounds: TypeAlias = tuple[Integers, Integers]
"""The least and the greatest sum on the way, [channel] each."""

LARGEST_WEIGHT = 127


@dataclass(frozen=True)
class WorstInput:
    """An input of a layer, and what the interpreter then has for an element.

    `sum` is the exact sum of products, and of the bias unless the contract's rule asks
    for that by itself; `held` the accumulator that the rule is given: another one where
    pairs saturate, or the sum wraps.
    """

    index: Index
    source: str
    input: Array
    sum: int
    held: int


@dataclass(frozen=True)
class Fit:
    """The sums of a layer, or `pairs` of its products, and the width they need.

    The worst channel's sums on the way lie in [minimum, maximum]. `largest_weight` is
    what the weights of one with [-127, 127] may be at most to fit, their scale that
    much larger; None where none helps. `worst` is there for what does not fit, unless
    the contract has no result for it.
    """

    layer: str
    kind: str
    what: Literal["accumulator", "pairs"]
    bits: int
    channel: int
    minimum: int
    maximum: int
    largest_weight: int | None = None
    worst: WorstInput | None = None

    @property
    def needed(self) -> int:
        """The width of the narrowest signed integer that holds every sum."""
        return max(self.maximum, ~self.minimum).bit_length() + 1

    @property
    def fits(self) -> bool:
        """Whether no input makes a sum leave the width."""
        return self.needed <= self.bits

    def to_dict(self) -> dict[str, object]:
        """Plain data; the worst input is compressed bytes in base64."""
        worst = self.worst
        return {
            "layer": self.layer,
            "op": self.kind,
            "what": self.what,
            "verdict": "fits" if self.fits else "leaves",
            "bits": self.bits,
            "bits_needed": self.needed,
            "channel": self.channel,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "largest_weight": self.largest_weight,
            "worst": None
            if worst is None
            else {
                "index": list(worst.index),
                "sum": worst.sum,
                "accumulator": worst.held,
                "inputs": {worst.source: pack(worst.input)},
            },
        }


@dataclass(frozen=True, repr=False)
class Fits(Tabled[Fit]):
    """The sums of all contractions with constant weights; `others` are layers' names.

    `hashes` is as in `Equality`, `bits` the accumulators' width.
    """

    contract: str
    order: Order
    layers: Sequence[Fit]
    others: Sequence[str]
    hashes: Mapping[str, str]
    bits: int
    layer_contracts: Mapping[str, str]

    @property
    def holds(self) -> bool:
        """Whether every sum of every layer was shown to fit."""
        return not self.others and all(row.fits for row in self.layers)

    @property
    def table(self) -> Table[Fit]:
        """A line for each layer's sums, and for its pairs."""
        columns: list[Column[Fit]] = [
            Column("layer", "layer", lambda row: row.layer, right=False, least=12),
            Column("op", "op", lambda row: row.kind, right=False, rank=2),
            Column("what", "what", lambda row: row.what, right=False),
            Column(
                "verdict",
                "verdict",
                lambda row: "fits" if row.fits else "leaves",
                right=False,
            ),
            Column("bits", "bits", lambda row: row.bits),
            Column("needed", "bits_needed", lambda row: row.needed),
            Column("channel", "channel", lambda row: row.channel, rank=1),
            Column("its range", None, lambda row: f"[{row.minimum}, {row.maximum}]"),
            Column("weights up to", "largest_weight", lambda row: row.largest_weight),
            Column("worst input gives", None, _given, right=False, rank=1),
        ]
        notes = [
            f"{sum(row.fits for row in self.layers)} of {len(self.layers)} fit, with "
            f"products added in {ORDERS[self.order]}."
        ]
        if not all(row.fits for row in self.layers):
            notes.append(
                "weights up to N: the layer fits once weights of [-127, 127] are "
                "scaled down to [-N, N], and their scale grows by the same factor; "
                "--save writes the worst inputs."
            )
        notes += [f"{name}: weights or bias aren't constant." for name in self.others]
        return Table("sums", self.layers, columns, notes=notes, whole="--json")

    def to_dict(self) -> dict[str, object]:
        """Plain data, the verdict's file."""
        return {
            "question": "fits",
            "contract": self.contract,
            "order": self.order,
            "bits": self.bits,
            "layer_contracts": dict(self.layer_contracts),
            "fits": self.holds,
            "sha256": dict(self.hashes),
            "layers": [row.to_dict() for row in self.layers],
            "undecided": list(self.others),
        }

    def inputs(self) -> dict[str, Array]:
        """The worst inputs, by layer, what of it, and what it reads."""
        return {
            f"{row.layer} {row.what}<-{row.worst.source}": row.worst.input
            for row in self.layers
            if row.worst is not None
        }


def _given(row: Fit) -> str:
    worst = row.worst
    if worst is None:
        return ""
    held = "" if worst.held == worst.sum else f", held as {worst.held:,}"
    return f"{show(worst.index)} {worst.sum:,}{held}"


@default_floats()
def fits(
    model: ModelOrPath,
    bits: int,
    *,
    contract: str | None = None,
    order: Order = "any",
    layer_contracts: Mapping[str, str] | None = None,
) -> Fits:
    """Whether no sum on the way to an accumulator leaves `bits`, for any input.

    Where the contract, by default the model's own, multiplies in saturating pairs,
    these are looked at too, at 16 bits.
    """
    chosen = dict(layer_contracts or {})
    loaded = Compilation(model, contract, layer_contracts=chosen).model
    default = contract or module_contract(loaded.module)
    found: list[Fit] = []
    others: list[str] = []
    load = cache(load_contract)
    for op in layers(loaded.module):
        if not isinstance(op, CONTRACTIONS):
            continue
        used = contract_of(op, default, load)
        start = constant_start(used, op)
        if constant_integers(op.weight) is None or start is None:
            others.append(layer_name(op) or op.name)
            continue
        work = _Layer(loaded, default, op, bits, order)
        found.append(work.accumulator(start))
        product = product_of(used, op)
        if product != EXACT:
            found.append(work.pairs(product))
    names = [] if default is None else [default]
    hashes = hashes_of(loaded, loaded, *names)
    return Fits(default or "", order, found, others, hashes, bits, chosen)


def pair_fit(model: Model, contract: str | None, op: Operation, product: str) -> Fit:
    """Whether no pair of a contraction's products saturates."""
    assert isinstance(op, CONTRACTIONS), "only these have products"
    return _Layer(model, contract, op, PAIR_BITS, "any").pairs(product)


@dataclass(frozen=True)
class _Layer:
    """A contraction of a model that is looked at."""

    model: Model
    contract: str | None
    op: Contraction
    bits: int
    order: Order

    def accumulator(self, start: Integers) -> Fit:
        """The sums of products and bias."""

        def scaled(weight: int) -> Bounds:
            share = weight / LARGEST_WEIGHT
            terms = product_terms(self.op, share)
            assert terms is not None, "the weights are constant"
            return self._sums(*terms, np.rint(start * share).astype(np.int64))

        return self._fit("accumulator", scaled, self.bits)

    def _sums(self, least: Integers, most: Integers, start: Integers) -> Bounds:
        if self.order == "any":
            low = np.minimum(least, 0).sum(axis=1) + np.minimum(start, 0)
            return low, np.maximum(most, 0).sum(axis=1) + np.maximum(start, 0)
        first = np.broadcast_to(start, len(least))[:, np.newaxis]
        sums = (np.cumsum(np.hstack([first, part]), axis=1) for part in (least, most))
        low, high = sums
        return low.min(axis=1), high.max(axis=1)

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
        """What sums need; `scaled` gives them for smaller weights."""
        least, most = scaled(LARGEST_WEIGHT)
        worst = int(np.maximum(most, ~least).argmax())
        low, high = int(least[worst]), int(most[worst])
        name = layer_name(self.op) or self.op.name
        fit = Fit(name, self.op.kind, what, bits, worst, low, high)
        if fit.fits:
            return fit
        limits = integer_range(bits)
        smaller = (
            weight
            for weight in range(LARGEST_WEIGHT - 1, 0, -1)
            if _is_within(scaled(weight), limits)
        )
        try:
            found = self._worst_input(name, what, worst, high >= ~low)
        except InterpretationError:  # a contract may refuse sums that wrap
            found = None
        return replace(fit, largest_weight=next(smaller, None), worst=found)

    def _worst_input(
        self, name: str, what: str, channel: int, is_high: bool
    ) -> WorstInput:
        """Each input at the end that makes its product largest, or smallest."""
        op = self.op
        _, sources, _ = detach_layers(self.model.module, [name])
        type = quantized_element(op.input.type)
        stored = filled(op.input, type.zero_point)
        values = {sources[0]: stored}
        shape = shape_of(op.results[0])
        index = (*(size // 2 for size in shape[:-1]), channel)
        run = run_layer(self.model, self.contract, name, values)
        points = quantized_element(op.weight.type).zero_points
        point = points[channel if len(points) > 1 else 0]
        for tap in products_of(run, index):
            if is_inside(op.input, tap.at):
                weight = tap.weight + (point if what == "pairs" else 0)
                ends = type.storage_min, type.storage_max
                stored[tap.at] = ends[(weight > 0) == is_high]
        run = run_layer(self.model, self.contract, name, values)
        assert run.exact_sums is not None
        rules = run.evaluations  # none where the sums are the result
        held = rules[-1].values["accumulator"] if rules else run.result
        start = np.broadcast_to(run.start, held.shape)[index]
        exact = int(run.exact_sums[index]) + int(start)
        return WorstInput(index, sources[0], stored, exact, int(held[index]))


def _is_within(bounds: Bounds, limits: tuple[int, int]) -> bool:
    return bool(bounds[0].min() >= limits[0] and bounds[1].max() <= limits[1])
