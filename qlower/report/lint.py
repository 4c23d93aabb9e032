"""What can leave its width: accumulators, and pairs of products at 16 bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i32

from qlower.contracts import load_contract
from qlower.contracts.accumulator_range import constant_integers, product_bounds
from qlower.contracts.contractions import Contraction, product_of
from qlower.contracts.pair_range import PAIR_BITS, pair_bounds
from qlower.contracts.products import EXACT, FLAT
from qlower.contracts.values import contract_of
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.types import element_type, integer_range
from qlower.interp.qnn.contraction import exact_sums
from qlower.interp.qnn.pairs import pair_sums
from qlower.model import Model
from qlower.model.extract import detach_layers
from qlower.model.layers import layer_name, layers
from qlower.model.signature import Array
from qlower.report.table import Column, Table, counted

Integers = NDArray[np.int64]

PAIRS, ACCUMULATOR = "pairs", "accumulator"


@dataclass(frozen=True)
class Finding:
    """A layer of which `risky` channels can leave `bits` for some input.

    `channel` is the worst one, whose sums lie in [minimum, maximum]. `on_data` says how
    many of how many sums did for given inputs.
    """

    layer: str
    kind: str
    what: str
    channels: int
    risky: int
    channel: int
    minimum: int
    maximum: int
    bits: int
    on_data: tuple[int, int] | None = None

    @property
    def excess(self) -> float:
        """How many times the largest sum is the largest of the width."""
        limit = 1 << (self.bits - 1)
        return max(self.maximum, -self.minimum) / limit

    @property
    def advice(self) -> str:
        """What to do."""
        if self.what == PAIRS:
            return "reduce_range, a machine with VNNI, or exact products"
        return "a larger scale of the weights, fewer inputs, or a wider accumulator"


def lint(
    model: Model,
    contract: str | None = None,
    *,
    bits: int = 32,
    pairs: bool = False,
    values: Sequence[Mapping[str, Array]] = (),
) -> list[Finding]:
    """The layers whose accumulators can leave `bits`, or whose pairs can saturate.

    Pairs are looked at where the contract (by default the model's own) multiplies in
    pairs, or everywhere with `pairs`, as neighbours in memory. `values` holds for each
    of some inputs the values of inputs and layers, by name.
    """
    found: list[Finding] = []
    for op in layers(model.module):
        if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp):
            product = _product(model, op, contract)
            if product == EXACT and pairs:
                product = FLAT
            found += _findings(model, op, product, bits, values)
    return found


def lint_table(findings: Sequence[Finding]) -> Table[Finding]:
    """The findings with what to do about them."""
    columns: list[Column[Finding]] = [
        Column("layer", "layer", lambda row: row.layer, right=False, least=12),
        Column("op", "op", lambda row: row.kind, right=False, rank=1),
        Column("what", "what", lambda row: row.what, right=False),
        Column("bits", "bits", lambda row: row.bits),
        Column("channels at risk", None, lambda row: f"{row.risky}/{row.channels}"),
        Column(None, "channels", lambda row: row.channels),
        Column(None, "channels_at_risk", lambda row: row.risky),
        Column("worst channel", "worst_channel", lambda row: row.channel, rank=2),
        Column("its range", None, lambda row: f"[{row.minimum}, {row.maximum}]"),
        Column(None, "minimum", lambda row: row.minimum),
        Column(None, "maximum", lambda row: row.maximum),
        Column("times the limit", "times_the_limit", lambda row: row.excess),
    ]
    if any(row.on_data is not None for row in findings):
        data: list[Column[Finding]] = [
            Column("on data", None, _share),
            Column(None, "out_of_range", lambda row: row.on_data and row.on_data[0]),
            Column(None, "sums", lambda row: row.on_data and row.on_data[1]),
        ]
        columns += data
    last: Column[Finding] = Column(None, "advice", lambda row: row.advice)
    columns.append(last)
    advice = dict.fromkeys(f"{row.what}: {row.advice}." for row in findings)
    notes = [f"{counted(len(findings), 'finding')}.", *advice]
    return Table("what can leave its width", findings, columns, notes=notes)


def _share(row: Finding) -> str:
    if row.on_data is None:
        return ""
    out, count = row.on_data
    return f"{out / count:.3%} of {count:,}"


def _product(model: Model, op: Contraction, contract: str | None) -> str:
    """How the contract multiplies; exactly if the model has none."""
    default = contract or module_contract(model.module)
    if default is None and op.contract is None:
        return EXACT
    return product_of(contract_of(op, default, cache(load_contract)), op)


def _findings(
    model: Model,
    op: Contraction,
    product: str,
    bits: int,
    values: Sequence[Mapping[str, Array]],
) -> Iterator[Finding]:
    sums = product_bounds(op)
    if sums is not None:
        start = _integer_bias(op)
        out = _outside((sums[0] + start, sums[1] + start), bits)
        if out is not None:
            data = _accumulators_on_data(model, op, bits, values)
            yield _finding(op, ACCUMULATOR, out, bits, data)
    pairs = pair_bounds(op, product) if product != EXACT else None
    out = _outside(pairs, PAIR_BITS) if pairs is not None else None
    if out is not None:
        yield _finding(
            op, PAIRS, out, PAIR_BITS, _pairs_on_data(model, op, product, values)
        )


def _outside(
    bounds: tuple[Integers, Integers], bits: int
) -> tuple[Integers, Integers, Integers] | None:
    """The bounds, and by how much each channel is beyond the width, if any is."""
    low, high = integer_range(bits)
    least, most = bounds
    beyond = np.maximum(np.maximum(low - least, most - high), 0)
    return (least, most, beyond) if beyond.any() else None


def _finding(
    op: Contraction,
    what: str,
    out: tuple[Integers, Integers, Integers],
    bits: int,
    on_data: tuple[int, int] | None,
) -> Finding:
    least, most, beyond = out
    worst = int(beyond.argmax())
    return Finding(
        layer_name(op) or op.name,
        op.kind,
        what,
        len(beyond),
        int(np.count_nonzero(beyond)),
        worst,
        int(least[worst]),
        int(most[worst]),
        bits,
        on_data,
    )


def _accumulators_on_data(
    model: Model, op: Contraction, bits: int, values: Sequence[Mapping[str, Array]]
) -> tuple[int, int] | None:
    low, high = integer_range(bits)
    totals = [
        exact_sums(op, stored, weight).astype(np.int64) + _integer_bias(op)
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
    _, sources, _ = detach_layers(model.module, [name])
    for recorded in values:
        yield recorded[sources[0]], weight


def _integer_bias(op: Contraction) -> Integers:
    """The bias of each channel; 0 where it is none, real or not constant."""
    if op.bias is None:
        return np.zeros((), np.int64)
    bias = constant_integers(op.bias) if element_type(op.bias.type) == i32 else None
    return np.zeros((), np.int64) if bias is None else bias
