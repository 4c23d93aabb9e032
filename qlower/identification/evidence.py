"""Accumulators of a dump's convolutions and linear layers, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qlower.contracts import Contract
from qlower.contracts.contractions import Contraction
from qlower.contracts.family import Arithmetic, FamilyStep, step
from qlower.contracts.products import EXACT, PIXEL, TAPS
from qlower.contracts.values import activation_values, operand_values
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.interp import evaluate_function
from qlower.interp.values import Array
from qlower.semantics.contraction import sums_of
from qlower.semantics.in_turn import accumulated, columns

Places = NDArray[np.int64]
Index: TypeAlias = tuple[NDArray[np.intp], ...]

_TOGETHER = 1 << 20
"""Elements whose results are held at a time."""


@dataclass(frozen=True)
class Observed:
    """A contraction in one run: what it took, and the recorded result."""

    op: Contraction
    operands: Sequence[Array]
    recorded: Array
    sums: dict[str, Array] = field(default_factory=dict[str, Array], repr=False)

    def products(self, product: str) -> Array:
        """The sums of products, computed once; QlowerError for pairs of uint8."""
        if product != EXACT and not quantized_element(self.op.weight.type).signed:
            raise QlowerError("pairs of products saturate with int8 weights only")
        if product == PIXEL and isinstance(self.op, qnn.DepthwiseConv2DOp):
            product = TAPS
        if product not in self.sums:
            found = sums_of(self.op, product, self.operands[0], self.operands[1])
            self.sums[product] = found.astype(np.int64)
        return self.sums[product]

    def products_at(self, index: Index) -> Iterator[Array]:
        """The products of some elements, one after the other."""
        for code, factor in columns(self.op, self.operands[0], self.operands[1]):
            met = np.broadcast_to(code, self.recorded.shape)[index]
            yield met.astype(np.int64) * factor[index[-1]]

    def start(self, with_bias: bool) -> Array:
        """The term of a sum that is no product: the bias, or 0."""
        bias = np.zeros((), np.int32)
        if with_bias and self.op.bias is not None:
            bias = self.operands[2]
            if bias.dtype.kind == "f":
                bias = _other_bias(self, "quantize_bias", "real_bias")
        return np.broadcast_to(bias, self.recorded.shape)


@dataclass(frozen=True)
class _Made:
    """A value that a step makes of what it takes: its place among the results."""

    step: str
    taken: tuple[Source, ...]
    number: int


Source: TypeAlias = "str | _Made"
"""A value of each element: what the layer has by a name, or what a step makes."""


class Evidence:
    """Elements of contractions' results, [element], at `places` of all of them.

    Bounds of activations are those of `contract`.
    """

    def __init__(
        self, observed: Sequence[Observed], contract: Contract, places: Places
    ) -> None:
        self.observed, self.contract, self.places = observed, contract, places
        self._columns: dict[str, Array] = {}
        self._known: dict[tuple[str, tuple[Source, ...]], tuple[Array, ...] | None] = {}

    @property
    def recorded(self) -> Array:
        """The device's results for the elements."""
        return self._column("recorded", lambda one: one.recorded)

    @classmethod
    def parts(
        cls, observed: Sequence[Observed], contract: Contract
    ) -> Iterator[Evidence]:
        """All elements, in parts that fit in memory."""
        size = sum(one.recorded.size for one in observed)
        for first in range(0, size, _TOGETHER):
            places = np.arange(first, min(first + _TOGETHER, size))
            yield cls(observed, contract, places)

    def at(self, places: Places) -> Evidence:
        """Some of the elements: `places` are among these here."""
        return Evidence(self.observed, self.contract, self.places[places])

    def explained(self, arithmetic: Arithmetic) -> int:
        """The number of elements that an arithmetic explains; 0 if it refuses any."""
        results = self.results(arithmetic)
        return 0 if results is None else int(np.sum(results == self.recorded))

    def results(self, arithmetic: Arithmetic) -> Array | None:
        """The results of an arithmetic for the elements; None if it refuses any.

        Steps that several arithmetics share are computed once.
        """
        sources: dict[str, Source] = {"accumulator": self._accumulators(arithmetic)}
        *steps, last = arithmetic.steps
        for one in steps:
            taken = tuple(sources.get(name, name) for name in one.arguments)
            if (one.name, taken) not in self._known:
                self._known[one.name, taken] = self._run(one, taken)
            if self._known[one.name, taken] is None:
                return None
            for number, name in enumerate(one.results):
                sources[name] = _Made(one.name, taken, number)
        stored = self._run(last, [sources.get(name, name) for name in last.arguments])
        return None if stored is None else stored[0]

    def _accumulators(self, arithmetic: Arithmetic) -> str:
        """The name of what the arithmetic makes of products, which is computed once."""
        has_bias = arithmetic.bias == "integer"
        name = arithmetic.products + (" and bias" if has_bias else "")
        if arithmetic.group:
            name += f", {arithmetic.accumulator}"
            if name not in self._columns:
                hold = arithmetic.hold.function
                self._columns[name] = np.concatenate(
                    [
                        accumulated(
                            one.products_at(index),
                            one.start(has_bias)[index],
                            arithmetic.group,
                            lambda sums, _product, _count: evaluate_function(
                                hold, [sums]
                            )[0],
                        )
                        for one, index in self._each()
                    ]
                )
        elif name not in self._columns:
            product = arithmetic.products
            self._column(name, lambda one: _accumulator(one, product, has_bias))
        return name

    def _run(
        self, one: FamilyStep, taken: Sequence[Source]
    ) -> tuple[Array, ...] | None:
        try:
            arguments = [self._value(source) for source in taken]
            return evaluate_function(one.function, arguments)
        except QlowerError:
            return None

    def _value(self, source: Source) -> Array:
        if isinstance(source, _Made):
            made = self._known[source.step, source.taken]
            assert made is not None
            return made[source.number]
        if source == "real_bias":
            return self._column(source, _real_bias)
        if source in self._columns:
            return self._columns[source]
        return self._column(source, lambda one: self._constant(one, source))

    def _constant(self, one: Observed, name: str) -> Array:
        op = one.op
        values = {
            **operand_values("input", op.input.type),
            **operand_values("weight", op.weight.type),
            **activation_values(self.contract, op.result.type, op.activation),
        }
        return values[name]

    def _column(self, name: str, of: Callable[[Observed], Array]) -> Array:
        """A value of every element."""
        if name not in self._columns:
            parts = [
                np.broadcast_to(of(one), one.recorded.shape)[index]
                for one, index in self._each()
            ]
            self._columns[name] = np.concatenate(parts)
        return self._columns[name]

    def _each(self) -> Iterator[tuple[Observed, Index]]:
        """The contractions, each with where its elements are in the result."""
        first = 0
        for one in self.observed:
            size = one.recorded.size
            own = self.places[(self.places >= first) & (self.places < first + size)]
            if own.size:
                yield one, np.unravel_index(own - first, one.recorded.shape)
            first += size


def _accumulator(one: Observed, product: str, with_bias: bool) -> Array:
    return (one.products(product) + one.start(with_bias)).astype(np.int32)


def _real_bias(one: Observed) -> Array:
    if one.op.bias is None:
        return np.zeros((), np.float32)
    if one.operands[2].dtype.kind == "f":
        return one.operands[2]
    return _other_bias(one, "dequantize_bias", "bias")


def _other_bias(one: Observed, name: str, value: str) -> Array:
    """The bias in the form that the model doesn't have."""
    scales = {
        **operand_values("input", one.op.input.type),
        **operand_values("weight", one.op.weight.type),
        value: one.operands[2],
    }
    conversion = step(name)
    arguments = [scales[argument] for argument in conversion.arguments]
    (converted,) = evaluate_function(conversion.function, arguments)
    return converted
