"""The making of one element of a model, by one contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from xdsl.ir import Operation

from qlower.compilation.compilation import Compilation
from qlower.contracts.contractions import SUMMED, RuledContraction
from qlower.contracts.products import EXACT
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.explain.supposed import Supposed, suppose
from qlower.frontends.load import ModelOrPath
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.input_sets import ordered_input_set
from qlower.model.signature import assign_inputs
from qlower.observe.account import path, sentence
from qlower.observe.axes import layer_axes, unusual_axes
from qlower.observe.chain import Chain
from qlower.observe.layer_run import CONTRACTIONS, LayerRun, model_up_to, run_layer
from qlower.observe.place import Index, parse_place, show
from qlower.observe.products import Product, product_table, products_of
from qlower.observe.rows import chain_table, ratio, rows_of, show_exact, show_value
from qlower.process.float_environment import default_floats
from qlower.sides.sides import result_specs
from qlower.tables.formats import wrapped
from qlower.tables.table import counted


@dataclass(frozen=True, repr=False)
class Trace:
    """One element of a layer's result, and each step on the way to it.

    `chains` has one entry for each use of a rule of the contract; the last one stores
    the result, if any does. Layers that only move elements have none. `products`
    are those of a contraction. `axes` says what the index has, `nhwc`. `supposed` is
    the element with other values of the rule. `without_rule` says what decides where no
    rule does.
    """

    layer: str
    kind: str
    contract: str
    index: Index
    result: Array
    chains: tuple[Chain, ...]
    products: tuple[Product, ...]
    sum: Sum | None
    shows_products: bool = False
    all_steps: bool = False
    axes: str = ""
    supposed: tuple[Supposed, ...] = ()
    without_rule: str = ""

    @property
    def exact(self) -> Fraction | None:
        """The result without any rounding, in its own steps; None where no rule stores
        it, as for comparisons, whose rules bring operands to one scale."""
        if not self.chains or self.chains[-1].result != self.result:
            return None
        return self.chains[-1].exact

    @property
    def path(self) -> str:
        """The numbers that decide the result, in a line."""
        return path(self.chains, self.exact)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def render(self, width: int | None = None) -> str:
        """The text for a terminal of the given width in characters."""
        return "\n".join(self._lines(width))

    def to_dict(self) -> dict[str, object]:
        """Plain data: exact numbers are fractions as text, `75/2`."""
        return {
            "layer": self.layer,
            "op": self.kind,
            "contract": self.contract,
            "index": list(self.index),
            "axes": self.axes or None,
            "result": self.result.item(),
            "exact": ratio(self.exact),
            "sum": None if self.sum is None else self.sum.to_dict(),
            "products": product_table(list(self.products)).records(),
            "rules": [
                {
                    "rule": chain.rule,
                    "given": {
                        step.name: step.value.item()
                        for step in chain.steps
                        if step.op is None
                    },
                    "steps": [row.to_dict() for row in rows_of(chain)],
                }
                for chain in self.chains
            ],
            "supposed": [one.to_dict() for one in self.supposed],
        }

    def _repr_html_(self) -> str:
        from html import escape

        parts = [f"<p>{escape(line)}</p>" for line in self._head()]
        parts += [
            chain_table(chain, all_steps=self.all_steps).render("html")
            for chain in self.chains
        ]
        parts += [f"<p>{escape(str(one))}</p>" for one in self.supposed]
        return "\n".join(parts)

    def _head(self) -> list[str]:
        place = f"{self.layer}{show(self.index)}"
        lines = [f"{self.kind} {place} by {self.contract}: {show_value(self.result)}"]
        if self.exact is not None:
            lines[0] += f", exact {show_exact(self.exact)}"
        if self.axes:
            lines.append(f"the index is [{','.join(self.axes)}]")
        if not self.chains:
            lines.append(self.without_rule)
        if self.sum is not None:
            lines.append(str(self.sum))
        return lines

    def _lines(self, width: int | None = None) -> list[str]:
        lines = self._head()
        if self.shows_products:
            lines += ["", product_table(list(self.products)).render("plain", width)]
        for chain in self.chains:
            given = [
                f"{step.name} {show_value(step.value)}"
                for step in chain.steps
                if step.op is None and not step.is_runtime
            ]
            rule = f"rule {chain.rule}: {', '.join(given)}"
            lines += ["", *([rule] if width is None else wrapped(rule, width))]
            table = chain_table(chain, all_steps=self.all_steps)
            lines.append(table.render("plain", width))
        if self.exact is not None:
            words = sentence([(self.contract, self.chains[-1])])
            lines += ["", *([words] if width is None else wrapped(words, width))]
        for one in map(str, self.supposed):
            lines += [one] if width is None else wrapped(one, width)
        return lines


@dataclass(frozen=True)
class Sum:
    """The terms of a contraction's accumulator.

    `exact` is the sum without wrapping or saturating, `held` the value that the
    contract's rule receives. `bias` is the model's own, None if it has none; the rule
    may add it.
    """

    count: int
    bias: Array | None
    rule_adds_bias: bool
    exact: int
    held: int
    product: str

    def __str__(self) -> str:
        text = f"accumulator {self.held}: the sum of {counted(self.count, 'product')}"
        if self.bias is not None and not self.rule_adds_bias:
            text += f" and the bias, {show_value(self.bias)}"
        if self.held != self.exact:
            text += f"; exactly it is {self.exact}"
        if self.product != EXACT:
            text += f" ({self.product.replace('_', ' ')})"
        return text

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "products": self.count,
            "bias": None if self.bias is None else self.bias.item(),
            "exact": self.exact,
            "accumulator": self.held,
            "product": self.product,
        }


@default_floats()
def trace(
    model: ModelOrPath,
    *inputs: Array,
    at: str,
    contract: str | None = None,
    layer_contracts: Mapping[str, str] | None = None,
    products: bool = False,
    all_steps: bool = False,
    given: Mapping[str, float | str] | None = None,
    **named_inputs: Array,
) -> Trace:
    """The making of one element of a layer's result.

    `at` is `LAYER[n,h,w,c]`: a layer by number, name or glob, and the index of an
    element. Inputs, `contract` and `layer_contracts` are as in `interpret`; a set may
    have one input only. The text shows the products of a contraction with
    `products`, and with `all_steps` those steps that change nothing.

    `given` are values in the place of those that the element's rule has, by its names
    for them, such as `output_scale`: the trace ends with what the element would be.
    """
    whole = Compilation(model, contract, layer_contracts=layer_contracts or {}).model
    place = parse_place(whole.module, at)
    if place.index is None:
        raise QlowerError(
            f"which element of {place.layer!r}?",
            help=f"write {place.layer}{_first_index(whole, place.layer)}",
        )
    needed = model_up_to(whole, place.layer)
    specs = whole.inputs
    runs = ordered_input_set(specs, assign_inputs(specs, inputs, named_inputs)).runs
    if len(runs) > 1:
        raise QlowerError(f"one input is traced, not a set of {len(runs)}")
    (given_arrays,) = runs
    arrays = [given_arrays[spec.name] for spec in specs]
    compilation = Compilation(needed, contract, with_layers=True)
    _, results = compilation.interpreter("qnn").run(arrays, {})
    names = [spec.name for spec in specs]
    values = {**dict(zip(names, arrays, strict=True)), **results}
    run = run_layer(needed, contract, place.layer, values)
    found = trace_of(run, place.layer, place.index, products, all_steps)
    return replace(
        found,
        axes=unusual_axes(whole.module, place.layer),
        supposed=suppose(run, place.index, given or {}),
    )


def _first_index(model: Model, layer: str) -> str:
    """The index of the first element of a layer's result, with its axes if known."""
    axes = layer_axes(model.module).get(layer)
    rank = len(result_specs(model)[layer].shape)
    return show([f"{axis}=0" for axis in axes] if axes else [0] * rank)


