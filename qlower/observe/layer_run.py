"""One layer of a model by itself, at the qnn level, with every rule that it uses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import FunctionType
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from qlower.contracts import Contract, Rule, load_contract
from qlower.contracts.contractions import SUMMED, RuledContraction, product_of
from qlower.contracts.products import EXACT
from qlower.contracts.real_rows import orders_of, row_values
from qlower.contracts.real_sums import block_of, order_of, starts_from_bias
from qlower.contracts.rules import OF_OPERANDS, RULES
from qlower.contracts.values import LoadContract, contract_of
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract, states_of
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, layers
from qlower.observe.chain import Chain, rule_chain
from qlower.observe.place import Index
from qlower.semantics import run_qnn_function
from qlower.semantics.contraction import exact_sums
from qlower.semantics.real import seen_factors


@dataclass(frozen=True)
class Evaluation:
    """A rule of a contract and the values that it was given, which broadcast."""

    rule: Rule
    values: Mapping[str, Array]

    def at(self, index: Index, shape: Index) -> dict[str, Array] | None:
        """The values for one element of a result of `shape`; None if the rule isn't of
        the result's elements."""
        try:
            whole = np.broadcast_shapes(shape, *(v.shape for v in self.values.values()))
        except ValueError:
            return None
        if whole != shape:
            return None
        return {
            name: np.broadcast_to(value, shape)[index]
            for name, value in self.values.items()
        }


@dataclass(frozen=True)
class _WatchedRule(Rule):
    """A rule that keeps what it is evaluated with."""

    seen: list[Evaluation] = field(default_factory=list[Evaluation])

    def evaluate(self, values: Mapping[str, Array | np.generic]) -> tuple[Array, ...]:
        wanted = {name: np.asarray(value) for name, value in values.items()}
        if not self.is_of_rows:
            self.seen.append(Evaluation(self, wanted))
            return super().evaluate(values)
        results, made = self.evaluate_rows(values)
        # of these a result has one for each row, or for each element
        size = results[0].shape[-1]
        fitting = {
            name: value[..., 0] if size == 1 and value.ndim else value
            for name, value in {**wanted, **made}.items()
            if not value.ndim or value.shape[-1] in (1, size)
        }
        self.seen.append(Evaluation(self, fitting))
        return results