def trace_of(
    run: LayerRun,
    layer: str,
    index: Index,
    products: bool = False,
    all_steps: bool = False,
) -> Trace:
    """The trace of one element of a layer that was run."""
    found = tuple(products_of(run, index))
    return Trace(
        layer,
        run.op.name.removeprefix("qnn."),
        run.contract.name,
        index,
        run.result[index],
        tuple(run.chains(index)),
        found,
        sum_of(run, index, len(found)),
        products and bool(found),
        all_steps,
        without_rule=_without_rule(run.op, layer),
    )


def _without_rule(op: Operation, layer: str) -> str:
    """A sentence about a layer that no rule of a contract gives its result."""
    if not isinstance(op, qnn.QnnOp):
        return (
            "The model itself states each step of this layer, with its multipliers and "
            "roundings, and no contract changes them: "
            f"`qlower inspect --at qnn --layer '{layer}'` shows them."
        )
    if isinstance(op, SUMMED):
        return "The result is the sum of products itself; a later layer rounds it."
    return "The contract has no part in it: elements are moved or compared."


def sum_of(run: LayerRun, index: Index, count: int) -> Sum | None:
    """The accumulator of a contraction with weights; None where a layer gives its sums
    themselves, for which there is no rule."""
    if run.exact_accumulators is None or not isinstance(run.op, CONTRACTIONS):
        return None
    if not run.evaluations:
        return None
    values = run.evaluations[-1].at(index, run.result.shape) or {}
    rule_adds_bias = RuledContraction(run.contract, run.op).takes_bias
    exact = run.exact_sums if rule_adds_bias else run.exact_accumulators
    assert exact is not None
    return Sum(
        count,
        None if run.bias is None else run.bias[index[-1]],
        rule_adds_bias,
        int(exact[index]),
        int(values["accumulator"]),
        run.product,
    )