class _WatchedRules(Mapping[str, Rule]):
    """Rules that record the values they are evaluated with; each is read when it is
    asked for."""

    def __init__(self, rules: Mapping[str, Rule], seen: list[Evaluation]) -> None:
        self._rules, self._seen = rules, seen

    def __getitem__(self, name: str) -> Rule:
        rule = self._rules[name]
        return _WatchedRule(
            rule.name, rule.function, rule.values, rule.products, self._seen
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


@dataclass(frozen=True)
class LayerRun:
    """A layer that was run alone: its operation, what went in, and what came of it.

    `arguments` has what the operands are, constants included, by their numbers;
    `evaluations` are of the rules that make the result, in order, `prepared` of those
    that only need the model.
    """

    op: Operation
    contract: Contract
    arguments: Sequence[Array]
    result: Array
    evaluations: tuple[Evaluation, ...]
    prepared: tuple[Evaluation, ...] = ()

    def chains(self, index: Index) -> list[Chain]:
        """The chain of each rule for one element of the result; the last rule stores
        it."""
        chains: list[Chain] = []
        for evaluation, place, shape in self._places(index):
            values = evaluation.at(place, shape)
            if values is not None:
                meant = values | self._exact_sum(index)
                cut = self.cut(index)
                rule = evaluation.rule
                chains.append(rule_chain(rule, values, meant, cut, self.row_orders))
        return chains

    def chain_given(self, index: Index, given: Mapping[str, Array]) -> Chain | None:
        """The chain of the rule that stores an element, had some of its values been
        the given ones; None where a rule isn't of the result's elements."""
        if not self.evaluations:
            return None
        *_, (last, place, shape) = self._places(index)
        values = last.at(place, shape)
        if values is None:
            return None
        values = {**values, **given}
        meant = {**values, **self._exact_sum(index), **given}
        return rule_chain(last.rule, values, meant, self.cut(index), self.row_orders)

    def _places(self, index: Index) -> Iterator[tuple[Evaluation, Index, Index]]:
        """The evaluations that an element is made of, the place in each, and its shape.

        An LSTM goes step by step, the result's second dimension: of its own step these
        are the four gates [batch, gate, unit], the cell and the state [batch, unit].
        """
        shape = self.result.shape
        if isinstance(self.op, qnn.RealRowsOp):
            outer, depth = self.op.loops
            is_reduced = math.prod(shape) == math.prod(outer)
            places = outer if is_reduced else (*outer, math.prod(depth))
            place = np.unravel_index(np.ravel_multi_index(index, shape), places)
            yield self.evaluations[-1], tuple(map(int, place)), places
            return
        if isinstance(self.op, qnn.HybridOp):
            # those before are of rows and of the input
            yield self.evaluations[-1], index, shape
            return
        if not isinstance(self.op, qnn.LstmOp):
            yield from ((evaluation, index, shape) for evaluation in self.evaluations)
            return
        (batch, step, unit), (batches, steps, units) = index, shape
        count = len(self.evaluations) // steps
        gates, *others = self.evaluations[step * count : (step + 1) * count]
        for gate in range(len(qnn.GATES)):
            yield gates, (batch, gate, unit), (batches, len(qnn.GATES), units)
        for evaluation in others:
            yield evaluation, (batch, unit), (batches, units)

    def cut(self, index: Index) -> str:
        """An element's accumulator and bias against the exact ones, in words."""
        if isinstance(self.op, qnn.RealOp):
            start = "the bias" if starts_from_bias(self.contract, self.op) else "0"
            return f"{self.order} sum from {start}"
        if self.has_exact_sum(index):
            return "bias rounded"
        return "wraps" if self.product == EXACT else self.product.replace("_", " ")

    @property
    def product(self) -> str:
        """The products of a layer that sums them (`products.py`); exact for others."""
        return (
            product_of(self.contract, self.op) if isinstance(self.op, SUMMED) else EXACT
        )

    @property
    def order(self) -> str | None:
        """The order of a sum of real numbers, or which numbers share a range
        where weights are stored; None for other layers."""
        if isinstance(self.op, qnn.HybridOp):
            return self.contract.rule(self.op.kind).products[0]
        if isinstance(self.op, qnn.RealRowsOp):
            return ", ".join(self.row_orders.values()).replace("_", " ")
        if not isinstance(self.op, qnn.RealOp):
            return None
        name = order_of(self.contract, self.op)
        size = f" of {block_of(self.contract, self.op)}" if "blocks" in name else ""
        return name.replace("_", " ") + size

    @cached_property
    def row_orders(self) -> Mapping[str, str]:
        """The order of each sum that a rule on rows has, by its helper's name."""
        if not isinstance(self.op, qnn.RealRowsOp):
            return {}
        rule = self.contract.rule(self.op.rules[0])
        return orders_of(rule.function, row_values(self.op))

    @cached_property
    def exact_sums(self) -> Array | None:
        """The sums of products without wrapping or saturating; None for a layer without
        products of stored integers."""
        if not isinstance(self.op, SUMMED):
            return None
        return exact_sums(self.op, self.arguments[0], self.arguments[1]).astype(
            np.int64
        )

    @cached_property
    def exact_accumulators(self) -> Array | None:
        """The exact sums, and the bias if that is an integer."""
        sums, bias = self.exact_sums, self.bias
        if sums is None or bias is None or bias.dtype.kind == "f":
            return sums
        return sums + bias

    @property
    def bias(self) -> Array | None:
        """The bias of a contraction as the model has it, int32 or float32."""
        has_bias = isinstance(self.op, CONTRACTIONS) and self.op.bias is not None
        return self.arguments[2] if has_bias else None

    @cached_property
    def start(self) -> Array:
        """The values that accumulators hold before the products."""
        if not isinstance(self.op, CONTRACTIONS):
            return np.zeros((), np.int64)
        bias = np.zeros((), np.int32) if self.bias is None else self.bias
        return RuledContraction(self.contract, self.op).start_of_sum(lambda: bias)

    def meant(self, index: Index) -> tuple[str, dict[str, Array]] | None:
        """The rule that stores an element of the result, and its values as the model
        means them; None where a rule isn't of the result's elements."""
        if not self.evaluations or isinstance(self.op, qnn.LstmOp):
            return None
        *_, (last, place, shape) = self._places(index)
        values = last.at(place, shape)
        if values is None:
            return None
        return last.rule.name, values | self._exact_sum(index)

    def has_exact_sum(self, index: Index) -> bool:
        """Whether an element's rule was given the exact sum of products, and of the
        bias if that is added before; True where no sum is known."""
        if self.exact_sums is None or not self.evaluations:
            return True
        values = self.evaluations[-1].at(index, self.result.shape)
        if values is None:
            return True
        start = np.broadcast_to(self.start, self.result.shape)[index]
        return int(values["accumulator"]) == int(self.exact_sums[index]) + int(start)

    def _exact_sum(self, index: Index) -> dict[str, Array]:
        """The values of a contraction's rule as the model means them."""
        if isinstance(self.op, qnn.RealOp):
            return self._exact_real_sum(self.op, index)
        if self.exact_accumulators is None:
            return {}
        bias, zero = self.bias, np.zeros((), np.int32)
        is_real = bias is not None and bias.dtype.kind == "f"
        return {
            "accumulator": self.exact_accumulators[index],
            "bias": zero,
            "real_bias": bias[index[-1]] if bias is not None and is_real else zero,
        }

    def factors(self, op: qnn.RealOp, index: Index) -> tuple[Array, Array]:
        """The factors of one element of sums of real numbers, in order."""
        loops = tuple(op.products.result.values())
        place = np.unravel_index(np.ravel_multi_index(index, self.result.shape), loops)
        lhs, rhs = seen_factors(op, op.products, *self.arguments[:2])
        return lhs[place].reshape(-1), rhs[place].reshape(-1)

    def _exact_real_sum(self, op: qnn.RealOp, index: Index) -> dict[str, Array]:
        """The sum without any rounding, from where the contract starts; nothing where
        a factor isn't finite."""
        factors = self.factors(op, index)
        if not all(np.isfinite(factor).all() for factor in factors):
            return {}
        pairs = zip(*(factor.tolist() for factor in factors), strict=True)
        total = sum((Fraction(x) * Fraction(w) for x, w in pairs), Fraction(0))
        if starts_from_bias(self.contract, op):
            total += Fraction(self.arguments[2][index[-1]].item())
        return {"sum": np.array(total, object)}


CONTRACTIONS = (qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp)


def run_layer(
    model: Model,
    contract: str | None,
    layer: str,
    values: Mapping[str, Array],
    load: LoadContract = load_contract,
) -> LayerRun:
    """Run one layer of a model on given values.

    `values` has the model's inputs and layers' results by name, as `Executor.run` gives
    them. `contract` is that of operations that name none themselves; `load` finds it.
    """
    if (stated := model.index.own_arithmetic) is not None:
        raise QlowerError(
            f"layer {layer!r} follows no contract: {stated} states its own arithmetic",
            help=f"every step stands in `inspect --at arith --layer {layer}`",
        )
    module, sources, _ = model.index.detach([layer])
    (op,) = layers(module)
    seen: list[Evaluation] = []
    inner = _Operands(op)
    default = contract or module_contract(module)

    def watch(name: str) -> Contract:
        found = load(name)
        return replace(found, rules=_WatchedRules(found.rules, seen))

    name = main_function(module).sym_name.data
    given = [values[source] for source in sources]
    result, *_ = run_qnn_function(
        module, name, given, contract=default, load=watch, listeners=[inner]
    )
    runtime = tuple(
        one
        for one in seen
        if RULES[one.rule.name].runtime and one.rule.name not in OF_OPERANDS
    )
    prepared = tuple(one for one in seen if not RULES[one.rule.name].runtime)
    used = contract_of(op, default, load)
    return LayerRun(op, used, inner.values, result, runtime, prepared)


@dataclass
class _Operands(Interpreter.Listener):
    """Keeps what an op is given."""

    op: Operation
    values: PythonValues = ()

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if op is self.op:
            self.values = args


def model_up_to(model: Model, layer: str) -> Model:
    """The model that ends with a layer: it returns what that gives, and computes no
    more than that and the states need."""
    module = model.module.clone()
    function = main_function(module)
    block = function.body.block
    (op,) = (op for op in layers(module) if layer_name(op) == layer)
    terminator = block.last_op
    assert terminator is not None
    count = len(states_of(function))
    states = terminator.operands[len(terminator.operands) - count :]
    terminator.operands = [*op.results, *states]
    for other in reversed(list(block.ops)):
        if other is not terminator and not any(value.uses for value in other.results):
            block.erase_op(other)
    types = [value.type for value in terminator.operands]
    inputs = list(function.function_type.inputs)
    function.function_type = FunctionType.from_lists(inputs, types)
    function.res_attrs = None
    return replace(model, module=module)
